"""No rule answers: the message shows the request, the nearest rules, and why each did not match."""

from __future__ import annotations

import pytest

from soundstage.errors import NoMatchError
from soundstage.messages import assistant, call, tool
from soundstage.models import Script, ScriptedModel


@pytest.fixture
def script() -> Script:
    return Script(strict=True)


def refusal(ask, script, *given, **fields):
    with pytest.raises(NoMatchError) as caught:
        ask(ScriptedModel(script), *given, **fields)
    return caught.value


def test_the_nearest_rules_come_first_with_each_failing_condition(script, ask):
    script.on(user="goodbye", agent="planner", iteration=3).reply("x")
    script.on(user="hello", agent="planner").reply("x")
    script.on(user="goodbye", agent="planner", name="farewell").reply("x")
    error = refusal(ask, script, "hello there", agent="executor", phase="plan")
    assert error.summary == (
        "no rule answers this request: agent 'executor', phase 'plan', iteration 1, user 'hello there'"
    )
    assert error.seen.splitlines() == [
        "the nearest rules:",
        "rule 2 [user 'hello', agent 'planner']: agent: expected 'planner', got 'executor'",
        (
            "rule 3 'farewell' [user 'goodbye', agent 'planner']: user: 'goodbye' is not in 'hello there'; "
            "agent: expected 'planner', got 'executor'"
        ),
        (
            "rule 1 [user 'goodbye', agent 'planner', iteration 3]: user: 'goodbye' is not in 'hello there'; "
            "agent: expected 'planner', got 'executor'; iteration: expected 3, got 1"
        ),
    ]
    assert error.hint


def test_a_rule_that_has_served_says_so(script, ask):
    script.queue("one")
    model = ScriptedModel(script)
    ask(model)
    with pytest.raises(NoMatchError, match=r"rule 1 \[queued reply\]: it has served its 1 time"):
        ask(model)


def test_a_script_without_rules_says_so(script, ask):
    assert "the script has no rules" in refusal(ask, script).seen


def test_the_tool_result_is_part_of_what_is_shown(script, ask):
    error = refusal(ask, script, "weather", assistant("", call("look", id="c1")), tool("c1", "72 degrees"))
    assert "tool result '72 degrees'" in error.summary


def test_a_function_that_cannot_take_the_value_is_shown_and_not_raised(script, ask):
    for number in range(20):
        script.on(agent=f"agent {number}", user=lambda text: text.upper()).reply("x")
    error = refusal(ask, script, None, agent="nobody")
    assert "raised AttributeError" in error.seen


def test_a_request_without_words_is_shown_as_such(script, ask):
    script.on(user="hello").reply("x")
    assert "user ''" in refusal(ask, script, None).summary


def test_a_header_that_no_caller_sent_is_shown_with_those_that_were(script, ask):
    script.on(header={"x-team": "red"}).reply("x")
    assert "x-team" in refusal(ask, script, "hi", headers={"x-crew": "blue"}).seen


def test_a_condition_on_one_of_several_shows_what_there_was(script, ask):
    script.on(after_tool="look").reply("x")
    seen = refusal(ask, script, "hi", assistant("", call("ring", id="c1")), tool("c1", "ok")).seen
    assert "'look' is not one of 'ring', 'c1'" in seen or "'look' is not one of 'c1', 'ring'" in seen
    assert "'look' is not one of none" in refusal(ask, script, "hi").seen
