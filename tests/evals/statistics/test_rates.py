"""Pass rates with Wilson's interval, pass@k and pass^k, against published values, statsmodels, and all subsets."""

from __future__ import annotations

import itertools

import pytest

from soundstage.errors import WrongValueError
from soundstage.evals.statistics import pass_all_k, pass_at_k, pass_rate

NEWCOMBE = (  # Newcombe (1998), Statistics in Medicine 17, table I, method 3: score without continuity correction
    (81, 263, 0.2553, 0.3662),
    (15, 148, 0.0624, 0.1605),
    (0, 20, 0.0, 0.1611),
    (1, 29, 0.0061, 0.1718),
)


@pytest.mark.parametrize(("passed", "runs", "low", "high"), NEWCOMBE)
def test_the_interval_of_a_pass_rate_is_that_of_newcombes_table(passed, runs, low, high):
    found = pass_rate(passed, runs)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_the_interval_is_that_of_statsmodels_for_all_counts_of_up_to_30_runs(confidence):
    from statsmodels.stats.proportion import proportion_confint

    for runs in range(1, 31):
        for passed in range(runs + 1):
            found = pass_rate(passed, runs, confidence=confidence)
            expected = proportion_confint(passed, runs, alpha=1 - confidence, method="wilson")
            assert (found.low, found.high) == pytest.approx(expected, abs=1e-9), f"{passed} of {runs}"


def test_without_runs_the_rate_is_0_and_every_rate_agrees():
    found = pass_rate(0, 0)
    assert (found.rate, found.low, found.high) == (0.0, 0.0, 1.0)


def test_all_runs_passed_is_a_rate_of_1_whose_interval_ends_at_1():
    assert (pass_rate(7, 7).rate, pass_rate(7, 7).high) == (1.0, 1.0)
    assert pass_rate(0, 7).low == 0.0


@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize("passed", range(7))
def test_pass_at_k_and_pass_all_k_are_shares_of_all_subsets_of_k_runs(passed, k):
    subsets = list(itertools.combinations([True] * passed + [False] * (6 - passed), k))
    assert pass_at_k(6, passed, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))
    assert pass_all_k(6, passed, k) == pytest.approx(sum(map(all, subsets)) / len(subsets))


def test_pass_at_k_is_the_product_of_chen_et_al():
    """Chen et al. (2021), arXiv 2107.03374, figure 3: one minus the product of 1 - k / i for i from n - c + 1 to n."""
    runs, passed, k = 200, 13, 10
    product = 1.0
    for i in range(runs - passed + 1, runs + 1):
        product *= 1 - k / i
    assert pass_at_k(runs, passed, k) == pytest.approx(1 - product)


@pytest.mark.parametrize("estimate", [pass_at_k, pass_all_k])
@pytest.mark.parametrize(("runs", "passed", "k"), [(3, 2, 4), (3, 2, 0), (0, 0, 1), (3, 4, 1), (3, -1, 1)])
def test_a_k_beyond_the_runs_and_counts_that_cannot_be_are_refused(estimate, runs, passed, k):
    with pytest.raises(WrongValueError) as caught:
        estimate(runs, passed, k)
    assert caught.value.expected


def test_a_k_beyond_the_runs_says_how_many_there_are_and_what_to_do():
    with pytest.raises(ValueError, match=r"k = 4 cannot be estimated from 3 runs") as caught:
        pass_at_k(3, 2, 4)
    assert "repeat" in str(caught.value)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, float("nan"), True])
def test_a_confidence_that_is_no_share_is_refused(confidence):
    with pytest.raises(WrongValueError, match="confidence"):
        pass_rate(1, 2, confidence=confidence)
