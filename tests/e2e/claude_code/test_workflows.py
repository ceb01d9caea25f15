"""Workflows, 6 tests: from the first command to the last, with what git has afterwards.

agent-loop: test_the_reference_workflow_repairs_a_calculator, test_a_skipped_stage_is_not_a_valid_transition
epti: test_the_six_stages_of_tests_first, test_code_before_tests_and_commits_on_red_are_refused_on_the_way
visual-iteration: test_a_page_is_built_from_its_mock_up_and_committed, test_a_page_without_a_mock_up_is_refined
"""

from __future__ import annotations

import subprocess

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
    picture,
    play,
    read,
    repository,
    subjects,
    working,
    write,
)
from soundstage.claude_code.projects import set_up_git
from soundstage.claude_code.semantics import keywords_in, suggested, transition

agent_loop, epti, visual = working("agent-loop"), working("epti"), working("visual-iteration")
TESTS = bash("python3 -B -m pytest -q -p no:cacheprovider")


@agent_loop
def test_the_reference_workflow_repairs_a_calculator(test_session, script, test_project):
    """Four stages with 3 + 3 + 3 + 2 checks of what the agent means, and 2 of what git has."""
    project = test_project("cli", "python", "Calculator App", folder=test_session.root)
    core = project.path / "src/calculator_app/core.py"
    core.write_text(core.read_text().replace('"+": operator.add', '"+": operator.sub'))
    set_up_git(project.path)

    play(
        script,
        read(core),
        TESTS,
        After(
            "FAILED tests/test_core.py::test_calculates",
            "I made a systematic look at the codebase: `+` is operator.sub in core.py, so a test fails, and there "
            "is an understanding of the bug. Next: /agent-loop:plan.",
        ),
    )
    explored = test_session.run_command("/agent-loop:explore", "why adding is wrong")
    keywords_in(explored.text, ["codebase", "systematic", "understanding"]).require()  # 1
    assert transition("idle", "exploring", stage(explored), workflow="agent-loop").valid  # 2
    suggested(explored.text, "/plan").require()  # 3

    steps = "# Plan\n\n1. `+` becomes operator.add in core.py\n2. all tests pass\n"
    play(
        script,
        write(project.path / "PLAN.md", steps),
        "The implementation strategy has two steps, with the tests that show it. Next: /agent-loop:code.",
    )
    planned = test_session.run_command("/agent-loop:plan", "make adding add")
    keywords_in(planned.text, ["implementation", "strategy", "steps", "tests"]).require()  # 4
    assert transition("exploring", "planning", stage(planned), workflow="agent-loop").valid  # 5
    suggested(planned.text, "/code").require()  # 6

    play(
        script,
        edit(core, '"+": operator.sub', '"+": operator.add'),
        TESTS,
        After("passed", "I have fixed the operator and every test has passed. Next: /agent-loop:commit."),
    )
    coded = test_session.run_command("/agent-loop:code")
    keywords_in(coded.text, ["fixed", "implemented", "test"]).require()  # 7
    assert transition("planning", "coding", stage(coded), workflow="agent-loop").valid  # 8
    suggested(coded.text, "/commit").require()  # 9

    message = "fix(core): let + add\n\nIt was subtraction, which the tests of core show."
    play(
        script,
        bash(f"git add src PLAN.md && git commit -qm '{message}'"),
        "It is committed with a conventional message; the loop is complete.",
    )
    committed = test_session.run_command("/agent-loop:commit")
    keywords_in(committed.text, ["commit", "complete"], require_all=True).require()  # 10
    assert transition("coding", "complete", stage(committed), workflow="agent-loop").valid  # 11

    log = subjects(test_session)
    assert len(log) >= 2  # git 1
    assert log[0].startswith(("fix", "feat", "refactor"))  # git 2
    turns = [explored, planned, coded, committed]
    assert [turn.is_error for turn in turns] == [False] * 4
    assert {who for turn in turns for who in blocked(turn)} == {""}
    assert (
        subprocess.run(project.test_command, cwd=project.path, check=False, capture_output=True).returncode
        == 0
    )


