"""The three ways to compare a list of conditions with what happened, against their definitions."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import ScriptError
from soundstage.trace._sequences import ComparedLists, comparison


@st.composite
def tables(draw):
    """Which condition matches which thing: any relation, so that conditions may overlap."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(0, 5))
    return draw(
        st.lists(st.lists(st.booleans(), min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )


def lists(table):
    seen = len(table[0])
    return ComparedLists(
        what="thing",
        expected=[f"e{number}" for number in range(len(table))],
        seen=[f"s{number}" for number in range(seen)],
        positions=[10 + number for number in range(seen)],
        explain=lambda left, right: None if table[left][right] else "no",
    )


def fits(table, places):
    return all(row[place] for row, place in zip(table, places, strict=True))


@given(tables())
def test_the_three_orders_mean_what_they_say(table):
    rows, columns = len(table), len(table[0])
    meanings = {
        "exact": rows == columns and fits(table, range(rows)),
        "in_order": any(fits(table, places) for places in combinations(range(columns), rows)),
        "any_order": any(fits(table, places) for places in permutations(range(columns), rows)),
    }
    found = {order: comparison(order)(lists(table)) for order in meanings}
    assert {order: finding.passed for order, finding in found.items()} == meanings


@given(tables(), st.sampled_from(["exact", "in_order", "any_order"]))
def test_a_difference_names_the_first_trouble_and_shows_everything_that_is_expected(table, order):
    finding = comparison(order)(lists(table))
    assert finding.expected == ", ".join(f"e{number}" for number in range(len(table)))
    seen = ", ".join(f"s{number}" for number in range(len(table[0])))
    assert finding.seen == seen or (not seen and finding.seen == "no thing")
    if finding:
        assert not finding.diff
        return
    assert "is missing" in finding.message or "thing" in finding.message
    rows = finding.diff.splitlines()[1:]
    assert any(row[0] in "-!+" for row in rows)
    if len(table) + len(table[0]) < 6:
        assert all(any(f"e{number}" in row for row in rows) for number in range(len(table)))


def test_what_is_only_in_another_place_is_not_said_to_be_missing():
    swapped = comparison("exact")(lists([[False, True], [True, False]]))
    assert swapped.message == "thing s1 came second, expected first"
    moved = comparison("exact")(lists([[True, False, False], [False, False, True], [False, True, False]]))
    assert moved.message == "thing s2 came third, expected second"
    early = comparison("in_order")(lists([[False, False, True], [False, True, False]]))
    assert early.message == "thing s1 came second, expected after s2, which came third"


def test_an_unknown_order_is_an_error():
    with pytest.raises(ScriptError, match="exact, in_order, any_order"):
        comparison("sorted")
