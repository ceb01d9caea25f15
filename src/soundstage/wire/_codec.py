"""Codecs of provider formats: bytes in, requests out; chunks in, bytes out. Pure: no I/O, clock, randomness.

A codec translates one provider's HTTP bodies. `decode` refuses what the provider would refuse. A complete
answer is `encode`, a streamed one the events of `encoder`; both get their id and time from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from soundstage.errors import ProviderError, RequestRejected
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest, ModelResponse

_decode_json = msgspec.json.Decoder().decode
DEEPEST: Final = 256  # levels of a body; what is deeper could not be read back, inside the record of an event


class AnswerStamp(NamedTuple):
    """The id (24 letters and digits) and time (Unix seconds) of an answer. A codec makes up neither."""

    id: str
    created: int


class ErrorAnswer(NamedTuple):
    """An error answer: status, headers, body."""

    status: int
    headers: dict[str, str]
    body: bytes


class TokenCount(NamedTuple):
    """The tokens of a request that was posted to be counted, and how many it had before its context was edited."""

    tokens: int
    before: int | None = None


class Encoder(Protocol):
    """One streamed answer. Each call returns the bytes to send, possibly none."""

    def begin(self) -> bytes:
        """The bytes before the first chunk."""
        ...

    def chunk(self, chunk: ModelChunk) -> bytes:
        """The events for one chunk; a `GarbledChunk` passes as it is. Not for the finish."""
        ...

    def finish(self, finish: FinishChunk) -> bytes:
        """The bytes that close open blocks and the stream."""
        ...

    def error(self, error: ProviderError) -> bytes:
        """The event for an error in mid-stream."""
        ...


class Codec(Protocol):
    """One provider format."""

    name: str
    stream_type: str

    def decode(self, body: bytes, parameters: Mapping[str, str]) -> ModelRequest:
        """The request in a body.

        Args:
            body: what was posted.
            parameters: what the path and the query say: `model`, `stream`, ...

        Raises:
            RequestRejected: as the provider would.
        """
        ...

    def encode(self, response: ModelResponse, request: ModelRequest, stamp: AnswerStamp) -> bytes:
        """The body of a complete answer."""
        ...

    def encoder(self, request: ModelRequest, stamp: AnswerStamp) -> Encoder:
        """The events of a streamed answer."""
        ...

    def fault(self, error: ProviderError | RequestRejected, stamp: AnswerStamp) -> ErrorAnswer:
        """The provider's error answer."""
        ...


def parse_value(body: bytes, complaint: str) -> Any:
    """The JSON value in a body.

    Args:
        body: what was posted.
        complaint: what the provider says about a body that is none; the reason is added.

    Raises:
        RequestRejected: if it is none, or deeper than `DEEPEST`.
    """
    try:
        value = _decode_json(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RequestRejected(f"{complaint} {error}") from None
    if body.count(b"[") + body.count(b"{") > DEEPEST and _is_deep(value):
        raise RequestRejected(f"{complaint} it is nested more than {DEEPEST} levels deep")
    return value


def _is_deep(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        level = [
            item
            for holder in level
            for item in (holder.values() if type(holder) is dict else holder)
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return False
    return True


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object in a body.

    Raises:
        RequestRejected: if it is none.
    """
    value = parse_value(body, "We could not parse the JSON body of your request:")
    if not isinstance(value, dict):
        raise RequestRejected(f"The body of your request must be a JSON object, not {type(value).__name__}.")
    return value
