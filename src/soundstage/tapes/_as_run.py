"""Tapes as runs: the records that a journal of the recording has, for `soundstage show` and `soundstage diff`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from soundstage.journal import (
    Event,
    ModelChunked,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Record,
    RequestServed,
    RunStarted,
)
from soundstage.messages import FinishChunk
from soundstage.report import RunFile
from soundstage.tapes._answers import pieces_of
from soundstage.tapes._exchange import RecordedExchange
from soundstage.tapes._surroundings import patterns
from soundstage.tapes._tape import Tape

_SOURCE: Final = "tape"


class _Moment(NamedTuple):
    """An event of an exchange, and when it was, in milliseconds."""

    at: float
    exchange: RecordedExchange
    event: Event


def run_of_tape(path: Path) -> RunFile:
    """The run that a tape tells of, as records, and what its head says that differs from run to run.

    Raises:
        TapeError: if it cannot be read, or a mask in its head cannot be used.
    """
    tape = Tape.load(path)
    return RunFile([*records_of(tape)], patterns(tape.head.places, masks=tape.head.masks))


def records_of(tape: Tape) -> Iterator[Record]:
    """The records of a tape, by their times. The cause of a request is the reply whose call it answers."""
    requests: dict[int, int] = {}  # number of an exchange -> position of its request
    callers: dict[str, int] = {}  # id of a call -> position of the reply that has made it
    began = RunStarted(name=tape.name, wall=tape.head.recorded, seed=0)
    yield _record(1, 0.0, None, began)
    for position, moment in enumerate(_in_order(tape.exchanges), start=2):
        event, number = moment.event, moment.exchange.number
        cause = requests.get(number)
        if isinstance(event, ModelRequested):
            requests[number] = position
            asked = [callers[one.call_id] for one in event.request.tool_results if one.call_id in callers]
            cause = max(asked, default=None)
        elif isinstance(event, ModelResponded):
            callers |= dict.fromkeys((call.id for call in event.response.tool_calls if call.id), position)
        yield _record(position, moment.at / 1000, cause, event)


def _record(position: int, time: float, cause: int | None, event: Event) -> Record:
    return Record(position=position, time=time, run="tape", source=_SOURCE, cause=cause, event=event)


def _in_order(exchanges: Iterable[RecordedExchange]) -> list[_Moment]:
    """All moments by time; of one time, those of an exchange before those of a later one."""
    found = [moment for exchange in exchanges for moment in _moments(exchange)]
    return sorted(found, key=lambda moment: (moment.at, moment.exchange.number))


def _moments(exchange: RecordedExchange) -> Iterator[_Moment]:
    if exchange.request is None:
        yield from _call(exchange)
        return
    yield _Moment(exchange.started_ms, exchange, ModelRequested(request=exchange.request, model_kind="tape"))
    for timed in pieces_of(exchange):
        if not isinstance(timed.chunk, FinishChunk):
            at = exchange.started_ms + min(timed.at_ms, exchange.latency_ms)
            yield _Moment(at, exchange, ModelChunked(chunk=timed.chunk))
    ended = _end(exchange)
    if ended is not None:
        yield _Moment(exchange.ended_ms, exchange, ended)


def _end(exchange: RecordedExchange) -> Event | None:
    served_by = f"exchange {exchange.number}"
    failure = exchange.failure
    if failure is not None:
        return ModelFailed(
            reason=failure.type,
            message=failure.message,
            status=failure.status,
            kind=failure.kind,
            served_by=served_by,
        )
    if exchange.response is None:
        return None
    return ModelResponded(response=msgspec.structs.replace(exchange.response, served_by=served_by))


def _call(exchange: RecordedExchange) -> Iterator[_Moment]:
    """A request that asks no model."""
    call = exchange.http
    if call is not None:
        status = exchange.frames.status if exchange.frames is not None else 200
        served = RequestServed(format=call.to, path=call.path, what=call.method, status=status)
        yield _Moment(exchange.ended_ms, exchange, served)
