"""Hand-overs: who took over from whom, how, and with which words. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from soundstage.journal import Routed
from soundstage.trace._routes import PlacedRoute, routes_of
from soundstage.trace._types import AgentRun, HandOver, TraceFields, shown


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
