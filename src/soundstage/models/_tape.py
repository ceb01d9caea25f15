"""Tapes: exchanges with a model, one JSON line each, for people to read and for `ReplayModel` to play.

A line has two layers. `request`, `response` and `latency_ms` are what people review and may edit. `chunks`
are the pieces of the reply with their times, so that a replay is cut and paced like the original. The
response is what counts: where it was edited, so that the pieces no longer make it up, it is played in one
piece a block.

Nothing gets into a tape without passing the redactor. A secret that was streamed in two pieces is found too:
when the pieces no longer make up the redacted response, they are replaced by it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from soundstage.errors import ConnectionCut, EnvironmentProblem, ModelError, ProviderError, TapeError
from soundstage.journal import Redactor
from soundstage.match import preview
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
from soundstage.scripts import shown

VERSION: Final = 1
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
    v: int = VERSION

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


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(RecordedExchange).decode


class Tape:
    """Recorded exchanges, in memory or in a file.

    Args:
        exchanges: what is on it.
        name: how messages call it.
        redactor: knows what is kept out of it; unless given, one that knows the secrets of the environment.

    Example:
        >>> tape = Tape()
        >>> len(tape)
        0
    """

    def __init__(
        self,
        exchanges: Iterable[RecordedExchange] = (),
        *,
        name: str = "tape",
        redactor: Redactor | None = None,
    ) -> None:
        self.name = name
        self.redactor = redactor if redactor is not None else Redactor.from_environment()
        self._exchanges = list(exchanges)
        self._path: Path | None = None
        self._new = False

    @classmethod
    def load(cls, path: Path | str) -> Tape:
        """Read a tape file.

        Raises:
            TapeError: if it is missing, or a line of it is not an exchange.
        """
        path = Path(path)
        name = shown(path)
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as error:
            raise TapeError(
                f"the tape {name} cannot be read", seen=error.strerror or str(error), hint=HOW_TO_RECORD
            ) from None
        found = [_exchange(line, name, number) for number, line in enumerate(lines, start=1) if line.strip()]
        return cls(sorted(found, key=lambda exchange: exchange.number), name=name)

    @classmethod
    def create(cls, path: Path | str, *, redactor: Redactor | None = None) -> Tape:
        """A new tape in a file. One that is there is replaced when the first exchange is recorded.

        Args:
            path: the file; folders are made.
            redactor: knows what is kept out of it; unless given, one that knows the secrets of the environment.
        """
        tape = cls(name=shown(Path(path)), redactor=redactor)
        tape._path = Path(path)
        tape._new = True
        return tape

    @property
    def exchanges(self) -> tuple[RecordedExchange, ...]:
        """The recorded exchanges, in the order of their requests."""
        return tuple(self._exchanges)

    def __len__(self) -> int:
        return len(self._exchanges)

    def append(self, exchange: RecordedExchange) -> None:
        """Add an exchange, without its secrets. When this returns, a tape in a file has it on file.

        Raises:
            EnvironmentProblem: if the file cannot be written.
        """
        exchange = redacted(exchange, self.redactor)
        if self._path is not None:
            self._write(self._path, exchange)
        self._exchanges.append(exchange)
        self._exchanges.sort(key=lambda one: one.number)

    def _write(self, path: Path, exchange: RecordedExchange) -> None:
        """One write of one whole line, redacted once more as bytes."""
        line = self.redactor.json(_encode(exchange)) + b"\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | (os.O_TRUNC if self._new else 0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, flags, 0o644)
            try:
                written = os.write(fd, line)
                if written != len(line):  # no torn line is left behind
                    os.ftruncate(fd, os.fstat(fd).st_size - written)
            finally:
                os.close(fd)
        except OSError as error:
            raise _not_written(self.name, error.strerror or str(error)) from None
        if written != len(line):
            raise _not_written(self.name, f"{written} of {len(line)} bytes were written")
        self._new = False


def _not_written(name: str, reason: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"the tape {name} cannot be written",
        seen=reason,
        hint="choose a folder that you may write to and that has space",
    )


def _exchange(line: bytes, name: str, number: int) -> RecordedExchange:
    try:
        exchange = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise TapeError(
            f"line {number} of {name} is not a recorded exchange",
            expected='{"timestamp": .., "request": {..}, "response": {..}, "latency_ms": ..}',
            seen=f"{preview(line.decode('utf-8', 'replace'))} ({error})",
            hint=f"correct or remove the line, or {HOW_TO_RECORD}",
        ) from None
    if exchange.v > VERSION:
        raise TapeError(
            f"line {number} of {name} was recorded by a newer version",
            expected=f"version {VERSION}",
            seen=f"version {exchange.v}",
            hint=f"update Soundstage, or {HOW_TO_RECORD}",
        )
    return exchange
