"""The status of a run, and why. Pure.

A run that was cut off, or has gaps, is `partial`: what there is of it can be used. One that came to nothing has
`failed`. A failure that it has got over is a warning. The table `_FAILED` says which failures a run does not get over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from soundstage.journal import AgentFinished, FactMissed, RunAborted, RunFinished, UnknownEvent
from soundstage.runs.result._types import ResultStatus
from soundstage.trace import Failure, Trace


class StatusFound(NamedTuple):
    """The status of a run, why it is not `complete`, and what is to be known besides."""

    status: ResultStatus
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def status_of(trace: Trace, missing: tuple[str, ...], *, answered: bool = False) -> StatusFound:
    """The status of a run.

    Args:
        trace: of the run.
        missing: ids of tool calls whose end is missing.
        answered: whether its runner says that the target has answered, whatever has failed on the way.
    """
    if not trace.records:
        return StatusFound("idle")
    unreadable = tuple(_unreadable(trace))
    gaps, aborted = tuple(_gaps(trace, missing)), tuple(_aborted(trace))
    fatal = (
        []
        if answered
        else [
            failure
            for failure in trace.failures
            if failure.what in _FAILED and _FAILED[failure.what](trace, failure)
        ]
    )
    failed = tuple(failure.message for failure in fatal)
    warnings = (
        *gaps,
        *(f"a result of no known call: {use.call_id}" for use in trace.orphans),
        *(failure.message for failure in trace.failures if failure not in fatal),
    )
    if unreadable:
        return StatusFound("failed", (*unreadable, *aborted, *failed), warnings)
    if aborted:
        return StatusFound("partial", (*aborted, *failed), warnings)
    if failed:
        return StatusFound("failed", failed, warnings)
    if gaps:
        return StatusFound("partial", gaps, warnings)
    return StatusFound("complete", (), warnings)


def _unreadable(trace: Trace) -> Iterator[str]:
    """Records that could not be processed at all."""
    for record in trace.records:
        if isinstance(record.event, UnknownEvent) and record.event.problem:
            yield str(record.event)


def _gaps(trace: Trace, missing: tuple[str, ...]) -> Iterator[str]:
    names = {use.call_id: use.name for use in trace.tools}
    results = {use.call_id for use in trace.tools if use.result is not None}
    for call_id in missing:
        end = "the hook after" if call_id in results else "the end of"
        yield f"{end} {names.get(call_id) or 'a tool'} is missing: {call_id}"
    if trace.orphans:
        yield from (f"the begin of {use.name or 'a tool'} is missing: {use.call_id}" for use in trace.orphans)
    for record in trace.records:
        if isinstance(record.event, FactMissed):
            yield str(record.event)
    if trace.steps and (last := trace.steps[-1]).response is None and last.failure is None:
        yield f"the reply to the request at {last.position} is missing"


def _aborted(trace: Trace) -> Iterator[str]:
    for record in trace.records:
        event = record.event
        if isinstance(event, RunAborted) or (
            isinstance(event, RunFinished | AgentFinished) and event.outcome == "aborted"
        ):
            yield str(event)


def _is_last_step(trace: Trace, failure: Failure) -> bool:
    """Whether no request came after the one that failed, besides side requests."""
    main = trace.main_steps
    return bool(main) and main[-1].answered_at == failure.position


def _is_last_agent(trace: Trace, failure: Failure) -> bool:
    ends = [record for record in trace.records if isinstance(record.event, AgentFinished)]
    return ends[-1].position == failure.position and ends[-1].event.outcome == "failure"  # type: ignore[attr-defined]


def _has_failed(_: Trace, failure: Failure) -> bool:
    return isinstance(failure.event, RunFinished) and failure.event.outcome == "failed"


_FAILED: Final[
    dict[str, Callable[[Trace, Failure], bool]]
] = {  # a failure of another kind the run has got over
    "model": _is_last_step,
    "agent": _is_last_agent,
    "daemon": lambda *_: True,
    "process": lambda *_: True,
    "run": _has_failed,
}
