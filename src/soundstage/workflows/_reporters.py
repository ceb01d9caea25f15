"""Reporters: they are told results as they come, and change nothing."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Sequence
from typing import Final, Protocol

from soundstage.clock import time_limit
from soundstage.journal import Journal
from soundstage.runs.result import RunResult
from soundstage.workflows._events import ReporterFailed
from soundstage.workflows._result import StageResult, WorkflowResult

WITHIN: Final = 30.0
Reported = RunResult | StageResult | WorkflowResult


class Reporter(Protocol):
    """Is told each result once: of a run, of a stage, and last of the workflow or the test, also if it failed.

    One that raises, or takes longer than 30 s, is an event `ReporterFailed`; the others are told all the same, and the
    error of the test stays as it is.

    Example:
        >>> class Tally:
        ...     def report(self, result):
        ...         print(type(result).__name__, result.status)
    """

    def report(self, result: Reported) -> Awaitable[None] | None:
        """Take note of a result; may be a coroutine function."""
        ...


async def tell(reporters: Sequence[Reporter], result: Reported, journal: Journal) -> None:
    """Tell reporters of a result, one after the other."""
    for reporter in reporters:
        try:
            async with time_limit(WITHIN):
                told = reporter.report(result)
                if inspect.isawaitable(told):
                    await told
        except Exception as error:  # noqa: BLE001  (whatever a reporter does, it masks nothing)
            failed = ReporterFailed(
                reporter=type(reporter).__name__, error=f"{type(error).__name__}: {error}"
            )
            journal.append(failed, source="reporter")
