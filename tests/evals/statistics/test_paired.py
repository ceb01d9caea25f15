"""Comparisons of two results, against published tables, scipy, statsmodels, and simulations."""

from __future__ import annotations

import random

import pytest

from soundstage.errors import WrongValueError
from soundstage.evals.statistics import compare_passes, compare_scores, holm


def results(both, better, worse, neither):
    """Old and new results with so many cases that pass in both, in the new, in the old, in none."""
    kinds = (
        [(True, True)] * both
        + [(False, True)] * better
        + [(True, False)] * worse
        + [(False, False)] * neither
    )
    return {str(n): old for n, (old, _) in enumerate(kinds)}, {
        str(n): new for n, (_, new) in enumerate(kinds)
    }


def test_the_test_of_passes_has_the_published_value_of_21_children():
    """Fagerland, Lydersen, Laake (2013), BMC Medical Research Methodology 13:91, table 1: exact p = 0.0703."""
    found = compare_passes(*results(both=1, better=7, worse=1, neither=12))
    assert (found.cases, found.better, found.worse) == (21, 7, 1)
    assert round(found.p, 4) == 0.0703
    assert found.difference == pytest.approx(6 / 21)


@pytest.mark.parametrize(("better", "worse"), [(0, 0), (0, 6), (6, 0), (3, 9), (25, 11)])
def test_the_test_of_passes_is_that_of_statsmodels(better, worse):
    from statsmodels.stats.contingency_tables import mcnemar

    expected = mcnemar([[5, worse], [better, 4]], exact=True).pvalue
    assert compare_passes(*results(5, better, worse, 4)).p == pytest.approx(expected)


def share_seen(cases, difference, changing, trials=600):
    """How often a seeded simulation of such cases ends with p <= 0.05."""
    source = random.Random(1)
    seen = 0
    for _ in range(trials):
        drawn = [source.random() for _ in range(cases)]
        better = sum(one < (changing + difference) / 2 for one in drawn)
        worse = sum((changing + difference) / 2 <= one < changing for one in drawn)
        seen += _p(better, worse) <= 0.05
    return seen / trials


def _p(better, worse):
    from scipy.stats import binomtest

    return binomtest(better, better + worse).pvalue if better + worse else 1.0


def test_a_true_difference_of_the_smallest_size_is_seen_four_times_out_of_five():
    found = compare_passes(*results(60, 12, 8, 20))
    assert 0.1 < found.smallest < 0.2
    assert share_seen(100, found.smallest, max(0.2, found.smallest)) == pytest.approx(0.8, abs=0.05)


def test_five_cases_can_show_no_difference_at_all():
    """Even if all five change to the better, p is 2 * 0.5 ** 5, above 0.05; with six it is below."""
    assert compare_passes(*results(0, 5, 0, 0)).smallest == 1.0
    assert compare_passes(*results(0, 5, 0, 0)).p > 0.05
    assert compare_passes(*results(0, 6, 0, 0)).smallest < 1.0


def test_cases_that_differ_are_named():
    with pytest.raises(WrongValueError, match="same cases") as caught:
        compare_passes({"a": True, "b": True}, {"a": True, "c": True})
    assert "b, c" in str(caught.value)


def test_nothing_to_compare_is_refused():
    with pytest.raises(WrongValueError, match="too few cases"):
        compare_passes({}, {})
    with pytest.raises(WrongValueError, match="at least 2"):
        compare_scores({"a": [1.0]}, {"a": [1.0]})
    with pytest.raises(WrongValueError, match="case 'b'"):
        compare_scores({"a": [1.0], "b": [1.0]}, {"a": [1.0], "b": []})


def scores(seed, cases, shift):
    source = random.Random(seed)
    old = {str(n): [source.gauss(0, 1) for _ in range(3)] for n in range(cases)}
    return old, {case: [value + source.gauss(shift, 0.5) for value in runs] for case, runs in old.items()}


def test_the_same_seed_gives_the_same_comparison_of_scores_and_another_one_a_close_one():
    pair = scores(1, 30, 0.1)
    first = compare_scores(*pair, seed=3)
    assert first == compare_scores(*pair, seed=3)
    other = compare_scores(*pair, seed=4)
    assert (other.low, other.high) != (first.low, first.high)
    assert (other.low, other.high) == pytest.approx((first.low, first.high), abs=0.03)


def test_for_normal_scores_interval_and_p_are_near_those_of_the_paired_t_test():
    from scipy.stats import ttest_rel

    old, new = scores(2, 60, 0.15)
    means = [[sum(runs) / 3 for runs in side.values()] for side in (new, old)]
    expected = ttest_rel(*means)
    interval = expected.confidence_interval()
    found = compare_scores(old, new)
    assert found.p == pytest.approx(expected.pvalue, abs=0.01)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=0.02)


def test_the_smallest_difference_of_scores_is_that_of_statsmodels_power():
    """For many cases the power of the z test and of the paired t test agree."""
    from statistics import stdev

    from statsmodels.stats.power import TTestPower

    old, new = scores(5, 400, 0.0)
    spread = stdev((sum(new[case]) - sum(old[case])) / 3 for case in old)
    effect = TTestPower().solve_power(nobs=400, alpha=0.05, power=0.8)
    assert compare_scores(old, new, resamples=10).smallest == pytest.approx(effect * spread, rel=0.01)


def test_repeats_of_a_case_are_no_new_evidence():
    once = compare_scores({"a": [0], "b": [1]}, {"a": [1], "b": [2]})
    often = compare_scores({"a": [0] * 40, "b": [1] * 40}, {"a": [1] * 40, "b": [2] * 40})
    assert once == often
    assert once.p == 0.5  # of four ways to put the signs two are as far out


def test_holms_correction_has_the_published_values_and_those_of_statsmodels():
    """The example of four hypotheses in which the third step stops: 0.01, 0.04, 0.03, 0.005."""
    from statsmodels.stats.multitest import multipletests

    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    drawn = [random.Random(7).random() ** 3 for _ in range(40)]
    assert holm(drawn) == pytest.approx(tuple(multipletests(drawn, method="holm")[1]))


@pytest.mark.parametrize("values", [[], [0.1, 1.2], [float("nan")], [-0.1]])
def test_no_chances_and_numbers_that_are_none_are_refused(values):
    with pytest.raises(WrongValueError):
        holm(values)
