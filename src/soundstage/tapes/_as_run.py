"""Tapes as runs: the records that a journal of the recording has, for `soundstage show` and `soundstage diff`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

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
from soundstage.mcp import CALL, McpNotified, McpServed, McpToolCalled, McpToolReturned, text_of
from soundstage.messages import FinishChunk
from soundstage.report import RunFile
from soundstage.tapes._answers import pieces_of
from soundstage.tapes._exchange import HttpCall, RecordedExchange
from soundstage.tapes._mcp_line import McpTapeLine
from soundstage.tapes._surroundings import patterns
from soundstage.tapes._tape import Tape

_SOURCE: Final = "tape"


class _Moment(NamedTuple):
    """An event of a line of the tape, and when it was, in milliseconds.

    Args:
        at: when.
        kind: 0 for an exchange with a model, 1 for a line of an MCP server.
        number: of the line.
        source: who it is of.
        event: what happened.
    """

    at: float
    kind: int
    number: int
    source: str
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
    begun: dict[tuple[int, int], int] = {}  # kind and number of a line -> position of its first event
    callers: dict[str, int] = {}  # id of a call -> position of the reply that has made it
    began = RunStarted(name=tape.name, wall=tape.head.recorded, seed=0)
    yield _record(1, 0.0, _SOURCE, None, began)
    for position, moment in enumerate(_in_order(tape), start=2):
        event = moment.event
        first = begun.setdefault((moment.kind, moment.number), position)
        cause = first if first != position else None
        if isinstance(event, ModelRequested):
            asked = [callers[one.call_id] for one in event.request.tool_results if one.call_id in callers]
            cause = max(asked, default=None)
        elif isinstance(event, ModelResponded):
            callers |= dict.fromkeys((call.id for call in event.response.tool_calls if call.id), position)
        yield _record(position, moment.at / 1000, moment.source, cause, event)


def _record(position: int, time: float, source: str, cause: int | None, event: Event) -> Record:
    return Record(position=position, time=time, run="tape", source=source, cause=cause, event=event)


def _in_order(tape: Tape) -> list[_Moment]:
    """All moments by time; of one time, those of an exchange before those of a later one."""
    found = [moment for exchange in tape.exchanges for moment in _moments(exchange)]
    found += [moment for line in tape.mcp_lines for moment in _of_server(line)]
    return sorted(found, key=lambda moment: (moment.at, moment.kind, moment.number))


def _moments(exchange: RecordedExchange) -> Iterator[_Moment]:
    of = (0, exchange.number, _SOURCE)
    if exchange.request is None:
        if exchange.http is not None:
            yield _Moment(exchange.ended_ms, *of, _served(exchange, exchange.http))
        return
    yield _Moment(exchange.started_ms, *of, ModelRequested(request=exchange.request, model_kind="tape"))
    for timed in pieces_of(exchange):
        if not isinstance(timed.chunk, FinishChunk):
            at = exchange.started_ms + min(timed.at_ms, exchange.latency_ms)
            yield _Moment(at, *of, ModelChunked(chunk=timed.chunk))
    ended = _end(exchange)
    if ended is not None:
        yield _Moment(exchange.ended_ms, *of, ended)


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


def _served(exchange: RecordedExchange, call: HttpCall) -> Event:
    """A request that asks no model."""
    status = exchange.frames.status if exchange.frames is not None else 200
    return RequestServed(format=call.to, path=call.path, what=call.method, status=status)


def _of_server(line: McpTapeLine) -> Iterator[_Moment]:
    """A line of an MCP server: a call and what it returned, another request, or what the server told."""
    begun, ended = line.started_ms, line.started_ms + line.latency_ms
    of = (1, line.number, line.server)
    if line.kind == "told":
        yield _Moment(begun, *of, McpNotified(method=line.method, params=line.params, by="server"))
    elif line.method == CALL:
        tool, arguments = str(line.params.get("name", "")), line.params.get("arguments")
        called = McpToolCalled(tool=tool, arguments=arguments if isinstance(arguments, dict) else {})
        yield _Moment(begun, *of, called)
        yield _Moment(ended, *of, _returned(line, tool))
    else:
        error = line.error or {}
        served = McpServed(method=line.method, params=line.params, error=str(error.get("message", "")))
        yield _Moment(ended, *of, served)


def _returned(line: McpTapeLine, tool: str) -> Event:
    served_by = f"MCP line {line.number}"
    if line.error is not None:
        text = str(line.error.get("message", ""))
        return McpToolReturned(tool=tool, outcome="rejected", text=text, served_by=served_by)
    result = line.result or {}
    outcome: Literal["error", "result"] = "error" if result.get("isError") else "result"
    return McpToolReturned(tool=tool, outcome=outcome, text=text_of(result), served_by=served_by)
