"""The engine: every run of a suite once, several at a time, each in a place of its own, graded, and kept.

A run is acknowledged when the store has it, in one step, with its grades in its journal and its case and number as
labels. There is nothing besides the store that could disagree with it: to resume is to ask the store which runs it
has, and a run that was under way when everything was killed is not there.

A run whose evaluator is broken, or which could not be made, is no result: it is told as an error, not kept, and made
again by the next `--resume`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from soundstage.errors import ConfigError, UnknownNameError, did_you_mean
from soundstage.evals._executor import Executor, LocalExecutor, RunMaker
from soundstage.evals._features import read_run
from soundstage.evals._making import DRIVER, EvalRunPlan, MadeRun
from soundstage.evals._report import EvalReport, ScoredRun, report_of
from soundstage.evals._suite import Suite
from soundstage.runs import RunStore, new_run_id

CONCURRENCY: Final = 4


async def run_suite(
    suite: Suite,
    *,
    store: RunStore,
    only: Sequence[str] = (),
    resume: bool = False,
    concurrency: int = CONCURRENCY,
    executor: Executor | None = None,
    on_run: Callable[[ScoredRun], None] = lambda _: None,
) -> EvalReport:
    """Run every case of a suite as often as it says, and count.

    Args:
        suite: the suite.
        store: keeps each run when it is over.
        only: names of cases; all unless given.
        resume: go on with the last eval of this suite in the store: its runs are not repeated.
        concurrency: runs at a time.
        executor: makes the runs; this process unless given.
        on_run: told of each run when it is kept, in the order of their ends.

    Returns:
        The report; its runs are in the order of the suite, whatever the order of their ends.

    Raises:
        UnknownNameError: for a case that the suite does not have.
        ConfigError: if the suite is another one since the eval that is to be resumed.
    """
    eval_id, kept = _earlier(suite, store) if resume else (new_run_id(), {})
    plans = list(_plans(suite, only))
    rows = {(run.case, run.number): run for run in kept.values()}
    waiting = iter([plan for plan in plans if (plan.case.name, plan.number) not in rows])

    async def work(make: RunMaker) -> None:
        for plan in waiting:
            run = await _kept(await make(plan), store, eval_id)
            rows[run.case, run.number] = run
            on_run(run)

    async with (executor or LocalExecutor()).open(suite) as make, asyncio.TaskGroup() as group:
        for _ in range(max(1, concurrency)):
            group.create_task(work(make))
    return report_of(suite, _ordered(plans, rows), eval_id)


def kept_report(suite: Suite, store: RunStore, *, only: Sequence[str] = ()) -> EvalReport:
    """The report of the runs that the last eval of a suite has come to, without any run.

    Raises:
        ConfigError: if the suite is another one since.
    """
    eval_id, kept = _earlier(suite, store)
    return report_of(suite, _ordered(list(_plans(suite, only)), kept), eval_id)


def _ordered(plans: Sequence[EvalRunPlan], rows: Mapping[tuple[str, int], ScoredRun]) -> list[ScoredRun]:
    wanted = [(plan.case.name, plan.number) for plan in plans]
    return [rows[key] for key in wanted if key in rows]


def _plans(suite: Suite, only: Sequence[str]) -> Iterator[EvalRunPlan]:
    names = [case.name for case in suite.cases]
    for name in only:
        if name not in names:
            raise UnknownNameError(
                f"the suite {suite.name} has no case {name!r}",
                expected=", ".join(names),
                hint=did_you_mean(name, names),
            )
    for case in suite.cases:
        if not only or case.name in only:
            for number in range(1, suite.runs_of(case) + 1):
                yield EvalRunPlan(case, number)


def _earlier(suite: Suite, store: RunStore) -> tuple[str, dict[tuple[str, int], ScoredRun]]:
    """The last eval of a suite, and its runs; a new one, if there is none."""
    last = store.list(driver=DRIVER, labels={"suite": suite.name}, limit=1)
    if not last:
        return new_run_id(), {}
    labels = last[0].labels
    if labels["fingerprint"] != suite.fingerprint:
        raise ConfigError(
            f"the suite {suite.name} has changed since the eval {labels['eval']}",
            expected="the same suite, script and cases",
            hint="run it without --resume",
        )
    found: dict[tuple[str, int], ScoredRun] = {}
    for record in reversed(store.list(driver=DRIVER, labels={"eval": labels["eval"]})):
        run = read_run(store.open(record.id))
        found.setdefault((run.case, run.number), run)
    return labels["eval"], found


async def _kept(made: MadeRun, store: RunStore, eval_id: str) -> ScoredRun:
    """Keep a run, and read it as it is kept; one that is no result is told."""
    if made.record is None:
        return ScoredRun(case=made.case, number=made.number, outcome="error", reason=made.problem)
    record = msgspec.structs.replace(made.record, labels={**made.record.labels, "eval": eval_id})
    return read_run(
        await asyncio.to_thread(
            store.save, record, journal=made.journal, contents=made.contents, redactor=made.redactor
        )
    )