def stage(turn):
    """The stage that the command of a turn, as it came to the model, has begun."""
    from soundstage.claude_code.semantics import WORKFLOWS

    return WORKFLOWS["agent-loop"].stage_after([f"/{turn.expansion.command}"])


@agent_loop
def test_a_skipped_stage_is_not_a_valid_transition(test_session, script):
    root = repository(test_session, {"sums.py": "def add(first, second):\n    return first + second\n"})
    walk = Walk(test_session, "agent-loop")
    play(script, read(root / "sums.py"), "Long names. Next: /agent-loop:plan.")
    walk.go("explore", to="exploring", suggests="plan")
    play(script, "There is no plan, so I would be working without one: /agent-loop:plan.")
    skipped = walk.take("code", to="coding")
    assert (skipped.passed, skipped.valid) == (True, False), skipped.details
    suggested(walk.turns[-1].text, "/agent-loop:plan").require()
    play(script, write(root / "PLAN.md", "1. shorter names\n"), "Planned. Next: /agent-loop:code.")
    walk.go("plan", to="planning", suggests="code")
    play(script, write(root / "sums.py", RIGHT), "Refactored. Next: /agent-loop:commit.")
    walk.go("code", to="coding", suggests="commit")
    commit = "git add sums.py PLAN.md && git commit -qm '{}'"
    play(
        script,
        bash(commit.format("shorter names")),
        After("The commit message begins with", bash(commit.format("refactor: shorter names"))),
        "Committed; the loop is complete.",
    )
    turn = walk.go("commit", to="complete")
    assert blocked(turn) == ["hook", ""]
    assert subjects(test_session) == ["refactor: shorter names", "chore: begin"]


@epti
def test_the_six_stages_of_tests_first(test_session, script):
    root = repository(test_session, {"README.md": "sums\n"})
    walk = Walk(test_session, "epti")
    play(script, write(root / "test_sums.py", SUMS_TEST), "One test. Next: /epti:verify-fail.")
    walk.go("write-tests", "add two numbers", to="writing-tests", suggests="verify-fail")
    play(script, TESTS, After("No module named", "It fails for the right reason. Next: /epti:commit-tests."))
    walk.go("verify-fail", to="verifying-failure", suggests="commit-tests")
    play(
        script,
        bash("git add test_sums.py && git commit -qm 'test: add two numbers'"),
        "The contract is committed. Next: /epti:implement.",
    )
    contract = walk.go("commit-tests", to="committing-tests", suggests="implement")
    assert blocked(contract) == [""]  # tests alone may be committed on red
    play(script, write(root / "sums.py", WRONG), "It fails: -1 instead of 5. Next: /epti:iterate.")
    walk.go("implement", to="implementing", suggests="iterate")
    play(script, edit(root / "sums.py", "-", "+"), "It passes. Next: /epti:commit-code.")
    walk.go("iterate", "test_add", to="iterating", suggests="commit-code")
    play(script, bash("git add sums.py && git commit -qm 'feat: add two numbers'"), "Round complete.")
    walk.go("commit-code", to="committing-code")
    assert subjects(test_session) == ["feat: add two numbers", "test: add two numbers", "chore: begin"]
    assert [commit.files for commit in test_session.workspace.commits()[:2]] == [
        ("sums.py",),
        ("test_sums.py",),
    ]


