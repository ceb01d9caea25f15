"""Handing on: the tools, and the model that is not asked again."""

from __future__ import annotations

import pytest

from soundstage.agents.runtime import ToolError
from soundstage.agents.teams import HandOverModel, Phases, flow_tools
from soundstage.clock import run
from soundstage.messages import ModelRequest, assistant, call, tool, user
from soundstage.models import Script, ScriptedModel, complete


def answer(*messages):
    script = Script()
    script.on(contains="hello").reply("asked")
    model = HandOverModel(ScriptedModel(script))
    request = ModelRequest(model="m", messages=(user("hello"), *messages))
    return run(complete(model, request)).text


CALLS = assistant("", call("look", id="1"), call("continue", id="2"))
LOOKED, HANDED_ON = tool("1", "seen", name="look"), tool("2", "handed on", name="continue")
REFUSED = tool("2", "ERROR: there is no phase 'party'", name="continue", is_error=True)


def test_an_agent_that_has_handed_on_is_not_asked_again():
    assert answer(CALLS, HANDED_ON, LOOKED) == ""
    assert answer(assistant("", call("complete", id="2")), tool("2", "completed", name="complete")) == ""


@pytest.mark.parametrize(
    "messages",
    [(), (CALLS, LOOKED), (CALLS, REFUSED, LOOKED), (CALLS, HANDED_ON, user("your turn again"))],
    ids=["nothing called", "another tool", "refused", "long ago"],
)
def test_otherwise_the_model_is_asked(messages):
    assert answer(*messages) == "asked"


def test_the_tools_take_phases_that_there_are():
    hand_on, finish = flow_tools(Phases(("draft", "print"), start="draft"))
    assert run(hand_on.call(phase="Print", feedback="bolder")) == "handed on: print proposed: bolder"
    assert run(hand_on.call()) == "handed on"
    assert run(finish.call(summary="printed")) == "completed: printed"
    with pytest.raises(ToolError, match="no phase 'execute'; one of draft, print"):
        run(hand_on.call(phase="execute"))
