"""A script that sends an agent round in a circle is refused instead of going on for ever."""

from __future__ import annotations

import pytest

from soundstage.clock import run
from soundstage.errors import ScriptError
from soundstage.messages import Message, ModelRequest, ToolDefinition, ToolResult, user
from soundstage.models import Script, ScriptedModel, complete
from soundstage.models._loop import LIMIT

LOOK = ToolDefinition(name="look")


def loop(script, steps):
    """An agent that runs whatever it is asked to, at most `steps` times; how often it was asked."""

    async def main():
        model = ScriptedModel(script)
        messages = [user("look")]
        for step in range(steps):
            answer = await complete(model, ModelRequest(model="m", messages=tuple(messages), tools=(LOOK,)))
            if not answer.tool_calls:
                return step
            messages.append(answer.message())
            results = [ToolResult(call_id=call.id, text="nothing yet") for call in answer.tool_calls]
            messages.extend(Message(role="tool", parts=(result,)) for result in results)
        return steps

    return run(main())


def test_a_rule_that_asks_for_the_same_tool_for_ever_is_named_with_the_way_out():
    script = Script()
    script.on(user="look", name="looking").reply(tool_calls=[{"name": "look", "arguments": {"at": "sky"}}])
    with pytest.raises(
        ScriptError, match=rf"'looking' has asked for the same tools {LIMIT} times[\s\S]*times=1"
    ):
        loop(script, 2 * LIMIT)


def test_asking_often_is_fine_as_long_as_it_ends():
    script = Script()
    script.on(user="look", times=LIMIT).reply(tool_calls=[{"name": "look"}])
    script.on(user="look").reply("done")
    assert loop(script, 2 * LIMIT) == LIMIT


def test_different_arguments_are_no_circle():
    script = Script()
    for number in range(2 * LIMIT):
        script.on(user="look", times=1).reply(tool_calls=[{"name": "look", "arguments": {"page": number}}])
    script.on(user="look").reply("done")
    assert loop(script, 3 * LIMIT) == 2 * LIMIT
