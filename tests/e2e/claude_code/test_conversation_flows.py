"""Conversation flows, 9 tests: several turns in one conversation, three for each plugin.

agent-loop: test_a_plan_is_made_from_what_was_explored, test_a_plan_before_exploring_leads_back_to_exploring,
    test_a_refused_commit_is_made_once_there_is_a_plan
epti: test_new_tests_are_seen_to_fail_in_the_next_turn, test_code_before_tests_is_refused_and_written_after_them,
    test_iterating_goes_from_red_to_green
visual-iteration: test_a_comparison_before_a_picture_leads_to_a_screenshot,
    test_a_mock_up_and_a_page_are_compared_in_numbers, test_iterating_brings_the_difference_to_nothing
"""

from __future__ import annotations

from e2e.claude_code.kit import (
    RIGHT,
    SUMS_TEST,
    WRONG,
    After,
    Walk,
    bash,
    blocked,
    browser,
    edit,
    needs_browser,
    outcomes,
    picture,
    play,
    read,
    repository,
    says,
    subjects,
    working,
    write,
)
from soundstage.claude_code.semantics import error_handled, suggested

agent_loop, epti, visual = working("agent-loop"), working("epti"), working("visual-iteration")
PAGE = '<body style="margin:0;background:{}">'
BLUE, RED = (0x33, 0x66, 0x99), (0xFF, 0, 0)


@agent_loop
def test_a_plan_is_made_from_what_was_explored(test_session, script):
    root = repository(test_session, {"sums.py": WRONG})
    walk = Walk(test_session, "agent-loop")
    play(script, read(root / "sums.py"), "sums.py subtracts where it should add. Next: /agent-loop:plan.")
    explored = walk.go("explore", "sums", to="exploring", suggests="plan")
    assert "return a - b" in explored.tool_uses[0].text
    play(script, write(root / "PLAN.md", "1. add adds\n"), "One step is in PLAN.md. Next: /agent-loop:code.")
    planned = walk.go("plan", "make add add", to="planning", suggests="code")
    remembered = "\n".join(message.everything for message in planned.requests[0].messages)
    assert "sums.py subtracts where it should add" in remembered
    assert planned.session_id == explored.session_id
    assert (root / "PLAN.md").read_text() == "1. add adds\n"


@agent_loop
def test_a_plan_before_exploring_leads_back_to_exploring(test_session, script):
    root = repository(test_session, {"sums.py": WRONG})
    walk = Walk(test_session, "agent-loop")
    play(script, "Nothing has been explored in this conversation. Begin with /agent-loop:explore.")
    skipped = walk.take("plan", "make add add", to="planning")
    assert skipped.passed
    assert not skipped.valid, skipped.details
    suggested(walk.turns[-1].text, "/agent-loop:explore").require()
    assert not (root / "PLAN.md").exists()
    again = Walk(test_session, "agent-loop")
    play(script, "I have explored sums.py. Next: /agent-loop:plan.")
    again.go("explore", to="exploring", suggests="plan")
    play(script, write(root / "PLAN.md", "1. add adds\n"), "Planned. Next: /agent-loop:code.")
    again.go("plan", to="planning", suggests="code")
    assert (root / "PLAN.md").is_file()


@agent_loop
def test_a_refused_commit_is_made_once_there_is_a_plan(test_session, script):
    root = repository(test_session, {"sums.py": WRONG})
    commit = bash("git commit -qam 'fix: add adds'")
    play(
        script,
        edit(root / "sums.py", "-", "+"),
        commit,
        After("There is no plan", "I can't commit: there is no plan. Let's try /agent-loop:plan instead."),
    )
    refused = test_session.run_command("/agent-loop:commit", "the sum")
    assert blocked(refused) == ["", "hook"]
    assert subjects(test_session) == ["chore: begin"]
    assert error_handled(refused.text, "git_error"), error_handled(refused.text, "git_error").details
    suggested(refused.text, "/plan").require()
    play(script, write(root / "PLAN.md", "1. add adds\n"), "The plan is there. Next: /agent-loop:code.")
    test_session.run_command("/agent-loop:plan")
    play(script, commit, "It is committed; the loop is complete.")
    made = test_session.run_command("/agent-loop:commit")
    assert blocked(made) == [""]
    assert subjects(test_session) == ["fix: add adds", "chore: begin"]


@epti
def test_new_tests_are_seen_to_fail_in_the_next_turn(test_session, script):
    root = repository(test_session, {"README.md": "sums\n"})
    walk = Walk(test_session, "epti")
    play(script, write(root / "test_sums.py", SUMS_TEST), "One test: add adds. Next: /epti:verify-fail.")
    walk.go("write-tests", "add two numbers", to="writing-tests", suggests="verify-fail")
    run = bash("python3 -B -m pytest -q -p no:cacheprovider")
    play(
        script,
        run,
        After("No module named 'sums'", "It fails because sums is missing. Next: /epti:commit-tests."),
    )
    failed = walk.go("verify-fail", to="verifying-failure", suggests="commit-tests")
    assert outcomes(failed) == [("Bash", False)]
    says(failed, "fails", "missing")


