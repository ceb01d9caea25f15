"""From the records of a run to its result. Pure: the trace is the one reader; here is what it means for the run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from soundstage.journal import (
    Committed,
    Event,
    Notified,
    Record,
    RunAborted,
    Todo,
    TodosChanged,
    UsageReported,
)
from soundstage.messages import Usage
from soundstage.runs._files import ContentSource
from soundstage.runs.result._closing import closed_result, closing_of, opened_run
from soundstage.runs.result._files import files_of, unknown_contents
from soundstage.runs.result._pairs import missing_ends, without_repeats
from soundstage.runs.result._status import status_of
from soundstage.runs.result._types import RunResult
from soundstage.trace import Cost, Trace, build_trace

E = TypeVar("E", bound=Event)


def build_result(records: Sequence[Record], *, objects: ContentSource | None = None) -> RunResult:
    """The result of a run, out of the records of its journal. Pure, and linear in their number.

    A part of a journal gives the result of that part: of what a run has come to so far.

    Args:
        records: of one run, in the order of the journal. A record that is there twice counts once.
        objects: has the files before and after changes: `journal.contents`, or that of a kept run.

    Example:
        >>> build_result([]).status
        'idle'
    """
    kept, repeated = without_repeats(records)
    trace = build_trace(kept)
    missing = missing_ends(trace)
    run = opened_run(kept)
    closed = closing_of(kept, run)
    answered = closed is not None and closed.outcome == "answered"
    status = status_of(trace, missing, answered=answered)
    result = RunResult(
        id=run or (kept[0].run if kept else ""),
        status=status.status,
        reasons=status.reasons,
        missing=missing,
        warnings=(
            *status.warnings,
            *([f"{repeated} records were there twice and count once"] if repeated else []),
            *(unknown_contents(trace.files, objects) if objects is not None else ()),
        ),
        files=files_of(trace.files, objects),
        tools=tuple(sorted((*trace.tools, *trace.orphans), key=lambda use: use.asked_at)),
        timeline=trace.records,
        commits=_events(trace, Committed),
        notifications=_events(trace, Notified),
        todos=_todos(trace),
        usage=_usage(trace),
        cost=_cost(trace),
        abort=next((event.reason for event in _events(trace, RunAborted)), ""),
        output=_output(trace),
        started=trace.started,
        ended=trace.ended,
    )
    return result if closed is None else closed_result(result, closed)


def _events(trace: Trace, kind: type[E]) -> tuple[E, ...]:
    return tuple(record.event for record in trace.records if isinstance(record.event, kind))


def _todos(trace: Trace) -> tuple[Todo, ...]:
    """The last list of each agent, one after the other."""
    lists = {(event.agent, event.conversation): event.todos for event in _events(trace, TodosChanged)}
    return tuple(todo for todos in lists.values() for todo in todos)


def _usage(trace: Trace) -> Usage:
    """The tokens of replies; those that agents report where no reply was seen."""
    seen = trace.usage
    return (
        seen if seen.total_tokens else sum((event.usage for event in _events(trace, UsageReported)), Usage())
    )


def _cost(trace: Trace) -> Cost | None:
    """Tokens of replies times prices; where that is not known, the agents' own reckoning."""
    told = [event.cost for event in _events(trace, UsageReported) if event.cost is not None]
    reckoned = trace.cost() if trace.steps else None
    if told and (reckoned is None or reckoned.amount is None or not trace.usage.total_tokens):
        return Cost(amount=math.fsum(told))
    return reckoned


def _output(trace: Trace) -> str:
    said = next((message.text for message in reversed(trace.messages) if message.direction == "out"), "")
    return said or next((run.text for run in reversed(trace.runs) if run.text), "")
