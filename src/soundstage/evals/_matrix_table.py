"""The report of a matrix: a cell for each combination, and which dimension explains a difference. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from soundstage.errors import EnvironmentProblem
from soundstage.evals.statistics import PassRate, RunCounts, holm, pass_rate, stratified_p

ERROR = 0.05
_NONE = "-"


class CountedRun(Protocol):
    """A run of a case, as a table needs it."""

    @property
    def outcome(self) -> str: ...
    @property
    def cost(self) -> float | None: ...


class CombinedCase(Protocol):
    """The report of a case in a combination, as a table needs it."""

    @property
    def base(self) -> str: ...
    @property
    def combination(self) -> Mapping[str, str]: ...
    @property
    def rate(self) -> PassRate: ...
    @property
    def runs(self) -> Sequence[CountedRun]: ...


class CombinedReport(Protocol):
    """A report, as a table needs it."""

    @property
    def cases(self) -> Sequence[CombinedCase]: ...


class MatrixCellReport(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one combination.

    Args:
        labels: by dimension.
        rate: the share that passed, with its interval.
        cost: US dollars of a run, on average; `None` if it is not known.
    """

    labels: Mapping[str, str]
    rate: PassRate
    cost: float | None


class DimensionEffect(msgspec.Struct, frozen=True, kw_only=True):
    """How far the pass rate depends on one dimension, all else being equal.

    Args:
        dimension: its name.
        values: by label, runs that passed and all runs.
        p: how likely so large a difference is if the dimension does not matter; corrected for all that was compared.
        telling: the label that differs most clearly from the others.
    """

    dimension: str
    values: Mapping[str, RunCounts]
    p: float
    telling: str

    @property
    def explains(self) -> bool:
        """Whether the difference is significant."""
        return self.p <= ERROR

    def __str__(self) -> str:
        rates = ", ".join(
            f"{label} {counts.passed}/{counts.runs} = {counts.rate:.0%}"
            for label, counts in self.values.items()
        )
        if not self.explains:
            return f"{self.dimension} explains no difference (p = {self.p:.2g}): {rates}"
        return f"{self.dimension} explains a difference (p = {self.p:.2g}), {self.telling} most: {rates}"


def cells_of(report: CombinedReport) -> tuple[MatrixCellReport, ...]:
    """A row for each combination, in the order of the report; none for a suite without a matrix."""
    groups: dict[tuple[tuple[str, str], ...], list[CombinedCase]] = {}
    for case in report.cases:
        if case.combination:
            groups.setdefault(tuple(case.combination.items()), []).append(case)
    return tuple(_cell(dict(labels), cases) for labels, cases in groups.items())


def _cell(labels: dict[str, str], cases: Sequence[CombinedCase]) -> MatrixCellReport:
    costs = [run.cost for case in cases for run in case.runs if run.outcome != "error"]
    known = [cost for cost in costs if cost is not None]
    return MatrixCellReport(
        labels=labels,
        rate=pass_rate(sum(case.rate.passed for case in cases), sum(case.rate.runs for case in cases)),
        cost=math.fsum(known) / len(known) if known and len(known) == len(costs) else None,
    )


def effects_of(report: CombinedReport) -> tuple[DimensionEffect, ...]:
    """How far each dimension with several values explains the pass rate, the clearest first.

    Runs with one value are compared with those of the others, within each case and each combination of the other
    dimensions, by an exact test; all values and dimensions are corrected by Holm's method. None without the extra
    `stats`.
    """
    cases = [case for case in report.cases if case.combination]
    names = list(cases[0].combination) if cases else []
    try:
        raw = [effect for name in names if (effect := _effect(name, cases))]
        corrected = holm([effect.p for effect in raw]) if raw else ()
    except (ImportError, EnvironmentProblem):
        return ()
    found = [msgspec.structs.replace(one, p=p) for one, p in zip(raw, corrected, strict=True)]
    return tuple(sorted(found, key=lambda one: one.p))


