"""Plans: read from an orchestrator's reply, and checked before anything runs. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from soundstage.agents.teams._errors import PlanError, PlanProblem
from soundstage.match import distinct, objects_in


class PlannedTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a plan.

    Args:
        agent: who does it.
        description: what is to be done.
        depends_on: indexes, from 0, of the tasks whose results it needs.
    """

    agent: str
    description: str
    depends_on: tuple[int, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks of a request, and who does each.

    Args:
        text: the plan in the orchestrator's words.
        tasks: at least one.
    """

    text: str
    tasks: tuple[PlannedTask, ...]


def parse_plan(text: str) -> Plan | None:
    """The plan in a reply, whole or embedded in prose; None if the reply is a direct answer.

    A plan is a JSON object whose `tasks` is a list with something in it. Each task has `agent`, `description` and,
    if it needs others, `dependsOn` with their indexes from 0. Other fields are left alone.

    Raises:
        PlanError: if tasks are not of that form, or there are two plans that differ.

    Example:
        >>> parse_plan('{"plan": "Look", "tasks": [{"agent": "search", "description": "Find it"}]}').tasks[0].agent
        'search'
        >>> parse_plan("It is in src/app.py.") is None
        True
    """
    found = distinct([value for value in objects_in(text) if _is_plan(value)])
    if not found:
        return None
    if len(found) > 1:
        raise PlanError([PlanProblem(0, f"the reply has {len(found)} plans that differ; give one")])
    problems: list[PlanProblem] = []
    tasks = [_task(index, value, problems) for index, value in enumerate(found[0]["tasks"])]
    if problems:
        raise PlanError(problems)
    words = found[0].get("plan")
    return Plan(text=words if isinstance(words, str) else "", tasks=tuple(tasks))


def _is_plan(value: dict[str, Any]) -> bool:
    return isinstance(value.get("tasks"), list) and bool(value["tasks"])


def _task(index: int, value: Any, problems: list[PlanProblem]) -> PlannedTask:
    fields = value if isinstance(value, dict) else {}
    for name in ("agent", "description"):
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            problems.append(PlanProblem(index, f"`{name}` is missing, or is no text"))
    needs = fields.get("dependsOn")
    needs = [] if needs is None else needs
    if not isinstance(needs, list) or not all(type(need) is int for need in needs):
        problems.append(PlanProblem(index, "`dependsOn` is not a list of indexes"))
        needs = []
    return PlannedTask(
        agent=str(fields.get("agent", "")).strip(),
        description=str(fields.get("description", "")),
        depends_on=tuple(dict.fromkeys(needs)),
    )


def validate_plan(plan: Plan, agents: Collection[str]) -> None:
    """Refuse a plan that cannot be carried out.

    Args:
        plan: the plan.
        agents: the slugs of the agents that there are.

    Raises:
        PlanError: with all that is wrong: agents that nobody knows, dependencies out of range or on the task
            itself, circles.
    """
    problems = sorted([*_wrong_agents(plan, agents), *_wrong_needs(plan), *_circles(plan)])
    if problems:
        raise PlanError(problems)


def _wrong_agents(plan: Plan, agents: Collection[str]) -> Iterator[PlanProblem]:
    for index, task in enumerate(plan.tasks):
        if task.agent not in agents:
            known = ", ".join(sorted(agents))
            yield PlanProblem(index, f"there is no agent {task.agent!r}; there are {known}")


def _wrong_needs(plan: Plan) -> Iterator[PlanProblem]:
    last = len(plan.tasks) - 1
    for index, task in enumerate(plan.tasks):
        for need in task.depends_on:
            if need == index:
                yield PlanProblem(index, "it depends on itself")
            elif not 0 <= need <= last:
                yield PlanProblem(index, f"it depends on task {need}; there are tasks 0 to {last}")


class Graph(NamedTuple):
    """Who waits for whom: by index, the tasks that it needs, and the tasks that need it."""

    needs: list[set[int]]
    needed_by: list[list[int]]


def graph_of(plan: Plan) -> Graph:
    """The dependencies that make sense."""
    count = len(plan.tasks)
    needs = [
        {need for need in task.depends_on if 0 <= need < count and need != index}
        for index, task in enumerate(plan.tasks)
    ]
    needed_by: list[list[int]] = [[] for _ in range(count)]
    for index, own in enumerate(needs):
        for need in own:
            needed_by[need].append(index)
    return Graph(needs, needed_by)


def _circles(plan: Plan) -> Iterator[PlanProblem]:
    """One problem for each circle, those that share a task told once."""
    graph = graph_of(plan)
    missing = [len(own) for own in graph.needs]
    left = set(range(len(missing)))
    _settle(graph, missing, left, [index for index, count in enumerate(missing) if not count])
    while left:
        circle = _circle_in(graph, left)
        way = " -> ".join(map(str, [*circle, circle[0]]))
        yield PlanProblem(min(circle), f"it waits for itself in a circle: {way}")
        _settle(graph, missing, left, circle)


def _settle(graph: Graph, missing: list[int], left: set[int], done: Iterable[int]) -> None:
    """Take tasks out, and all that can run once they have."""
    pending = list(done)
    while pending:
        index = pending.pop()
        if index not in left:
            continue
        left.discard(index)
        for other in graph.needed_by[index]:
            missing[other] -= 1
            if missing[other] == 0:
                pending.append(other)


def _circle_in(graph: Graph, left: set[int]) -> list[int]:
    """Follow what is needed until a task comes by again; all of `left` need something in it."""
    way: dict[int, int] = {}
    at = min(left)
    while at not in way:
        way[at] = len(way)
        at = min(graph.needs[at] & left)
    circle = list(way)[way[at] :]
    first = circle.index(min(circle))
    return circle[first:] + circle[:first]
