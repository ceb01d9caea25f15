"""Replay: it says what differs and why; relaxed, it plays whatever is asked and lists what differs."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import run, running_clock
from soundstage.errors import ReplayMismatchError, ScriptError, TapeError
from soundstage.messages import FinishChunk, TextChunk, assistant, call, respond, tool
from soundstage.models import complete
from soundstage.tapes import RecordedExchange, RecordedFailure, ReplayModel, Tape, TimedChunk


def tape_of(*exchanges, **options):
    return Tape(
        [
            RecordedExchange(
                number=number,
                timestamp="2026-01-01T00:00:00+00:00",
                latency_ms=300,
                request=request,
                response=respond([TextChunk(index=0, text=text), FinishChunk()]),
                chunks=(TimedChunk(at_ms=200, chunk=TextChunk(index=0, text=text)),),
            )
            for number, (request, text) in enumerate(exchanges, start=1)
        ],
        name="talk.jsonl",
        **options,
    )


@pytest.fixture
def tape(request_of):
    return tape_of(
        (request_of("one"), "first"), (request_of("two"), "second"), (request_of("three"), "third")
    )


DIFFERS = "prompt edited: messages[0] user, part 1: recorded 'two', seen 'x'"


def test_relaxed_it_plays_in_order_whatever_is_asked_and_lists_what_did_not_fit(tape, ask):
    model = ReplayModel(tape, relaxed=True)
    replies = [ask(model, text) for text in ("one", "x", "three")]
    assert [reply.text for reply in replies] == ["first", "second", "third"]
    assert [reply.served_by for reply in replies] == [
        "exchange 1 of talk.jsonl",
        f"exchange 2 of talk.jsonl, though the request differs: prompt edited; {DIFFERS}",
        "exchange 3 of talk.jsonl",
    ]
    (mismatch,) = model.mismatches
    assert (mismatch.number, mismatch.cause) == (2, "prompt edited")
    assert str(mismatch) == f"exchange 2: prompt edited\n{DIFFERS}"
    assert model.unplayed == ()


def test_the_reply_says_which_exchange_it_is(tape, ask):
    assert ask(ReplayModel(tape), "one").served_by == "exchange 1 of talk.jsonl"


def test_more_requests_than_exchanges_are_an_error(tape, ask):
    model = ReplayModel(tape, relaxed=True)
    for _ in range(3):
        ask(model, "one")
    with pytest.raises(TapeError, match=r"(?s)talk.jsonl is at its end.*at most 3.*request 4: user 'one'"):
        ask(model, "one")
    with pytest.raises(TapeError, match="at its end"):
        ask(ReplayModel(Tape()))


@pytest.mark.parametrize(
    ("given", "fields", "cause", "seen"),
    [
        (["one"], {"prompt": "You are.."}, "system prompt edited", "'You are..'"),
        (["one"], {"tools": ("read",)}, "tool list changed", "tools.read"),
        (["on"], {}, "prompt edited", "recorded 'one', seen 'on'"),
        (
            ["one", assistant("", call("look", id="c")), tool("c", "72")],
            {},
            "earlier reply differs",
            "messages[1] assistant",
        ),
        (["three"], {}, "order swapped", "this is the request of exchange 3"),
        (["one"], {"model": "another"}, "other model or settings", "seen 'another'"),
        (["one"], {"settings": {"temperature": 1}}, "other model or settings", "settings.temperature"),
    ],
)
def test_a_difference_is_an_error_that_names_its_cause(tape, ask, given, fields, cause, seen):
    model = ReplayModel(tape)
    with pytest.raises(ReplayMismatchError) as caught:
        ask(model, *given, **fields)
    error = caught.value
    assert error.summary == "the request is not the one on the tape talk.jsonl"
    assert error.expected == "user 'one', 1 message(s), tools: none"
    assert error.seen.startswith(f"exchange 1: {cause}")
    assert seen in error.seen
    assert "RecordingModel" in error.hint
    assert "relaxed=True" in error.hint
    assert model.mismatches[0].cause == cause


def test_a_request_that_was_played_already_is_told_as_that(tape, ask):
    model = ReplayModel(tape)
    ask(model, "one")
    with pytest.raises(ReplayMismatchError, match="already played: this is the request of exchange 1"):
        ask(model, "one")
    assert ask(model, "two").text == "second"
    assert [one.number for one in model.unplayed] == [3]


def test_the_diff_names_the_message_and_the_part(tape, ask):
    with pytest.raises(ReplayMismatchError) as caught:
        ask(ReplayModel(tape), "ONE", prompt="p")
    assert caught.value.seen.splitlines() == [
        "exchange 1: system prompt edited",
        "system prompt edited: messages[0] system: recorded no such message, seen system 'p'",
        "prompt edited: messages[1] user, part 1: recorded 'one', seen 'ONE'",
    ]


@pytest.mark.parametrize(("speed", "expected"), [(None, [0, 0]), (1, [0.2, 0.3]), (2, [0.1, 0.15])])
def test_delays_are_played_at_the_speed_that_is_set(tape, request_of, speed, expected):
    async def main():
        model = ReplayModel(tape, speed=speed)
        return [round(running_clock().now(), 6) async for _ in model.stream(request_of("one"))]

    assert run(main()) == expected


def test_a_failure_comes_when_it_came(request_of):
    failed = RecordedExchange(
        timestamp="x",
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


def test_requests_side_by_side_get_different_exchanges(tape, request_of):
    async def main():
        model = ReplayModel(tape, relaxed=True, speed=1)
        return await asyncio.gather(*(complete(model, request_of()) for _ in range(3)))

    assert [reply.text for reply in run(main())] == ["first", "second", "third"]
