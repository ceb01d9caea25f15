"""Exchanges: one request and what came of it, as people read it, with its pieces. Pure records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from soundstage.errors import ConnectionCut, ModelError, ProviderError, TapeError
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
)
from soundstage.tapes._frames import Frames, digest

HOW_TO_RECORD: Final = "record it: soundstage record --tape FILE --mode all -- COMMAND"


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


class HttpCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The way that a request came by over HTTP.

    Args:
        to: the provider that it was for: `openai`, `anthropic`, `gemini`.
        method: of the request.
        path: behind the provider's base URL.
        query: without keys.
        body: of a request that is none to a model, as text.
    """

    to: str
    method: str = "POST"
    path: str
    query: str = ""
    body: str = ""


class RecordedExchange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request and what came of it.

    Args:
        number: which request of the recording it was, from 1.
        timestamp: when the request was made (ISO 8601, UTC).
        started_ms: milliseconds from the beginning of the recording to the request.
        latency_ms: milliseconds from the request to the end of the reply.
        request: what the app asked; nothing for a call that asks no model.
        http: how it came, if it came over HTTP.
        response: the reply, as far as it came.
        failure: how it went wrong, if it did.
        chunks: the pieces of a reply in process, with their times.
        frames: the bytes of a reply over HTTP, with their times.
    """

    number: int = 0
    timestamp: str = ""
    started_ms: float = 0.0
    latency_ms: float = 0.0
    request: ModelRequest | None = None
    http: HttpCall | None = None
    response: ModelResponse | None = None
    failure: RecordedFailure | None = None
    chunks: tuple[TimedChunk, ...] = ()
    frames: Frames | None = None

    @property
    def ended_ms(self) -> float:
        """Milliseconds from the beginning of the recording to the end of the reply."""
        return self.started_ms + self.latency_ms

    @property
    def edited(self) -> bool:
        """Whether somebody has changed the response, so that the frames do not fit any more."""
        return self.frames is not None and bool(self.frames.of) and self.frames.of != digest(self.response)


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


def finish_of(response: ModelResponse) -> FinishChunk:
    """The last chunk of a reply."""
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
