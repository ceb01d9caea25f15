"""Means of values that come in groups: runs of one case are more alike than runs of two."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from soundstage.errors import WrongValueError
from soundstage.evals.statistics._checked import require_some


class ClusteredMean(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over all runs, with a standard error that knows which runs belong to one case.

    Args:
        mean: over all runs.
        error: the standard error; `None` for a single case, which says nothing of other cases.
        runs: values.
        cases: groups.
    """

    mean: float
    error: float | None
    runs: int
    cases: int


def clustered_mean(values: Mapping[str, Sequence[float]]) -> ClusteredMean:
    """The mean of all values and its standard error, clustered by case.

    The usual standard error takes runs of one case for independent ones, and is too small by up to the square root of
    the number of repeats. This is that of Liang and Zeger (1986) for a mean, corrected by G / (G - 1) for G cases.

    Args:
        values: by case, one for each run.

    Raises:
        WrongValueError: without values, or for one that is not finite.

    Example:
        >>> clustered_mean({"a": [1.0, 1.0], "b": [0.0, 0.0]})
        ClusteredMean(mean=0.5, error=0.5, runs=4, cases=2)
    """
    groups = [list(found) for found in values.values() if len(found)]
    require_some("values for a mean", groups)
    everything = [value for group in groups for value in group]
    if not all(math.isfinite(value) for value in everything):
        raise WrongValueError("a mean needs finite numbers", seen=repr(everything[:5]))
    mean = math.fsum(everything) / len(everything)
    count = len(groups)
    squares = math.fsum(math.fsum(value - mean for value in group) ** 2 for group in groups)
    error = math.sqrt(squares * count / (count - 1)) / len(everything) if count > 1 else None
    return ClusteredMean(mean=mean, error=error, runs=len(everything), cases=count)
