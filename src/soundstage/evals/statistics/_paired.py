"""Two results on the same cases, compared case by case: did it get better, and could we have seen it?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from soundstage.errors import WrongValueError
from soundstage.evals.statistics._checked import require_share, require_some


class PassComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases changed between two results, and whether chance alone would do that.

    Args:
        cases: cases in both.
        better: cases that fail in the old and pass in the new result.
        worse: cases that pass in the old and fail in the new result.
        difference: share of cases that pass in the new result, less that of the old one.
        p: of McNemar's exact test: how likely so lopsided a change is if nothing has changed.
        smallest: the smallest true difference that so many cases would have shown, four times out of five.
    """

    cases: int
    better: int
    worse: int
    difference: float
    p: float
    smallest: float


class ScoreComparison(msgspec.Struct, frozen=True, kw_only=True):
    """How far the scores of two results differ, case by case.

    Args:
        cases: cases in both.
        difference: mean score of the new result, less that of the old one.
        low: lower end of the bootstrap's interval for the difference.
        high: its upper end.
        p: of a test that flips signs: how likely so large a difference is if there is none.
        smallest: the smallest true difference that so many cases would have shown, four times out of five.
    """

    cases: int
    difference: float
    low: float
    high: float
    p: float
    smallest: float


def compare_passes(
    old: Mapping[str, bool], new: Mapping[str, bool], *, error: float = 0.05, power: float = 0.8
) -> PassComparison:
    """Compare which cases pass, with McNemar's exact test.

    Args:
        old: whether it passes, by case.
        new: the same, of the same cases.
        error: the share of comparisons of equal things that may show a difference.
        power: the share of comparisons in which `smallest` would be seen.

    Raises:
        WrongValueError: without cases, or if the cases are not the same.
        EnvironmentProblem: without the extra `stats`.

    Example:
        >>> compare_passes({"a": False, "b": True}, {"a": True, "b": True}).better
        1
    """
    from scipy import stats

    _require_same(old, new)
    better = sum(new[case] and not old[case] for case in old)
    worse = sum(old[case] and not new[case] for case in old)
    changed = better + worse
    return PassComparison(
        cases=len(old),
        better=better,
        worse=worse,
        difference=(better - worse) / len(old),
        p=float(stats.binomtest(better, changed).pvalue) if changed else 1.0,
        smallest=smallest_of_passes(len(old), changed / len(old), error, power),
    )


def smallest_of_passes(cases: int, changing: float, error: float, power: float) -> float:
    """The true difference at which the exact test is right with the given power, found by bisection.

    As many cases change by chance as did here; 1 if not even a difference of all cases would be seen.
    """
    require_share("error", error)
    require_share("power", power)
    low, high = 0.0, 1.0
    if _power_of_mcnemar(cases, 1.0, changing, error) < power:
        return 1.0
    for _ in range(30):
        middle = (low + high) / 2
        enough = _power_of_mcnemar(cases, middle, changing, error) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def _power_of_mcnemar(cases: int, difference: float, changing: float, error: float) -> float:
    """How often McNemar's exact test sees a true difference: over all numbers of cases that can change."""
    import numpy as np
    from scipy import stats

    changing = max(changing, difference)
    changed = np.arange(cases + 1)
    last = stats.binom.ppf(error / 2, changed, 0.5)  # so few cases on one side, or one fewer, are significant
    last = np.where(stats.binom.cdf(last, changed, 0.5) > error / 2, last - 1, last)
    worse = (changing - difference) / (2 * changing) if changing else 0.5
    seen = np.where(last >= 0, stats.binom.cdf(last, changed, worse), 0.0)
    return float(np.sum(stats.binom.pmf(changed, cases, changing) * seen))


def compare_scores(
    old: Mapping[str, Sequence[float]],
    new: Mapping[str, Sequence[float]],
    *,
    error: float = 0.05,
    power: float = 0.8,
    seed: int = 0,
    resamples: int = 10_000,
) -> ScoreComparison:
    """Compare scores by the difference of each case: an interval by bootstrap, and a test that flips their signs.

    Cases are drawn, not runs: repeats of a case say nothing of other cases. The interval is too narrow for a handful of
    cases; the test is exact for any number of them.

    Args:
        old: scores by case, one for each run.
        new: the same, of the same cases.
        error: the share of intervals that may miss the true difference.
        power: the share of comparisons in which `smallest` would be seen.
        seed: the same seed gives the same result.
        resamples: how often the cases are drawn, and signs flipped where there are too many ways to try all.

    Raises:
        WrongValueError: for fewer than two cases, a case without runs, or if the cases are not the same.
        EnvironmentProblem: without the extra `stats`.

    Example:
        >>> compare_scores({"a": [0.5], "b": [0.4]}, {"a": [0.7], "b": [0.6]}).difference
        0.2
    """
    import numpy as np
    from scipy import stats

    _require_same(old, new, least=2)
    require_share("error", error)
    differences = np.array([_mean(new, case) - _mean(old, case) for case in old])
    how: Any = {"vectorized": True, "n_resamples": resamples, "rng": seed, "batch": 100}
    interval = stats.bootstrap(
        (differences,), np.mean, confidence_level=1 - error, method="percentile", **how
    ).confidence_interval
    test = stats.permutation_test((differences,), np.mean, permutation_type="samples", **how)
    return ScoreComparison(
        cases=len(old),
        difference=round(float(np.mean(differences)), 15),
        low=float(interval.low),
        high=float(interval.high),
        p=float(test.pvalue),
        smallest=_smallest_of_scores(differences.tolist(), error, power),
    )


def _mean(scores: Mapping[str, Sequence[float]], case: str) -> float:
    require_some(f"runs of the case {case!r}", scores[case])
    return math.fsum(scores[case]) / len(scores[case])


def _smallest_of_scores(differences: Sequence[float], error: float, power: float) -> float:
    """The true difference that a test of the mean sees with the given power (Miller 2024, for paired questions)."""
    from statistics import NormalDist, stdev

    normal = NormalDist()
    distance = normal.inv_cdf(1 - error / 2) + normal.inv_cdf(require_share("power", power))
    return distance * stdev(differences) / math.sqrt(len(differences))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Several p-values of one question, corrected: the chance that any is small by luck stays what it was for one.

    The correction of Holm (1979).

    Args:
        p_values: in any order; the result has the same one.

    Raises:
        WrongValueError: without values, or for one that is not from 0 to 1.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        (0.03, 0.06, 0.06)
    """
    require_some("p-values", p_values)
    wrong = [p for p in p_values if not 0 <= p <= 1]
    if wrong:
        raise WrongValueError("a p-value is a chance", expected="from 0 to 1", seen=repr(wrong[0]))
    least, corrected = 0.0, [0.0] * len(p_values)
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, p_values[place] * (len(p_values) - rank)))
        corrected[place] = least
    return tuple(corrected)


def _require_same(old: Mapping[str, object], new: Mapping[str, object], *, least: int = 1) -> None:
    require_some("cases to compare", old, least)
    if set(old) != set(new):
        different = sorted(set(old) ^ set(new))
        raise WrongValueError(
            "two results are compared on the same cases",
            seen=f"in one alone: {', '.join(different[:5])}" + (", ..." if len(different) > 5 else ""),
            hint="give both without these cases",
        )
