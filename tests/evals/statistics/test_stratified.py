"""Runs compared within groups: published values, Fisher's and McNemar's tests as special cases, simulations."""

from __future__ import annotations

import random

import pytest

from soundstage.errors import WrongValueError
from soundstage.evals.statistics import compare_runs, stratified_p

RABBITS = [((0, 6), (0, 5)), ((3, 6), (0, 6)), ((6, 6), (2, 6)), ((5, 6), (6, 6)), ((2, 2), (5, 5))]


def test_the_chance_is_that_of_the_published_rabbits():
    """Agresti (1990), Categorical Data Analysis, p. 231: penicillin at once or later; R's exact test: 0.03994."""
    assert round(stratified_p(RABBITS), 5) == 0.03994
    assert stratified_p([(b, a) for a, b in RABBITS]) == pytest.approx(stratified_p(RABBITS))


@pytest.mark.parametrize(
    "table", [((3, 4), (1, 4)), ((10, 12), (2, 18)), ((0, 5), (5, 5)), ((7, 30), (20, 31))]
)
def test_one_group_is_fishers_exact_test(table):
    from scipy.stats import fisher_exact

    (a, n), (b, m) = table
    assert stratified_p([table]) == pytest.approx(fisher_exact([[a, n - a], [b, m - b]])[1])


@pytest.mark.parametrize(("better", "worse", "same"), [(7, 1, 13), (0, 6, 4), (0, 0, 5), (25, 11, 60)])
def test_one_run_of_each_case_is_mcnemars_exact_test(better, worse, same):
    from statsmodels.stats.contingency_tables import mcnemar

    groups = [((0, 1), (1, 1))] * better + [((1, 1), (0, 1))] * worse + [((1, 1), (1, 1))] * same
    assert stratified_p(groups) == pytest.approx(mcnemar([[same, worse], [better, 0]], exact=True).pvalue)


def test_many_runs_come_near_the_test_of_cochran_mantel_and_haenszel():
    from statsmodels.stats.contingency_tables import StratifiedTable

    groups = [((60, 100), (45, 90)), ((30, 80), (25, 95)), ((200, 240), (180, 230))]
    tables = [[[a, n - a], [b, m - b]] for (a, n), (b, m) in groups]
    assert stratified_p(groups) == pytest.approx(
        StratifiedTable(tables).test_null_odds(correction=True).pvalue, abs=0.004
    )


def test_groups_in_which_all_runs_end_alike_say_nothing():
    assert stratified_p([]) == 1
    assert stratified_p([((5, 5), (5, 5)), ((0, 3), (0, 4)), ((0, 0), (2, 3))]) == 1


def test_a_case_that_is_harder_and_has_more_runs_in_one_result_makes_no_difference():
    """Simpson's paradox: 55 % against 45 % over all runs, and no difference within a case."""
    old, new = {"easy": (81, 90), "hard": (1, 10)}, {"easy": (9, 10), "hard": (9, 90)}
    found = compare_runs(old, new)
    assert found.old.rate - found.new.rate > 0.6
    assert (round(found.difference, 3), found.p) == (0, 1)


def test_the_difference_is_that_of_the_cases():
    found = compare_runs({"a": (5, 5), "b": (4, 5)}, {"a": (2, 5), "b": (3, 5)})
    assert found.difference == pytest.approx(-0.4)
    assert (found.old, found.new) == ((9, 10), (5, 10))


def drawn(source, rates, runs):
    return {case: (sum(source.random() < rate for _ in range(runs)), runs) for case, rate in rates.items()}


def share_seen(rates, lost, runs, trials):
    source = random.Random(5)
    later = {case: rate - lost for case, rate in rates.items()}
    found = [compare_runs(drawn(source, rates, runs), drawn(source, later, runs)).p for _ in range(trials)]
    return sum(p <= 0.05 for p in found) / trials


RATES = {str(n): 0.6 + 0.04 * n for n in range(8)}


def test_equal_results_seem_to_differ_no_oftener_than_stated():
    assert 0 < share_seen(RATES, 0.0, 5, 400) <= 0.06


def test_a_true_difference_of_the_smallest_size_is_seen_about_four_times_out_of_five():
    source = random.Random(7)
    smallest = compare_runs(drawn(source, RATES, 10), drawn(source, RATES, 10)).smallest
    assert 0.1 < smallest < 0.3
    assert 0.7 < share_seen(RATES, smallest, 10, 300) < 0.9


def test_runs_that_are_too_few_to_show_anything_say_so():
    assert compare_runs({"a": (1, 1), "b": (1, 1)}, {"a": (1, 1), "b": (1, 1)}).smallest == 1
    assert compare_runs({"a": (3, 3)}, {"a": (0, 3)}).smallest == 1
    assert compare_runs({"a": (9, 9)}, {"a": (9, 9)}).smallest < 0.7


@pytest.mark.parametrize(
    ("old", "new"), [({}, {}), ({"a": (1, 1)}, {"b": (1, 1)}), ({"a": (2, 1)}, {"a": (0, 1)})]
)
def test_results_that_cannot_be_compared_are_refused(old, new):
    with pytest.raises(WrongValueError):
        compare_runs(old, new)
