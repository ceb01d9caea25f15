"""Replay in process: the recorded reply, at the recorded pace; relaxed, whatever is asked, and what differs."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import run, running_clock
from soundstage.errors import ScriptError
from soundstage.messages import FinishChunk, TextChunk, respond
from soundstage.models import complete
from soundstage.tapes import DivergenceError, RecordedExchange, RecordedFailure, ReplayModel, Tape, TimedChunk


def tape_of(*exchanges):
    return Tape(
        [
            RecordedExchange(
                number=number,
                timestamp="2026-01-01T00:00:00+00:00",
                started_ms=1000 * number,
                latency_ms=300,
                request=request,
                response=respond([TextChunk(index=0, text=text), FinishChunk()]),
                chunks=(TimedChunk(at_ms=200, chunk=TextChunk(index=0, text=text)),),
            )
            for number, (request, text) in enumerate(exchanges, start=1)
        ],
        name="talk.tape",
    )


@pytest.fixture
def tape(request_of):
    return tape_of(
        (request_of("one"), "first"), (request_of("two"), "second"), (request_of("three"), "third")
    )


def test_relaxed_the_nearest_exchange_answers_and_what_differs_is_listed(tape, ask):
    model = ReplayModel(tape, relaxed=True)
    replies = [ask(model, text) for text in ("one", "x", "three")]
    assert [reply.text for reply in replies] == ["first", "second", "third"]
    assert replies[0].served_by == "exchange 1 of talk.tape"
    assert (
        "exchange 2 of talk.tape, though the request differs: divergence: prompt edited"
        in replies[1].served_by
    )
    (verdict,) = model.verdicts
    assert (verdict.cause, verdict.nearest, verdict.request) == ("prompt edited", 2, 2)
    assert model.unplayed == ()


def test_strict_a_request_that_was_not_recorded_ends_with_a_verdict_and_plays_nothing(tape, ask):
    model = ReplayModel(tape)
    with pytest.raises(DivergenceError, match=r"divergence: prompt edited: .*recorded 'one', seen 'x'"):
        ask(model, "x")
    assert [one.number for one in model.unplayed] == [1, 2, 3]


def test_relaxed_too_more_requests_than_exchanges_are_an_error(tape, ask):
    model = ReplayModel(tape, relaxed=True)
    for _ in range(3):
        ask(model, "one")
    with pytest.raises(DivergenceError, match="already played"):
        ask(model, "one")
    with pytest.raises(DivergenceError, match=r"extra call.*all 0 recorded calls have been played"):
        ask(ReplayModel(Tape()))


@pytest.mark.parametrize(("speed", "expected"), [(None, [0, 0]), (1, [0.2, 0.3]), (2, [0.1, 0.15])])
def test_delays_are_played_at_the_speed_that_is_set(tape, request_of, speed, expected):
    async def main():
        model = ReplayModel(tape, speed=speed)
        return [round(running_clock().now(), 6) async for _ in model.stream(request_of("one"))]

    assert run(main()) == expected


def test_a_failure_comes_when_it_came(request_of):
    failed = RecordedExchange(
        number=1,
        latency_ms=5000,
        request=request_of(),
        failure=RecordedFailure(type="cut", message="gone"),
    )

    async def main():
        with pytest.raises(Exception, match="gone"):
            await complete(ReplayModel(Tape([failed]), speed=1), request_of())
        return running_clock().now()

    assert run(main()) == 5


@pytest.mark.parametrize("speed", [0, -1])
def test_a_speed_is_more_than_0(tape, speed):
    with pytest.raises(ScriptError, match="a speed is more than 0"):
        ReplayModel(tape, speed=speed)


def test_equal_requests_side_by_side_get_their_exchanges_in_order(request_of):
    same = tape_of(*((request_of("again"), text) for text in ("first", "second", "third")))

    async def main():
        model = ReplayModel(same, speed=1)
        return await asyncio.gather(*(complete(model, request_of("again")) for _ in range(3)))

    assert [reply.text for reply in run(main())] == ["first", "second", "third"]