@epti
def test_code_before_tests_is_refused_and_written_after_them(test_session, script):
    root = repository(test_session, {"README.md": "sums\n"})
    code = write(root / "sums.py", RIGHT)
    play(
        script,
        code,
        After("would be code without a test", "There is a problem: no tests. Let's try /epti:write-tests."),
    )
    refused = test_session.run_command("/epti:implement", "add")
    assert blocked(refused) == ["hook"]
    assert not (root / "sums.py").exists()
    suggested(refused.text, "/epti:write-tests").require()
    assert error_handled(refused.text, "test_failure")
    play(script, write(root / "test_sums.py", SUMS_TEST), "One test. Next: /epti:verify-fail.")
    test_session.run_command("/epti:write-tests", "add")
    play(script, code, "All tests pass. Next: /epti:commit-code.")
    allowed = test_session.run_command("/epti:implement", "add")
    assert blocked(allowed) == [""]
    assert (root / "sums.py").read_text() == RIGHT


@epti
def test_iterating_goes_from_red_to_green(test_session, script, journal):
    root = repository(test_session, {"test_sums.py": SUMS_TEST})
    walk = Walk(test_session, "epti")
    walk.commands.append("/epti:commit-tests")
    play(script, write(root / "sums.py", WRONG), "add fails still, it subtracts. Next: /epti:iterate.")
    red = walk.go("implement", to="implementing", suggests="iterate")
    play(script, edit(root / "sums.py", "-", "+"), "The sign was wrong; everything passes. /epti:commit-code")
    green = walk.go("iterate", "test_add", to="iterating", suggests="commit-code")
    assert ["assert -1 == 5" in remarks(red), "All tests pass" in remarks(green)] == [True, True]


def remarks(turn):
    """The words that the model was told besides its tools' results."""
    return "\n".join(message.everything for message in turn.requests[-1].messages[-3:])


@visual
def test_a_comparison_before_a_picture_leads_to_a_screenshot(test_session, script):
    repository(test_session, {"mock.png": picture(8, 8, [BLUE]), "page.html": PAGE.format("red")})
    walk = Walk(test_session, "visual-iteration")
    play(
        script, browser("load_mock", path="mock.png"), "8 x 8 in #336699. /visual-iteration:implement-design"
    )
    walk.go("load-mock", "mock.png", to="loading-mock", suggests="implement-design")
    play(
        script,
        browser("compare"),
        After("call screenshot first", "I can't compare yet; try /visual-iteration:screenshot first."),
    )
    step = walk.take("compare", to="analyzing")
    assert not step.valid, step.details
    turn = walk.turns[-1]
    assert outcomes(turn) == [("compare", False)]
    suggested(turn.text, "/visual-iteration:screenshot").require()


@visual
@needs_browser
def test_a_mock_up_and_a_page_are_compared_in_numbers(test_session, script):
    repository(test_session, {"mock.png": picture(32, 24, [BLUE, RED]), "page.html": PAGE.format("#336699")})
    walk = Walk(test_session, "visual-iteration")
    play(script, browser("load_mock", path="mock.png"), "Two stripes. /visual-iteration:implement-design")
    walk.go("load-mock", "mock.png", to="loading-mock", suggests="implement-design")
    shot = browser("screenshot", source="page.html", width=32, height=24)
    play(script, shot, "All of it is blue. Next: /visual-iteration:compare.")
    walk.go("screenshot", "page.html 32 24", to="capturing", suggests="compare")
    found = "384 px differ: the lower 12 px are #336699 instead of #ff0000. /visual-iteration:iterate"
    play(script, browser("compare"), After('"differing_pixels": 384', found))
    compared = walk.go("compare", to="analyzing", suggests="iterate")
    assert '"areas": [{"x": 0, "y": 12, "width": 32, "height": 12}]' in compared.tool_uses[0].text
    says(compared, "384", "px", "#ff0000")


@visual
@needs_browser
def test_iterating_brings_the_difference_to_nothing(test_session, script):
    root = repository(
        test_session, {"mock.png": picture(16, 16, [BLUE]), "page.html": PAGE.format("#336666")}
    )
    shot = browser("screenshot", source="page.html", width=16, height=16)
    play(script, browser("load_mock", path="mock.png"), shot, browser("compare"), "256 of 256 px differ.")
    first = test_session.run_command("/visual-iteration:compare")
    assert '"differing_pixels": 256' in first.tool_uses[-1].text
    play(
        script,
        edit(root / "page.html", "#336666", "#336699"),
        shot,
        browser("compare"),
        After('"same": true', "0 px differ; it is polished. Next: /visual-iteration:visual-commit."),
    )
    second = test_session.run_command("/visual-iteration:iterate", "the colour")
    assert outcomes(second) == [("Edit", True), ("screenshot", True), ("compare", True)]
    suggested(second.text, "/visual-iteration:visual-commit").require()
