"""Faults on schedule: what goes wrong, on which call, and that everything else passes."""

from __future__ import annotations

import pytest

from soundstage.clock import run, running_clock
from soundstage.errors import ConnectionCut, ProviderError, ScriptError
from soundstage.messages import FinishChunk, GarbledChunk, TextChunk
from soundstage.models import ErrorSpec, FaultyModel, ReplyFault, Script, ScriptedModel
from soundstage.tapes import RecordingModel, Tape


@pytest.fixture
def inner():
    script = Script()
    script.on(user="hello").reply(chunks=["a", "b", "c"])
    return ScriptedModel(script)


def play(model, request):
    async def main():
        got = []
        try:
            async for chunk in model.stream(request):
                got.append((running_clock().now(), getattr(chunk, "text", type(chunk))))
        except (ConnectionCut, ProviderError) as error:
            got.append((running_clock().now(), type(error)))
        return got

    return run(main())


WHOLE = [(0, "a"), (0, "b"), (0, "c"), (0, FinishChunk)]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (ReplyFault(type="cut", after=2), [(0, "a"), (0, "b"), (0, ConnectionCut)]),
        (ReplyFault(type="cut"), [(0, ConnectionCut)]),
        (ReplyFault(type="cut", after=99), [(0, "a"), (0, "b"), (0, "c"), (0, ConnectionCut)]),
        (ReplyFault(type="stall", after=1, seconds=30), [(0, "a"), (30, "b"), (30, "c"), (30, FinishChunk)]),
        (
            ReplyFault(type="garbled", after=1),
            [(0, "a"), (0, GarbledChunk), (0, "b"), (0, "c"), (0, FinishChunk)],
        ),
        (ReplyFault(type="empty"), [(0, FinishChunk)]),
        (ErrorSpec(status=529), [(0, ProviderError)]),
    ],
)
def test_a_fault_happens_on_its_call_and_on_no_other(inner, request_of, fault, expected):
    model = FaultyModel(inner, {2: fault})
    assert model.unused() == [2]
    assert play(model, request_of()) == WHOLE
    assert play(model, request_of()) == expected
    assert play(model, request_of()) == WHOLE
    assert (model.calls, model.unused()) == (3, [])


def test_one_fault_may_be_for_every_call(inner, request_of):
    model = FaultyModel(inner, ErrorSpec(status=500, message="down", retry_after=1))
    assert [play(model, request_of()) for _ in range(2)] == [[(0, ProviderError)]] * 2
    assert model.unused() == []


def test_an_error_has_its_fields_and_the_inner_model_is_not_asked(inner, ask):
    model = FaultyModel(inner, {1: ErrorSpec(status=429, type="rate", code="c", headers={"a": "b"})})
    with pytest.raises(ProviderError) as caught:
        ask(model)
    error = caught.value
    assert (error.status, error.kind, error.code, error.headers) == (429, "rate", "c", {"a": "b"})
    assert [rule.number for rule in inner.unused()] == [1]


def test_a_stall_without_end_lasts_as_long_as_anybody_could_wait(inner, request_of):
    assert play(FaultyModel(inner, ReplyFault(type="stall")), request_of())[0][0] >= 86_400 * 365


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({}, "needs a fault"),
        (None, "needs a fault"),
        ({0: ReplyFault(type="cut")}, "counted from 1"),
        ({"1": ReplyFault(type="cut")}, "counted from 1"),
        ({True: ReplyFault(type="cut")}, "counted from 1"),
        ({1: "cut"}, "call 1 has no fault that is known"),
    ],
)
def test_a_schedule_that_means_nothing_is_refused(inner, faults, message):
    with pytest.raises(ScriptError, match=message) as caught:
        FaultyModel(inner, faults)
    assert caught.value.expected
    assert caught.value.seen


@pytest.mark.parametrize(
    "fault", [ReplyFault(type="cut", after=1), ReplyFault(type="empty")], ids=["faulty", "faultless"]
)
def test_the_inner_reply_is_closed_at_once_when_nobody_reads_on(inner, request_of, fault):
    tape = Tape()
    calls = {1: fault} if fault.type == "cut" else {9: fault}
    model = FaultyModel(RecordingModel(inner, tape), calls)

    async def main():
        stream = model.stream(request_of())
        assert await anext(stream) == TextChunk(index=0, text="a")
        if fault.type == "cut":
            with pytest.raises(ConnectionCut):
                await anext(stream)
        else:
            await stream.aclose()
        return [one.failure.type for one in tape.exchanges]

    assert run(main()) == ["client_gone"]
