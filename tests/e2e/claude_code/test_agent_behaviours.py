"""Agent behaviours, 9 tests: the guidance that a plugin's agent works under, and what holds it to it.

agent-loop: test_the_workflow_agent_is_told_its_stages, test_who_explores_may_not_write,
    test_a_broken_file_is_pointed_out_and_repaired
epti: test_the_tdd_agent_is_told_that_tests_come_first, test_the_outcome_of_the_tests_reaches_the_agent,
    test_a_commit_on_red_is_refused_and_the_agent_finds_a_way_on
visual-iteration: test_the_visual_agent_is_told_to_measure_and_can, test_pages_of_other_machines_are_not_shown,
    test_feedback_is_as_specific_as_the_tools_are
"""

from __future__ import annotations

import pytest

from e2e.claude_code.kit import (
    BROWSER,
    PLUGINS,
    RIGHT,
    SUMS_TEST,
    WRONG,
    After,
    bash,
    blocked,
    browser,
    delegate,
    edit,
    outcomes,
    picture,
    play,
    repository,
    says,
    subjects,
    working,
    write,
)
from soundstage.claude_code.semantics import error_handled, suggested

agent_loop, epti, visual = working("agent-loop"), working("epti"), working("visual-iteration")


def guidance(plugin: str, agent: str) -> str:
    """The text of an agent's file, without its front matter."""
    return (PLUGINS / plugin / "agents" / f"{agent}.md").read_text().split("---\n", 2)[2].strip()


@agent_loop
def test_the_workflow_agent_is_told_its_stages(test_session, script):
    repository(test_session, {"sums.py": WRONG})
    play(
        script,
        delegate("agent-loop:workflow-agent", "Explore sums.py"),
        "This was the stage explore: add subtracts. Next: /agent-loop:plan.",
        "It is explored.",
    )
    turn = test_session.prompt("delegate it")
    [subagent] = turn.subagents
    assert guidance("agent-loop", "workflow-agent") in subagent.calls.guidance
    assert guidance("agent-loop", "workflow-agent") not in turn.guidance
    assert (subagent.agent, subagent.call_id) == ("agent-loop:workflow-agent", turn.tool_uses[0].id)
    suggested(subagent.text, "/agent-loop:plan").require()


@pytest.mark.claude_code(plugin_dirs=[PLUGINS / "agent-loop"])
def test_who_explores_may_not_write(test_session, script):
    root = repository(test_session, {"sums.py": WRONG})
    play(
        script,
        edit(root / "sums.py", "-", "+"),
        "I can't edit while exploring: permission was denied. Let's try /agent-loop:plan instead.",
    )
    turn = test_session.run_command("/agent-loop:explore", "sums")
    assert blocked(turn) == ["permission"]
    assert (root / "sums.py").read_text() == WRONG
    assert "Change nothing yet" in turn.expansion.text
    handled = error_handled(turn.text, "permission_denied")
    assert handled, handled.details


@agent_loop
def test_a_broken_file_is_pointed_out_and_repaired(test_session, script):
    root = repository(test_session, {"sums.py": WRONG})
    path = root / "sums.py"
    play(
        script,
        edit(path, "return", "return ("),
        edit(path, "return (", "return"),
        "There was a syntax error.",
    )
    turn = test_session.run_command("/agent-loop:code")
    told = [message.everything for message in turn.requests[1].messages]
    assert "is broken after this change: line 2" in "\n".join(told[-2:])
    assert path.read_text() == WRONG
    says(turn, "syntax")


@epti
def test_the_tdd_agent_is_told_that_tests_come_first(test_session, script):
    root = repository(test_session, {"README.md": "sums\n"})
    play(
        script,
        delegate("epti:tdd-agent", "Build add"),
        write(root / "sums.py", RIGHT),
        After("would be code without a test", "The test has to come first: /epti:write-tests."),
        "It needs a test.",
    )
    turn = test_session.prompt("delegate it")
    [subagent] = turn.subagents
    assert guidance("epti", "tdd-agent") in subagent.calls.guidance
    assert blocked(turn) == ["", "hook"]  # hooks hold for subagents too
    assert not (root / "sums.py").exists()
    suggested(subagent.text, "/epti:write-tests").require()


