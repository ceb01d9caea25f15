"""A stream that is one JSON array: its items, as soon as they are complete. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from soundstage.live._answer_format import garbled

_OUTSIDE: Final = re.compile(rb'["{}\[\]]')
_INSIDE: Final = re.compile(rb'["\\]')  # of a text


class ArrayReader:
    r"""Takes an array in any pieces and gives its items, which are objects.

    Brackets and quotes are counted, so that each byte is looked at once.

    >>> reader = ArrayReader()
    >>> list(reader.feed(b'[{"a": "}'))
    []
    >>> list(reader.feed(b'"}, {"b'))
    [b'{"a": "}"}']

    Attributes:
        closed: whether the end of the array has come.
    """

    def __init__(self) -> None:
        self.closed = False
        self._held = bytearray()
        self._at = 0  # what is before this place has been looked at
        self._depth = 0
        self._quoted = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The items that `piece` completes.

        Raises:
            ConnectionCut: if something else stands between the items.
        """
        self._held += piece
        while (mark := self._next()) is not None:
            at = mark.start()
            self._at = at + 1
            character = self._held[at]
            if character == ord('"'):
                self._quoted = not self._quoted
            elif character == ord("\\"):
                self._at += 1
            elif character in b"{[":
                self._open(at)
            else:
                self._depth -= 1
                self.closed = self._depth == 0
                if self._depth == 1:
                    yield bytes(self._held[: at + 1])
                    del self._held[: at + 1]
                    self._at = 0

    def _next(self) -> re.Match[bytes] | None:
        mark = (_INSIDE if self._quoted else _OUTSIDE).search(self._held, self._at)
        if mark is None:
            self._at = max(len(self._held), self._at)
        elif mark.group() == b"\\" and mark.start() + 1 == len(self._held):  # what it escapes has not come
            self._at = mark.start()
            return None
        return mark

    def _open(self, at: int) -> None:
        """An item, or something inside of one, begins."""
        self._depth += 1
        if self._depth == 2:
            between = bytes(self._held[:at]).strip(b"\xef\xbb\xbf[, \t\r\n")
            if between:
                raise garbled(between.decode("utf-8", "replace"))
            del self._held[:at]
            self._at = 1
