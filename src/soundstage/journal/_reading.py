r"""How a text reads once its encodings are taken off. Pure.

A secret travels as JSON, inside other JSON, in URLs, in pages, and wrapped to the width of a screen or of base64.
Listing those forms never ends: any letter may be written as `\u0041` or `%41`. So both sides, the secret and what
is searched, are brought into one reading: escapes are undone until none is left, white space and backslashes go, and
the letters in which two kinds of base64 differ become the same.

`plain` is the reading; `read` is the same with a map back to the places in the data, a few times slower.
"""

from __future__ import annotations

import bisect
import html
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_ROUNDS: Final = 8  # encodings in each other
_PAIR: Final = rb"\\++u([dD][89abAB][0-9A-Fa-f]{2})\\++u([dD][c-fC-F][0-9A-Fa-f]{2})"
_UNIT: Final = rb"\\++u([0-9A-Fa-f]{4})"
_BYTE: Final = rb"(?:\\++x|%)([0-9A-Fa-f]{2})"
_ENTITY: Final = rb"&(amp|lt|gt|quot|apos|nbsp|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});"
_COLOUR: Final = rb"\x1b\[[0-9;?]*[ -/]*[@-~]"  # what a terminal takes for a colour or a move
_FRAMES: Final = tuple(letter.encode() for letter in "│┃║")  # sides of a box around a text on a screen
_DROPPED: Final = re.compile(rb"|".join((_COLOUR, *_FRAMES, rb"\\++(?![ux])[nrtbf]?")))
_CODED: Final = re.compile(rb"|".join((_PAIR, _UNIT, _BYTE, _ENTITY)))
_SPACES: Final = b"|\\ \t\n\r\x08\x0b\x0c"
_SAME: Final = bytes.maketrans(b"-_", b"+/")  # base64 for URLs and the other one
_RUN: Final = re.compile(rb"[^" + re.escape(_SPACES) + rb"]+")

_HEX: Final = b"0123456789abcdefABCDEF"
CODE_SIGNS: Final = (  # in what `quick` gives, one of them begins each escape that it has not undone
    *(b"%%%c" % letter for letter in _HEX),
    *(b"&amp;", b"&lt;", b"&gt;", b"&quot;", b"&apos;", b"&nbsp;", b"&#", b"\x1b["),
)
_CODED_AGAIN: Final = (b"\\u", b"\\x", b"\\b", b"\\f")

Span = tuple[int, int]


class _Piece(NamedTuple):
    """A part of a reading and where it comes from; a literal one has the same length there."""

    start: int
    origin: int
    end_of_origin: int
    literal: bool


class Reading(NamedTuple):
    """A reading with the way back."""

    data: bytes
    steps: tuple[list[_Piece], ...]

    def origin(self, start: int, end: int) -> Span:
        """The span of the original that a span of the reading comes from."""
        for pieces in reversed(self.steps):
            start, end = _begin(pieces, start), _end(pieces, end - 1)
        return start, end


def _begin(pieces: list[_Piece], place: int) -> int:
    piece = pieces[bisect.bisect_right(pieces, place, key=_start) - 1]
    return piece.origin + place - piece.start if piece.literal else piece.origin


def _end(pieces: list[_Piece], last: int) -> int:
    piece = pieces[bisect.bisect_right(pieces, last, key=_start) - 1]
    return piece.origin + last + 1 - piece.start if piece.literal else piece.end_of_origin


def _start(piece: _Piece) -> int:
    return piece.start


def quick(data: bytes) -> bytes:
    """The reading of data, but for escapes that begin with one of `CODE_SIGNS`."""
    if b"\\" in data:
        if any(sign in data for sign in _CODED_AGAIN):
            return plain(data)
        for escape in (b"\\n", b"\\r", b"\\t"):
            data = data.replace(escape, b"")
    if not data.isascii():
        for frame in _FRAMES:
            data = data.replace(frame, b"")
    return data.translate(_SAME, _SPACES)


def plain(data: bytes) -> bytes:
    """The reading of `data`, without a way back.

    >>> plain(rb'https%3a\\/\\/x_\\u0041 b') == plain(b"https://x_Ab")
    True
    """
    for _ in range(_ROUNDS):
        data, before = _CODED.sub(_undone, _DROPPED.sub(b"", data)), data
        if data == before:
            break
    return data.translate(_SAME, _SPACES)


def read(data: bytes) -> Reading:
    """The reading of `data`, with the way back."""
    steps: list[list[_Piece]] = []
    for _ in range(_ROUNDS):
        before = data
        for escape in (_DROPPED, _CODED):
            data, pieces = _joined(_unescaped(data, escape))
            steps.append(pieces)
        if data == before:
            break
    runs = ((found[0], *found.span(), True) for found in _RUN.finditer(data))
    data, pieces = _joined(runs)
    return Reading(data.translate(_SAME), (*steps, pieces))


def _unescaped(data: bytes, escape: re.Pattern[bytes]) -> Iterator[tuple[bytes, int, int, bool]]:
    done = 0
    for found in escape.finditer(data):
        start, end = found.span()
        yield data[done:start], done, start, True
        yield _undone(found), start, end, False
        done = end
    yield data[done:], done, len(data), True


def _joined(parts: Iterator[tuple[bytes, int, int, bool]]) -> tuple[bytes, list[_Piece]]:
    texts: list[bytes] = []
    pieces: list[_Piece] = []
    length = 0
    for text, start, end, literal in parts:
        if text:
            texts.append(text)
            pieces.append(_Piece(length, start, end, literal))
            length += len(text)
    return b"".join(texts), pieces


def _undone(escape: re.Match[bytes]) -> bytes:
    """The text that an escape stands for; empty for one that only separates."""
    if escape.re is _DROPPED:
        return b""
    high, low, unit, byte, _entity = escape.groups()
    if high is not None:
        code = 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)
        return chr(code).encode()
    if unit is not None:
        return chr(int(unit, 16)).encode("utf-8", "surrogatepass")
    if byte is not None:
        return bytes.fromhex(byte.decode())
    return html.unescape(escape[0].decode()).encode("utf-8", "surrogatepass")
