"""Amounts of money: in another currency, rounded as bills are, and held against a budget.

Prices are in US dollars. What a dollar is worth changes every day, so whoever wants another currency says it; there
is no table of ours that could be of yesterday.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from soundstage.errors import WrongValueError

if TYPE_CHECKING:
    from decimal import Decimal

_DIGITS: Final = 9  # behind the point; sums of floats are off by less, and no token costs less


class Currency(msgspec.Struct, frozen=True, kw_only=True):
    """A currency, and what a US dollar is worth in it.

    Args:
        code: three capital letters, as ISO 4217 has them.
        per_dollar: so much of it is one US dollar.
        sign: stands before an amount; the code and a space unless given.
        decimals: digits behind the point.

    Raises:
        WrongValueError: for another code, a rate that is not above zero, or decimals that are not 0 to 9.

    Example:
        >>> euro = Currency(code="EUR", sign="€", per_dollar=0.9)
        >>> euro.amount(1.25), euro.show(1.25), euro.show(0.001)
        (Decimal('1.13'), '€1.13', 'under €0.01')
    """

    code: str
    per_dollar: float
    sign: str = ""
    decimals: int = 2

    def __post_init__(self) -> None:
        if not (len(self.code) == 3 and self.code.isascii() and self.code.isalpha() and self.code.isupper()):
            raise WrongValueError("a currency has a code of ISO 4217", expected="'EUR'", seen=repr(self.code))
        if not (math.isfinite(self.per_dollar) and self.per_dollar > 0):
            raise WrongValueError(
                f"a dollar is worth some {self.code}", expected="above 0", seen=repr(self.per_dollar)
            )
        if not 0 <= self.decimals <= _DIGITS:
            raise WrongValueError("amounts have 0 to 9 decimals", seen=repr(self.decimals))

    def amount(self, dollars: float) -> Decimal:
        """So many US dollars in this currency, rounded to its decimals; a half goes away from zero."""
        return self._rounded(self._exact(dollars))

    def show(self, dollars: float) -> str:
        """So many US dollars as a bill shows them. What is too little to show, and not nothing, reads `under $0.01`."""
        sign = self.sign or f"{self.code} "
        exact = self._exact(dollars)
        rounded = self._rounded(exact)
        if exact > 0 and not rounded:
            return f"under {sign}{self._least():f}"
        return f"{'-' if rounded < 0 else ''}{sign}{abs(rounded):,f}"

    def _exact(self, dollars: float) -> Decimal:
        from decimal import Decimal

        if not math.isfinite(dollars):
            raise WrongValueError("an amount is a number of dollars", seen=repr(dollars))
        return Decimal(repr(float(dollars))) * Decimal(repr(float(self.per_dollar)))

    def _rounded(self, exact: Decimal) -> Decimal:
        from decimal import ROUND_HALF_UP

        return exact.quantize(self._least(), rounding=ROUND_HALF_UP)

    def _least(self) -> Decimal:
        from decimal import Decimal

        return Decimal(1).scaleb(-self.decimals)


USD: Final = Currency(code="USD", sign="$", per_dollar=1)
"""US dollars, in which prices are."""


def over_budget(dollars: float, budget: float) -> bool:
    """Whether an amount is above a budget; the budget itself is not.

    Both are compared to a billionth of a dollar, so three tenths that were added up are not above 0.3.

    Raises:
        WrongValueError: for a budget that is no number of dollars from 0.

    Example:
        >>> over_budget(0.1 + 0.2, 0.3), over_budget(0.31, 0.3)
        (False, True)
    """
    if isinstance(budget, bool) or not (math.isfinite(budget) and budget >= 0):
        raise WrongValueError("a budget is a number of US dollars from 0", seen=repr(budget))
    return round(dollars - budget, _DIGITS) > 0
