"""Recording: every exchange as it came, and a replay that cannot be told from it."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import VirtualClock, run, running_clock
from soundstage.errors import ConnectionCut, NoMatchError, ProviderError
from soundstage.messages import FinishChunk, call
from soundstage.models import Reply, Script, ScriptedModel, complete
from soundstage.tapes import RecordingModel, ReplayModel, Tape


@pytest.fixture
def script() -> Script:
    return Script()


async def play(model, request):
    """(seconds, chunk) of a reply, and what ended it."""
    begun, got = running_clock().now(), []
    try:
        async for chunk in model.stream(request):
            got.append((round(running_clock().now() - begun, 6), chunk))
    except (ProviderError, ConnectionCut) as error:
        got.append((round(running_clock().now() - begun, 6), repr(error)))
    return got


def test_what_passes_is_unchanged_and_on_the_tape_with_its_times(script, request_of):
    script.on(user="hello").reply(chunks=["Hel", "lo"], delay=1, tokens_per_second=2)
    tape = Tape()

    async def main():
        direct = await play(ScriptedModel(script), request_of())
        return direct, await play(RecordingModel(ScriptedModel(script), tape), request_of())

    direct, recorded = run(main())
    assert direct == recorded
    (one,) = tape.exchanges
    assert [timed.at_ms for timed in one.chunks] == [1000.0, 1500.0, 1500.0]
    assert (one.number, one.latency_ms, one.response.text) == (1, 1500.0, "Hello")
    assert one.timestamp == "2026-01-01T00:00:01.500000+00:00"
    assert one.request == request_of()


def test_a_replay_at_the_recorded_speed_cannot_be_told_from_the_recording(script, request_of):
    script.queue(
        Reply(chunks=("a", "bcdefgh"), delay=1, tokens_per_second=1, headers={"x": "y"}),
        {"error": {"status": 529, "message": "busy", "retry_after": 2}, "delay": 3},
        "plain",
        call("look", {"a": 1}),
        {"chunks": ["a", "b"], "fault": {"type": "cut", "after": 1}},
        {"blocks": [{"thinking": "hm", "signature": "s"}, {"text": "x"}, {"opaque": {"type": "z"}}]},
    )
    tape = Tape()

    async def main():
        recording = RecordingModel(ScriptedModel(script), tape)
        recorded = [await play(recording, request_of(stream=True, tools=("look",))) for _ in range(6)]
        replay = ReplayModel(tape, speed=1)
        replayed = [await play(replay, request_of(stream=True, tools=("look",))) for _ in range(6)]
        return recorded, replayed

    recorded, replayed = run(main())
    for before, now in zip(recorded, replayed, strict=True):
        assert [time for time, _ in before] == [time for time, _ in now]
        assert [it for _, it in before if not isinstance(it, FinishChunk)] == [
            it for _, it in now if not isinstance(it, FinishChunk)
        ]
    assert recorded[0][-1][1].usage == replayed[0][-1][1].usage


def test_failures_are_recorded_with_what_came_before(script, request_of, ask):
    script.queue({"chunks": ["a", "b"], "fault": {"type": "cut", "after": 1}}, {"error": {"status": 400}})
    tape = Tape()
    model = RecordingModel(ScriptedModel(script), tape)
    with pytest.raises(ConnectionCut):
        ask(model)
    with pytest.raises(ProviderError):
        ask(model)
    cut, error = tape.exchanges
    assert (cut.failure.type, cut.response.text, cut.response.finish) == ("cut", "a", "error")
    assert (error.failure.type, error.failure.status, error.response) == ("error", 400, None)


def test_an_app_that_leaves_is_recorded_and_one_that_only_skips_the_end_is_not(script, request_of):
    script.queue({"chunks": ["a", "b"]}, {"chunks": ["a", "b"]}, {"text": "late", "delay": 60})
    tape = Tape()
    model = RecordingModel(ScriptedModel(script), tape)

    async def main():
        for wanted in (1, 3):
            stream = model.stream(request_of())
            for _ in range(wanted):
                await anext(stream)
            await stream.aclose()
        task = asyncio.create_task(complete(model, request_of()))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert [one.failure and one.failure.type for one in tape.exchanges] == [
        "client_gone",
        None,
        "client_gone",
    ]
    assert tape.exchanges[0].response.text == "a"


def test_what_is_not_the_models_failure_is_not_recorded(ask):
    tape = Tape()
    with pytest.raises(NoMatchError):
        ask(RecordingModel(ScriptedModel(Script(strict=True)), tape))
    assert len(tape) == 0


def test_requests_side_by_side_are_numbered_in_the_order_in_which_they_began(script, request_of):
    script.queue(Reply(text="slow", delay=5), Reply(text="fast", delay=1))
    tape = Tape()
    model = RecordingModel(ScriptedModel(script), tape)

    async def main():
        await asyncio.gather(complete(model, request_of("one")), complete(model, request_of("two")))

    run(main())
    assert [(one.number, one.response.text) for one in tape.exchanges] == [(1, "slow"), (2, "fast")]


def test_times_count_from_the_first_request(script, request_of):
    script.queue("a", "b")
    tape = Tape()
    model = RecordingModel(ScriptedModel(script), tape)

    async def main():
        await complete(model, request_of("one"))
        await running_clock().sleep(2)
        await complete(model, request_of("two"))

    run(main())
    assert [one.started_ms for one in tape.exchanges] == [0, 2000]


def test_the_clock_that_is_given_is_the_one_whose_times_are_recorded(script, ask):
    clock = VirtualClock()
    clock.advance(3600)
    script.queue("hi")
    tape = Tape()
    ask(RecordingModel(ScriptedModel(script), tape, clock=clock))
    assert tape.exchanges[0].timestamp == "2026-01-01T01:00:00+00:00"


def test_recording_goes_on_behind_what_is_on_the_tape(script, ask):
    script.queue("a", "b")
    tape = Tape()
    for _ in range(2):
        ask(RecordingModel(ScriptedModel(script), tape))
        script = Script()
        script.queue("b")
    assert [one.number for one in tape.exchanges] == [1, 2]
