"""The engine: every run of a suite once, several at a time, each in a place of its own, graded, and kept.

A run is acknowledged when the store has it, in one step, with its grades in its journal and its case and number as
labels. There is nothing besides the store that could disagree with it: to resume is to ask the store which runs it
has, and a run that was under way when everything was killed is not there.

A run whose evaluator is broken, or which could not be made, is no result: it is told as an error, not kept, and made
again by the next `--resume`.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.clock import IdSource, SystemClock
from soundstage.errors import (
    ConfigError,
    EnvironmentProblem,
    HarnessError,
    ScriptError,
    UnknownNameError,
    did_you_mean,
)
from soundstage.evals._agents import EvalPlace
from soundstage.evals._events import Grade
from soundstage.evals._report import EvalReport, ScoredRun, report_of
from soundstage.evals._run import Case, EvalRun, grade
from soundstage.evals._suite import Suite
from soundstage.host import Composition
from soundstage.journal import Journal
from soundstage.models import JournaledModel, Model, PlacedModel
from soundstage.runs import (
    AgentRunner,
    Retry,
    RunContext,
    RunRecord,
    RunResult,
    RunStore,
    StoredRun,
    new_run_id,
)
from soundstage.worlds import Workspace

DRIVER: Final = "eval"
CONCURRENCY: Final = 4
_OURS: Final = (
    ScriptError,
    ConfigError,
    EnvironmentProblem,
    HarnessError,
)  # not the agent's fault, so no result


class EvalRunPlan(NamedTuple):
    """One run that is to be made."""

    case: Case
    number: int


async def run_suite(
    suite: Suite,
    *,
    store: RunStore,
    only: Sequence[str] = (),
    resume: bool = False,
    concurrency: int = CONCURRENCY,
    on_run: Callable[[ScoredRun], None] = lambda _: None,
) -> EvalReport:
    """Run every case of a suite as often as it says, and count.

    Args:
        suite: the suite.
        store: keeps each run when it is over.
        only: names of cases; all unless given.
        resume: go on with the last eval of this suite in the store: its runs are not repeated.
        concurrency: runs at a time.
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

    async def work() -> None:
        for plan in waiting:
            run = await _scored(suite, plan, store, eval_id)
            rows[run.case, run.number] = run
            on_run(run)

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, concurrency)):
            group.create_task(work())
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
        run = _read(store.open(record.id))
        found.setdefault((run.case, run.number), run)
    return labels["eval"], found


async def _scored(suite: Suite, plan: EvalRunPlan, store: RunStore, eval_id: str) -> ScoredRun:
    """Make one run, grade it, and keep it."""
    journal = Journal(clock=SystemClock())
    try:
        started = journal.clock.wall()
        result, grades = await _graded(suite, plan, journal)
        record = RunRecord(
            id=result.id,
            started=started,
            ended=max(journal.clock.wall(), started),
            test=f"{suite.name}::{plan.case.name}",
            name=f"{plan.case.name}, run {plan.number}",
            driver=DRIVER,
            status="partial" if result.abort else "complete",
            outcome="passed" if all(one.holds for one in grades) else "failed",
            reason=next((one.reason for one in grades if not one.holds), ""),
            labels={
                "eval": eval_id,
                "suite": suite.name,
                "case": plan.case.name,
                "number": str(plan.number),
                "fingerprint": suite.fingerprint,
            },
            tokens=result.usage.total_tokens,
            cost=0.0 if result.cost is None else result.cost.amount,
        )
        return _read(
            await asyncio.to_thread(
                store.save,
                record,
                journal=journal.read(),
                contents=journal.contents,
                redactor=journal.redactor,
            )
        )
    except _OURS as error:
        return ScoredRun(case=plan.case.name, number=plan.number, outcome="error", reason=str(error))
    finally:
        journal.close()


async def _graded(suite: Suite, plan: EvalRunPlan, journal: Journal) -> tuple[RunResult, list[Grade]]:
    parts = Composition(journal, ids=IdSource(plan.number))
    workspace = parts.add(Workspace)
    model = suite.model()
    server = parts.serve(model)
    async with parts:
        if suite.workspace is not None:
            await asyncio.to_thread(shutil.copytree, suite.workspace, workspace.root, dirs_exist_ok=True)
        for path, text in plan.case.files.items():
            workspace.write(path, text)
        workspace.record_changes()
        place = EvalPlace(
            journal,
            JournaledModel(model, journal),
            server,
            workspace,
            {**(model.variables if isinstance(model, PlacedModel) else {}), **server.environment()},
            lambda home: _place_model(model, workspace, home),
        )
        result, failure = await _made(suite, plan, place)
        run = EvalRun(case=plan.case, result=result, folder=workspace.root)
        grades = [failure] if failure is not None else []
        grades += [await grade(one, run) for one in (*suite.expect, *plan.case.expect)]
        for one in grades:
            journal.append(one, source="eval")
    return result, grades


def _place_model(model: Model, workspace: Workspace, home: Path) -> None:
    """Tell a model of a run that was somewhere else, a tape, where this one is."""
    if isinstance(model, PlacedModel):
        model.work_in(workspace.root, home)


async def _made(suite: Suite, plan: EvalRunPlan, place: EvalPlace) -> tuple[RunResult, Grade | None]:
    """The result of one run, and a grade if the agent itself failed, which no evaluator has to say again."""

    async def agent(prompt: str, _: RunContext) -> str:
        return await suite.agent.answer(prompt, place)

    runner = AgentRunner(
        agent,
        journal=place.journal,
        workspace=place.workspace,
        config={"timeout": suite.timeout},
        retry=Retry(attempts=1),
        on_abort="return",
    )
    try:
        result = await runner.run(plan.case.input)
    except _OURS:
        raise
    except Exception as error:
        if runner.last is None:
            raise
        reason = f"the agent failed: {type(error).__name__}: {error}"
        return runner.last, Grade(evaluator="agent", passed=False, reason=reason)
    if result.abort:
        return result, Grade(evaluator="agent", passed=False, reason=f"the run was ended: {result.abort}")
    return result, None


def _read(stored: StoredRun) -> ScoredRun:
    """A run as the store has it, so that one that was resumed and one that was just made are read the same way."""
    record, records = stored.record, stored.journal()
    tools = stored.trace().tools
    called = {f"the tool {use.name}" for use in tools}
    given = {
        f"{use.name} with {name} = {value!r}"[:100] for use in tools for name, value in use.arguments.items()
    }
    return ScoredRun(
        case=record.labels["case"],
        number=int(record.labels["number"]),
        outcome="passed" if record.outcome == "passed" else "failed",
        run=record.id,
        grades=tuple(one.event for one in records if isinstance(one.event, Grade)),
        seconds=record.seconds,
        tokens=record.tokens or 0,
        cost=record.cost,
        reason=record.reason,
        features=tuple(sorted(called | given)),
    )
