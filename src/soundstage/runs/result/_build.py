"""From the records of a run to its result. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from soundstage.journal import Committed, Notified, Record, RunAborted, TodosChanged, UsageReported
from soundstage.messages import Usage
from soundstage.runs._files import ContentSource
from soundstage.runs.result._closing import closed_result, closing_of, opened_run
from soundstage.runs.result._files import files_of
from soundstage.runs.result._types import ResultStatus, RunResult
from soundstage.trace import Cost, Trace, build_trace


def build_result(records: Sequence[Record], *, objects: ContentSource | None = None) -> RunResult:
    """The result of a run, out of the records of its journal. Pure, and linear in their number.

    Args:
        records: of one run, in the order of the journal.
        objects: has the files before and after changes: `journal.contents`, or that of a kept run.

    Example:
        >>> build_result([]).status
        'idle'
    """
    trace = build_trace(records)
    todos = [record.event for record in records if isinstance(record.event, TodosChanged)]
    reports = [record.event for record in records if isinstance(record.event, UsageReported)]
    aborts = [record.event for record in records if isinstance(record.event, RunAborted)]
    run = opened_run(records)
    closed = closing_of(records, run)
    answered = closed is not None and closed.outcome == "answered"  # whatever has failed on the way
    failures = () if answered else trace.failures
    reasons = tuple([str(aborted) for aborted in aborts] + [failure.message for failure in failures])
    result = RunResult(
        id=run or (records[0].run if records else ""),
        status=_status(trace, aborted=bool(aborts), failed=bool(failures)),
        reasons=reasons,
        files=files_of(trace.files, objects),
        tools=trace.tools,
        timeline=trace.records,
        commits=tuple(record.event for record in records if isinstance(record.event, Committed)),
        notifications=tuple(record.event for record in records if isinstance(record.event, Notified)),
        todos=todos[-1].todos if todos else (),
        usage=trace.usage if trace.usage.total_tokens else sum((report.usage for report in reports), Usage()),
        cost=_cost(trace, reports),
        abort=aborts[-1].reason if aborts else "",
        output=next((message.text for message in reversed(trace.messages) if message.direction == "out"), ""),
        started=trace.started,
        ended=trace.ended,
    )
    return result if closed is None else closed_result(result, closed)


def _status(trace: Trace, *, aborted: bool, failed: bool) -> ResultStatus:
    if not trace.records:
        return "idle"
    if aborted:
        return "partial"
    return "failed" if failed else "complete"


def _cost(trace: Trace, reports: Sequence[UsageReported]) -> Cost | None:
    """The agent's own reckoning if it has one, else tokens times prices."""
    told = [report.cost for report in reports if report.cost is not None]
    if told:
        return Cost(amount=math.fsum(told))
    return trace.cost() if trace.steps else None
