"""The limits of a run, and the sums of its use: added up from the records of its journal as they come. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from soundstage.errors import WrongValueError
from soundstage.journal import ModelRequested, ModelResponded, Record, UsageReported
from soundstage.messages import Usage
from soundstage.runs.runner._errors import BudgetExceededError, CostBudgetExceededError
from soundstage.trace import Prices, over_budget

_CHARACTERS = 4  # of a token, where nobody has counted


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """The most that a run may take; a kind that is not given has no limit. A run may take all of it, and no more.

    Tokens and dollars are those of the replies in the journal, side requests and subagents included; where a journal
    has no replies, because the model is not served by the test, the agent's own counts (`UsageReported`).

    Args:
        cost: US dollars.
        tokens: of all kinds together, cached ones included.
        turns: requests of agents to the model, side requests left out.
        time: seconds on the run's clock, all attempts included.

    Raises:
        WrongValueError: for a number below zero, or none.

    Example:
        >>> Budget(cost=0.5, turns=20).limited
        ('cost', 'turns')
    """

    cost: float | None = None
    tokens: int | None = None
    turns: int | None = None
    time: float | None = None

    def __post_init__(self) -> None:
        for name in self.limited:
            value = getattr(self, name)
            if isinstance(value, bool) or not (math.isfinite(value) and value >= 0):
                raise WrongValueError("a budget is a number from 0", seen=f"{name}={value!r}")

    @property
    def limited(self) -> tuple[str, ...]:
        """The kinds that have a limit."""
        return tuple(name for name in self.__struct_fields__ if getattr(self, name) is not None)


def projected_cost(prompt: str, model: str, prices: Prices) -> float:
    """The least that a run costs: its prompt goes in once, at four characters a token; no reply is counted.

    Nothing for a target that chooses its model itself, whose price nobody can know before.

    Raises:
        PricingError: if the model has no price.

    Example:
        >>> from soundstage.trace import PRICES
        >>> projected_cost("x" * 4_000_000, "claude-opus-5-5", PRICES)
        4.0
    """
    if not model:
        return 0.0
    return prices.charge(model, Usage(input_tokens=math.ceil(len(prompt) / _CHARACTERS)))


class Meter:
    """Sums up what a run takes.

    Args:
        budget: what it may take.
        prices: by model.
    """

    def __init__(self, budget: Budget, prices: Prices) -> None:
        self._budget = budget
        self._prices = prices
        self._models: dict[int, str] = {}  # that were asked, by position of the request
        self._replies = 0
        self._silent = 0  # replies that report no tokens
        self.cost = 0.0
        self.tokens = 0
        self.turns = 0

    def take(self, record: Record) -> BudgetExceededError | None:
        """Count a record. Returns what is exceeded by it.

        Raises:
            PricingError: if dollars are limited, and a reply has no price.
        """
        event = record.event
        if isinstance(event, ModelRequested):
            self._models[record.position] = event.request.model
            self.turns += event.request.purpose == "main"
        elif isinstance(event, ModelResponded):
            if not self._replies:
                self.cost, self.tokens = 0.0, 0  # what agents have counted themselves is in the replies
            self._replies += 1
            asked = self._models.get(record.cause or 0, "")
            self._count(event.response.model or asked, event.response.usage, None)
        elif isinstance(event, UsageReported) and not self._replies:
            self._count(event.model, event.usage, event.cost)
        else:
            return None
        return next(self._exceeded(), None)

    def _count(self, model: str, usage: Usage, cost: float | None) -> None:
        self._silent += not usage.total_tokens
        self.tokens += usage.total_tokens
        if self._budget.cost is not None:
            charged = usage.total_tokens > 0 and cost is None
            self.cost += self._prices.charge(model, usage) if charged else cost or 0.0

    def _exceeded(self) -> Iterator[BudgetExceededError]:
        budget = self._budget
        if budget.cost is not None and over_budget(self.cost, budget.cost):
            yield CostBudgetExceededError(budget.cost, self.cost)
        for name in ("tokens", "turns"):
            limit, spent = getattr(budget, name), getattr(self, name)
            if limit is not None and spent > limit:
                yield BudgetExceededError(name, limit, spent)

    @property
    def gaps(self) -> Iterator[str]:
        """Where the sums may be too low, in words for a warning."""
        if self._silent and (self._budget.cost is not None or self._budget.tokens is not None):
            yield f"the budget does not count {self._silent} replies that report no tokens"
        if self._budget.turns is not None and not self.turns:
            yield "the budget of turns saw no request to a model: the journal has none"
