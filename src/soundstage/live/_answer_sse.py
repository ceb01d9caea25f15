"""Server-sent events, the way in: bytes as they come, events out (WHATWG HTML, section 9.2). Pure."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_END: Final = re.compile("[\r\n]")


class SseEvent(NamedTuple):
    """One event: its name (`message` unless it has one) and its data."""

    name: str
    data: str


class SseReader:
    """Takes a stream in any pieces and gives its events.

    A piece may end within a character, between CR and LF, or within an event. An event whose closing empty
    line never comes is not given, as the standard says. An object that stands between the events without `data:` is
    given like one: the standard passes over it, and Gemini reports errors so.

    >>> reader = SseReader()
    >>> list(reader.feed(b"event: ping\\nda"))
    []
    >>> list(reader.feed(b"ta: {}\\n\\n"))
    [SseEvent(name='ping', data='{}')]
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest: list[str] = []  # the pieces of the line that goes on: a picture comes in hundreds
        self._held = False  # whether its last character may be half of a line end
        self._name = ""
        self._data: list[str] = []
        self._bare: list[str] = []  # lines of an object without a field name

    def feed(self, piece: bytes) -> Iterator[SseEvent]:
        """The events that `piece` completes."""
        self._rest.append(self._decoder.decode(piece))
        if not _END.search(self._rest[-1]) and not self._held:
            return
        text = "".join(self._rest)
        held = text.endswith("\r")  # a line feed may follow
        lines = (text[:-1] if held else text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest, self._held = [lines.pop() + ("\r" if held else "")], held
        for line in lines:
            event = self._line(line)
            if event is not None:
                yield event

    def end(self) -> Iterator[SseEvent]:
        """The object without `data:` that the stream ends with, if there is one; no empty line need close it."""
        self._line("".join(self._rest).removesuffix("\r"))
        if self._bare:
            yield SseEvent("message", "\n".join(self._bare))

    def _line(self, line: str) -> SseEvent | None:
        if not line:
            return self._dispatch()
        if self._bare or (line.startswith("{") and not self._data):
            self._bare.append(line)
            return None
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        return None

    def _dispatch(self) -> SseEvent | None:
        name, data = self._name or "message", self._data or self._bare
        self._name, self._data, self._bare = "", [], []
        return SseEvent(name, "\n".join(data)) if data else None
