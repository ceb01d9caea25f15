"""Rows and the table."""

import pytest

from _table import Row, micros, millis, per_second, render, summary


@pytest.mark.parametrize(
    ("value", "bound", "verdict"),
    [
        (2.0, "at least", "met"),
        (1.99, "at least", "SHORT"),
        (2.0, "at most", "met"),
        (2.01, "at most", "SHORT"),
        (None, "at least", "not measured"),
    ],
)
def test_a_row_says_whether_its_target_was_met(value, bound, verdict):
    assert Row("what", "peer", "figures", value, 2.0, bound).verdict == verdict


def test_a_row_without_a_target_has_no_verdict_and_does_not_count():
    free = Row("what", "peer", "figures", 0.1)
    assert free.verdict == ""
    assert summary([free, Row("what", "peer", "figures", 3.0, 2.0)]) == "1 of 1 targets met"


def test_the_summary_counts_what_is_short_and_what_could_not_be_measured():
    rows = [Row("a", "b", "", value, 2.0) for value in (3.0, 1.0, None)]
    assert summary(rows) == "1 of 3 targets met, 1 short, 1 not measured"


def test_the_table_is_markdown_with_aligned_columns():
    lines = render(
        [Row("wire", "aimock", "2/s : 1/s", 2.0, 2.0), Row("x", "y", "no node", target=2.0)]
    ).split("\n")
    assert len(lines) == 4
    assert len({len(line) for line in lines}) == 1
    assert [cell.strip() for cell in lines[2].strip("|").split("|")] == [
        "wire", "aimock", "2x", "at least 2x", "met", "2/s : 1/s",
    ]  # fmt: skip
    assert "not measured" in lines[3]
    assert "no node" in lines[3]


def test_milliseconds_are_shown_as_such():
    row = Row("import", "bare", "", 41.7, 60, "at most", "ms")
    assert row.cells()[2:5] == ("42 ms", "at most 60 ms", "met")


def test_figures_are_middles_in_readable_units():
    assert per_second([1.0, 25_000.4, 90_000.0]) == "25,000/s"
    assert micros([1e-6, 2.5e-6, 9e-6]) == "2.50 us"
    assert millis(0.0417) == "42 ms"
