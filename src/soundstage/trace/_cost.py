"""The cost of a run: tokens times prices.

Source of the prices, in US dollars per million tokens, read in November 2026: the package genai-prices 0.2.3,
which follows the providers' price lists. The price table inside the Claude Code CLI 2.1.330 has the same
numbers for input and output of Opus, Sonnet and Fable. Writes to the prompt cache count as five-minute
entries: a journal does not say which ones were kept for an hour. Batch and fast prices are not in the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from soundstage.errors import ScriptError
from soundstage.messages import Usage
from soundstage.trace._money import USD, Currency
from soundstage.trace._types import Step

_MILLION: Final = 1_000_000
_NO_PRICE: Final = "no price"
_HOW: Final = "give the prices: PRICES.extended({'MODEL': Price(input=.., output=..)})"
_ENDS_A_NAME: Final = "-@:[/"  # what may follow the prefix of a model's name


class PricingError(ScriptError, LookupError):
    """Raised when a cost is asked for and no price is known; the message names the model. Also a `LookupError`."""


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Prices of one model, in US dollars per million tokens.

    Args:
        input: tokens of the request that no cache knows.
        output: tokens of the reply.
        cache_read: tokens read from the prompt cache; `None` if not known.
        cache_write: tokens written to the prompt cache; `None` if not known.
        long_after: a request with more tokens than this costs what `long` says, all of its tokens.
        long: see `long_after`.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    long_after: int = 0
    long: Price | None = None

    def __post_init__(self) -> None:
        given = (self.input, self.output, self.cache_read, self.cache_write)
        if not all(math.isfinite(price) and price >= 0 for price in given if price is not None):
            raise ScriptError("a price is a number of dollars from 0", seen=repr(given))

    def of(self, usage: Usage) -> float | str:
        """US dollars for one reply, or the reason why that cannot be said."""
        asked = usage.total_tokens - usage.output_tokens
        if self.long is not None and asked > self.long_after:
            return self.long.of(usage)
        counts = {
            "cache read": (usage.cache_read_tokens, self.cache_read),
            "cache write": (usage.cache_write_tokens, self.cache_write),
        }
        total = usage.input_tokens * self.input + usage.output_tokens * self.output
        for name, (tokens, price) in counts.items():
            if tokens and price is None:
                return f"no {name} price"
            total += tokens * (price or 0.0)
        return total / _MILLION


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """A price table: by the beginning of the model's name; the longest one that fits counts.

    After the beginning the name must be at an end or go on with one of `-@:[/`, so `gpt-4.1` is the price of
    `gpt-4.1-2025-04-14` and not of `gpt-4.10`. What stands before the last slash of a name is ignored if
    nothing fits otherwise: `anthropic/claude-opus-5-5`.

    Example:
        >>> prices = PRICES.extended({"house-model": Price(input=1, output=2)})
        >>> prices.find("house-model-large").output
        2
    """

    table: dict[str, Price]

    def find(self, model: str) -> Price | None:
        """The price of a model; `None` if the table has none."""
        for name in (model, model.rpartition("/")[2]):
            fitting = [prefix for prefix in self.table if _begins(name, prefix)]
            if fitting:
                return self.table[max(fitting, key=len)]
        return None

    def charge(self, model: str, usage: Usage) -> float:
        """US dollars for one reply of a model.

        Raises:
            PricingError: if the table does not have all prices that the reply needs.

        Example:
            >>> PRICES.charge("claude-opus-5-5", Usage(input_tokens=1000, output_tokens=100))
            0.006
        """
        price = self.find(model)
        amount = price.of(usage) if price is not None else _NO_PRICE
        if isinstance(amount, str):
            raise PricingError(
                f"the cost of a reply of {model!r} is not known", seen=f"{amount} for {model!r}", hint=_HOW
            )
        return amount

    def extended(self, table: Mapping[str, Price]) -> Prices:
        """This table and yours; yours goes first.

        Raises:
            ScriptError: for an empty name.
        """
        if not all(table):
            raise ScriptError("a price needs the beginning of a model's name", seen="an empty name")
        return Prices(table={**self.table, **table})


def _begins(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and (len(name) == len(prefix) or name[len(prefix)] in _ENDS_A_NAME)


PRICES: Final = Prices(
    table={
        "claude-opus-5-5": Price(input=4, output=20, cache_read=0.2, cache_write=5),
        "claude-sonnet-5-5": Price(input=2, output=10, cache_read=0.1, cache_write=2.5),
        "claude-fable-5-2": Price(input=8, output=40, cache_read=0.2, cache_write=10),
        "claude-haiku-5-5": Price(
            input=0.1,
            output=0.5,
            cache_read=0.01,
            cache_write=0.125,
            long_after=100_000,
            long=Price(input=0.5, output=2.5, cache_read=0.05, cache_write=0.625),
        ),
        "gpt-4o": Price(input=2.5, output=10, cache_read=1.25),
        "gpt-4o-2024-05-13": Price(input=5, output=15),
        "gpt-4o-mini": Price(input=0.15, output=0.6, cache_read=0.075),
        "gpt-4.1": Price(input=2, output=8, cache_read=0.5),
        "gpt-4.1-mini": Price(input=0.4, output=1.6, cache_read=0.1),
        "gpt-4.1-nano": Price(input=0.1, output=0.4, cache_read=0.025),
    }
)
"""Prices of current models; extend it with `PRICES.extended({...})`."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of a run, or the reason why it is not known.

    Args:
        amount: US dollars; `None` when some part of it is not known.
        reason: why it is not known; empty when it is.
        by_model: US dollars by model, of the models whose cost is known.
        uncounted: replies that broke off or report no tokens. A provider may have charged for them.
    """

    amount: float | None
    reason: str = ""
    by_model: dict[str, float] = {}
    uncounted: int = 0

    @property
    def usd(self) -> float:
        """US dollars.

        Raises:
            PricingError: if the cost is not known; the message says why.
        """
        if self.amount is None:
            raise PricingError(f"the cost is not known: {self.reason}", hint=f"{_HOW}, for trace.cost(...)")
        return self.amount

    def show(self, currency: Currency = USD) -> str:
        """The cost as a bill shows it, rounded: `$0.12`; see `Currency.show`.

        Raises:
            PricingError: if the cost is not known.
        """
        return currency.show(self.usd)

    def __str__(self) -> str:
        return f"cost unknown: {self.reason}" if self.amount is None else f"${self.amount:.4f}"


def cost_of(steps: Iterable[Step], prices: Prices) -> Cost:
    """The cost of all replies of `steps`."""
    found: dict[str, list[float]] = {}
    reasons: dict[str, None] = {}
    uncounted = 0
    table: dict[str, Price | None] = {}
    for step in steps:
        if not step.usage.total_tokens:
            uncounted += _may_be_charged(step)
            continue
        model = step.model
        if model not in table:
            table[model] = prices.find(model)
        price = table[model]
        amount = price.of(step.usage) if price is not None else _NO_PRICE
        if isinstance(amount, str):
            reasons[f"{amount} for {model!r}"] = None
        else:
            found.setdefault(model, []).append(amount)
    if uncounted and not found and not reasons:
        reasons["no reply reports its tokens"] = None
    by_model = {model: math.fsum(amounts) for model, amounts in found.items()}
    total = None if reasons else math.fsum(amount for amounts in found.values() for amount in amounts)
    return Cost(amount=total, reason="; ".join(reasons), by_model=by_model, uncounted=uncounted)


def _may_be_charged(step: Step) -> bool:
    """Whether a provider may have charged for a step without token counts; error answers are free."""
    return step.failure is None or step.failure.reason in ("cut", "client_gone")
