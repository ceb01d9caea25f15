"""The sequential test: its decisions against a published plan, its errors exactly and simulated, and what it saves."""

from __future__ import annotations

import math
import random

import pytest

from soundstage.errors import WrongValueError
from soundstage.evals.statistics import SequentialTest

PLAN = SequentialTest(rate=0.99, bad_rate=0.90)
"""NIST/SEMATECH e-Handbook of Statistical Methods, 6.2.6: 1 % defects are good, 10 % bad; alpha 0.05, beta 0.10."""
ACCEPT, REJECT = math.log(0.95 / 0.10), math.log(0.90 / 0.05)  # Wald's thresholds, as in that plan


def accepts(runs, defects):
    return PLAN.evidence(runs - defects, runs) >= ACCEPT


def rejects(runs, defects):
    return PLAN.evidence(runs - defects, runs) <= -REJECT


def test_the_evidence_is_that_of_the_published_plan():
    """Its lines: accept at or below -0.939 + 0.0397 n defects, reject at or above 1.205 + 0.0397 n."""
    of_defect = -PLAN.evidence(0, 1) + PLAN.evidence(1, 1)
    assert round(PLAN.evidence(1, 1) / of_defect, 4) == 0.0397
    assert round(ACCEPT / of_defect, 4) == 0.9389
    assert round(REJECT / of_defect, 4) == 1.2054
    assert (accepts(23, 0), accepts(24, 0)) == (False, True)
    assert (rejects(2, 2), rejects(2, 1)) == (True, False)
    assert (rejects(19, 2), rejects(20, 2)) == (True, False)


def chances(test, rate, most):
    """The chance of each outcome at a true rate, computed over all courses of at most so many runs."""
    going, ended = {0: 1.0}, {"passed": 0.0, "failed": 0.0}
    for runs in range(1, most + 1):
        following: dict[int, float] = {}
        for passed, chance in going.items():
            following[passed] = following.get(passed, 0.0) + chance * (1 - rate)
            following[passed + 1] = following.get(passed + 1, 0.0) + chance * rate
        going = {}
        for passed, chance in following.items():
            outcome = test.decide(passed, runs).outcome
            if outcome == "inconclusive":
                going[passed] = chance
            else:
                ended[outcome] += chance
    return ended


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("error", [0.01, 0.05, 0.2])
def test_both_errors_are_at_most_the_stated_one_at_the_stated_rates(rate, error):
    test = SequentialTest(rate=rate, error=error)
    assert chances(test, test.rate, 400)["failed"] <= error
    assert chances(test, test.bad_rate, 400)["passed"] <= error


@pytest.mark.parametrize("most", [3, 12, 20])
def test_an_early_end_makes_neither_error_larger(most):
    test = SequentialTest(rate=0.9)
    assert chances(test, 0.9, most)["failed"] <= 0.05
    assert chances(test, test.bad_rate, most)["passed"] <= 0.05


def simulated(test, rate, trials=2000):
    """Outcomes and numbers of runs of a seeded simulation."""
    source, outcomes, lengths = random.Random(5), [], []
    for _ in range(trials):
        passed = runs = 0
        while (decision := test.decide(passed, runs)).outcome == "inconclusive":
            passed += source.random() < rate
            runs += 1
        outcomes.append(decision.outcome)
        lengths.append(runs)
    return outcomes, sum(lengths) / trials


def fixed_size(test):
    """The runs that a test of a fixed number needs for the same two errors."""
    from scipy.stats import binom

    for runs in range(1, 1000):
        needed = next(n for n in range(runs + 2) if binom.sf(n - 1, runs, test.bad_rate) <= test.error)
        if binom.cdf(needed - 1, runs, test.rate) <= test.error:
            return runs
    raise AssertionError


def test_a_simulation_keeps_the_errors_and_needs_fewer_runs_than_a_test_of_a_fixed_number():
    """About half of the runs at the two rates, and a third if nothing ever fails."""
    test = SequentialTest(rate=0.9)
    good, runs_of_good = simulated(test, test.rate)
    bad, runs_of_bad = simulated(test, test.bad_rate)
    assert good.count("failed") / len(good) <= 0.05
    assert bad.count("passed") / len(bad) <= 0.05
    fixed = fixed_size(test)
    assert runs_of_good <= 0.65 * fixed, (runs_of_good, fixed)
    assert runs_of_bad <= 0.65 * fixed, (runs_of_bad, fixed)
    assert simulated(test, 1.0, 1)[1] <= 0.35 * fixed


def test_the_first_decision_of_twelve_passes_or_three_failures_is_certain():
    test = SequentialTest(rate=0.9)
    assert [test.decide(n, n).outcome for n in (11, 12)] == ["inconclusive", "passed"]
    assert [test.decide(0, n).outcome for n in (2, 3)] == ["inconclusive", "failed"]


@pytest.mark.parametrize(("passed", "runs"), [(0, 0), (5, 5), (8, 10), (17, 20), (2, 4)])
def test_an_inconclusive_decision_says_how_many_runs_would_decide(passed, runs):
    test = SequentialTest(rate=0.9)
    found = test.decide(passed, runs)
    assert found.outcome == "inconclusive"
    for more, outcome in ((found.passes_needed, "passed"), (found.failures_needed, "failed")):
        won = more if outcome == "passed" else 0
        assert test.decide(passed + won, runs + more).outcome == outcome
        assert test.decide(passed + max(won - 1, 0), runs + more - 1).outcome == "inconclusive"
    assert f"{found.passes_needed} more that pass or {found.failures_needed} more that fail" in str(found)


def test_the_runs_that_are_needed_at_the_rate_so_far_decide_and_one_fewer_does_not():
    test = SequentialTest(rate=0.9)
    needed = test.decide(17, 20).runs_needed
    scale = (20 + needed) / 20
    assert abs(test.evidence(1, 1) * 17 * scale + test.evidence(0, 1) * 3 * scale) >= math.log(20)
    scale = (20 + needed - 1) / 20
    assert abs(test.evidence(1, 1) * 17 * scale + test.evidence(0, 1) * 3 * scale) < math.log(20)


def test_the_bad_rate_is_that_of_a_quarter_of_the_odds_unless_given():
    assert SequentialTest(rate=0.9).bad_rate == pytest.approx(9 / 13)
    assert SequentialTest(rate=0.9, bad_rate=0.5).bad_rate == 0.5


def test_a_rate_of_one_is_refused_with_the_way_to_ask_that_every_run_passes():
    with pytest.raises(WrongValueError, match="no number of runs can show a pass rate of 1") as caught:
        SequentialTest(rate=1.0)
    assert "without a pass rate every run has to pass" in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 0},
        {"rate": 1.5},
        {"rate": 0.9, "bad_rate": 0.9},
        {"rate": 0.9, "bad_rate": 0},
        {"rate": 0.9, "error": 0},
    ],
)
def test_rates_and_errors_that_cannot_be_are_refused(wrong):
    with pytest.raises(WrongValueError):
        SequentialTest(**wrong)


def test_counts_that_cannot_be_are_refused():
    with pytest.raises(WrongValueError, match="3 of 2"):
        SequentialTest(rate=0.9).decide(3, 2)
