"""The timeline: lanes, bars and marks, as positions of events. Pure; the page works out where they are drawn.

An agent is a lane; so is any other source that says something. A bar is a step or a tool at work, from one
event to another. Bars of a lane that overlap go into slots below each other. What overlaps in time overlaps
in positions too, so positions decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    DaemonChanged,
    Event,
    ModelChunked,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Record,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
from soundstage.trace import AgentRun, Trace

_DRAWN_OTHERWISE: Final[tuple[type[Event], ...]] = (
    AgentFinished,
    AgentStarted,
    DaemonChanged,
    ModelChunked,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
)
_TAKES_TIME: Final = (ModelRequested, ToolCalled)  # a call that only the wire knows begins with its reply


class Bar(NamedTuple):
    """Something that takes time. Names and order are those in data.js."""

    lane: int
    slot: int
    position: int
    """The event that it begins with, to which a click goes."""
    end: int
    """The event that ends it; 0 when none does."""
    tool: int
    bad: int
    label: str


class Mark(NamedTuple):
    """Any other event."""

    lane: int
    position: int


class Lane(NamedTuple):
    """A line of the timeline."""

    name: str
    slots: int
    runs: list[tuple[int, int]]
    """First and last event of each stretch in which the agent was at work."""


class Timeline(NamedTuple):
    """The drawing above the events: lanes, bars and marks."""

    lanes: list[Lane]
    bars: list[Bar]
    marks: list[Mark]
    ends: dict[int, int]
    """Position of each event that takes time -> position of the event that ends it."""


class _Slots:
    """Puts overlapping bars of a lane below each other: each into the first slot that is free."""

    def __init__(self) -> None:
        self._busy_until: list[int] = []

    def __len__(self) -> int:
        return len(self._busy_until)

    def take(self, start: int, end: int) -> int:
        until = end or 2**62
        for slot, busy in enumerate(self._busy_until):
            if busy <= start:
                self._busy_until[slot] = until
                return slot
        self._busy_until.append(until)
        return len(self._busy_until) - 1


def timeline_of(trace: Trace) -> Timeline:
    """The timeline of a trace."""
    names: dict[str, int] = {}
    for agent in trace.agents:
        names.setdefault(agent, len(names))
    bars = sorted([*_steps(trace, names), *_tools(trace, names)], key=lambda bar: (bar.position, bar.tool))
    marks = [
        Mark(names.setdefault(record.source or "(none)", len(names)), record.position)
        for record in _remarkable(trace.records)
    ]
    slots = [_Slots() for _ in names]
    placed = [bar._replace(slot=slots[bar.lane].take(bar.position, bar.end)) for bar in bars]
    lanes = [Lane(name, len(slots[number]), []) for name, number in names.items()]
    for run in trace.runs:
        lanes[names[run.agent]].runs.append((run.position, _last(run)))
    begins = {record.position for record in trace.records if isinstance(record.event, _TAKES_TIME)}
    ends = {bar.position: bar.end for bar in placed if bar.end and bar.position in begins}
    return Timeline(lanes, placed, marks, ends)


def _steps(trace: Trace, names: dict[str, int]) -> Iterable[Bar]:
    for step in trace.steps:
        lane = names.setdefault(step.agent, len(names))
        label = step.model if step.purpose == "main" else f"{step.model} ({step.purpose})"
        yield Bar(lane, 0, step.position, step.answered_at or 0, 0, int(step.failure is not None), label)


def _tools(trace: Trace, names: dict[str, int]) -> Iterable[Bar]:
    called = {
        (record.event.call_id, record.time): record.position
        for record in trace.records
        if isinstance(record.event, ToolCalled)
    }
    for use in trace.tools:
        lane = names.setdefault(use.agent, len(names))
        start = called.get((use.call_id, use.started or 0.0), use.asked_at)
        yield Bar(lane, 0, start, use.returned_at or 0, 1, int(use.is_error), use.name)


def _remarkable(records: Iterable[Record]) -> Iterable[Record]:
    for record in records:
        event = record.event
        if not isinstance(event, _DRAWN_OTHERWISE) or (isinstance(event, DaemonChanged) and event.error):
            yield record


def _last(run: AgentRun) -> int:
    return max((step.answered_at or 0 for step in run.steps), default=0)
