"""Where a sequence repeats itself: nothing is lost, and only rounds that are alike are folded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from soundstage.match import Repeat, repeats


@given(st.lists(st.sampled_from("abc"), max_size=40))
def test_unfolded_parts_are_the_sequence_again(items):
    whole = []
    for start, length, times in repeats(items):
        assert start == len(whole)
        whole += items[start : start + length] * times
    assert whole == items


def test_a_loop_within_other_things_is_one_part_with_its_number_of_rounds():
    assert repeats(["a", *["x", "y"] * 200, "b"])[1] == Repeat(1, 2, 200)


def test_few_rounds_and_rounds_that_differ_are_no_loop():
    assert all(part.times == 1 for part in repeats("aaa"))
    assert all(part.times == 1 for part in repeats(range(100)))
