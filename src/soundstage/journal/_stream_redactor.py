"""Secrets that come in pieces: a streamed reply is one event for each piece, and each is a line of its own.

A stream is known by what its events have in common, and its end is remembered as far as a secret may have begun in
it. The next piece is looked at together with it. A beginning of six letters or more is blanked at once, since what
has been written cannot be taken back: of a known secret at most the first five letters stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from soundstage.journal._codec import decode_record, encode_record
from soundstage.journal._events import Event, ModelChunked, Record, UnknownEvent
from soundstage.journal._redact import Redactor, blanked
from soundstage.messages import TextChunk, ThinkingChunk, ToolCallChunk

_STREAMS: Final = 256  # that are remembered at once
_NEAR: Final = 36  # bytes that are remembered in any case: five letters, each in an escape
_FAR: Final = 4096  # bytes that are remembered at most
_TEXTS: Final[dict[type, str]] = {TextChunk: "text", ThinkingChunk: "text", ToolCallChunk: "arguments"}


def clean_records(records: Iterable[Record], redactor: Redactor) -> Iterator[Record]:
    """The records as a file journal keeps them: without secrets, also where these are spread over a stream.

    Args:
        records: in the order of the journal.
        redactor: knows what is secret.
    """
    pieces = StreamRedactor(redactor)
    for record in records:
        whole = pieces.clean(record) if type(record.event).routine else record
        line = encode_record(whole)
        clean = redactor.json(line)
        yield whole if clean == line and type(whole.event) is not UnknownEvent else decode_record(clean)


class StreamRedactor:
    """Cleans the events of streams, in their order."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._ends: dict[Any, bytes] = {}

    def clean(self, record: Record) -> Record:
        """`record` itself, or one without the part of a secret that its piece holds."""
        event = record.event
        if type(event) is ModelChunked:
            chunk = event.chunk
            name = _TEXTS.get(type(chunk))
            if name is None:
                return record
            text = getattr(chunk, name)
            key = (record.source, record.cause, type(chunk), chunk.index)  # type: ignore[union-attr]
            found = self._cleaned(key, text)
            if found is text:
                return record
            changed: Event = ModelChunked(chunk=msgspec.structs.replace(chunk, **{name: found}))
        else:
            text = getattr(event, "text", None)
            if not isinstance(text, str):
                return record
            others = tuple(
                repr(getattr(event, field)) for field in event.__struct_fields__ if field != "text"
            )
            found = self._cleaned((record.source, type(event), others), text)
            if found is text:
                return record
            changed = msgspec.structs.replace(event, text=found)
        return msgspec.structs.replace(record, event=changed)

    def _cleaned(self, key: Any, text: str) -> str:
        before = self._ends.get(key, b"")
        piece = text.encode("utf-8", "surrogatepass")
        data = before + piece
        if not self._redactor.suspects(data):
            self._remember(key, data[-_NEAR:])
            return text
        spans = self._redactor.spans(data)
        begun = self._redactor.open_end(data)
        if begun < len(data):
            spans.append((begun, len(data)))
        starts = [start for start, end in spans if end == len(data)]
        self._remember(key, data[max(min([*starts, len(data) - _NEAR]), len(data) - _FAR, 0) :])
        inside = [
            (max(start - len(before), 0), end - len(before)) for start, end in spans if end > len(before)
        ]
        return blanked(piece, inside).decode("utf-8", "replace") if inside else text

    def _remember(self, key: Any, end: bytes) -> None:
        self._ends[key] = end
        if len(self._ends) > _STREAMS:
            del self._ends[next(iter(self._ends))]