def _effect(name: str, cases: Sequence[CombinedCase]) -> DimensionEffect | None:
    labels = list(dict.fromkeys(case.combination[name] for case in cases))
    if len(labels) < 2:
        return None
    strata: dict[tuple[str, ...], dict[str, RunCounts]] = {}
    for case in cases:
        others = (case.base, *(label for other, label in case.combination.items() if other != name))
        strata.setdefault(others, {})[case.combination[name]] = RunCounts(case.rate.passed, case.rate.runs)
    tested = labels if len(labels) > 2 else labels[:1]  # of two values either says all
    p_values = holm([stratified_p(list(_against(label, strata.values()))) for label in tested])
    least = min(p_values)
    return DimensionEffect(
        dimension=name,
        values={
            label: _total(group[label] for group in strata.values() if label in group) for label in labels
        },
        p=least,
        telling=tested[p_values.index(least)],
    )


def _against(label: str, strata: Iterable[Mapping[str, RunCounts]]) -> Iterator[tuple[RunCounts, RunCounts]]:
    for group in strata:
        yield (
            group.get(label, RunCounts(0, 0)),
            _total(counts for key, counts in group.items() if key != label),
        )


def _total(counts: Iterable[RunCounts]) -> RunCounts:
    found = list(counts)
    return RunCounts(sum(one.passed for one in found), sum(one.runs for one in found))


def matrix_as_json(report: CombinedReport) -> dict[str, Any]:
    """The table and what explains it, as plain data."""
    return {
        "cells": [
            {
                "labels": dict(cell.labels),
                "passed": cell.rate.passed,
                "runs": cell.rate.runs,
                "pass_rate": cell.rate.rate,
                "low": cell.rate.low,
                "high": cell.rate.high,
                "cost": cell.cost,
            }
            for cell in cells_of(report)
        ],
        "effects": [
            {
                "dimension": one.dimension,
                "p": one.p,
                "explains": one.explains,
                "telling": one.telling,
                "values": {label: {"passed": n.passed, "runs": n.runs} for label, n in one.values.items()},
            }
            for one in effects_of(report)
        ],
    }


def matrix_lines(report: CombinedReport) -> list[str]:
    """The table for a terminal, and below it what explains a difference; nothing without a matrix."""
    rows = _rows(report)
    if not rows:
        return []
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return [*lines, *map(str, effects_of(report))]


def matrix_markdown(report: CombinedReport) -> list[str]:
    """The same in Markdown."""
    rows = [[markdown_cell(cell) for cell in row] for row in _rows(report)]
    if not rows:
        return []
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    effects = [f"- {one}" for one in effects_of(report)]
    return [head, "|" + "---|" * len(rows[0]), *body, "", *effects, ""]


def markdown_cell(text: str) -> str:
    """A text in a table of Markdown, in which neither a bar nor a tag means anything."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def _rows(report: CombinedReport) -> list[list[str]]:
    """A grid: the last dimension across, the others down; one dimension alone goes down."""
    cells = cells_of(report)
    if not cells:
        return []
    names = list(cells[0].labels)
    if len(names) == 1:
        return [[names[0], "passed"], *([*cell.labels.values(), _words(cell)] for cell in cells)]
    *down, across = names
    by_labels = {tuple(cell.labels.values()): cell for cell in cells}
    columns = list(dict.fromkeys(cell.labels[across] for cell in cells))
    beside = [list(dict.fromkeys(cell.labels[name] for cell in cells)) for name in down]
    head = [*down, *(f"{across}={label}" for label in columns)]
    body = [
        [*labels, *(_words(by_labels.get((*labels, label))) for label in columns)]
        for labels in itertools.product(*beside)
    ]
    return [head, *body]


def _words(cell: MatrixCellReport | None) -> str:
    if cell is None:
        return _NONE
    rate = cell.rate
    cost = "" if cell.cost is None else f" ${cell.cost:.4f}"
    return f"{rate.passed}/{rate.runs} = {rate.rate:.0%} [{rate.low:.0%}, {rate.high:.0%}]{cost}"
