"""The stage of a team: isolated, real but for the model, and gone when the test is over."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry
from soundstage.agents.scenarios import TeamStage, assert_no_leak, route, team
from soundstage.agents.teams import ConversationNotFoundError, EmptyMessageError, RetryingModel
from soundstage.clock import run
from soundstage.errors import InvalidStateError, ScriptError
from soundstage.models import Script
from soundstage.trace import assert_agent_sequence


def brief(script):
    """The shortest conversation."""
    script.on(agent="orchestrator").reply(route("executor", "END"))
    script.on(agent="executor").reply("done")


def on_stage(body, *scenarios, **options):
    async def main():
        async with TeamStage(*scenarios, **{"agents": team(), **options}) as stage:
            brief(stage.script)
            return await body(stage)

    return run(main())


def test_a_test_reads_set_up_script_run_assert():
    async def body(stage):
        conversation = stage.create("Implement auth")
        trace = await stage.run(conversation)
        assert_agent_sequence(trace, "orchestrator", "executor")
        assert trace.stop_reason == "end"
        assert isinstance(stage.router.runner, AgentLoop)
        assert isinstance(stage.registry, AgentRegistry)

    on_stage(body)


def test_a_folder_of_its_own_is_there_and_goes():
    folders = []

    async def body(stage):
        folders.append(stage.folder)
        (stage.folder / "file").write_text("x")

    on_stage(body)
    on_stage(body)
    assert folders[0] != folders[1]
    assert not any(folder.exists() for folder in folders)


def test_the_folder_goes_and_the_error_comes_out_when_a_test_fails():
    seen = []

    async def body(stage):
        seen.append(stage.folder)
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        on_stage(body)
    assert not seen[0].exists()


def test_a_stage_can_be_closed_twice_and_serves_once():
    async def main():
        stage = TeamStage(agents=team())
        with pytest.raises(InvalidStateError, match="not been set up"):
            _ = stage.journal
        async with stage:
            await stage.close()
            await stage.close()
        with pytest.raises(InvalidStateError, match="has been used"):
            async with stage:
                pass

    run(main())


def test_a_strict_script_with_a_rule_that_was_not_used_fails_the_run():
    async def body(stage):
        return await stage.run(stage.create("hello"))

    script = Script(strict=True)
    script.on(agent="test-pm").reply("never")
    with pytest.raises(ScriptError, match="never used"):
        on_stage(body, script=script)


def test_unknown_ids_and_empty_messages_are_refused():
    async def body(stage):
        with pytest.raises(ConversationNotFoundError):
            await stage.run("nonsense")
        with pytest.raises(EmptyMessageError):
            stage.create("")

    on_stage(body)


def test_another_model_can_take_the_place_of_the_scripted_one():
    async def body(stage):
        trace = await stage.run(stage.create("hello"))
        assert {step.text for step in trace.steps} == {route("executor", "END"), "done"}

    on_stage(body, model=RetryingModel)


def test_scenarios_with_different_agents_of_one_name_do_not_share_a_stage():
    other = AgentDefinition(slug="executor", prompt="another")
    with pytest.raises(ScriptError, match="'executor'"):
        TeamStage("error-handling", agents=[other])


def test_what_happened_is_on_the_stage_when_a_run_fails():
    async def main():
        async with TeamStage(agents=team()) as stage:
            stage.script.on(agent="orchestrator").reply("no decision")
            with pytest.raises(Exception, match="no routing decision"):
                await stage.run(stage.create("hello"))
            assert stage.trace.stop_reason == "error"
            assert_agent_sequence(stage.trace, "orchestrator")

    run(main())


def test_a_hundred_conversations_at_once_keep_to_themselves():
    words = [f"word-{number:03}" for number in range(100)]

    async def body(stage):
        stage.script.on(agent="executor", iteration=1, priority=1).reply(answer)
        return await stage.run_all([f"Remember {word}." for word in words])

    async def answer(request):
        own = next(word for word in words if word in request.messages[1].text)
        await asyncio.sleep(words.index(own) % 7)
        return f"It is {own}."

    traces = on_stage(body)
    assert_no_leak(traces, words)
    for word, trace in zip(words, traces, strict=True):
        assert_agent_sequence(trace, "orchestrator", "executor")
        assert trace.runs[-1].text == f"It is {word}."
