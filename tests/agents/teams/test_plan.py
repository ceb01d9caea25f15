"""Plans: what is one, and what is wrong with it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents.teams import Plan, PlanError, PlannedTask, parse_plan, validate_plan

KNOWN = ("search", "code", "test")


def plan(*needs, agent="code"):
    tasks = tuple(
        PlannedTask(agent=agent, description=f"task {index}", depends_on=tuple(own))
        for index, own in enumerate(needs)
    )
    return Plan(text="", tasks=tasks)


def problems(given, known=KNOWN):
    with pytest.raises(PlanError) as caught:
        validate_plan(given, known)
    return [str(problem) for problem in caught.value.problems]


WRITTEN = json.dumps(
    {
        "plan": "Look, then {change}",
        "tasks": [
            {"agent": "search", "description": 'find "}" in a.py', "toonCompact": True},
            {"agent": "code", "description": "change it", "dependsOn": [0, 0]},
            {"agent": "test", "description": "run", "dependsOn": None},
        ],
    }
)


@pytest.mark.parametrize(
    "text", [WRITTEN, f"My plan:\n```json\n{WRITTEN}\n```\nShall I?", f'{{"x": 1}} {WRITTEN}']
)
def test_a_plan_is_found_alone_or_embedded(text):
    found = parse_plan(text)
    assert found.text == "Look, then {change}"
    assert [(task.agent, task.depends_on) for task in found.tasks] == [
        ("search", ()),
        ("code", (0,)),
        ("test", ()),
    ]
    assert found.tasks[0].description == 'find "}" in a.py'
    validate_plan(found, KNOWN)


@pytest.mark.parametrize(
    "text", ["It is in a.py.", '{"answer": 1}', '{"plan": "x", "tasks": []}', '{"tasks": "none"}', ""]
)
def test_what_is_no_plan_is_a_direct_answer(text):
    assert parse_plan(text) is None


def test_all_that_is_wrong_with_the_tasks_is_told_at_once():
    text = json.dumps(
        {"tasks": [{"agent": "search"}, "code it", {"agent": 1, "description": "x", "dependsOn": "0"}]}
    )
    with pytest.raises(PlanError) as caught:
        parse_plan(text)
    assert [str(problem) for problem in caught.value.problems] == [
        "task 0: `description` is missing, or is no text",
        "task 1: `agent` is missing, or is no text",
        "task 1: `description` is missing, or is no text",
        "task 2: `agent` is missing, or is no text",
        "task 2: `dependsOn` is not a list of indexes",
    ]


def test_two_plans_that_differ_are_refused():
    other = WRITTEN.replace("Look", "Guess")
    with pytest.raises(PlanError, match="2 plans that differ"):
        parse_plan(WRITTEN + other)


def test_all_that_is_wrong_with_a_plan_is_told_at_once():
    given = Plan(
        text="",
        tasks=(
            PlannedTask(agent="coder", description="a", depends_on=(7,)),
            PlannedTask(agent="code", description="b", depends_on=(1, -1)),
            PlannedTask(agent="code", description="c", depends_on=(4,)),
            PlannedTask(agent="code", description="d", depends_on=(2,)),
            PlannedTask(agent="code", description="e", depends_on=(3, 0)),
        ),
    )
    assert problems(given) == [
        "task 0: it depends on task 7; there are tasks 0 to 4",
        "task 0: there is no agent 'coder'; there are code, search, test",
        "task 1: it depends on itself",
        "task 1: it depends on task -1; there are tasks 0 to 4",
        "task 2: it waits for itself in a circle: 2 -> 4 -> 3 -> 2",
    ]


def test_every_circle_is_shown_and_what_merely_waits_for_one_is_not():
    assert problems(plan([1], [0], [3], [2], [0, 2], [])) == [
        "task 0: it waits for itself in a circle: 0 -> 1 -> 0",
        "task 2: it waits for itself in a circle: 2 -> 3 -> 2",
    ]


def test_a_plan_of_a_thousand_tasks_and_one_large_circle_is_checked():
    chain = plan(*([index - 1] if index else [] for index in range(1000)))
    validate_plan(chain, KNOWN)
    [problem] = problems(plan(*([(index - 1) % 1000] for index in range(1000))))
    assert problem.startswith("task 0: it waits for itself in a circle: 0 -> 999 -> 998")


@given(st.lists(st.lists(st.integers(0, 11), max_size=3), min_size=1, max_size=12))
def test_a_plan_is_refused_for_a_circle_exactly_when_it_cannot_be_finished(needs):
    needs = [[need for need in own if need < len(needs)] for own in needs]
    done: set[int] = set()
    while ready := {i for i, own in enumerate(needs) if i not in done and set(own) <= done}:
        done |= ready
    given = plan(*needs)
    if len(done) == len(needs):
        validate_plan(given, KNOWN)
    else:
        assert problems(given)
