"""Costs of runs, told in the terminal while they come."""

from __future__ import annotations

import math
import os
import sys
from typing import Final, TextIO

from soundstage.runs.result import RunResult
from soundstage.trace import USD, Cost, Currency, over_budget

_WARNING, _OVER, _PLAIN = "\x1b[33m", "\x1b[31m", "\x1b[0m"
_NEAR: Final = 0.8  # share of a budget from which on it is told


class CostReporter:
    """Tells the cost of runs as they come: all of it, then by model; models that cost nothing are left out.

    A workflow takes it as a reporter; whatever else has costs calls `on_cost_update`. A cost that is not known is a
    warning with the id of the run.

    Args:
        budget: US dollars; from four fifths on a warning is told.
        currency: in which costs are told, rounded as a bill rounds.
        file: where to; standard error unless given.
        lines: whether a line is written when the cost changes; without, `line` has it, and warnings alone are written.
        colour: whether warnings are coloured; unless given, in a terminal, and not where `NO_COLOR` is set.

    Example:
        >>> reporter = CostReporter(budget=0.10, file=sys.stdout, colour=False)
        >>> reporter.on_cost_update("a1", Cost(amount=0.08, by_model={"gpt-4.1": 0.08, "free": 0.0}))
        cost: $0.08 (gpt-4.1 $0.08); near the budget of $0.10
    """

    def __init__(
        self,
        *,
        budget: float | None = None,
        currency: Currency = USD,
        file: TextIO | None = None,
        lines: bool = True,
        colour: bool | None = None,
    ) -> None:
        if budget is not None:
            over_budget(0.0, budget)  # refuses what is no budget
        self._budget, self._currency = budget, currency
        self._file = file if file is not None else sys.stderr
        self._colour = self._file.isatty() and not os.environ.get("NO_COLOR") if colour is None else colour
        self._costs: dict[str, Cost] = {}
        self._told, self._lines = "", lines

    @property
    def total(self) -> float:
        """US dollars of all runs whose cost is known."""
        return math.fsum(cost.amount or 0.0 for cost in self._costs.values())

    def on_cost_update(self, run: str, cost: Cost | None) -> None:
        """Take note of what a run has cost until now; a later update of the same run replaces it.

        Args:
            run: its id.
            cost: of all of it; nothing if it has asked no model.
        """
        if cost is None:
            return
        before = self._costs.get(run)
        self._costs[run] = cost
        if cost.amount is None and (before is None or before.reason != cost.reason):
            self._write(
                self._marked(f"warning: the cost of the run {run} is not known: {cost.reason}", _WARNING)
            )
        if self._lines and self.line != self._told:
            self._told = self.line
            self._write(self._told)

    def report(self, result: object) -> None:
        """Take note of the result of a run; those of stages and workflows are sums of runs that were told."""
        if isinstance(result, RunResult):
            self.on_cost_update(result.id, result.cost)

    @property
    def line(self) -> str:
        """The cost of all runs until now, in a line."""
        models: dict[str, float] = {}
        for cost in self._costs.values():
            for model, amount in cost.by_model.items():
                models[model] = models.get(model, 0.0) + amount
        parts = [f"{model} {self._currency.show(amount)}" for model, amount in models.items() if amount]
        told = f"cost: {self._currency.show(self.total)}" + (f" ({', '.join(parts)})" if parts else "")
        unknown = sum(cost.amount is None for cost in self._costs.values())
        more = f"; that of {unknown} run{'s' if unknown > 1 else ''} is not known" if unknown else ""
        return told + more + self._warning()

    def _warning(self) -> str:
        budget = self._budget
        if budget is None or not self.total or over_budget(_NEAR * budget, self.total):
            return ""
        over = over_budget(self.total, budget)
        text = f"{'over' if over else 'near'} the budget of {self._currency.show(budget)}"
        return "; " + self._marked(text, _OVER if over else _WARNING)

    def _marked(self, text: str, colour: str) -> str:
        return f"{colour}{text}{_PLAIN}" if self._colour else text

    def _write(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()
