"""One run of a case, made and graded in this interpreter. Where it is kept is not known here."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from soundstage.clock import IdSource, SystemClock
from soundstage.errors import ConfigError, EnvironmentProblem, HarnessError, ScriptError, SoundstageError
from soundstage.evals._agents import EvalPlace, is_model_alone
from soundstage.evals._conversation import AnsweredTurn, converse, grade_turns
from soundstage.evals._events import Grade
from soundstage.evals._gates import EvalGates
from soundstage.evals._run import Case, EvalRun, grade
from soundstage.evals._suite import Suite
from soundstage.evals._watched import WatchedScript, watched
from soundstage.host import Composition
from soundstage.journal import Journal, Record, Redactor
from soundstage.live import LimitedModel
from soundstage.models import JournaledModel, Model, PlacedModel
from soundstage.runs import AgentRunner, ContentSource, Retry, RunContext, RunRecord, RunResult, build_result
from soundstage.tapes import ReplayModel, Verdict
from soundstage.worlds import Workspace

DRIVER: Final = "eval"
SEED: Final = "SOUNDSTAGE_SEED"
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


class MadeRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is over, as an executor hands it to whoever keeps runs.

    Args:
        case: name of the case.
        number: from 1, among the runs of the case.
        problem: why it is no result: it could not be made or graded; empty if it is one.
        tokens: that it has taken all the same, if it is no result.
        cost: US dollars, likewise; `None` if that is not known.
        record: what is known of it; `None` if it is no result.
        journal: its records, with its grades.
        contents: what the records refer to.
        redactor: knows the secrets that must not be kept; `None` if there are none in it.
    """

    case: str
    number: int
    problem: str = ""
    tokens: int = 0
    cost: float | None = 0.0
    record: RunRecord | None = None
    journal: Sequence[Record] = ()
    contents: ContentSource | None = None
    redactor: Redactor | None = None


async def make_run(suite: Suite, plan: EvalRunPlan, gates: EvalGates | None = None) -> MadeRun:
    """Make one run, and grade it. The gates are those that runs of one process share."""
    journal = Journal(clock=SystemClock())
    try:
        started = journal.clock.wall()
        result, grades = await _graded(suite, plan, journal, gates or EvalGates(suite.limits))
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
                "suite": suite.name,
                "case": plan.case.name,
                "number": str(plan.number),
                "fingerprint": suite.fingerprint,
                "case_fingerprint": suite.fingerprint_of(plan.case),
                "required": repr(suite.rate_of(plan.case)),
                "planned": str(suite.runs_of(plan.case)),
                "place": str([case.name for case in suite.cases].index(plan.case.name)),
                "replayed": suite.replayed,
            },
            tokens=result.usage.total_tokens,
            cost=0.0 if result.cost is None else result.cost.amount,
        )
        return MadeRun(
            case=plan.case.name,
            number=plan.number,
            record=record,
            journal=journal.read(),
            contents=journal.contents,
            redactor=journal.redactor,
        )
    except Exception as error:  # noqa: BLE001  (it is told, and the other runs go on)
        ours = isinstance(error, SoundstageError)
        problem = str(error) if ours else f"it could not be made: {type(error).__name__}: {error}"
        spent = build_result(journal.read())
        return MadeRun(
            case=plan.case.name,
            number=plan.number,
            problem=journal.redactor.text(problem),
            tokens=spent.usage.total_tokens,
            cost=0.0 if spent.cost is None else spent.cost.amount,
        )
    finally:
        journal.close()


def seed_of(plan: EvalRunPlan) -> int:
    """The seed of a run: by its case and number alone, wherever and whenever it is made."""
    name = f"{plan.case.name}\0{plan.number}".encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:4], "big")


