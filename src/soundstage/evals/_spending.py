"""The budget of a whole eval: which run may still start, and which are left out."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable

import msgspec

from soundstage.clock import Clock
from soundstage.evals._agents import ModelAgent
from soundstage.evals._report import ScoredRun
from soundstage.evals._suite import Suite
from soundstage.trace import PRICES, PricingError, over_budget


class EvalSpending:
    """Lets runs start while the budget of the eval has room for them.

    A run is expected to take as much as the largest one so far: of its case, or of any, if its case has none. What its
    judges take counts, too. While nothing is known, one run goes alone. When one does not fit, it waits for those under
    way, which may turn out smaller; the first that does not fit then is left out, and so is all behind it.

    Args:
        suite: its budget counts.
        clock: whose seconds.
        kept: runs of the eval that are over: their tokens and dollars count, their seconds do not.

    Raises:
        PricingError: if dollars are limited, and the model that is asked has no price.

    Attributes:
        left_out: why runs are left out; empty while none is.
    """

    def __init__(self, suite: Suite, clock: Clock, kept: Iterable[ScoredRun]) -> None:
        self._limits: dict[str, float] = {
            name: limit for name, limit in msgspec.structs.asdict(suite.budget).items() if limit is not None
        }
        self._replayed = bool(suite.replayed)  # a recording costs nothing; judges may
        self._clock, self._began = clock, clock.now()
        self._spent = dict.fromkeys(self._limits, 0.0)
        self._largest: dict[str, dict[str, float]] = {}  # by case; "" is any
        self._under_way: dict[tuple[str, int], dict[str, float]] = {}
        self._changed = asyncio.Condition()
        self.left_out = ""
        if "cost" in self._limits and not self._replayed:
            _require_price(suite)
        for run in kept:
            self._count(run)

    async def admits(self, case: str, number: int) -> bool:
        """Whether a run may start; it is under way then, until it is `over`."""
        if not self._limits:
            return True
        async with self._changed:
            await self._changed.wait_for(lambda: self.left_out or not self._waits(case))
            if not self.left_out:
                self.left_out = self._beyond(case)
            if not self.left_out:
                self._under_way[case, number] = self._expected(case)
            self._changed.notify_all()
            return not self.left_out

    async def over(self, run: ScoredRun) -> None:
        """Count a run that was under way.

        Raises:
            PricingError: if dollars or tokens are limited, and nobody knows how many it has taken.
        """
        if not self._limits:
            return
        async with self._changed:
            del self._under_way[run.case, run.number]
            self._count(run)
            self._changed.notify_all()
        uncounted = run.uncounted > 0 and not run.tokens and not self._replayed
        if "tokens" in self._limits and uncounted:
            raise PricingError(
                f"the tokens of the run {run.number} of {run.case!r} are not known, and the budget is in tokens",
                seen=f"replies that do not tell them: {run.uncounted}",
                hint="leave the budget of tokens out, or limit seconds",
            )
        own = run.cost is None and (uncounted or (run.tokens and not self._replayed))
        unknown = own or (run.judge_cost is None and run.judge_tokens)
        if "cost" in self._limits and unknown:
            raise PricingError(
                f"the cost of the run {run.number} of {run.case!r} is not known, and the budget is in dollars",
                seen=run.unpriced or "the cost of its judge is not known",
                hint="leave the budget of dollars out, or limit tokens",
            )

    def _waits(self, case: str) -> bool:
        """Whether those under way may still decide."""
        return bool(self._under_way) and ("" not in self._largest or bool(self._beyond(case)))

    def _expected(self, case: str) -> dict[str, float]:
        return self._largest.get(case) or self._largest.get("") or dict.fromkeys(self._limits, 0.0)

    def _beyond(self, case: str) -> str:
        """Which limit a run would be beyond, in words."""
        expected = self._expected(case)
        for name, limit in self._limits.items():
            if name == "seconds":
                taken = self._clock.now() - self._began
            else:
                taken = self._spent[name] + math.fsum(one[name] for one in self._under_way.values())
            spent = taken + expected[name]
            if over_budget(spent, limit) or (not expected[name] and taken >= limit):
                return (
                    f"the budget of {limit:g} {_UNITS[name]} has no room for another run, after {taken:.6g}"
                )
        return ""

    def _count(self, run: ScoredRun) -> None:
        used = {name: self._used(run, name) for name in self._limits}
        for name, value in used.items():
            self._spent[name] += value
        for key in (run.case, "") if run.outcome != "error" else ():
            before = self._largest.get(key, used)
            self._largest[key] = {name: max(before[name], value) for name, value in used.items()}

    def _used(self, run: ScoredRun, name: str) -> float:
        """Tokens, dollars or seconds of a run and its judges."""
        own = 0.0 if self._replayed and name != "seconds" else getattr(run, name) or 0.0
        return float(own + (getattr(run, f"judge_{name}", None) or 0.0))


_UNITS = {"cost": "dollars", "tokens": "tokens", "seconds": "seconds"}


def _require_price(suite: Suite) -> None:
    """Refuse a model without a price, where its name is known before it is asked."""
    named = suite.agent.model if isinstance(suite.agent, ModelAgent) else ""
    name = getattr(suite.model(), "model", "") or named
    if name and PRICES.find(name) is None:
        raise PricingError(
            f"the model {name!r} has no price, and the budget is in dollars",
            expected="a model with a price",
            hint="leave the budget of dollars out, or limit tokens",
        )
