"""A run that is over into the store, once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from soundstage.errors import SoundstageError
from soundstage.journal import Journal
from soundstage.runs._record import RunRecord, RunStatus
from soundstage.runs._store import RunStore
from soundstage.runs.result import RunResult
from soundstage.runs.runner._errors import StorageError

_STATUS: Final[dict[str, RunStatus]] = {"complete": "complete", "partial": "partial"}  # all else has failed


def record_of(
    result: RunResult,
    *,
    started: datetime,
    ended: datetime,
    driver: str,
    test: str = "",
    labels: Mapping[str, str] | None = None,
) -> RunRecord:
    """The record of a run, under the id of its result."""
    return RunRecord(
        id=result.id,
        started=started,
        ended=ended,
        test=test,
        driver=driver,
        status=_STATUS.get(result.status, "failed"),
        outcome="aborted" if result.abort else "unknown",
        reason=next(iter(result.reasons), ""),
        labels=dict(labels or {}),
        tokens=result.usage.total_tokens or None,
        cost=result.cost.amount if result.cost is not None else None,
        warnings=result.warnings,
    )


def keep_result(store: RunStore, record: RunRecord, result: RunResult, journal: Journal) -> None:
    """Save a run: its record, its part of the journal with the files that it names, and its tool calls.

    Raises:
        StorageError: if the store cannot keep it.
    """
    try:
        store.save(
            record,
            journal=result.timeline,
            transcripts=result.tools or None,
            contents=journal.contents,
            redactor=journal.redactor,
        )
    except (SoundstageError, OSError) as error:
        raise StorageError(
            str(store.root),
            type(error).__name__,
            str(error),
            run=result.id,
            partial_result=result,
        ) from error
