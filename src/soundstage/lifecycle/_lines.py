"""Bytes of a stream to lines of text. Pure."""

from __future__ import annotations


class LineSplitter:
    """Cuts a stream into lines, whatever the pieces in which it comes.

    A line end is a newline, with or without a carriage return before it. Bytes that are not UTF-8 come out as
    `\\xff`, so that binary output is readable and nothing is lost.

    Args:
        limit: bytes after which a line without an end is cut.

    >>> splitter = LineSplitter()
    >>> splitter.feed(b"one\\ntw"), splitter.feed(b"o\\r\\nthree"), splitter.flush()
    (['one'], ['two'], ['three'])
    """

    def __init__(self, limit: int = 1024 * 1024) -> None:
        self._limit = limit
        self._rest: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[str]:
        """The lines that are complete now."""
        *complete, rest = data.split(b"\n")
        lines = [self._line(part) for part in complete]
        if rest:
            self._rest.append(rest)
            self._size += len(rest)
        if self._size >= self._limit:
            lines.append(self._line(b""))
        return lines

    def flush(self) -> list[str]:
        """The rest at the end of the stream."""
        return [self._line(b"")] if self._rest else []

    def _line(self, end: bytes) -> str:
        line = b"".join([*self._rest, end]).removesuffix(b"\r")
        self._rest.clear()
        self._size = 0
        return line.decode("utf-8", "backslashreplace")
