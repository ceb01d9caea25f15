"""The words of a runner about its run, and what they make of the result. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from soundstage.journal import Record
from soundstage.runs._events import RunClosed, RunOpened
from soundstage.runs.result._types import RunResult


def opened_run(records: Sequence[Record]) -> str:
    """The id of the run that a runner has opened; empty if none has, or several."""
    opened = [record.event.run for record in records if isinstance(record.event, RunOpened)]
    return opened[0] if len(opened) == 1 else ""


def closing_of(records: Sequence[Record], run: str) -> RunClosed | None:
    """The last word of the runner about a run; `None` as long as there is none."""
    for record in reversed(records):
        if isinstance(record.event, RunClosed) and record.event.run == run:
            return record.event
    return None


def closed_result(result: RunResult, closed: RunClosed) -> RunResult:
    """A result with what its runner says of it: how the target answered, and what is to be known besides."""
    changes: dict[str, Any] = {"id": closed.run, "warnings": (*result.warnings, *closed.warnings)}
    if closed.outcome == "answered":
        changes["output"] = closed.output
    if closed.outcome == "failed":
        changes |= {
            "status": "failed",
            "output": closed.output or result.output,
            "reasons": (closed.reason, *(reason for reason in result.reasons if reason != closed.reason)),
        }
    return msgspec.structs.replace(result, **changes)
