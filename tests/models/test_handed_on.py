"""Conditions on what has been called in a conversation: by whom, for which phase, and which tools so far."""

from __future__ import annotations

import pytest

from soundstage.messages import Message, call, tool, user
from soundstage.models import Script, ScriptedModel


@pytest.fixture
def script() -> Script:
    script = Script()
    script.on(user="hand on").reply(
        tool_calls=[call("continue", {"phase": "Verification"})], check_calls=False
    )
    script.on(user="read").reply(tool_calls=[call("read")], check_calls=False)
    script.on(user="write").reply(blocks=[{"text": "so"}, {"tool_call": call("write")}], check_calls=False)
    script.on(user="by function").reply(
        lambda _: {"tool_calls": [call("continue", {"phase": 7})], "check_calls": False}
    )
    return script


def test_after_agent_is_who_handed_on_last_and_routers_count(script, ask):
    script.on(after_agent="Orchestrator").reply("after the orchestrator")
    script.on(after_agent="executor").reply("after the executor")
    model = ScriptedModel(script)
    assert ask(model, "go", agent="tester").text == "nothing scripted for that"
    ask(model, "hand on", agent="executor")
    assert ask(model, "go", agent="tester").text == "after the executor"
    ask(model, "read", agent="orchestrator")
    assert ask(model, "go", agent="tester").text == "after the executor"
    ask(model, "hand on", agent="orchestrator")
    assert ask(model, "go", agent="tester").text == "after the orchestrator"
    assert ask(model, "go", agent="tester", conversation="other").text == "nothing scripted for that"
    model.reset()
    assert ask(model, "go", agent="tester").text == "nothing scripted for that"


def test_continue_to_phase_is_what_the_last_hand_over_proposed(script, ask):
    script.on(continue_to_phase="verification").reply("to be verified")
    model = ScriptedModel(script)
    assert ask(model, "go").text == "nothing scripted for that"
    ask(model, "hand on", agent="executor")
    assert ask(model, "go").text == "to be verified"
    ask(model, "by function", agent="executor")
    assert ask(model, "go").text == "nothing scripted for that"


@pytest.mark.parametrize(
    ("wanted", "held"),
    [
        ("read", True),
        (["read", "write"], True),
        (["read", "delete"], False),
        ({"any": ["read", "delete"]}, True),
        ({"not": "delete"}, True),
        ({"not": "read"}, False),
        ("rea", False),
    ],
)
def test_of_previous_tool_calls_all_must_be_there_by_whomever(script, ask, wanted, held):
    script.on(user="then", previous_tool_calls=wanted).reply("held")
    model = ScriptedModel(script)
    ask(model, "read", agent="a")
    ask(model, "write", agent="b")
    assert (ask(model, "then", agent="c").text == "held") is held


def test_calls_of_a_history_that_the_request_brings_count_too(script, ask):
    script.on(user="go", previous_tool_calls="search").reply("held")
    history = Message(role="assistant", parts=(call("search"),)), tool("1", "ok"), user("go")
    assert ask(ScriptedModel(script), "x", *history).text == "held"


def test_a_side_request_is_no_part_of_the_conversation(script, ask):
    script.on(user="title", purpose="title").reply(tool_calls=[call("continue")], check_calls=False)
    script.on(user="then", after_agent="writer").reply("held")
    model = ScriptedModel(script)
    ask(model, "title", agent="writer", purpose="title")
    assert ask(model, "then", agent="writer").text == "nothing scripted for that"
