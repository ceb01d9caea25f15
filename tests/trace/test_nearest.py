"""How near an event comes to what was wanted: the message of a failed assertion shows the nearest one."""

from __future__ import annotations

import pytest

from soundstage.journal import MessageSent, ModelRequested, Noted, Record, event, event_matcher
from soundstage.match import AllOf, AnyOf, Equals, matcher
from soundstage.messages import ModelRequest, user
from soundstage.trace._nearest import likeness, nearest, nearness


def records(*events):
    return [
        Record(position=place, time=0.0, run="", source="", cause=None, event=one)
        for place, one in enumerate(events, 1)
    ]


def asked(text):
    return ModelRequested(request=ModelRequest(model="m", messages=(user(text),)))


@pytest.mark.parametrize(
    ("wanted", "nearer", "farther"),
    [
        ("deploy the app", MessageSent(text="deploy the map"), MessageSent(text="xyz")),
        ("deploy", MessageSent(text="xyz\nDEPLOX\n123"), MessageSent(text="depth")),
        ("deploy", asked("deplox"), asked("xyz")),
        (event(MessageSent, text="tea"), MessageSent(text="xyz"), Noted(text="tea")),
        (event(MessageSent, text="tea"), MessageSent(text="tee"), MessageSent(text="xyz")),
        (
            event(MessageSent, text="tea", channel="#a"),
            MessageSent(text="xyz", channel="#a"),
            MessageSent(text="xyz", channel="q"),
        ),
        (["teapot", "coffee"], Noted(text="coffey"), Noted(text="water")),
        ({"all": ["tea", "pot"]}, Noted(text="tea"), Noted(text="xyz")),
    ],
)
def test_what_has_more_in_common_is_nearer(wanted, nearer, farther):
    condition = event_matcher(wanted)
    assert nearness(condition, nearer) > nearness(condition, farther)
    both = records(farther, nearer)
    assert nearest(condition, both).event is nearer
    assert nearest(condition, both[::-1]).event is nearer


@pytest.mark.parametrize(
    ("condition", "value", "expected"),
    [
        (matcher("tea"), "green tea", 1.0),
        (AllOf(matcher("tea"), matcher("/q/")), "tea", 0.5),
        (AnyOf(matcher("/q/"), matcher("/z/")), "tea", 0.0),
        (Equals(3), 4, 0.0),
        (matcher("tea"), 5, 0.0),
    ],
)
def test_nearness_goes_from_nothing_in_common_to_a_match(condition, value, expected):
    assert nearness(condition, value) == expected


def test_only_a_match_is_as_near_as_a_match():
    assert 0.9 < nearness(matcher("Tea"), "tea") < 1.0


def test_of_a_long_text_the_best_line_counts_and_case_does_not():
    assert likeness("nothing like it\nDEPLOY NOW\nxyz", "deploy now") == 1.0
    assert likeness("", "deploy") == 0.0
    assert likeness("x" * 2000 + "\ndeploy", "deploy") == 0.0


def test_the_first_of_several_that_are_as_near_is_shown_and_nothing_if_all_are_far():
    condition = event_matcher(event(MessageSent, text="tea"))
    first, second = MessageSent(text="tee"), MessageSent(text="tee", channel="x")
    assert nearest(condition, records(first, second)).position == 1
    assert nearest(condition, records(Noted(text="tea"))) is None
    assert nearest(condition, []) is None


def test_a_condition_that_cannot_take_a_value_is_far_and_no_error():
    def fails(value):
        raise ValueError("no")

    assert nearness(matcher(fails), "x") == 0.0
