"""How often runs pass: the rate with its interval, and the chance that one of k runs passes, or all do."""

from __future__ import annotations

import math

import msgspec

from soundstage.agreement import share_interval
from soundstage.errors import WrongValueError
from soundstage.evals.statistics._checked import require_counts, require_share


class PassRate(msgspec.Struct, frozen=True, kw_only=True):
    """How many of some runs passed, and which rates of all future runs agree with that.

    Args:
        passed: runs that passed.
        runs: all runs.
        low: lower end of the interval.
        high: its upper end.
    """

    passed: int
    runs: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """The share that passed; 0 without runs (R4.70)."""
        return self.passed / self.runs if self.runs else 0.0


def pass_rate(passed: int, runs: int, *, confidence: float = 0.95) -> PassRate:
    """The rate at which runs pass, with the score interval of Wilson (1927).

    It stays within 0 and 1, and says something for 0 and for all of few runs, where the usual interval has no width.
    Without runs every rate agrees.

    Args:
        passed: runs that passed.
        runs: all runs.
        confidence: of so large a share of such intervals the true rate is in them.

    Raises:
        WrongValueError: for counts that cannot be, or a confidence that is not between 0 and 1.

    Example:
        >>> found = pass_rate(20, 20)
        >>> f"{found.rate:.0%}, from {found.low:.1%} to {found.high:.0%}"
        '100%, from 83.9% to 100%'
    """
    require_counts(passed, runs)
    low, high = share_interval(passed, runs, confidence=require_share("confidence", confidence))
    return PassRate(passed=passed, runs=runs, low=low, high=high)


def pass_at_k(runs: int, passed: int, k: int) -> float:
    """The chance that at least one of k runs passes: pass@k, the unbiased estimate of Chen et al. (2021) (R4.71).

    Args:
        runs: runs that were done.
        passed: of them, those that passed.
        k: from 1 to `runs`.

    Raises:
        WrongValueError: for k beyond the runs, or counts that cannot be.

    Example:
        >>> pass_at_k(runs=5, passed=2, k=2)
        0.7
    """
    _require_k(runs, passed, k)
    return 1 - math.comb(runs - passed, k) / math.comb(runs, k)


def pass_all_k(runs: int, passed: int, k: int) -> float:
    """The chance that all of k runs pass: pass^k, the unbiased estimate of Yao et al. (2024). See `pass_at_k`.

    Example:
        >>> pass_all_k(runs=5, passed=4, k=2)
        0.6
    """
    _require_k(runs, passed, k)
    return math.comb(passed, k) / math.comb(runs, k)


def _require_k(runs: int, passed: int, k: int) -> None:
    require_counts(passed, runs)
    if not 1 <= k <= runs:
        raise WrongValueError(
            f"k = {k} cannot be estimated from {runs} runs",
            expected=f"k from 1 to {runs}" if runs else "at least one run",
            hint="repeat each case at least k times",
        )
