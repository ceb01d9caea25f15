"""The decisions of routers: those that a router announced, else those that an agent's replies are. Pure.

A user's own orchestrator appends no `Routed`. What it decides is in its reply or in the arguments of a tool: a JSON
object that names agents of the trace. A conversation with announced routes has those alone, so none counts twice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from soundstage.journal import Routed
from soundstage.match import distinct, objects_in
from soundstage.trace._types import AgentRun, HandOver, Step, TraceFields, shown

_NAMING: Final = ("agents", "agent", "next_agent", "next")
_ENDS: Final = frozenset({"end", "__end__", "finish"})


class PlacedRoute(NamedTuple):
    """A decision, and where in the journal it is."""

    position: int
    event: Routed


def routes_of(trace: TraceFields) -> tuple[PlacedRoute, ...]:
    """The decisions in the order of the journal."""
    announced = [
        PlacedRoute(one.position, one.event) for one in trace.records if isinstance(one.event, Routed)
    ]
    told = {route.event.conversation for route in announced}
    read = [route for route in _read(trace) if route.event.conversation not in told]
    return tuple(sorted([*announced, *read], key=lambda route: route.position))


def _read(trace: TraceFields) -> Iterator[PlacedRoute]:
    known = {name.casefold() for name in trace.agents}
    rounds: Counter[str] = Counter()
    for step in trace.steps:
        found = _decision(step, known) if step.purpose == "main" and step.response is not None else None
        if found is None:
            continue
        names, value = found
        rounds[step.conversation] += 1
        event = Routed(
            agents=names,
            phase=_text(value, "phase"),
            reason=_text(value, "reason"),
            conversation=step.conversation,
            left=step.phase,
            iteration=rounds[step.conversation],
        )
        yield PlacedRoute(step.answered_at or step.position, event)


def _decision(step: Step, known: set[str]) -> tuple[tuple[str, ...], dict[str, Any]] | None:
    """The agents that a reply names as the next ones; none if two of its objects differ."""
    objects = objects_in(step.text) if "{" in step.text else []
    objects += [use.arguments for use in step.tools]
    others = known - {step.agent.casefold()}
    found = [(names, value) for value in distinct(objects) if (names := _names(value, others))]
    return found[0] if len(found) == 1 else None


def _names(value: dict[str, Any], others: set[str]) -> tuple[str, ...]:
    """The agents in an object, if they are agents of the trace or the end; other lists of names are no decision."""
    for key in _NAMING:
        named = value.get(key)
        names = [named] if isinstance(named, str) else named
        if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
            folded = {name.strip().casefold() for name in names}
            if folded <= others | _ENDS:
                return tuple(name.strip() for name in names)
    return ()


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found.strip() if isinstance(found, str) else ""


# Hand-overs: who took over from whom, how, and with which words.


def handovers_of(trace: TraceFields) -> tuple[HandOver, ...]:
    """One for every run that another agent's run was the last to end before, in a conversation; in the order of runs.

    Runs side by side hand nothing to each other: both take over from what was over when they began.
    """
    in_force = _routes_in_force(trace)
    over = _by_end(trace)
    found: list[HandOver] = []
    for run in trace.runs:
        ends, runs = over[run.conversation]
        before = bisect_left(ends, run.position)
        sender = runs[before - 1] if before else None
        if sender is not None and sender.agent != run.agent:
            found.append(_hand_over(sender, run, in_force.get(run.position)))
    return tuple(found)


def _by_end(trace: TraceFields) -> dict[str, tuple[list[int], list[AgentRun]]]:
    """By conversation: its runs in the order of their ends, and where those are."""
    last = {id(run): run.steps[-1].answered_at or run.steps[-1].position for run in trace.runs}
    found: defaultdict[str, tuple[list[int], list[AgentRun]]] = defaultdict(lambda: ([], []))
    for run in sorted(trace.runs, key=lambda run: last[id(run)]):
        ends, runs = found[run.conversation]
        ends.append(last[id(run)])
        runs.append(run)
    return found


def _routes_in_force(trace: TraceFields) -> dict[int, Routed]:
    """By position of a run: the latest decision of a router in its conversation."""
    latest: dict[str, Routed] = {}
    found: dict[int, Routed] = {}
    happened: list[PlacedRoute | AgentRun] = [*routes_of(trace), *trace.runs]
    for what in sorted(happened, key=lambda one: one.position):
        if isinstance(what, PlacedRoute):
            latest[what.event.conversation] = what.event
        elif what.conversation in latest:
            found[what.position] = latest[what.conversation]
    return found


def _hand_over(sender: AgentRun, receiver: AgentRun, route: Routed | None) -> HandOver:
    via, message = _tool(sender, receiver.agent), sender.text
    if route is not None and any(_same(agent, receiver.agent) for agent in route.agents):
        via, message = "routing", route.reason
    return HandOver(
        position=receiver.position, sender=sender.agent, receiver=receiver.agent, via=via, message=message
    )


def _tool(sender: AgentRun, receiver: str) -> str:
    """The tool by which a run ended: of those that its last step asked for the one that names the receiver."""
    last = [use.name for use in sender.steps[-1].tools]
    naming = [name for name in last if receiver.casefold() in name.casefold()]
    return (naming or last or [""])[-1]


def _same(name: str, agent: str) -> bool:
    return shown(name).casefold() == agent.casefold()
