"""Handing on: the tools that end a turn."""

from __future__ import annotations

import pytest

from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry, AgentTask, ToolError
from soundstage.agents.teams import Phases, flow_tools
from soundstage.clock import run
from soundstage.messages import call
from soundstage.models import Script, ScriptedModel


def turn(*calls):
    """One task of an agent with the tools of the flow, whose model would say `asked again` if it were."""
    script = Script()
    script.on(times=1).reply("Auth is there.", tool_calls=list(calls))
    script.on().reply("asked again")

    async def main():
        hand_over = flow_tools()
        worker = AgentDefinition(slug="worker", tools=tuple(one.name for one in hand_over))
        loop = AgentLoop(ScriptedModel(script), AgentRegistry([worker], hand_over))
        return await loop.run(AgentTask(id="1", agent="worker", prompt="go"))

    return run(main())


@pytest.mark.parametrize("name", ["continue", "complete"])
def test_an_agent_that_has_handed_on_is_not_asked_again(name):
    outcome = turn(call(name, {"summary": "done"}))
    assert (outcome.output, outcome.turns, outcome.success) == ("Auth is there.", 1, True)


def test_a_refused_hand_over_goes_to_the_model():
    outcome = turn(call("continue", {"phase": "party"}))
    assert (outcome.output, outcome.turns) == ("asked again", 2)


def test_the_tools_take_phases_that_there_are():
    hand_on, finish = flow_tools(Phases(("draft", "print"), start="draft"))
    assert run(hand_on.call(phase="Print", feedback="bolder")) == "handed on: print proposed: bolder"
    assert run(hand_on.call()) == "handed on"
    assert run(finish.call(summary="printed")) == "completed: printed"
    with pytest.raises(ToolError, match="no phase 'execute'; one of draft, print"):
        run(hand_on.call(phase="execute"))
