"""Workflows: stages in order, one at a time.

A stage that fails ends the workflow; those behind it are skipped, with the reason in the journal. Whatever raises in a
stage is told in three places: the journal, the reporters, and the error that the caller gets.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from soundstage.errors import AppError, WrongTypeError, WrongValueError, did_you_mean
from soundstage.runs.result import RunResult
from soundstage.workflows._context import WorkflowContext
from soundstage.workflows._errors import WorkflowFailedError
from soundstage.workflows._events import (
    Ending,
    StageFinished,
    StageIterated,
    StageSkipped,
    StageStarted,
    WorkflowFinished,
    WorkflowStarted,
)
from soundstage.workflows._result import StageResult, WorkflowResult, build_workflow, stage_in, workflow_in
from soundstage.workflows._stage import Stage, answer_of

Before = Callable[[WorkflowContext, Stage], Awaitable[object]]
After = Callable[[WorkflowContext, StageResult], Awaitable[object]]


class Workflow:
    """Stages that run in their order, one after the other.

    Args:
        *stages: at least one; each has its own name.
        name: as the journal and the page call it.
        before: hooks that are awaited at the begin of each stage. One that raises fails the stage.
        after: hooks that are awaited at the end of each stage that has begun, whatever it came to.

    Raises:
        WrongValueError: without a stage, or for two of one name.

    Example:
        ::

            flow = Workflow(
                Stage("plan", prompt="Write a plan.", target=planner),
                Stage("build", prompt=lambda context: context.output, target=builder, until=Until(green, limit=5)),
                Stage("approve", work=ask_the_lead, should_run=lambda context: bool(context.files)),
            )
            result = await flow.run(WorkflowContext(journal))
    """

    def __init__(
        self,
        *stages: Stage,
        name: str = "workflow",
        before: Iterable[Before] = (),
        after: Iterable[After] = (),
    ) -> None:
        names = [stage.name for stage in stages]
        twice = next((name for name in names if names.count(name) > 1), None)
        if not stages or twice is not None:
            raise WrongValueError(
                f"the workflow {name!r} has " + (f"two stages {twice!r}" if stages else "no stage"),
                expected="at least one stage, each with a name of its own",
            )
        self.stages = stages
        self.name = name
        self.before = tuple(before)
        self.after = tuple(after)

    async def run(self, context: WorkflowContext, *, start: str = "") -> WorkflowResult:
        """Run the stages. The reporters of the context are told of each stage, and of the result at last.

        Args:
            context: of one test; what earlier stages have come to is in it.
            start: the stage to begin with, to go on after a failure; those before it are skipped.

        Raises:
            WorkflowFailedError: if a stage fails; `__cause__` is what it raised, `.partial_result` what there is.
            StageOverlapError: if a stage of this context is under way.
            WrongValueError: if there is no stage `start`.
        """
        return await published(context, run_stages(self, context, start=start))

    def places_before(self, start: str) -> int:
        """How many stages come before a stage; none if none is named."""
        names = [stage.name for stage in self.stages]
        if start and start not in names:
            raise WrongValueError(
                f"the workflow {self.name!r} has no stage {start!r}",
                expected=", ".join(names),
                hint=did_you_mean(start, names),
            )
        return names.index(start) if start else 0


async def published(context: WorkflowContext, work: Awaitable[WorkflowResult]) -> WorkflowResult:
    """Tell the reporters of the result of a workflow, before anything else learns of it."""
    begun = len(context.journal)
    try:
        result = await work
    except GeneratorExit:
        raise
    except WorkflowFailedError as error:
        await context.report(error.partial_result)
        raise
    except BaseException:
        if context.journal.events(WorkflowStarted, begun):
            await context.report(
                build_workflow(context.journal.read(begun), objects=context.journal.contents)
            )
        raise
    await context.report(result)
    return result


async def run_stages(workflow: Workflow, context: WorkflowContext, *, start: str = "") -> WorkflowResult:
    """Run the stages of a workflow; nobody is told of its result but the caller."""
    skipped = workflow.places_before(start)
    journal, names = context.journal, tuple(stage.name for stage in workflow.stages)
    with context.only_one("workflow", workflow.name):
        begun = journal.append(WorkflowStarted(name=workflow.name, stages=names), source=workflow.name)
        error: BaseException | None = None
        failed = ""
        for place, stage in enumerate(workflow.stages):
            reason = f"begins with {start}" if place < skipped else f"{failed} failed" if failed else ""
            if reason:
                _skip(workflow, stage, context, reason)
            elif (error := await _gated(workflow, stage, context)) is not None:
                failed = stage.name
        outcome = _outcome(error, (one.status for one in workflow_in(journal, begun).stages))
        end = WorkflowFinished(
            name=workflow.name, outcome=outcome, failed_stage=failed, error=words_of(error)
        )
        result = workflow_in(journal, begun, journal.append(end, source=workflow.name, cause=begun))
    if error is None:
        return result
    if not isinstance(error, Exception):
        raise error
    raise WorkflowFailedError(context.title, failed, result) from error


async def _gated(workflow: Workflow, stage: Stage, context: WorkflowContext) -> BaseException | None:
    """Run a stage unless its gate is shut. Returns what it has raised."""
    try:
        if stage.should_run is not None and not await answer_of(stage.should_run, context):
            _skip(workflow, stage, context, "should_run is false")
            return None
        broken = None
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001  (it is the stage that fails)
        broken = error
    return await _run(workflow, stage, context, broken)


def _skip(workflow: Workflow, stage: Stage, context: WorkflowContext, reason: str) -> None:
    skipped = StageSkipped(stage=stage.name, reason=reason, metadata=stage.metadata)
    context.journal.append(skipped, source=workflow.name)
    context.add(StageResult(name=stage.name, status="skipped", reason=reason, metadata=stage.metadata))


async def _run(
    workflow: Workflow, stage: Stage, context: WorkflowContext, error: BaseException | None
) -> BaseException | None:
    """Run a stage with its hooks, tell everybody, and return what was raised. One that is broken only ends."""
    journal, runs, reason = context.journal, len(context.runs), ""
    begun = journal.append(StageStarted(stage=stage.name, metadata=stage.metadata), source=workflow.name)
    with context.only_one("stage", stage.name):
        try:
            if error is None:
                for before in workflow.before:
                    await before(context, stage)
                reason = await _work(workflow, stage, context)
                context.record_changes()
        except GeneratorExit:
            raise
        except BaseException as raised:  # noqa: BLE001  (returned)
            error = raised
        so_far = stage_in(journal, begun)
        outcome = _outcome(error, (one.status for one in (so_far.result, *context.runs[runs:])))
        told = msgspec.structs.replace(so_far, status=outcome, reason=reason, error=words_of(error))
        error = await _after(workflow, context, told, error)
    end = StageFinished(
        stage=stage.name,
        outcome="failed" if error is not None else outcome,
        reason=reason,
        error=words_of(error),
    )
    result = stage_in(journal, begun, journal.append(end, source=workflow.name, cause=begun))
    context.add(result)
    await context.report(result)
    return error


async def _after(
    workflow: Workflow, context: WorkflowContext, result: StageResult, error: BaseException | None
) -> BaseException | None:
    """Call all hooks behind a stage; the first that raises fails a stage that has not failed."""
    for after in workflow.after:
        try:
            await after(context, result)
        except Exception as raised:  # noqa: BLE001  (returned, or noted on the stage's own error)
            if error is None:
                error = raised
            else:
                error.add_note(f"and behind the stage {result.name!r}: {words_of(raised)}")
    return error


async def _work(workflow: Workflow, stage: Stage, context: WorkflowContext) -> str:
    """Do the work of a stage, as often as it has to be. Returns why a repetition has ended."""
    if stage.until is None:
        await _once(stage, context)
        return ""
    try:
        for iteration in range(1, stage.until.limit + 1):
            context.iteration = iteration
            await _once(stage, context)
            met = await answer_of(stage.until.predicate, context)
            counted = StageIterated(stage=stage.name, iteration=iteration, met=met)
            context.journal.append(counted, source=workflow.name)
            if met:
                return "predicate-met"
    finally:
        context.iteration = 0
    return "max-iterations"


async def _once(stage: Stage, context: WorkflowContext) -> None:
    result = await _result(stage, context)
    if isinstance(result, RunResult) and result.status == "failed":
        raise AppError(
            f"the agent of the stage {stage.name!r} failed",
            seen="\n".join(result.reasons),
            hint="`context.get_run(-1)` is its result",
        )


async def _result(stage: Stage, context: WorkflowContext) -> object:
    if stage.work is None:
        prompt = stage.prompt(context) if callable(stage.prompt) else stage.prompt
        return await context.run_agent(prompt, target=stage.target, **stage.options)
    work = stage.work(context)
    if not inspect.isawaitable(work):
        raise WrongTypeError(
            f"the work of the stage {stage.name!r} cannot be awaited",
            seen=repr(work),
            hint="write: async def",
        )
    return await work


def _outcome(error: BaseException | None, parts: Iterable[str]) -> Ending:
    if error is not None:
        return "failed"
    return "partial" if "partial" in set(parts) else "complete"


def words_of(error: BaseException | None) -> str:
    """An error in words; empty for none."""
    return f"{type(error).__name__}: {error}" if error is not None else ""
