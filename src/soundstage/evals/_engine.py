"""The engine: every run of a suite once, several at a time, each in a place of its own, graded, and kept.

A run is acknowledged when the store has it, in one step, with its grades in its journal and its case and number as
labels. There is nothing besides the store that could disagree with it: to resume is to ask the store which runs it
has, and a run that was under way when everything was killed is not there.

A run whose evaluator is broken, or which could not be made, is no result: it is told as an error, not kept, and made
again by the next `--resume`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from soundstage.clock import running_clock
from soundstage.errors import ConfigError, UnknownNameError, did_you_mean
from soundstage.evals._executor import Executor, LocalExecutor, RunMaker
from soundstage.evals._features import read_run
from soundstage.evals._making import DRIVER, EvalRunPlan, MadeRun
from soundstage.evals._report import EvalReport, ScoredRun, report_of
from soundstage.evals._spending import EvalSpending
from soundstage.evals._suite import Suite
from soundstage.runs import RunStore, new_run_id


async def run_suite(
    suite: Suite,
    *,
    store: RunStore,
    only: Sequence[str] = (),
    resume: bool = False,
    concurrency: int | None = None,
    alone: bool = True,
    executor: Executor | None = None,
    before: Sequence[ScoredRun] = (),
    on_begin: Callable[[int, int], None] = lambda *_: None,
    on_run: Callable[[ScoredRun], None] = lambda _: None,
) -> EvalReport:
    """Run every case of a suite as often as it says, and count.

    Args:
        suite: the suite.
        store: keeps each run when it is over.
        only: names of cases; all unless given.
        resume: go on with the last eval of this suite in the store: its runs are not repeated.
        concurrency: runs at a time; as many as the executor is made for, unless given.
        alone: whether to refuse to run while another eval of this suite does, in this store.
        executor: makes the runs; this process unless given.
        before: runs of other evals that the budget counts, too; their seconds it does not.
        on_begin: told how many runs there are already, and how many there are to be.
        on_run: told of each run when it is kept, in the order of their ends.

    Returns:
        The report; its runs are in the order of the suite, whatever the order of their ends.

    Raises:
        UnknownNameError: for a case that the suite does not have.
        ConfigError: if the suite is another one since the eval that is to be resumed.
        StoreBusyError: if another eval of this suite is under way; the message names its process.
        PricingError: if dollars or tokens are limited, and nobody knows how many a run takes.
    """
    plans = list(_plans(suite, only))
    held = store.claim(f"the eval {suite.name}", doing=f"run the eval {suite.name}")
    with held if alone else contextlib.nullcontext():
        earlier = _earlier(suite, store) if resume else (new_run_id(), {})
        on_begin(sum((plan.case.name, plan.number) in earlier[1] for plan in plans), len(plans))
        spending = EvalSpending(suite, running_clock(), [*earlier[1].values(), *before])
        place = executor or LocalExecutor()
        return await _run(suite, plans, store, earlier, spending, place, concurrency, on_run)


async def _run(
    suite: Suite,
    plans: Sequence[EvalRunPlan],
    store: RunStore,
    earlier: tuple[str, Mapping[tuple[str, int], ScoredRun]],
    spending: EvalSpending,
    executor: Executor,
    concurrency: int | None,
    on_run: Callable[[ScoredRun], None],
) -> EvalReport:
    """Make the runs that an eval does not have yet."""
    eval_id, kept = earlier
    rows = {(run.case, run.number): run for run in kept.values()}
    waiting = iter([plan for plan in plans if (plan.case.name, plan.number) not in rows])

    turn = asyncio.Lock()

    async def admitted() -> EvalRunPlan | None:
        async with turn:  # so that runs start in the order of the suite, whatever is left out
            plan = next(waiting, None)
            return plan if plan and await spending.admits(plan.case.name, plan.number) else None

    async def work(make: RunMaker) -> None:
        while (plan := await admitted()) is not None:
            run = await _kept(await make(plan), store, eval_id)
            rows[run.case, run.number] = run
            on_run(run)
            await spending.over(run)

    at_a_time = executor.concurrency if concurrency is None else concurrency
    try:
        async with executor.open(suite) as make, asyncio.TaskGroup() as group:
            for _ in range(max(1, at_a_time)):
                group.create_task(work(make))
    except ExceptionGroup as errors:
        if len(errors.exceptions) > 1:
            raise
        raise errors.exceptions[0] from None
    return report_of(suite, _ordered(plans, rows), eval_id, planned=_cases(plans), left_out=spending.left_out)


def kept_report(suite: Suite, store: RunStore, *, only: Sequence[str] = ()) -> EvalReport:
    """The report of the runs that the last eval of a suite has come to, without any run.

    Raises:
        ConfigError: if the suite is another one since.
    """
    eval_id, kept = _earlier(suite, store)
    plans = list(_plans(suite, only))
    return report_of(suite, _ordered(plans, kept), eval_id, planned=_cases(plans))


def _cases(plans: Sequence[EvalRunPlan]) -> set[str]:
    return {plan.case.name for plan in plans}


def _ordered(plans: Sequence[EvalRunPlan], rows: Mapping[tuple[str, int], ScoredRun]) -> list[ScoredRun]:
    wanted = [(plan.case.name, plan.number) for plan in plans]
    return [rows[key] for key in wanted if key in rows]


def _plans(suite: Suite, only: Sequence[str]) -> Iterator[EvalRunPlan]:
    names = list(dict.fromkeys(name for case in suite.cases for name in (case.base, case.name)))
    for name in only:
        if name not in names:
            raise UnknownNameError(
                f"the suite {suite.name} has no case {name!r}",
                expected=", ".join(names),
                hint=did_you_mean(name, names),
            )
    for case in suite.cases:
        if not only or case.name in only or case.base in only:
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
            expected="the same suite, script, cases, code of agent and evaluators, and workspace",
            hint="run it without --resume",
        )
    found: dict[tuple[str, int], ScoredRun] = {}
    for record in reversed(store.list(driver=DRIVER, labels={"eval": labels["eval"]})):
        run = read_run(store.open(record))
        found.setdefault((run.case, run.number), run)
    return labels["eval"], found


async def _kept(made: MadeRun, store: RunStore, eval_id: str) -> ScoredRun:
    """Keep a run, and read it as it is kept; one that is no result is told."""
    if made.record is None:
        return ScoredRun(
            case=made.case,
            number=made.number,
            outcome="error",
            reason=made.problem,
            tokens=made.tokens,
            cost=made.cost,
        )
    record = msgspec.structs.replace(made.record, labels={**made.record.labels, "eval": eval_id})
    return read_run(
        await asyncio.to_thread(
            store.save, record, journal=made.journal, contents=made.contents, redactor=made.redactor
        )
    )
