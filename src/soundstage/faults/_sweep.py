"""The sweep of a program: two good runs first, then a run for each case, several side by side.

Two good runs, because what differs between them cannot be held against faulty ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from soundstage.errors import AppError, UnknownNameError, did_you_mean
from soundstage.faults._cases import FaultCase, FaultKind, Terms
from soundstage.faults._kinds import cases_of
from soundstage.faults._outcome import Outcome, Verdict
from soundstage.faults._program import ProgramSettings, run_program
from soundstage.faults._source import ModelSource
from soundstage.faults._table import ALLOWED, Sweep, SweepRow, row_of
from soundstage.faults._unsteady import unsteady_in, without
from soundstage.match import preview


class SweepOptions(NamedTuple):
    """Options of a sweep.

    Args:
        kinds: kinds of faults.
        terms: the delays.
        seed: of what is drawn.
        only: the one case to run; all, if empty.
        jobs: runs side by side.
        allow: verdicts that are no findings.
        more: requests that a faulty run may make beyond those of the good one.
        again: how to run one case again; `CASE` stands for it.
    """

    kinds: Sequence[FaultKind]
    terms: Terms
    seed: int = 0
    only: str = ""
    jobs: int = 2
    allow: tuple[Verdict, ...] = ALLOWED
    more: int = 20
    again: str = ""


async def sweep_program(
    source: ModelSource, settings: ProgramSettings, options: SweepOptions, tell: Callable[[str], None]
) -> Sweep:
    """Run the program well, then once for each case.

    Args:
        source: the model of a good run.
        settings: the program.
        options: what is swept.
        tell: gets remarks on the way.

    Raises:
        AppError: if the good run fails, or asks no model.
        UnknownNameError: if there is no such case.
    """
    tell("two good runs first")
    whole = require_good(await run_program(source, settings))
    varies = unsteady_in(whole, require_good(await run_program(source, settings)))
    good = without(whole, varies)
    cases = chosen(cases_of(good.calls, options.kinds, options.terms, options.seed), options.only)
    tell(f"it made {len(good.calls)} model calls: {len(cases)} faulty runs follow, {options.jobs} at a time")
    limited = settings._replace(limit=len(good.calls) + options.more)
    gate, done = asyncio.Semaphore(options.jobs), 0

    async def row(case: FaultCase) -> SweepRow:
        nonlocal done
        async with gate:
            seen = await run_program(source, limited, case.injection)
            found = row_of(case, good, without(seen, varies))
        done += 1
        tell(f"{done}/{len(cases)} {found.case}: {found.verdict}")
        return found

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(row(case)) for case in cases]
    rows = tuple(task.result() for task in tasks)
    return Sweep(
        rows, len(good.calls), real=True, again=options.again, allow=options.allow, varies=str(varies)
    )


def require_good(good: Outcome) -> Outcome:
    """The outcome of the good run, if it is one that faulty runs can be held against.

    Raises:
        AppError: if it is none.
    """
    failed = f"exit code {good.code}: {preview(good.error)}" if good.code else ""
    unanswered = [call.failed for call in good.calls if call.failed]
    seen = "\n".join(filter(None, (good.hung or good.crash or failed, *unanswered)))
    if seen:
        raise AppError(
            "the good run failed, so there is nothing to hold faulty runs against",
            expected="a run that goes well while nothing goes wrong",
            seen=seen,
            hint="run the program on the script alone first: soundstage serve --script SCRIPT",
        )
    if not good.calls:
        raise AppError(
            "the good run has not asked the model",
            expected="a program that asks OPENAI_BASE_URL, ANTHROPIC_BASE_URL or GOOGLE_GEMINI_BASE_URL",
            seen="no request",
            hint="let it read its base URL from the environment",
        )
    return good


def chosen(cases: list[FaultCase], only: str) -> list[FaultCase]:
    """All cases, or the one that is asked for.

    Raises:
        UnknownNameError: if there is none of this name.
    """
    found = [case for case in cases if not only or case.id == only]
    if only and not found:
        names = [case.id for case in cases]
        raise UnknownNameError(
            f"this sweep has no case {only!r}", expected=", ".join(names), hint=did_you_mean(only, names)
        )
    return found
