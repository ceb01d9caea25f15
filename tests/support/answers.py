"""Answers of providers as bytes, and how they are read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from soundstage.live import AnswerReader
from soundstage.messages import ModelChunk


def sse(*events: Any) -> bytes:
    """A stream of events; a text is sent as it is."""
    data = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return "".join(f"data: {line}\n\n" for line in data).encode()


def in_pieces(data: bytes, places: Iterable[int]) -> list[bytes]:
    """`data`, cut at those of the places that it has."""
    cuts = sorted({0, len(data), *(place for place in places if place < len(data))})
    return [data[start:stop] for start, stop in pairwise(cuts)]


def read(format: str, data: bytes, places: Iterable[int] = (), **about: Any) -> list[ModelChunk]:  # noqa: A002
    """All chunks of an answer that comes in pieces."""
    reader = AnswerReader(format, **about)
    chunks = [chunk for piece in in_pieces(data, places) for chunk in reader.feed(piece)]
    return chunks + reader.end()
