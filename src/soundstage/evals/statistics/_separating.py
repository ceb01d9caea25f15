"""Which step, tool call or argument tells failing runs from passing ones."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

import msgspec

from soundstage.errors import WrongValueError
from soundstage.evals.statistics._paired import holm


class Separation(msgspec.Struct, frozen=True, kw_only=True):
    """Features that stand in the same runs, and how they go together with failing.

    Args:
        features: they cannot be told apart: each stands in exactly the same runs.
        failing_with: failing runs that have them.
        failing: all failing runs.
        passing_with: passing runs that have them.
        passing: all passing runs.
        p: of Fisher's exact test, corrected for all the features that were looked at.
        examples: a failing and a passing run that differ in them, as places in the sequence of runs.
    """

    features: tuple[str, ...]
    failing_with: int
    failing: int
    passing_with: int
    passing: int
    p: float
    examples: tuple[int, int]

    def __str__(self) -> str:
        return (
            f"{' and '.join(self.features)}: in {self.failing_with} of {self.failing} failing and "
            f"{self.passing_with} of {self.passing} passing runs (p = {self.p:.2g})"
        )


def separating_features(
    runs: Sequence[Collection[str]], passed: Sequence[bool], *, error: float = 0.05
) -> tuple[Separation, ...]:
    """The features that stand in failing runs significantly more often than in passing ones, or less.

    Each is tested with Fisher's exact test, and all together corrected by Holm's method. Features that stand in the
    same runs count as one, because no test can tell them apart.

    Args:
        runs: the features of each run, such as the tools that it called.
        passed: whether it passed.
        error: the share of comparisons in which a feature without influence may be named.

    Returns:
        The clearest first; none if nothing is significant, or if all runs passed, or none did.

    Raises:
        WrongValueError: if there are not as many outcomes as runs.
        EnvironmentProblem: without the extra `stats`.

    Example:
        >>> runs = [["search"]] * 6 + [["search", "delete"]] * 6
        >>> separating_features(runs, [True] * 6 + [False] * 6)[0].features
        ('delete',)
    """
    if len(runs) != len(passed):
        raise WrongValueError("each run has one outcome", expected=f"{len(runs)}", seen=f"{len(passed)}")
    groups: dict[tuple[bool, ...], list[str]] = {}
    for feature in sorted({feature for run in runs for feature in run}):
        groups.setdefault(tuple(feature in run for run in runs), []).append(feature)
    varying = {having: names for having, names in groups.items() if not all(having)}
    if not varying or len(set(passed)) < 2:
        return ()
    tables = {having: _table(having, passed) for having in varying}
    corrected = holm([_fisher(table) for table in tables.values()])
    found = [
        _separation(names, having, passed, p)
        for (having, names), p in zip(varying.items(), corrected, strict=True)
        if p <= error
    ]
    return tuple(sorted(found, key=lambda one: (one.p, one.features)))


def _table(having: Sequence[bool], passed: Sequence[bool]) -> tuple[int, int, int, int]:
    """Failing with, failing without, passing with, passing without."""
    pairs = list(zip(having, passed, strict=True))
    return (
        pairs.count((True, False)),
        pairs.count((False, False)),
        pairs.count((True, True)),
        pairs.count((False, True)),
    )


@functools.lru_cache(10_000)
def _fisher(table: tuple[int, int, int, int]) -> float:
    from scipy import stats

    return float(stats.fisher_exact([table[:2], table[2:]])[1])


def _separation(names: Sequence[str], having: Sequence[bool], passed: Sequence[bool], p: float) -> Separation:
    failing_with, failing_without, passing_with, passing_without = _table(having, passed)
    more = failing_with * (passing_with + passing_without) > passing_with * (failing_with + failing_without)
    pairs = list(zip(having, passed, strict=True))
    return Separation(
        features=tuple(names),
        failing_with=failing_with,
        failing=failing_with + failing_without,
        passing_with=passing_with,
        passing=passing_with + passing_without,
        p=p,
        examples=(pairs.index((more, False)), pairs.index((not more, True))),
    )
