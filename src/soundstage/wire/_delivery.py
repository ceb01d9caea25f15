"""The bytes of one answer on their way: line ends, comments, pieces, and where they end. Pure.

A client has to take all of it: HTTP says nothing about where pieces end, and server-sent events may end their lines
with CR LF and have comments between them (WHATWG HTML, section 9.2). HTTP/1.1 sends each piece as a chunk of its own,
so a client's parser gets it alone however the system joins the packets.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Final

from soundstage.messages import ByteDelivery, ModelChunk, StartChunk

COMMENT: Final = b": ping"
LONGEST: Final = 40  # bytes of a drawn piece


def delivered(delivery: ByteDelivery, data: bytes) -> list[bytes]:
    """The pieces in which `data` is sent.

    Example:
        >>> delivered(ByteDelivery(line_end="\\r\\n", pieces="whole"), b"data: 1\\n\\n")
        [b'data: 1\\r\\n\\r\\n']
        >>> delivered(ByteDelivery(pieces="characters"), "né".encode())
        [b'n\\xc3', b'\\xa9']
    """
    data = delivery.body or data
    if delivery.comments:
        data = (COMMENT + b"\n\n").join([b"", *_events(data)])
    if delivery.line_end != "\n":
        data = data.replace(b"\n", delivery.line_end.encode())
    if delivery.cut is not None:
        data = data[: delivery.cut]
    return _PIECES[delivery.pieces](data, delivery.seed)


def pieces_for(delivery: ByteDelivery | None) -> Callable[[bytes], list[bytes]] | None:
    """The function that makes the pieces of a whole answer, if there is a delivery that asks for any."""
    return None if delivery is None else functools.partial(delivered, delivery)


def delivery_in(chunks: Sequence[ModelChunk]) -> ByteDelivery | None:
    """The way in which an answer of these chunks is to be delivered, if its first chunk says so."""
    return chunks[0].delivery if chunks and isinstance(chunks[0], StartChunk) else None


def _events(data: bytes) -> list[bytes]:
    return [event + b"\n\n" for event in data.split(b"\n\n") if event]


def _whole(data: bytes, _: int) -> list[bytes]:
    return [data] if data else []


def _bytes(data: bytes, _: int) -> list[bytes]:
    return [data[place : place + 1] for place in range(len(data))]


def _characters(data: bytes, _: int) -> list[bytes]:
    """Pieces that end after the first byte of each character that has several."""
    return _cut(data, [place + 1 for place, byte in enumerate(data) if byte >= 0xC0])


def _drawn(data: bytes, seed: int) -> list[bytes]:
    drawn, places, place = random.Random(seed), [], 0  # noqa: S311  (no secret is drawn)
    while place < len(data):
        place += drawn.randint(1, LONGEST)
        places.append(place)
    return _cut(data, places)


def _cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = [0, *places, len(data)]
    return [data[begin:end] for begin, end in itertools.pairwise(ends) if data[begin:end]]


_PIECES: Final[dict[str, Callable[[bytes, int], list[bytes]]]] = {
    "": _whole,
    "whole": _whole,
    "bytes": _bytes,
    "characters": _characters,
    "drawn": _drawn,
}
