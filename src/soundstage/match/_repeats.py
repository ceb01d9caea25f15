"""Repeats in a sequence, so that loops can be shown once. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

LONGEST: Final = 24  # items of a round
FEWEST: Final = 4  # rounds that are worth folding


class Repeat(NamedTuple):
    """A part of a sequence: `length` items from `start` on, which come `times` times in a row."""

    start: int
    length: int
    times: int


def repeats(items: Sequence[Hashable]) -> list[Repeat]:
    """The whole sequence as parts, in order; what does not repeat itself is a part of one item that comes once.

    Example:
        >>> repeats("abababababc")
        [Repeat(start=0, length=2, times=5), Repeat(start=10, length=1, times=1)]
    """
    parts, place = [], 0
    while place < len(items):
        part = max(
            (Repeat(place, length, _times(items, place, length)) for length in range(1, LONGEST + 1)),
            key=lambda repeat: (repeat.times >= FEWEST) * repeat.length * repeat.times,
        )
        if part.times < FEWEST:
            part = Repeat(place, 1, 1)
        parts.append(part)
        place += part.length * part.times
    return parts


def _times(items: Sequence[Hashable], start: int, length: int) -> int:
    """Count how often the `length` items at `start` come in a row."""
    end = start + length
    while end < len(items) and items[end] == items[end - length]:
        end += 1
    return max((end - start) // length, 1)
