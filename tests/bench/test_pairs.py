"""Interleaving and medians."""

import itertools

import pytest

from _pairs import interleave, median, ratio


def test_contestants_take_turns_in_every_round():
    order: list[str] = []

    def turn(name):
        return lambda: order.append(name) or float(len(order))

    found = interleave({"a": turn("a"), "b": turn("b")}, 3)
    assert order == ["a", "b", "a", "b", "a", "b"]
    assert found == {"a": [1.0, 3.0, 5.0], "b": [2.0, 4.0, 6.0]}


def test_progress_is_told_before_each_round():
    told: list[str] = []
    interleave({"a": lambda: 1.0}, 2, told.append)
    assert told == ["round 1 of 2", "round 2 of 2"]


def test_a_ratio_is_taken_within_each_round_so_that_a_slow_phase_of_the_machine_cancels_out():
    load = (1.0, 10.0, 1.0, 3.0, 1.0)
    ours = [2.0 * factor for factor in load]
    theirs = [1.0 * factor for factor in load]
    assert ratio(ours, theirs) == 2.0


def test_one_outlier_does_not_move_a_ratio():
    assert ratio([2.0, 2.0, 200.0], [1.0, 1.0, 1.0]) == 2.0


def test_rounds_of_different_number_are_refused():
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        ratio([1.0, 2.0], [1.0])


@pytest.mark.parametrize("values", list(itertools.permutations([3.0, 1.0, 2.0])))
def test_the_median_does_not_depend_on_the_order(values):
    assert median(values) == 2.0