@epti
def test_the_outcome_of_the_tests_reaches_the_agent(test_session, script):
    root = repository(test_session, {"test_sums.py": SUMS_TEST})
    path = root / "sums.py"
    play(script, write(path, WRONG), edit(path, "-", "+"), "It failed at first, and passes now.")
    turn = test_session.run_command("/epti:implement")
    red, green = ("\n".join(m.everything for m in request.messages[-2:]) for request in turn.requests[1:])
    assert "Tests fail after the change of sums.py" in red
    assert "assert -1 == 5" in red
    assert "All tests pass after the change of sums.py" in green
    says(turn, "passes")


@epti
def test_a_commit_on_red_is_refused_and_the_agent_finds_a_way_on(test_session, script):
    root = repository(test_session, {"sums.py": RIGHT, "test_sums.py": SUMS_TEST})
    test_session.workspace.write("sums.py", WRONG)
    play(
        script,
        bash("git commit -qam 'feat: sums'"),
        After("assert -1 == 5", "There is a problem: the test fails. Let's try /epti:iterate instead."),
    )
    turn = test_session.run_command("/epti:commit-code")
    assert blocked(turn) == ["hook"]
    assert subjects(test_session) == ["chore: begin"]
    assert (root / "sums.py").read_text() == WRONG
    handled = error_handled(turn.text, "test_failure")
    assert handled, handled.details
    suggested(turn.text, "/epti:iterate").require()


@visual
def test_the_visual_agent_is_told_to_measure_and_can(test_session, script):
    repository(test_session, {"mock.png": picture(4, 4, [(1, 2, 3)])})
    play(
        script,
        delegate("visual-iteration:visual-agent", "What colour is it?"),
        browser("load_mock", path="mock.png"),
        browser("colour_at", name="mock", x=0, y=0),
        After("#010203", "It is #010203."),
        "It is nearly black.",
    )
    turn = test_session.prompt("delegate it")
    [subagent] = turn.subagents
    assert guidance("visual-iteration", "visual-agent") in subagent.calls.guidance
    assert f"{BROWSER}compare" in subagent.calls.tools
    assert outcomes(turn) == [("Agent", True), ("load_mock", True), ("colour_at", True)]


@visual
def test_pages_of_other_machines_are_not_shown(test_session, script):
    repository(test_session, {"page.html": "<body>"})
    play(
        script,
        browser("screenshot", source="https://example.com/"),
        After("example.com is not this machine", browser("load_mock", path="../secret.png")),
        After(
            "is outside of the project", "I can't reach that host. Let's try a file of the project instead."
        ),
    )
    turn = test_session.run_command("/visual-iteration:screenshot", "https://example.com/")
    assert outcomes(turn) == [("screenshot", False), ("load_mock", False)]
    handled = error_handled(turn.text, "network_error")
    assert handled, handled.details


@visual
def test_feedback_is_as_specific_as_the_tools_are(test_session, script):
    mock, page = picture(10, 10, [(0, 0, 0), (255, 255, 255)]), picture(10, 10, [(0, 0, 0), (255, 0, 0)])
    repository(test_session, {"mock.png": mock, ".visual/page.png": page})
    play(
        script,
        browser("load_mock", path="mock.png"),
        browser("compare"),
        After('"differing_pixels": 50', browser("colour_at", x=0, y=9)),
        After(
            "#ff0000", "50 px differ: below 5 px it is #ff0000 instead of #ffffff. /visual-iteration:iterate"
        ),
    )
    turn = test_session.run_command("/visual-iteration:compare", "0")
    says(turn, "50", "px", "#ff0000", "#ffffff")
    suggested(turn.text, "/visual-iteration:iterate").require()
