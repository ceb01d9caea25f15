"""Runs of tests into a store: what is known of a test becomes the record of each of its runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from soundstage.config import load_settings
from soundstage.errors import SoundstageError
from soundstage.journal import RunFinished
from soundstage.runs._record import RunRecord, new_run_id
from soundstage.runs._store import RunStore, store_of
from soundstage.trace import Trace, build_trace

if TYPE_CHECKING:
    from soundstage.pytest_plugin import RunOfTest

BAD: Final = ("failed", "error", "xpassed")
FAILURE: Final = "failure.txt"


class Keeper:
    """Keeps the runs of tests.

    Args:
        store: where.
        every: whether those of tests that passed are kept too.
    """

    def __init__(self, store: RunStore, *, every: bool) -> None:
        self._store = store
        self._every = every
        self._begun: dict[str, float] = {}
        self._failures: dict[str, list[str]] = {}

    @classmethod
    def of(cls, config: pytest.Config, place: str, *, every: bool) -> Keeper:
        """With the store in a folder, or for `-` with that of the settings."""
        settings = load_settings(config.rootpath, os.environ)
        root = config.rootpath / settings.runs if place == "-" else Path(place)
        return cls(store_of(settings, root), every=every)

    def phase(self, item: pytest.Item, report: Any, runs: Sequence[RunOfTest], outcome: str) -> None:
        """Remember a phase of a test; keep its runs behind the last one."""
        self._begun.setdefault(item.nodeid, report.start)
        if report.failed:
            self._failures.setdefault(item.nodeid, []).append(str(report.longrepr).strip("\n"))
        if report.when != "teardown":
            return
        begun, failures = self._begun.pop(item.nodeid), self._failures.pop(item.nodeid, [])
        if not (self._every or outcome in BAD):
            return
        told = [run for run in runs if run.busy]
        report.soundstage_runs = []  # which pytest-xdist carries over
        for number, run in enumerate(told, 1):
            name = item.nodeid if len(told) == 1 else f"run {number} of the last {len(told)}"
            facts = _PhaseFacts(item.nodeid, name, begun, report.stop, outcome, report.user_properties)
            try:
                report.soundstage_runs.append(self._save(facts, run, failures))
            except SoundstageError as error:  # told at the end: a store never ends a session
                report.soundstage_runs_problem = str(error)

    def _save(self, facts: _PhaseFacts, run: RunOfTest, failures: list[str]) -> str:
        records = run.journal.read(run.after)
        trace = build_trace(records)
        saved = self._store.save(
            _record(facts, trace),
            journal=records,
            files={FAILURE: "\n\n".join(failures) + "\n"} if failures else {},
            transcripts=trace.tools or None,
            contents=run.journal.contents,
            redactor=run.journal.redactor,
        )
        return saved.path.name

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()


class _PhaseFacts(NamedTuple):
    """Facts that pytest has of a test that is over."""

    test: str
    name: str
    begun: float
    ended: float
    outcome: Any
    properties: Sequence[tuple[str, object]]


def _record(facts: _PhaseFacts, trace: Trace) -> RunRecord:
    finished = [record.event for record in trace.records if isinstance(record.event, RunFinished)]
    aborted = bool(finished) and finished[-1].outcome == "aborted"
    return RunRecord(
        id=new_run_id(),
        started=datetime.fromtimestamp(facts.begun, UTC),
        ended=datetime.fromtimestamp(facts.ended, UTC),
        test=facts.test,
        name=facts.name,
        driver="pytest",
        status="partial" if aborted else "complete",
        outcome=facts.outcome,
        reason=finished[-1].reason if finished else "",
        labels={str(key): str(value) for key, value in facts.properties},
        tokens=trace.usage.total_tokens if trace.steps else None,
        cost=trace.cost().amount if trace.steps else None,
    )
