"""Amounts in other currencies, rounded, and held against a budget."""

from __future__ import annotations

from decimal import Decimal

import pytest

from soundstage.errors import WrongValueError
from soundstage.trace import USD, Cost, Currency, over_budget

EURO = Currency(code="EUR", sign="€", per_dollar=0.9)
YEN = Currency(code="JPY", per_dollar=150, decimals=0)


@pytest.mark.parametrize(
    ("currency", "dollars", "amount", "shown"),
    [
        (USD, 10, "10.00", "$10.00"),
        (USD, 1234.5, "1234.50", "$1,234.50"),
        (USD, 0, "0.00", "$0.00"),
        (USD, 0.004, "0.00", "under $0.01"),
        (USD, 0.005, "0.01", "$0.01"),
        (USD, 1.005, "1.01", "$1.01"),  # as a float it is a little less, and is not meant so
        (USD, 2.675, "2.68", "$2.68"),
        (USD, -1.005, "-1.01", "-$1.01"),
        (EURO, 1.25, "1.13", "€1.13"),
        (EURO, 0.005, "0.00", "under €0.01"),
        (YEN, 0.09, "14", "JPY 14"),
        (YEN, 0.001, "0", "under JPY 1"),
    ],
)
def test_an_amount_is_converted_and_rounded_once_with_a_half_going_up(currency, dollars, amount, shown):
    assert currency.amount(dollars) == Decimal(amount)
    assert str(currency.amount(dollars)) == amount
    assert currency.show(dollars) == shown


def test_a_cost_is_shown_in_the_currency_that_is_asked_for():
    cost = Cost(amount=1.25)
    assert (cost.show(), cost.show(EURO), str(cost)) == ("$1.25", "€1.13", "$1.2500")


@pytest.mark.parametrize(
    ("dollars", "budget", "over"),
    [
        (0.3, 0.3, False),
        (0.1 + 0.2, 0.3, False),
        (0.300000001, 0.3, True),
        (0, 0, False),
        (0.000001, 0, True),
        (2, 3, False),
    ],
)
def test_a_budget_is_inclusive_and_sums_of_floats_do_not_cross_it(dollars, budget, over):
    assert over_budget(dollars, budget) is over


@pytest.mark.parametrize("budget", [-0.01, float("nan"), float("inf"), True])
def test_a_budget_that_is_none_is_refused(budget):
    with pytest.raises(WrongValueError, match="from 0"):
        over_budget(1, budget)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"code": "euro"}, "ISO 4217"),
        ({"per_dollar": 0}, "above 0"),
        ({"per_dollar": float("nan")}, "above 0"),
        ({"decimals": 10}, "0 to 9"),
        ({"decimals": -1}, "0 to 9"),
    ],
)
def test_a_currency_that_is_none_is_refused(wrong, named):
    with pytest.raises(WrongValueError, match=named):
        Currency(**{"code": "EUR", "per_dollar": 0.9, **wrong})


def test_an_amount_that_is_no_number_is_refused():
    with pytest.raises(WrongValueError, match="number of dollars"):
        USD.show(float("nan"))
