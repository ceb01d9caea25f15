"""How often something holds, and how far those who judge agree: an interval, kappa and alpha. Pure.

Agreement by chance does not count in kappa and alpha: 1 is agreement in all, 0 is as much as chance gives. They are
`None` where nothing varies: judges who always say the same have shown nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Any, Final, Literal

__all__ = ["cohen_kappa", "krippendorff_alpha", "share_interval"]

Metric = Literal["nominal", "interval"]
_DISTANCES: Final[Mapping[str, Callable[[Any, Any], float]]] = {
    "nominal": lambda one, other: float(one != other),
    "interval": lambda one, other: float(one - other) ** 2,
}


def share_interval(held: int, total: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The score interval of Wilson (1927) for a share: which true shares agree with what was counted.

    Args:
        held: how often it held, from 0 to `total`.
        total: of how many; 0 agrees with every share.
        confidence: of so large a share of such intervals the true share is in them.

    Example:
        >>> low, high = share_interval(20, 20)
        >>> round(low, 3), high
        (0.839, 1.0)
    """
    if not total:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, weight = held / total, z * z / total
    centre = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / total + weight / (4 * total)) / (1 + weight)
    return (0.0 if held == 0 else centre - half), (1.0 if held == total else centre + half)


def cohen_kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float | None:
    """The agreement of two who judged the same things, beyond chance: Cohen (1960).

    Args:
        pairs: for each thing what the one and what the other said.

    Example:
        >>> cohen_kappa([(True, True), (True, True), (False, False), (False, True)])
        0.5
    """
    found = Counter(pairs)
    total = found.total()
    if not total:
        return None
    ones, others = Counter[Hashable](), Counter[Hashable]()
    for (one, other), count in found.items():
        ones[one] += count
        others[other] += count
    chance = sum(ones[label] * others[label] for label in ones)  # of total * total
    if chance == total * total:
        return None
    seen = sum(count for (one, other), count in found.items() if one == other)
    return (total * seen - chance) / (total * total - chance)


def krippendorff_alpha(units: Iterable[Sequence[Any]], metric: Metric = "nominal") -> float | None:
    """The agreement of any number of judges, beyond chance: Krippendorff's alpha (2011).

    Args:
        units: for each thing that was judged the values of the judges; `None` for one who gave none. A thing with
            less than two values says nothing.
        metric: `nominal` for labels, `interval` for numbers, where a small difference is a small disagreement.

    Example:
        >>> krippendorff_alpha([("yes", "yes", None), ("no", "no", "no"), ("yes", "no", "yes")])
        0.5625
    """
    distance = _DISTANCES[metric]
    rated = [[value for value in unit if value is not None] for unit in units]
    rated = [values for values in rated if len(values) > 1]
    all_values = Counter(value for values in rated for value in values)
    total = all_values.total()
    seen = sum(_disagreement(Counter(values), distance) / (len(values) - 1) for values in rated)
    chance = _disagreement(all_values, distance)
    return None if not chance else 1 - (total - 1) * seen / chance


def _disagreement(values: Counter[Any], distance: Callable[[Any, Any], float]) -> float:
    """The distances of all pairs of values."""
    return math.fsum(
        count * other_count * distance(value, other)
        for value, count in values.items()
        for other, other_count in values.items()
    )
