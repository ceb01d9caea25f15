"""A reply may be read chunk by chunk or taken whole: both ways come to the same."""

from __future__ import annotations

import pytest

from soundstage.clock import IdSource, VirtualClock, run
from soundstage.errors import NoMatchError, ProviderError
from soundstage.journal import Journal, ModelFailed, encode_record
from soundstage.messages import call
from soundstage.models import FaultyModel, JournaledModel, Reply, Script, ScriptedModel, complete
from soundstage.models._protocol import take
from soundstage.models._reply import ErrorSpec, ReplyFault

INSTANT = {
    "a text": {"text": "hello " * 20},
    "pieces": {"chunks": ["a", "b", "c"]},
    "tool calls that draw ids": {"text": "look", "tool_calls": [call("Read"), call("Write")]},
    "headers and another model": {"text": "hi", "headers": {"x-a": "b"}, "model": "other"},
    "no text": {"text": ""},
}
NOT_INSTANT = {
    "a delay": {"text": "hello", "delay": 2.0, "tool_calls": [call("Read")]},
    "a speed": {"text": "hello " * 20, "tokens_per_second": 5},
    "a stall": {"text": "hello", "fault": ReplyFault(type="stall", seconds=3.0)},
    "a function": lambda request: f"you said {request.last_user_text}",
}


def stage(reply, *, strict=False):
    """A journaled model whose second rule serves once, and its journal, on a clock of its own."""
    script = Script(strict=strict)
    rule = script.on(user="hello", times=1)
    rule.reply(reply) if callable(reply) else rule.reply(**reply)
    journal = Journal(clock=VirtualClock())
    scripted = ScriptedModel(script, clock=journal.clock, ids=IdSource(7))
    return JournaledModel(scripted, journal, identify=scripted.identify), journal


def stepwise(reply, request):
    """The chunks and the journal of a reply that is read chunk by chunk."""
    model, journal = stage(reply)

    async def main():
        return [chunk async for chunk in model.stream(request)]

    return run(main(), clock=journal.clock), list(map(encode_record, journal.read()))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("reply", INSTANT.values(), ids=INSTANT)
def test_a_reply_that_is_there_can_be_taken_whole_and_is_journaled_the_same(reply, stream, request_of):
    request = request_of(stream=stream, tools=("Read", "Write"))
    model, journal = stage(reply)
    chunks = take(model.stream(request))
    assert (chunks, list(map(encode_record, journal.read()))) == stepwise(reply, request)


@pytest.mark.parametrize("reply", NOT_INSTANT.values(), ids=NOT_INSTANT)
def test_a_reply_that_takes_time_is_not_taken_and_then_comes_as_if_nobody_had_tried(reply, request_of):
    model, journal = stage(reply)
    request = request_of(tools=("Read",))

    async def main():
        stream = model.stream(request)
        assert take(stream) is None
        return [chunk async for chunk in stream]

    assert (run(main(), clock=journal.clock), list(map(encode_record, journal.read()))) == stepwise(
        reply, request
    )


def test_an_error_reply_is_raised_when_the_stream_is_read(request_of):
    script = Script()
    script.on(user="hello").reply(Reply(error=ErrorSpec(status=529)))
    journal = Journal(clock=VirtualClock())
    model = JournaledModel(ScriptedModel(script), journal)

    async def main():
        stream = model.stream(request_of())
        assert take(stream) is None
        with pytest.raises(ProviderError):
            await anext(stream)

    run(main())
    assert [failed.status for failed in journal.events(ModelFailed)] == [529]


def test_a_request_without_an_answer_fails_while_it_is_taken_and_is_on_record(request_of):
    model, journal = stage({"text": "hi"}, strict=True)
    with pytest.raises(NoMatchError):
        take(model.stream(request_of("something else")))
    assert [failed.reason for failed in journal.events(ModelFailed)] == ["no_match"]


def test_a_stream_that_nobody_reads_asks_nobody_and_is_closed_without_harm(request_of):
    model, journal = stage({"text": "hi"})

    async def main():
        await model.stream(request_of()).aclose()

    run(main())
    assert journal.read() == []
    assert [rule.number for rule in model.inner.unused()] == [1]


def test_a_wrapper_that_is_a_generator_is_read_chunk_by_chunk(request_of):
    script = Script()
    script.on(user="hello").reply("hi")
    journal = Journal(clock=VirtualClock())
    faulty = FaultyModel(ScriptedModel(script), {2: ReplyFault(type="cut")})
    model = JournaledModel(faulty, journal)
    assert take(faulty.stream(request_of())) is None
    assert run(complete(model, request_of())).text == "hi"