async def _graded(
    suite: Suite, plan: EvalRunPlan, journal: Journal, gates: EvalGates
) -> tuple[RunResult, list[Grade]]:
    seed = seed_of(plan)
    parts = Composition(journal, ids=IdSource(seed))
    workspace = parts.add(lambda journal: Workspace(journal, on_demand=True))
    model = suite.model_of(plan.case)
    script = watched(model, plan.case.name)
    asked = gates.around(script, journal)
    alone = is_model_alone(suite.agent_of(plan.case))  # a port takes 2 ms
    server = None if alone else parts.serve(asked)
    async with parts:
        folder = suite.workspace_of(plan.case)
        if folder is not None:
            await asyncio.to_thread(shutil.copytree, folder, workspace.root, dirs_exist_ok=True)
        for path, text in plan.case.files.items():
            workspace.write(path, text)
        workspace.record_changes()
        place = EvalPlace(
            journal,
            JournaledModel(asked, journal),
            server,
            workspace,
            {
                **(model.variables if isinstance(model, PlacedModel) else {}),
                **(server.environment() if server is not None else {}),
                SEED: str(seed),
            },
            lambda home: _place_model(model, workspace, home),
            plan.number,
            seed,
        )
        answered: list[AnsweredTurn] = []
        result, failure = await _made(suite, plan, place, answered)
        if isinstance(script, WatchedScript) and script.problem is not None:
            raise script.problem
        _require_provider(asked, result)
        run = EvalRun(case=plan.case, result=result, find_folder=lambda: workspace.root, journal=journal)
        grades = [*_divergence(model), *([failure] if failure is not None else [])]
        grades += await grade_turns(run, answered, journal)
        grades += [await grade(one, run) for one in (*suite.expect, *plan.case.expect)]
        for one in grades:
            journal.append(one, source="eval")
    return result, grades


def _divergence(model: Model) -> list[Grade]:
    """The grade of a replay that was not the recorded run, with its cause."""
    model = model.inner if isinstance(model, JournaledModel) else model
    if not isinstance(model, ReplayModel) or model.playback.relaxed or not model.verdicts:
        return []
    return [Grade(evaluator="tape", passed=False, reason=verdict_text(model.verdicts[0]))]


def verdict_text(verdict: Verdict) -> str:
    """The verdict on a run, with the command that records its suite again."""
    told = msgspec.structs.replace(verdict, again="soundstage eval record SUITE --live PROVIDER").text()
    return "\n".join(line for line in told.splitlines() if not line.startswith("  accept:"))


def _require_provider(asked: Model, result: RunResult) -> None:
    """Refuse a run that its provider has kept from its end: that is no failure of the agent."""
    if not isinstance(asked, LimitedModel):
        return
    if asked.problem is not None:
        raise asked.problem
    if result.abort == "timeout" and asked.waited:
        raise EnvironmentProblem(
            "the run had no time left",
            seen=f"its requests waited {asked.waited:.1f} s for the limits of the provider",
            hint="give runs more time (timeout), or lower --concurrency",
        )


def _place_model(model: Model, workspace: Workspace, home: Path) -> None:
    """Tell a model of a run that was somewhere else, a tape, where this one is."""
    if isinstance(model, PlacedModel):
        model.work_in(workspace.root, home)


async def _made(
    suite: Suite, plan: EvalRunPlan, place: EvalPlace, answered: list[AnsweredTurn]
) -> tuple[RunResult, Grade | None]:
    """The result of one run, and a grade if the agent itself failed, which no evaluator has to say again."""

    async def agent(_prompt: str, _: RunContext) -> str:
        return await converse(plan.case, suite.agent_of(plan.case), place, answered)

    runner = AgentRunner(
        agent,
        journal=place.journal,
        workspace=place.workspace,
        config={"timeout": suite.timeout},
        retry=Retry(attempts=1),
        on_abort="return",
    )
    try:
        result = await runner.run("\n".join(turn.input for turn in plan.case.conversation))
    except Exception as error:
        ours = isinstance(error, _OURS) and not _divergence(place.model)
        if ours or runner.last is None:
            raise
        reason = f"the agent failed: {type(error).__name__}: {error}"
        return runner.last, Grade(evaluator="agent", passed=False, reason=reason)
    if result.abort:
        return result, Grade(evaluator="agent", passed=False, reason=f"the run was ended: {result.abort}")
    return result, None
