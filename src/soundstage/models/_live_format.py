"""Live formats: a request out, events in. Pure: no I/O, no clock, no environment.

The formats are client-side counterparts of the codecs of the wire, and know nothing of them: that a request
and a reply survive the way through both is what tests of the wire show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from soundstage.errors import ConnectionCut, ProviderError
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest, Opaque, Part, Text
from soundstage.models._live_sse import SseEvent


class Decoder(Protocol):
    """One streamed answer.

    `model` is the name that the provider says has answered, `done` whether the last event has come.
    """

    model: str
    done: bool

    def feed(self, event: SseEvent) -> Iterator[ModelChunk]:
        """The chunks in an event.

        Raises:
            ProviderError: if the provider reports one.
            ConnectionCut: if the event cannot be read.
        """
        ...

    def finish(self) -> FinishChunk | None:
        """The finish, or nothing if the stream has ended before it."""
        ...


class LiveFormat(NamedTuple):
    """One provider's way to be asked.

    Args:
        name: the format, as requests on the wire carry it.
        base_url: where the provider is.
        path: what comes behind that.
        key_variable: the environment variable that holds the key.
        headers: makes the headers from the key.
        forwarded: headers of the app that the provider should see.
        encode: makes the body.
        decoder: reads an answer.
    """

    name: str
    base_url: str
    path: str
    key_variable: str
    headers: Callable[[str], dict[str, str]]
    forwarded: frozenset[str]
    encode: Callable[[ModelRequest, str], dict[str, Any]]
    decoder: Callable[[], Decoder]


def read(decoder: Decoder, event: SseEvent) -> Iterator[ModelChunk]:
    """Decode an event; one without the fields that its type must have is garbled."""
    try:
        yield from decoder.feed(event)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _garbled(event) from error


def _garbled(event: SseEvent) -> ConnectionCut:
    return ConnectionCut(
        "the answer of the provider is garbled", expected="an event of its format", seen=event.data[:120]
    )


def read_json(event: SseEvent) -> dict[str, Any]:
    """The object in an event.

    Raises:
        ConnectionCut: if there is none.
    """
    try:
        value = msgspec.json.decode(event.data)
    except msgspec.DecodeError:
        value = None
    if not isinstance(value, dict):
        raise _garbled(event)
    return value


def content(parts: Iterable[Part]) -> str | list[Any]:
    """Text and opaque parts as both formats write them: one text as it is, else a list of blocks."""
    given = list(parts)
    if len(given) == 1 and isinstance(given[0], Text):
        return given[0].text
    return [
        {"type": "text", "text": part.text} if isinstance(part, Text) else part.data
        for part in given
        if isinstance(part, Text | Opaque)
    ]


def provider_error(given: Any, statuses: Mapping[str, int]) -> ProviderError:
    """An error that comes within a stream, after the status; its type tells what the status would be."""
    error = given if isinstance(given, dict) else {"message": str(given)}
    kind = str(error.get("type") or "")
    return ProviderError(
        str(error.get("message") or "the provider reports an error"),
        status=statuses.get(kind, 500),
        kind=kind,
        code=str(error.get("code") or ""),
    )
