"""Fair comparison on a noisy machine.

Contestants take turns, A B A B ..., so that whatever else the machine does hits all of them alike. A ratio is
taken within each round, between neighbours in time, and the median over the rounds is reported. Pure.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

Turn = Callable[[], float]


def silent(_: str) -> None:
    """Nobody wants to know."""


def interleave(
    turns: Mapping[str, Turn], rounds: int, tell: Callable[[str], None] = silent
) -> dict[str, list[float]]:
    """The figures of each contestant, in the order of the rounds."""
    found: dict[str, list[float]] = {name: [] for name in turns}
    for number in range(1, rounds + 1):
        tell(f"round {number} of {rounds}")
        for name, turn in turns.items():
            found[name].append(turn())
    return found


def ratio(measured: Sequence[float], against: Sequence[float]) -> float:
    """The median of measured / against, round by round.

    >>> ratio([2.0, 4.0, 90.0], [1.0, 2.0, 3.0])
    2.0
    """
    return median(mine / theirs for mine, theirs in zip(measured, against, strict=True))


def median(values: Iterable[float]) -> float:
    """The middle one."""
    return statistics.median(values)
