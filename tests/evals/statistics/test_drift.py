"""A change of the pass rate in the course of time: found where it is, and rarely where there is none."""

from __future__ import annotations

import itertools
import random

import pytest
from scipy import stats

from soundstage.errors import WrongValueError
from soundstage.evals.statistics import drift_of


def statistic(course):
    """The largest G statistic of all places, by scipy's contingency tables."""
    found = []
    for at in range(2, len(course) - 1):
        table = [[sum(part), len(part) - sum(part)] for part in (course[:at], course[at:])]
        if 0 in map(sum, zip(*table, strict=True)):
            return 0.0
        found.append(stats.chi2_contingency(table, lambda_="log-likelihood", correction=False).statistic)
    return max(found)


def test_the_chance_is_that_of_all_orders_of_the_runs():
    """All 120 orders of three passes in ten runs, by scipy; the shuffles come near to their share."""
    course = [True, True, True, False, False, False, False, False, False, False]
    orders = [[place in places for place in range(10)] for places in itertools.combinations(range(10), 3)]
    own = statistic(course)
    exact = sum(statistic(order) >= own - 1e-9 for order in orders) / len(orders)
    found = drift_of(course, resamples=40_000)
    assert found.p == pytest.approx(exact, abs=0.003)
    assert (found.at, found.before, found.after) == (3, 1.0, 0.0)


def test_the_change_is_where_the_rate_falls():
    draw = random.Random(7)
    course = [draw.random() < 0.95 for _ in range(60)] + [draw.random() < 0.4 for _ in range(40)]
    found = drift_of(course)
    assert abs(found.at - 60) <= 3
    assert found.before > 0.85
    assert found.after < 0.6
    assert "runs passed, then" in str(found)


def test_a_rate_that_rises_is_a_change_too():
    found = drift_of([False] * 10 + [True] * 10)
    assert (found.at, found.before, found.after) == (10, 0.0, 1.0)


def test_runs_of_one_rate_are_seldom_called_changed():
    """Of 300 courses without a change at most 5 % may be; 24 or more of them come once in a hundred times."""
    draw = random.Random(11)
    courses = [[draw.random() < 0.7 for _ in range(30)] for _ in range(300)]
    assert sum(drift_of(course, resamples=500) is not None for course in courses) < 24


@pytest.mark.parametrize("course", [[True] * 20, [False] * 20])
def test_a_rate_that_never_changes_has_no_drift(course):
    assert drift_of(course) is None


def test_the_same_seed_gives_the_same_chance():
    course = [True] * 9 + [False, True] * 3 + [False] * 3
    assert drift_of(course, error=0.5, seed=3) == drift_of(course, error=0.5, seed=3)


def test_too_few_runs_are_refused():
    with pytest.raises(WrongValueError, match="too few runs"):
        drift_of([True, False, True])
