"""The runs of one case over time: did its pass rate change, and when? Pure.

The place of a change is the one where the runs before and after it differ most: a scan over all places. How large a
difference chance alone finds somewhere is seen by shuffling the runs, so the many places that are tried need no further
correction. For one planned comparison of two results use `compare_passes`, which sees smaller differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from soundstage.evals.statistics._checked import require_share, require_some

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST: Final = 2  # runs on either side of a change
_BATCH: Final = 500  # courses at a time, which bounds the memory


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the pass rate over time.

    Args:
        at: how many runs were before it.
        before: share of them that passed.
        after: share of the others that passed.
        p: how likely so large a change somewhere is, if there is none.
    """

    at: int
    before: float
    after: float
    p: float

    def __str__(self) -> str:
        return f"{self.before:.0%} of {self.at} runs passed, then {self.after:.0%} (p = {self.p:.2g})"


def drift_of(
    passed: Sequence[bool], *, error: float = 0.05, resamples: int = 10_000, seed: int = 0
) -> Drift | None:
    """Whether the pass rate of a case has changed in the course of time, and since when.

    Args:
        passed: of each run, oldest first.
        error: the share of unchanged courses in which a change may be seen.
        resamples: how often the runs are shuffled.
        seed: the same seed gives the same result.

    Returns:
        The change; `None` if chance alone would do that.

    Raises:
        WrongValueError: for fewer than four runs.
        EnvironmentProblem: without the extra `stats`.

    Example:
        >>> print(drift_of([True] * 12 + [False] * 6))
        100% of 12 runs passed, then 0% (p = 0.0001)
    """
    import numpy as np

    require_share("error", error)
    require_some("runs", passed, least=2 * LEAST)
    seen = np.asarray(passed, dtype=np.float64)
    random = np.random.default_rng(seed)
    own = _likelihoods(seen[np.newaxis])[0]
    best = int(np.argmax(own))
    more = 0
    for done in range(0, resamples, _BATCH):
        shuffled = random.permuted(np.tile(seen, (min(_BATCH, resamples - done), 1)), axis=1)
        more += int(np.sum(_likelihoods(shuffled).max(axis=1) >= own[best] - 1e-9))
    p = (1 + more) / (resamples + 1)
    if p > error:
        return None
    at = best + LEAST
    return Drift(at=at, before=float(seen[:at].mean()), after=float(seen[at:].mean()), p=p)


def _likelihoods(courses: NDArray[Any]) -> NDArray[Any]:
    """How much better two rates explain each course than one, for a change at each place."""
    import numpy as np

    runs = courses.shape[1]
    first = np.arange(LEAST, runs - LEAST + 1)
    total = courses.sum(axis=1, keepdims=True)
    early = courses.cumsum(axis=1)[:, first - 1]
    parts = _explained(early, first) + _explained(total - early, runs - first)
    gained: NDArray[Any] = parts - _explained(total, np.array(runs))
    return gained


def _explained(passed: NDArray[Any], runs: NDArray[Any]) -> NDArray[Any]:
    """The logarithm of the likelihood of so many passes, at the rate that explains them best."""
    from scipy.special import xlogy

    found: NDArray[Any] = xlogy(passed, passed / runs) + xlogy(runs - passed, 1 - passed / runs)
    return found
