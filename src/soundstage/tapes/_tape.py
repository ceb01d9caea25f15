"""Tapes: exchanges with a model, one JSON line each, for people to read and for `ReplayModel` to play.

A line has two layers. `request`, `response` and `latency_ms` are what people review and may edit. `chunks`
are the pieces of the reply with their times, so that a replay is cut and paced like the original. The
response is what counts: where it was edited, so that the pieces no longer make it up, it is played in one
piece a block.

Nothing gets into a tape without passing the redactor. A secret that was streamed in two pieces is found too:
when the pieces no longer make up the redacted response, they are replaced by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from soundstage.errors import ConnectionCut, ModelError, ProviderError, TapeError
from soundstage.journal import Redactor
from soundstage.messages import (
    FinishChunk,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Opaque,
    OpaqueChunk,
    Part,
    StartChunk,
    Text,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolCall,
    ToolCallChunk,
    respond,
)
from soundstage.scripts import TapeFile, TapeForm

HOW_TO_RECORD: Final = "record it: use RecordingModel(model, Tape.create(path)) as the model of a run"


class TimedChunk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of a reply, and when it came: milliseconds after the request."""

    at_ms: float = 0.0
    chunk: ModelChunk


class RecordedFailure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The failure that ended an exchange.

    Args:
        type: `error`: an error answer; `cut`: the reply broke off; `client_gone`: the app left.
        message: the provider's words.
        status: HTTP status of an error.
        kind: the provider's error type.
        code: the provider's error code.
        headers: response headers of an error.
    """

    type: Literal["error", "cut", "client_gone"]
    message: str = ""
    status: int = 0
    kind: str = ""
    code: str = ""
    headers: dict[str, str] = {}

    def exception(self) -> Exception:
        """The failure as a model raises it."""
        if self.type == "error":
            return ProviderError(
                self.message, status=self.status, kind=self.kind, headers=self.headers, code=self.code
            )
        if self.type == "cut":
            return ConnectionCut(self.message)
        return TapeError(
            "the recording ends here, because the app had left",
            expected="an app that leaves at the same place, or a complete recording",
            hint=HOW_TO_RECORD,
        )


class RecordedExchange(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One request and what came of it.

    Args:
        timestamp: when the request was made (ISO 8601, UTC).
        request: what the app asked.
        response: the reply, as far as it came.
        latency_ms: milliseconds from the request to the end of the reply.
        failure: how it went wrong, if it did.
        chunks: the pieces of the reply with their times.
        number: which request of the recording it was, from 1; lines stand in the order of the replies.
        v: version of the line.
    """

    number: int = 0
    timestamp: str
    latency_ms: float = 0.0
    request: ModelRequest
    response: ModelResponse | None = None
    failure: RecordedFailure | None = None
    chunks: tuple[TimedChunk, ...] = ()
    v: int = 1

    def pieces(self) -> list[TimedChunk]:
        """The reply as it is played: as it came, or in one piece a block where the response was edited."""
        response = self.response
        if response is None:
            return []
        came = [timed for timed in self.chunks if not isinstance(timed.chunk, FinishChunk)]
        if not came or respond([timed.chunk for timed in came]).parts != response.parts:
            first = came[0].at_ms if came else self.latency_ms
            came = [TimedChunk(at_ms=first, chunk=chunk) for chunk in chunks_of(response)]
        if self.failure is None:
            came.append(TimedChunk(at_ms=self.latency_ms, chunk=_finish_of(response)))
        return came


def chunks_of(response: ModelResponse) -> Iterator[ModelChunk]:
    """A reply in one piece a block, without its finish."""
    if response.headers:
        yield StartChunk(headers=response.headers, model=response.model)
    for index, part in enumerate(response.parts):
        yield from _chunks_of_part(index, part)


def _chunks_of_part(index: int, part: Part) -> Iterator[ModelChunk]:
    if isinstance(part, Text):
        yield TextChunk(index=index, text=part.text)
    elif isinstance(part, Thinking):
        yield ThinkingChunk(index=index, text=part.text, signature=part.signature)
    elif isinstance(part, ToolCall):
        yield ToolCallChunk(index=index, id=part.id, name=part.name, arguments=part.arguments_json)
    elif isinstance(part, Opaque):
        yield OpaqueChunk(index=index, type=part.type, data=part.data)


def _finish_of(response: ModelResponse) -> FinishChunk:
    return FinishChunk(
        finish=response.finish, usage=response.usage, model=response.model, served_by=response.served_by
    )


def failure_of(error: BaseException) -> RecordedFailure:
    """The error that ended a recorded reply; an app that goes away is one too."""
    if isinstance(error, ProviderError):
        return RecordedFailure(
            type="error",
            message=error.message,
            status=error.status,
            kind=error.kind,
            code=error.code,
            headers=error.headers,
        )
    return RecordedFailure(type="cut" if isinstance(error, ModelError) else "client_gone", message=str(error))


def redacted(exchange: RecordedExchange, redactor: Redactor) -> RecordedExchange:
    """`exchange` without secrets, wherever they are in it."""
    caller = exchange.request.caller
    headers = redactor.headers(caller.headers)
    request = msgspec.structs.replace(
        exchange.request, caller=msgspec.structs.replace(caller, headers=headers)
    )
    exchange = msgspec.structs.replace(exchange, request=request)
    clean = _clean(msgspec.to_builtins(exchange), redactor)
    found = msgspec.convert(clean, RecordedExchange)
    return msgspec.structs.replace(found, chunks=tuple(found.pieces())) if found.chunks else found


def _clean(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, dict):
        return {redactor.text(key): _clean(part, redactor) for key, part in value.items()}
    return [_clean(part, redactor) for part in value] if isinstance(value, list | tuple) else value


class Tape(TapeFile[RecordedExchange]):
    """Recorded exchanges, in memory or in a file.

    Args:
        records: what is on it.
        name: how messages call it.
        redactor: knows what is kept out of it; unless given, one that knows the secrets of the environment.

    Example:
        >>> tape = Tape()
        >>> len(tape)
        0
    """

    form = TapeForm(
        RecordedExchange,
        "a recorded exchange",
        '{"timestamp": .., "request": {..}, "response": {..}, "latency_ms": ..}',
        HOW_TO_RECORD,
    )

    @property
    def exchanges(self) -> tuple[RecordedExchange, ...]:
        """The recorded exchanges, in the order of their requests."""
        return tuple(self._records)

    def _redacted(self, record: RecordedExchange) -> RecordedExchange:
        return redacted(record, self.redactor)
