"""Rubrics: what is judged, criterion by criterion, and when a run passes. Records; files are read in `_rubric_file`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.errors import ScriptProblem
from soundstage.judges._errors import RubricError

PASS_THRESHOLD: Final = 0.7
CRITERION_THRESHOLD: Final = 0.5
MODEL: Final = "anthropic/claude-sonnet-5-5"


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a judge looks at.

    Args:
        id: another one for each criterion of a rubric.
        description: what has to be so, in words for the judge.
        weight: its share of the score, from 0 to 1; criteria without one share what is left equally.
        threshold: the score, from 0 to 1, below which the run does not pass, whatever the other criteria.
        extra: further fields of the file, for you; the judge does not see them.
    """

    id: str
    description: str
    weight: float | None = None
    threshold: float = CRITERION_THRESHOLD
    extra: Mapping[str, Any] = {}


class Rubric(msgspec.Struct, frozen=True, kw_only=True):
    """The criteria by which a run is judged.

    Args:
        name: how reports call it.
        criteria: at least one; the judge reads them in this order.
        pass_threshold: the score, from 0 to 1, from which a run passes.
        model: who judges unless somebody else is given, e.g. `openai/gpt-4.1`.
        extra: further fields of the file, for you; the judge does not see them.
        path: the file that it was read from; its calibrations lie beside it.

    Raises:
        RubricError: for no criteria, two of one id, empty texts, or numbers that cannot be.

    Example:
        >>> rubric = Rubric(name="repair", criteria=(Criterion(id="correct", description="add() adds"),))
        >>> rubric.normalised().criteria[0].weight
        1.0
    """

    name: str
    criteria: tuple[Criterion, ...]
    pass_threshold: float = PASS_THRESHOLD
    model: str = MODEL
    extra: Mapping[str, Any] = {}
    path: Path | None = None

    def __post_init__(self) -> None:
        problems = [ScriptProblem("rubric", 0, key, message) for key, message in self._problems()]
        if problems:
            raise RubricError(problems)

    def _problems(self) -> list[tuple[str, str]]:
        found = [(key, "expected a text, got none") for key in ("name", "model") if not getattr(self, key)]
        found += _share("pass_threshold", self.pass_threshold)
        if not self.criteria:
            found.append(("criteria", "expected at least one criterion, got none"))
        times = Counter(one.id for one in self.criteria)
        for number, one in enumerate(self.criteria):
            key = f"criteria[{number}]"
            found += [
                (f"{key}.{name}", "expected a text, got none")
                for name in ("id", "description")
                if not getattr(one, name).strip()
            ]
            found += _share(f"{key}.threshold", one.threshold)
            found += [] if one.weight is None else _share(f"{key}.weight", one.weight)
            if times[one.id] > 1:
                found.append((f"{key}.id", f"{times[one.id]} criteria are called {one.id!r}"))
        return found or self._weight_problems()

    def _weight_problems(self) -> list[tuple[str, str]]:
        given = [one.weight for one in self.criteria if one.weight is not None]
        if len(given) < len(self.criteria):
            enough = math.fsum(given) < 1
            return (
                []
                if enough
                else [("criteria", f"weights of {math.fsum(given):g} leave nothing for the rest")]
            )
        return [] if any(given) else [("criteria", "expected at least one weight above 0")]

    def normalised(self) -> Rubric:
        """The same rubric with every weight as its share of the whole; the shares add up to 1."""
        given = math.fsum(one.weight for one in self.criteria if one.weight is not None)
        rest = sum(one.weight is None for one in self.criteria)
        each, whole = ((1 - given) / rest, 1.0) if rest else (0.0, given)
        return msgspec.structs.replace(
            self,
            criteria=tuple(
                msgspec.structs.replace(one, weight=each if one.weight is None else one.weight / whole)
                for one in self.criteria
            ),
        )

    def reversed(self) -> Rubric:
        """The same rubric with its criteria in the opposite order, to see whether the order matters to a judge."""
        return msgspec.structs.replace(self, criteria=self.criteria[::-1])

    def score(self, scores: Mapping[str, float]) -> float:
        """The score of a run: the mean of its criteria, by their weights.

        Args:
            scores: of each criterion, from 0 to 1.

        Raises:
            KeyError: if one is missing.
        """
        return math.fsum((one.weight or 0.0) * scores[one.id] for one in self.normalised().criteria)


def _share(key: str, value: float) -> list[tuple[str, str]]:
    good = not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1
    return [] if good else [(key, f"expected a number from 0 to 1, got {value!r}")]
