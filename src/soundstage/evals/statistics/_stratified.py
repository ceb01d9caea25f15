"""Runs of two kinds, compared within each group: did the same cases pass less often?

The exact form of the test of Cochran, Mantel and Haenszel. Within a group (a case, or a case and all else that could
matter) the runs that passed fall on the two kinds by chance, if there is no difference; the sum over all groups has an
exact distribution. With one run of each kind in each group it is McNemar's exact test, with one group it is Fisher's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from soundstage.errors import WrongValueError
from soundstage.evals.statistics._checked import require_counts, require_share, require_some
from soundstage.evals.statistics._paired import smallest_of_passes

_ROUNDING = 1 + 1e-7  # two ways that are equally likely differ in their last digits


class RunCounts(NamedTuple):
    """How many of some runs passed."""

    passed: int
    runs: int

    @property
    def rate(self) -> float:
        """The share that passed; 0 without runs."""
        return self.passed / self.runs if self.runs else 0.0


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """How often runs of the same cases pass in two results, and whether chance alone would do that.

    Args:
        cases: cases in both.
        old: all runs of the old result.
        new: all runs of the new one.
        difference: pass rate of the new result, less that of the old one, on average over the cases.
        p: how likely so large a difference is if nothing has changed; exact.
        smallest: about the smallest true difference that so many runs would have shown, four times out of five; 1 if
            at most a difference of all runs would be seen.
    """

    cases: int
    old: RunCounts
    new: RunCounts
    difference: float
    p: float
    smallest: float


def compare_runs(
    old: Mapping[str, tuple[int, int]],
    new: Mapping[str, tuple[int, int]],
    *,
    error: float = 0.05,
    power: float = 0.8,
) -> RunComparison:
    """Compare how often the runs of the same cases pass, by an exact test that compares within each case.

    The answer is about these cases; `compare_passes` and `compare_scores` ask about cases like these.

    Args:
        old: by case, how many runs passed, and how many there are.
        new: the same, of the same cases.
        error: the share of comparisons of equal things that may show a difference.
        power: the share of comparisons in which `smallest` would be seen.

    Raises:
        WrongValueError: without cases, for counts that cannot be, or if the cases are not the same.
        EnvironmentProblem: without the extra `stats`.

    Example:
        >>> compare_runs({"a": (5, 5), "b": (5, 5)}, {"a": (1, 5), "b": (2, 5)}).p < 0.01
        True
    """
    require_some("cases to compare", old)
    if set(old) != set(new):
        raise WrongValueError("two results are compared on the same cases", seen=f"{set(old) ^ set(new)}")
    pairs = [(RunCounts(*old[case]), RunCounts(*new[case])) for case in old]
    weights = [a.runs * b.runs / max(1, a.runs + b.runs) for a, b in pairs]
    total = math.fsum(weights)
    difference = math.fsum(weight * (b.rate - a.rate) for weight, (a, b) in zip(weights, pairs, strict=True))
    return RunComparison(
        cases=len(pairs),
        old=_sum([a for a, _ in pairs]),
        new=_sum([b for _, b in pairs]),
        difference=difference / total if total else 0.0,
        p=stratified_p(pairs),
        smallest=_smallest(pairs, weights, error, power),
    )


def stratified_p(groups: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> float:
    """How likely so large a difference between two kinds of runs is if there is none, compared within each group.

    Args:
        groups: for each, the runs of either kind that passed, and all of that kind.

    Raises:
        WrongValueError: for counts that cannot be.
        EnvironmentProblem: without the extra `stats`.

    Example:
        >>> round(stratified_p([((3, 3), (0, 3)), ((4, 4), (1, 4))]), 6)
        0.007143
    """
    import numpy as np

    chances, seen = np.ones(1), 0
    for (passed, runs), (others_passed, others) in groups:
        require_counts(passed, runs)
        require_counts(others_passed, others)
        both, everything = passed + others_passed, runs + others
        least, most = max(0, both - others), min(both, runs)
        if least < most:
            chances = np.convolve(chances, _of_group(everything, both, runs))
            seen += passed - least
    return min(1.0, float(chances[chances <= chances[seen] * _ROUNDING].sum()))


@functools.lru_cache(1000)
def _of_group(everything: int, both: int, runs: int) -> Any:
    """Chances of each number of passes among `runs`, if `both` of `everything` passed."""
    import numpy as np
    from scipy import stats

    least, most = max(0, both - everything + runs), min(both, runs)
    return stats.hypergeom.pmf(np.arange(least, most + 1), everything, both, runs)


def _sum(counts: Sequence[RunCounts]) -> RunCounts:
    return RunCounts(sum(one.passed for one in counts), sum(one.runs for one in counts))


def _smallest(
    pairs: Sequence[tuple[RunCounts, RunCounts]], weights: Sequence[float], error: float, power: float
) -> float:
    """The true difference that is seen with the given power; the variance within a case is that of both results."""
    from statistics import NormalDist

    require_share("error", error)
    normal, total = NormalDist(), math.fsum(weights)
    if not total or stratified_p([((a.runs, a.runs), (0, b.runs)) for a, b in pairs]) > error:
        return 1.0
    if all(a.runs == b.runs == 1 for a, b in pairs):
        changed = sum(a.passed != b.passed for a, b in pairs)
        return smallest_of_passes(len(pairs), changed / len(pairs), error, power)
    distance = normal.inv_cdf(1 - error / 2) + normal.inv_cdf(require_share("power", power))
    rates = [(a.passed + b.passed + 1) / (a.runs + b.runs + 2) for a, b in pairs]  # never 0 or 1
    found = 0.0
    for _ in range(20):  # the variance is that of both rates, and the later one depends on what is sought
        variance = math.fsum(
            weight * (_variance(rate) + _variance(rate - found if rate > 0.5 else rate + found)) / 2
            for weight, rate in zip(weights, rates, strict=True)
        )
        found = min(1.0, (distance * math.sqrt(variance) + 0.5) / total)
    return found


def _variance(rate: float) -> float:
    rate = min(1.0, max(0.0, rate))
    return rate * (1 - rate)
