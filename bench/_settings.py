"""How long to measure, and where progress goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Settings(NamedTuple):
    """Settings shared by all rows.

    Args:
        rounds: how many turns each contestant gets.
        seconds: how long a turn takes, where turns are timed.
        quick: measure less, for a look while working.
        tell: shows progress.
    """

    rounds: int
    seconds: float
    quick: bool
    tell: Callable[[str], None]

    def scaled(self, count: int, *, least: int = 1) -> int:
        """A number of repetitions: all, or a fifth of them when it should be quick."""
        return max(count // 5, least) if self.quick else count
