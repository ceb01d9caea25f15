"""Differences that a person can read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import ScriptError
from soundstage.trace import diff, normalise
from soundstage.trace._diff import align, side_by_side

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("a", "b", "lines"),
    [
        ({"x": [1, 2]}, {"x": [1, 3]}, ["x[1]", "a: 2", "b: 3"]),
        ({"x": [1]}, {"x": [1, {"y": 2}]}, ["x[1]", "a: nothing there", 'b: {"y": 2}']),
        ({"x": 1, "y": 2}, {"x": 1}, ["y", "a: 2", "b: nothing there"]),
        ({"x": 1}, {"x": 1, "z": None}, ["z", "a: nothing there", "b: null"]),
        ([True], [1], ["[0]", "a: true", "b: 1"]),
        ("a", None, ["the top", 'a: "a"', "b: null"]),
        ({"x": "same" * 20 + "A"}, {"x": "same" * 20 + "B"}, ["x", f"a: '...{('same' * 20)[-30:]}A'", None]),
    ],
)
def test_the_first_difference_is_shown_with_its_place(a, b, lines):
    found = diff(a, b).splitlines()
    assert found[0] == f"first difference at {lines[0]}"
    assert found[1] == f"  {lines[1]}"
    assert lines[2] is None or found[2] == f"  {lines[2]}"


def test_the_difference_of_two_traces_names_the_step(routed):
    other = normalise(routed, mask={"plaintext": "hashes"})
    assert (
        diff(normalise(routed), other).splitlines()[0] == "first difference at conversations[0].steps[2].text"
    )


@given(JSON, JSON)
def test_it_is_empty_exactly_for_equal_values(a, b):
    assert diff(a, a) == ""
    assert (diff(a, b) == "") == (repr(a) == repr(b) or (a == b and _same_types(a, b)))


def _same_types(a, b):
    if isinstance(a, dict):
        return all(_same_types(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return all(map(_same_types, a, b))
    return isinstance(a, bool) == isinstance(b, bool)


def test_what_is_no_json_cannot_be_compared(routed):
    with pytest.raises(ScriptError, match=r"the top is a Trace(.|\n)*normalise\(trace\)"):
        diff(routed, routed)
    with pytest.raises(ScriptError, match=r"x\[0\] is a set"):
        diff({"x": [set()]}, {"x": [set()]})


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_alignment_keeps_both_orders_and_pairs_as_many_as_it_can(expected, seen):
    rows = align(len(expected), len(seen), lambda i, j: expected[i] == seen[j])
    assert [row.expected for row in rows if row.expected is not None] == list(range(len(expected)))
    assert [row.seen for row in rows if row.seen is not None] == list(range(len(seen)))
    assert all(
        row.same == (expected[row.expected] == seen[row.seen])
        for row in rows
        if None not in row[:2] and row.same
    )
    assert sum(row.same for row in rows) == longest_common(expected, seen)


def longest_common(a, b):
    if not a or not b:
        return 0
    if a[0] == b[0]:
        return 1 + longest_common(a[1:], b[1:])
    return max(longest_common(a[1:], b), longest_common(a, b[1:]))


def test_very_long_lists_are_compared_place_by_place():
    rows = align(600, 601, lambda i, j: i == j and i != 5)
    assert [row for row in rows if not row.same] == [(5, 5, False), (None, 600, False)]


def test_two_columns_are_cut_around_the_first_difference():
    expected = [str(number) for number in range(20)]
    seen = [*expected[:10], "other" * 20, *expected[11:]]
    rows = align(20, 20, lambda i, j: expected[i] == seen[j])
    assert side_by_side(expected, seen, rows).splitlines() == [
        "  expected | seen",
        "  ... 6 before",
        "= 6        | 6",
        "= 7        | 7",
        "= 8        | 8",
        "= 9        | 9",
        "! 10       | " + ("other" * 20)[:57] + "...",
        "= 11       | 11",
        "= 12       | 12",
        "= 13       | 13",
        "= 14       | 14",
        "  ... 5 after",
    ]


@pytest.mark.parametrize(("length", "whole"), [(60, True), (61, False)])
def test_a_cell_that_just_fits_is_whole(length, whole):
    shown = side_by_side(["x" * length], ["y"], align(1, 1, lambda i, j: False)).splitlines()[1]
    assert shown == "! " + ("x" * 60 if whole else "x" * 57 + "...") + " | y"


@pytest.mark.parametrize(("length", "whole"), [(158, True), (159, False)])
def test_a_value_that_just_fits_is_whole(length, whole):
    shown = diff(None, "x" * length).splitlines()[2]
    assert shown == ("  b: " + json.dumps("x" * length) if whole else '  b: "' + "x" * 156 + "...")


def test_nothing_is_said_to_be_left_out_where_nothing_is():
    rows = align(5, 5, lambda i, j: i == j and i != 4)
    lines = side_by_side(list("abcde"), list("abcdx"), rows).splitlines()
    assert len(lines) == 6
    assert not any("..." in line for line in lines)
