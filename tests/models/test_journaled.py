"""Every call is in the journal, the same way whatever model answers."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import VirtualClock, run
from soundstage.errors import ConnectionCut, MatchError, NoMatchError, ProviderError, ReplayMismatchError
from soundstage.journal import (
    Journal,
    MessageReceived,
    ModelChunked,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Noted,
)
from soundstage.messages import (
    Caller,
    FinishChunk,
    ModelRequest,
    ModelResponse,
    TextChunk,
    ToolDefinition,
    assistant,
    call,
    tool,
    user,
)
from soundstage.models import (
    FaultyModel,
    JournaledModel,
    Reply,
    ReplyFault,
    Script,
    ScriptedModel,
    Wrapper,
    complete,
    kind_of,
    working_on,
)
from soundstage.tapes import RecordingModel, ReplayModel, Tape


def journaled(script, **options):
    journal = Journal(clock=VirtualClock())
    return JournaledModel(ScriptedModel(script, **options), journal), journal


def test_a_call_is_a_request_its_chunks_and_a_response_in_order(request_of, ask):
    script = Script()
    script.on(user="hello").reply(chunks=["Hel", "lo"])
    model, journal = journaled(script)
    ask(model)
    requested, *middle, responded = journal.read()
    assert requested.event == ModelRequested(request=request_of(), model_kind="scripted")
    assert [it.event.chunk for it in middle] == [
        TextChunk(index=0, text="Hel"),
        TextChunk(index=0, text="lo"),
    ]
    assert isinstance(responded.event.response, ModelResponse)
    assert responded.event.response.text == "Hello"
    assert [record.cause for record in journal.read()] == [None, 1, 1, 1]
    assert {record.source for record in journal.read()} == {"model"}


def test_what_passes_is_what_the_inner_model_says(request_of):
    script = Script()
    script.on(user="hello").reply("hi", tool_calls=[call("ring", id="c1")], headers={"x": "y"})
    model, _ = journaled(script)
    request = request_of(tools=("ring",))

    async def main():
        inner = [chunk async for chunk in model.inner.stream(request)]
        return inner, [chunk async for chunk in model.stream(request)]

    inner, outer = run(main())
    assert inner == outer
    assert isinstance(outer[-1], FinishChunk)


@pytest.mark.parametrize(
    ("write", "error", "reason", "status", "kind"),
    [
        (
            lambda on: on.error(529, "busy", type="overloaded_error"),
            ProviderError,
            "error",
            529,
            "overloaded_error",
        ),
        (lambda on: on.fault("cut", "text"), ConnectionCut, "cut", 0, ""),
        (lambda on: on.reply(lambda _: 1 / 0), ZeroDivisionError, "harness", 0, ""),
    ],
)
def test_a_failure_is_journaled_with_its_reason(ask, write, error, reason, status, kind):
    script = Script()
    write(script.on(user="hello"))
    model, journal = journaled(script)
    with pytest.raises(error):
        ask(model)
    failed = journal.read()[-1]
    assert (failed.event.reason, failed.event.status, failed.event.kind) == (reason, status, kind)
    assert failed.event.message
    assert failed.cause == 1


def test_faults_of_the_script_are_the_scripts(ask):
    strict, broken = Script(strict=True), Script()
    broken.on(user=lambda _: 1 / 0).reply("x")
    for script, error, reason in ((strict, NoMatchError, "no_match"), (broken, MatchError, "script")):
        model, journal = journaled(script)
        with pytest.raises(error):
            ask(model)
        assert journal.events(ModelFailed)[0].reason == reason
    journal = Journal()
    with pytest.raises(ReplayMismatchError):
        ask(JournaledModel(ReplayModel(Tape()), journal))
    assert journal.events(ModelFailed)[0].reason == "replay_mismatch"


def test_an_app_that_leaves_is_journaled_and_the_inner_reply_is_closed(request_of):
    script, tape, journal = Script(), Tape(), Journal()
    script.on(user="hello").reply(chunks=["a", "b", "c"])
    model = JournaledModel(RecordingModel(ScriptedModel(script), tape), journal)

    async def main():
        stream = model.stream(request_of())
        await anext(stream)
        await stream.aclose()
        return [one.failure.type for one in tape.exchanges]

    assert run(main()) == ["client_gone"]
    assert [type(record.event) for record in journal.read()] == [ModelRequested, ModelChunked, ModelFailed]
    assert journal.events(ModelFailed)[0].reason == "client_gone"


def test_an_app_that_is_cancelled_while_it_waits_is_journaled(request_of):
    script = Script()
    script.on(user="hello").reply("late", delay=60)
    model, journal = journaled(script)

    async def main():
        task = asyncio.create_task(complete(model, request_of()))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert [event.reason for event in journal.events(ModelFailed)] == ["client_gone"]


def test_the_reply_that_asked_for_a_tool_is_the_cause_of_what_brings_its_result(ask):
    script = Script()
    script.queue(call("look", id="c1"), "done")
    model, journal = journaled(script)
    ask(model, tools=("look",))
    (asked,) = journal.read(type=ModelResponded)
    ask(model, "hello", assistant("", call("look", id="c1")), tool("c1", "72"))
    assert journal.read(type=ModelRequested)[-1].cause == asked.position


def test_without_ids_the_conversation_tells_which_reply_it_was(ask):
    script = Script()
    script.queue(call("look"), call("look"), "done")
    model, journal = journaled(script)
    ask(model, conversation="a", tools=("look",))
    ask(model, conversation="b", tools=("look",))
    of_a, _ = journal.read(type=ModelResponded)
    ask(model, "hello", tool("other id", "72"), conversation="a")
    assert journal.read(type=ModelRequested)[-1].cause == of_a.position
    ask(model, "hello", tool("other id", "72"), conversation="c")
    assert journal.read(type=ModelRequested)[-1].cause is None


def test_what_the_task_works_on_is_the_cause_of_a_first_request(request_of, ask):
    model, journal = journaled(Script())
    position = journal.append(Noted(text="a message came"))

    async def main():
        working_on.set(position)
        await complete(model, request_of())

    run(main())
    assert journal.read(type=ModelRequested)[-1].cause == position


def test_a_request_without_messages_is_journaled(request_of, ask):
    script = Script()
    script.queue(call("look"))
    model, journal = journaled(script)
    ask(model, tools=("look",))
    ask(model, None)
    assert len(journal.events(ModelResponded)) == 2


def test_two_runs_give_the_same_journal(ask):
    def played():
        script = Script()
        script.queue(call("look"), Reply(text="done", delay=2))
        model, journal = journaled(script)
        for _ in range(3):
            ask(model, stream=True, tools=("look",))
        return [(record.position, record.cause, record.event) for record in journal.read()]

    assert played() == played()


def test_the_kind_names_every_layer():
    scripted = ScriptedModel(Script())
    model = FaultyModel(RecordingModel(scripted, Tape()), ReplyFault(type="empty"))
    assert kind_of(model) == "faulty(recording(scripted))"
    assert kind_of(Wrapper(ReplayModel(Tape()))) == "wrapper(replay)"


def test_a_wrapper_passes_everything_on(ask):
    script = Script()
    script.queue("hi")
    assert ask(Wrapper(ScriptedModel(script))).text == "hi"


def test_a_request_of_a_session_has_the_newest_prompt_on_its_channel_as_its_cause():
    async def main():
        journal = Journal()
        script = Script()
        script.on(contains="x", times=9).reply("y")
        model = JournaledModel(ScriptedModel(script), journal)
        caller = Caller(conversation="session-1")
        request = ModelRequest(model="m", messages=(user("x"),), caller=caller)
        journal.append(MessageReceived(text="other", channel="session-2"), source="driver")
        first = journal.append(MessageReceived(text="x", channel="session-1"), source="driver")
        await complete(model, request)
        second = journal.append(MessageReceived(text="x again", channel="session-1"), source="driver")
        await complete(model, request)
        return [record.cause for record in journal.read(type=ModelRequested)], [first, second]

    causes, prompts = run(main())
    assert causes == prompts


TOOLS = (ToolDefinition(name="Agent"), ToolDefinition(name="ls"))
LOOK, WRITE = "look through the tests for races", "write down what the tests show"


def played_by_a_parent(script, *asked, identify=None):
    """A main agent that starts two others with one reply and calls a tool with the next; then others ask."""
    script.on(user="go", times=1).reply(
        tool_calls=[
            call("Agent", {"kind": "reviewer", "prompt": LOOK}, id="c1"),
            call("Agent", {"kind": "writer", "prompt": WRITE}, id="c2"),
        ]
    )
    script.on(user="go", times=1).reply(tool_calls=[call("ls", {}, id="c3")])
    script.on().reply("done")

    async def main():
        journal = Journal()
        model = JournaledModel(ScriptedModel(script), journal, identify=identify)
        for prompt, agent, parent in (("go", "", ""), ("go", "", ""), *asked):
            caller = Caller(agent=agent, parent=parent, conversation="s")
            request = ModelRequest(model="m", messages=(user(prompt),), tools=TOOLS, caller=caller)
            await complete(model, request)
        return journal

    return run(main())


def test_the_first_request_of_an_agent_has_the_reply_that_started_it_as_its_cause():
    journal = played_by_a_parent(
        Script(),
        (f"<reminder>\n{LOOK}", "subagent-1", "main"),
        (WRITE, "subagent-2", "main"),
        ("something else", "subagent-3", "main"),
        (LOOK, "subagent-4", "subagent-1"),
        (LOOK, "", ""),
    )
    started, listed, *_ = journal.read(type=ModelResponded)
    causes = [record.cause for record in journal.read(type=ModelRequested)][2:]
    assert causes == [started.position, started.position, listed.position, None, None]


def test_a_parent_is_named_as_its_own_requests_are():
    script = Script()
    script.agent("boss", user="go")
    journal = played_by_a_parent(
        script,
        (LOOK, "subagent-1", "main"),
        ("x", "subagent-2", "subagent-1"),
        identify=ScriptedModel(script).identify,
    )
    callers = [record.event.request.caller for record in journal.read(type=ModelRequested)]
    assert [(caller.agent, caller.parent) for caller in callers[1:]] == [
        ("boss", ""),
        ("subagent-1", "boss"),
        ("subagent-2", "subagent-1"),
    ]
    assert journal.read(type=ModelRequested)[2].cause == journal.read(type=ModelResponded)[0].position
