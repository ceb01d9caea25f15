"""Means with standard errors clustered by case, against statsmodels."""

from __future__ import annotations

import random

import pytest

from soundstage.errors import WrongValueError
from soundstage.evals.statistics import clustered_mean


@pytest.mark.parametrize("seed", range(5))
def test_the_standard_error_is_that_of_statsmodels_with_clusters(seed):
    """A regression on a constant with `cov_type="cluster"` is the mean; its cases have different numbers of runs."""
    import numpy as np
    import statsmodels.api as sm

    source = random.Random(seed)
    values = {f"case {n}": [source.gauss(n % 3, 1) for _ in range(source.randint(1, 6))] for n in range(12)}
    flat = [value for group in values.values() for value in group]
    groups = [n for n, group in enumerate(values.values()) for _ in group]
    fit = sm.OLS(flat, np.ones(len(flat))).fit(cov_type="cluster", cov_kwds={"groups": np.array(groups)})
    found = clustered_mean(values)
    assert (found.mean, found.error) == pytest.approx((fit.params[0], fit.bse[0]))
    assert (found.runs, found.cases) == (len(flat), 12)


def test_repeats_that_always_agree_make_the_error_no_smaller():
    once = clustered_mean({"a": [1], "b": [0], "c": [1], "d": [0]})
    often = clustered_mean({"a": [1] * 50, "b": [0] * 50, "c": [1] * 50, "d": [0] * 50})
    assert often.error == pytest.approx(once.error)
    assert often.runs == 200


def test_a_single_case_has_a_mean_and_no_error():
    found = clustered_mean({"a": [1.0, 0.0]})
    assert (found.mean, found.error) == (0.5, None)


@pytest.mark.parametrize("values", [{}, {"a": []}, {"a": [float("nan")]}, {"a": [1.0, float("inf")]}])
def test_no_values_and_values_that_are_not_finite_are_refused(values):
    with pytest.raises(WrongValueError):
        clustered_mean(values)
