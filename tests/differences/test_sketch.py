"""The nearest of many: the request that a person would say is meant comes first."""

from __future__ import annotations

import pytest

from soundstage.differences import nearness, sketch_of
from soundstage.messages import assistant, call, system, tool, user

RUN = [user("Plan a trip from Oslo to Rome in three days")]
for number in range(6):
    RUN += [
        assistant("", call("look", {"leg": number}, id=f"c{number}")),
        tool(f"c{number}", f"leg {number}: {number * 7} hours by train, {number + 1} by air"),
    ]
STEPS = [tuple(RUN[: 1 + 2 * number]) for number in range(7)]


@pytest.fixture
def recorded(request_of):
    """Seven steps of a planner, and three requests of others."""
    planner = [request_of(system("You plan trips."), *messages, tools=("look",)) for messages in STEPS]
    others = [
        request_of(system("You write titles."), STEPS[0][0]),
        request_of(system("You review plans."), user("Review: three days in Rome"), tools=("look",)),
        request_of(system("You plan trips."), user("A week in Lima, please"), tools=("look",)),
    ]
    return [*planner, *others]


def nearest(request, recorded):
    sketch = sketch_of(request)
    return max(range(len(recorded)), key=lambda place: nearness(sketch, sketch_of(recorded[place])))


@pytest.mark.parametrize("step", range(7))
def test_a_step_with_an_edited_system_prompt_is_nearest_to_that_step(request_of, recorded, step):
    seen = request_of(system("You plan trips. Be brief."), *STEPS[step], tools=("look",))
    assert nearest(seen, recorded) == step


@pytest.mark.parametrize("step", range(1, 7))
def test_a_step_whose_last_result_differs_is_nearest_to_that_step(request_of, recorded, step):
    history = (*STEPS[step][:-1], tool(f"c{step - 1}", f"leg {step - 1}: strike, {step} by air"))
    assert nearest(request_of(system("You plan trips."), *history, tools=("look",)), recorded) == step


def test_another_model_and_more_tools_are_nearest_to_what_was_asked(request_of, recorded):
    seen = request_of(system("You review plans."), user("Review: two days in Rome"), tools=("a",), model="n")
    assert nearest(seen, recorded) == 8


def test_the_normaliser_makes_requests_near(request_of):
    one, other = (request_of(user(f"in {folder}: go")) for folder in ("/tmp/a1", "/tmp/b2"))
    sketches = [
        sketch_of(request, normalise=lambda text: text.replace("a1", "x").replace("b2", "x"))
        for request in (one, other)
    ]
    assert nearness(*sketches) == 1
    assert nearness(sketch_of(one), sketch_of(other)) < 1


def test_requests_without_messages_can_be_compared(request_of):
    assert nearness(sketch_of(request_of()), sketch_of(request_of(model="n"))) < 1


def talk(request_of, *texts, tools=()):
    """A conversation that the user begins, of whole texts by turns."""
    makers = [user, assistant]
    return request_of(*(makers[place % 2](text) for place, text in enumerate(texts)), tools=tools)


BASE = ("plan a trip to Oslo by train", "which day", "on Sunday", "fine", "and how is the weather there")
NEARER = {
    "the opening": (
        ("plan a trip to Rome by train", "b", "c", "d", "e"),
        ("a quite other thing", "b", "c", "d", "e"),
    ),
    "what is asked now": (
        ("a", "b", "c", "d", "and how is the traffic there"),
        ("a", "b", "c", "d", "something else"),
    ),
    "whole messages between": (("a", "which day", "on Sunday", "fine", "e"), ("a", "b", "c", "d", "e")),
    "the length": (("a", "b", "c", "d", "e"), ("a", "b", "c", "d", "e", "f", "g", "h", "i")),
}


@pytest.mark.parametrize("name", NEARER)
def test_each_fact_of_a_sketch_makes_requests_near(request_of, name):
    base, near, far = (sketch_of(talk(request_of, *texts)) for texts in (BASE, *NEARER[name]))
    assert nearness(base, near) > nearness(base, far)


def test_the_tools_on_offer_make_requests_near(request_of):
    base = sketch_of(talk(request_of, *BASE, tools=("look", "read")))
    near, far = (
        sketch_of(talk(request_of, "a", "b", tools=tools)) for tools in (("look", "read"), ("x", "y"))
    )
    assert nearness(base, near) > nearness(base, far)


def test_what_is_asked_now_is_what_came_since_the_last_reply(request_of):
    base = sketch_of(talk(request_of, "a", "b", "one two three four five six", "d", "rain tomorrow"))
    near = sketch_of(talk(request_of, "k", "l", "m", "n", "rain today"))
    far = sketch_of(talk(request_of, "k", "l", "one two three four five seven", "n", "o"))
    assert nearness(base, near) > nearness(base, far)


def test_the_more_words_of_a_long_prompt_are_others_the_farther_it_is(request_of):
    words = [f"word{number}" for number in range(32)]
    sketches = [
        sketch_of(request_of(user(" ".join([*words[:kept], *(f"other{one}" for one in range(32 - kept))]))))
        for kept in (32, 24, 16, 8, 0)
    ]
    found = [nearness(sketches[0], one) for one in sketches]
    assert found == sorted(set(found), reverse=True)
    assert len(found) == len(set(found))


def test_one_is_kept_for_requests_that_do_not_differ(request_of):
    one, other = (sketch_of(request_of(user("a"), settings={"n": n})) for n in (1, 2))
    assert nearness(one, other) == pytest.approx(0.99)


def test_what_neither_request_has_is_no_difference(request_of):
    one, other = (sketch_of(request_of(model=name)) for name in ("m", "n"))
    assert nearness(one, other) == pytest.approx(0.95)  # the half of model and format