@epti
def test_code_before_tests_and_commits_on_red_are_refused_on_the_way(test_session, script):
    root = repository(test_session, {"README.md": "sums\n"})
    walk = Walk(test_session, "epti")
    play(
        script,
        write(root / "sums.py", WRONG),
        After("would be code without a test", "I refuse: tests come first. /epti:write-tests"),
    )
    early = walk.take("implement", to="implementing")
    assert not early.valid, early.details
    assert blocked(walk.turns[-1]) == ["hook"]
    suggested(walk.turns[-1].text, "/epti:write-tests").require()
    play(script, write(root / "test_sums.py", SUMS_TEST), "A test is there. Next: /epti:verify-fail.")
    test_session.run_command("/epti:write-tests")
    commit = bash("git add -A && git commit -qm 'fix: add adds'")
    play(
        script,
        write(root / "sums.py", WRONG),
        commit,
        After("The tests fail", edit(root / "sums.py", "-", "+")),
        commit,
        "It passes and is committed.",
    )
    last = test_session.run_command("/epti:commit-code")
    assert blocked(last) == ["", "hook", "", ""]
    assert subjects(test_session) == ["fix: add adds", "chore: begin"]
    assert (root / "sums.py").read_text() == RIGHT


@visual
@needs_browser
def test_a_page_is_built_from_its_mock_up_and_committed(test_session, script):
    root = repository(test_session, {"mock.png": picture(16, 16, [(0x33, 0x66, 0x99)])})
    page, shot = root / "page.html", browser("screenshot", source="page.html", width=16, height=16)
    walk = Walk(test_session, "visual-iteration")
    play(
        script, browser("load_mock", path="mock.png"), "#336699, 16 x 16. /visual-iteration:implement-design"
    )
    walk.go("load-mock", "mock.png", to="loading-mock", suggests="implement-design")
    play(script, write(page, BODY.format("#336600")), "Built. Next: /visual-iteration:screenshot.")
    walk.go("implement-design", to="implementing", suggests="screenshot")
    play(script, shot, "One green area. Next: /visual-iteration:compare.")
    walk.go("screenshot", "page.html 16 16", to="capturing", suggests="compare")
    wrong = "256 px differ: #336600 instead of #336699. Next: /visual-iteration:iterate."
    play(script, browser("compare"), After('"differing_pixels": 256', wrong))
    walk.go("compare", to="analyzing", suggests="iterate")
    polished = "0 px differ, it is polished: /visual-iteration:visual-commit"
    play(
        script,
        edit(page, "#336600", "#336699"),
        shot,
        browser("compare"),
        After('"same": true', polished),
    )
    walk.go("iterate", "the colour", to="refining", suggests="visual-commit")
    message = "feat(ui): the page\n\n0 of 256 pixels differ."
    play(script, bash(f"git add page.html && git commit -qm '{message}'"), "Committed with 0 px.")
    walk.go("visual-commit", to="committing")
    newest = test_session.workspace.commits()[0]
    assert (newest.subject, newest.files) == ("feat(ui): the page", ("page.html",))
    assert (root / ".visual/page.png").is_file()


@visual
@needs_browser
def test_a_page_without_a_mock_up_is_refined(test_session, script):
    root = repository(test_session, {"page.html": BODY.format("#000000")})
    shot = browser("screenshot", source="page.html", width=8, height=8)
    walk = Walk(test_session, "visual-iteration")
    play(script, shot, "It is black. Next: /visual-iteration:compare.")
    walk.go("screenshot", "page.html 8 8", to="capturing", suggests="compare")
    missing = "There is no mock-up to compare with. Next: /visual-iteration:iterate."
    play(script, browser("compare"), After("call load_mock first", missing))
    walk.go("compare", to="analyzing", suggests="iterate")
    colour = browser("colour_at", x=0, y=0)
    play(
        script,
        edit(root / "page.html", "#000000", "#ffffff"),
        shot,
        colour,
        After("#ffffff", "It is #ffffff now: /visual-iteration:visual-commit"),
    )
    walk.go("iterate", "lighter", to="refining", suggests="visual-commit")
    play(script, bash("git commit -qam 'fix(ui): a white page'"), "Committed.")
    walk.go("visual-commit", to="committing")
    assert subjects(test_session) == ["fix(ui): a white page", "chore: begin"]


BODY = '<body style="margin:0;background:{}">\n'
