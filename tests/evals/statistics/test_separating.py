"""Features that tell failing runs from passing ones, by Fisher's exact test, corrected."""

from __future__ import annotations

import random

import pytest

from soundstage.errors import WrongValueError
from soundstage.evals.statistics import separating_features


def runs_of(failing_with, failing_without, passing_with, passing_without, feature="delete"):
    having = (
        [True] * failing_with + [False] * failing_without + [True] * passing_with + [False] * passing_without
    )
    runs = [["search", feature] if has else ["search"] for has in having]
    return runs, [False] * (failing_with + failing_without) + [True] * (passing_with + passing_without)


def test_the_chance_is_that_of_fishers_convicts():
    """Fisher (1935), The logic of inductive inference: 10, 3, 2, 15; two-sided p = 0.0005367."""
    (found,) = separating_features(*runs_of(10, 3, 2, 15))
    assert round(found.p, 7) == 0.0005367
    assert (found.failing_with, found.failing, found.passing_with, found.passing) == (10, 13, 2, 17)
    assert found.features == ("delete",)


def test_the_examples_are_a_failing_and_a_passing_run_that_differ():
    (more,) = separating_features(*runs_of(10, 3, 2, 15))
    assert more.examples == (0, 15)
    (less,) = separating_features(*runs_of(3, 10, 15, 2))
    assert less.examples == (3, 13)


def test_a_feature_that_goes_with_failing_by_chance_is_not_named():
    """The tea of Fisher's lady: 3, 1, 1, 3; p = 0.486."""
    assert separating_features(*runs_of(3, 1, 1, 3)) == ()


def test_features_that_stand_in_the_same_runs_are_named_together():
    runs, passed = runs_of(6, 0, 0, 6)
    (found,) = separating_features(
        [[*run, *(["path=/tmp"] if "delete" in run else [])] for run in runs], passed
    )
    assert found.features == ("delete", "path=/tmp")
    assert "6 of 6 failing and 0 of 6 passing" in str(found)


def test_of_forty_features_without_influence_hardly_ever_one_is_named():
    """Without the correction about one of forty would be named in each trial."""
    source, named = random.Random(11), 0
    for _ in range(20):
        runs = [[f"tool {n}" for n in range(40) if source.random() < 0.5] for _ in range(24)]
        named += bool(separating_features(runs, [n % 2 == 0 for n in range(24)]))
    assert named <= 2


@pytest.mark.parametrize("outcome", [True, False])
def test_runs_of_one_outcome_have_nothing_to_tell_apart(outcome):
    assert separating_features([["a"], ["b"]], [outcome, outcome]) == ()


def test_without_runs_nothing_separates():
    assert separating_features([], []) == ()


def test_outcomes_of_other_runs_are_refused():
    with pytest.raises(WrongValueError, match="one outcome"):
        separating_features([["a"]], [True, False])
