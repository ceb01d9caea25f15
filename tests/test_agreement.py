"""Agreement: Wilson's interval, Cohen's kappa and Krippendorff's alpha, against published values and statsmodels."""

from __future__ import annotations

import itertools

import pytest

from soundstage.agreement import cohen_kappa, krippendorff_alpha, share_interval


def units(*rows):
    """Rows of observers, one letter for each unit, as the units; a point is a missing value."""
    return [[None if one == "." else int(one) for one in unit] for unit in zip(*rows, strict=True)]


# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, University of Pennsylvania: examples A, and C with
# missing data, four observers and twelve units
BINARY = units("0100000010", "1110010000")
MISSING = units("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


@pytest.mark.parametrize(
    ("data", "metric", "alpha"),
    [(BINARY, "nominal", 0.095), (MISSING, "nominal", 0.743), (MISSING, "interval", 0.849)],
)
def test_alpha_is_that_of_krippendorffs_examples(data, metric, alpha):
    assert round(krippendorff_alpha(data, metric), 3) == alpha


def test_alpha_is_one_minus_seen_by_expected_disagreement_over_all_pairs_of_values():
    """The definition, counted pair by pair."""
    rated = [[value for value in unit if value is not None] for unit in MISSING]
    rated = [values for values in rated if len(values) > 1]
    flat = [value for values in rated for value in values]
    seen = sum(
        sum((a - b) ** 2 for a, b in itertools.permutations(values, 2)) / (len(values) - 1)
        for values in rated
    ) / len(flat)
    expected = sum((a - b) ** 2 for a, b in itertools.permutations(flat, 2)) / (len(flat) * (len(flat) - 1))
    assert krippendorff_alpha(MISSING, "interval") == pytest.approx(1 - seen / expected)


def test_agreement_in_all_is_1_and_the_opposite_in_all_is_below_0():
    assert krippendorff_alpha([("a", "a"), ("b", "b")]) == 1
    assert krippendorff_alpha([("a", "b"), ("b", "a")]) < 0
    assert cohen_kappa([("a", "a"), ("b", "b")]) == 1
    assert cohen_kappa([("a", "b"), ("b", "a")]) == -1


@pytest.mark.parametrize("same", [[], [("a", "a")] * 5])
def test_where_nothing_varies_there_is_no_agreement_to_speak_of(same):
    assert krippendorff_alpha(same) is None
    assert cohen_kappa(same) is None


def test_a_unit_with_one_value_says_nothing():
    assert krippendorff_alpha([*MISSING, (7, None, None, None)]) == krippendorff_alpha(MISSING)


@pytest.mark.parametrize("table", [(20, 5, 10, 15), (45, 15, 25, 15), (25, 35, 5, 35), (1, 0, 2, 9)])
def test_kappa_is_that_of_statsmodels(table):
    from statsmodels.stats.inter_rater import cohens_kappa

    a, b, c, d = table
    pairs = [(1, 1)] * a + [(1, 0)] * b + [(0, 1)] * c + [(0, 0)] * d
    assert cohen_kappa(pairs) == pytest.approx(cohens_kappa([[a, b], [c, d]]).kappa)


def test_kappa_tells_equal_shares_of_agreement_apart():
    """Two tables with 60 % of agreement each, whose margins differ: kappa 0.13 and 0.26."""
    first = [(1, 1)] * 45 + [(1, 0)] * 15 + [(0, 1)] * 25 + [(0, 0)] * 15
    second = [(1, 1)] * 25 + [(1, 0)] * 35 + [(0, 1)] * 5 + [(0, 0)] * 35
    assert (round(cohen_kappa(first), 4), round(cohen_kappa(second), 4)) == (0.1304, 0.2593)


def test_without_anything_counted_every_share_agrees():
    assert share_interval(0, 0) == (0.0, 1.0)
