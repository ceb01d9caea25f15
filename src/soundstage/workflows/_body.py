"""A test with a context of its own: its fixtures, its body, its plan, its reporters, its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from soundstage.journal import Journal
from soundstage.workflows._context import Fixture, WorkflowContext
from soundstage.workflows._errors import WorkflowFailedError
from soundstage.workflows._events import Ending, WorkflowFinished, WorkflowStarted
from soundstage.workflows._reporters import Reporter
from soundstage.workflows._result import WorkflowResult, workflow_in
from soundstage.workflows._stage import Stage
from soundstage.workflows._workflow import Workflow, published, run_stages, words_of

Plan = Iterable[Stage] | None
Body = Callable[[WorkflowContext], Awaitable[Plan]]
Delegate = Callable[[Workflow, WorkflowContext], Awaitable[WorkflowResult]]


async def run_test(
    title: str,
    body: Body,
    *,
    journal: Journal | None = None,
    target: Any = None,
    fixtures: Sequence[Fixture] = (),
    reporters: Sequence[Reporter] = (),
    delegate: Delegate = run_stages,
    **options: Any,
) -> WorkflowResult:
    """Run a test in a fresh context, which is disposed afterwards. The fixture `workflow` does this under pytest.

    Args:
        title: of the test.
        body: gets the context. It runs agents, or returns the stages of a workflow, which then runs, once.
        journal: of the test; a new one, unless given.
        target: the agent of prompts that name no other.
        fixtures: fields for the context, see `WorkflowContext.take`; later ones replace earlier ones.
        reporters: are told each result; the last one is what this function returns, the very object.
        delegate: runs the workflow.
        **options: those of `WorkflowContext`, such as `workspace` and the options of `AgentRunner`.

    Raises:
        WorkflowFailedError: if the body or a stage raises; `__cause__` is what it raised, `.title` the test. The
            reporters have been told by then.

    Example:
        ::

            async def body(context):
                return [Stage("plan", prompt="Write a plan."), Stage("build", prompt="Build it.")]

            result = await run_test("a plan is built", body, target=agent)
    """
    context = WorkflowContext(
        journal if journal is not None else Journal(), target, title=title, reporters=reporters, **options
    )
    try:
        return await published(context, _whole(context, body, fixtures, delegate))
    finally:
        context.dispose()


async def _whole(
    context: WorkflowContext, body: Body, fixtures: Sequence[Fixture], delegate: Delegate
) -> WorkflowResult:
    journal, title = context.journal, context.title
    begun = journal.append(WorkflowStarted(test=title), source="test")

    def end(outcome: Ending, stage: str = "", error: str = "") -> WorkflowResult:
        finished = WorkflowFinished(name=title, outcome=outcome, failed_stage=stage, error=error)
        return workflow_in(journal, begun, journal.append(finished, source="test"))

    try:
        await context.take(*fixtures)
        if plan := tuple(await body(context) or ()):
            result = await delegate(Workflow(*plan, name=title), context)
            end(result.status)
            return result
    except WorkflowFailedError as error:
        end("failed", error.stage, error.partial_result.error)
        raise
    except BaseException as error:
        failed = end("failed", error=words_of(error))
        if not isinstance(error, Exception):
            raise
        raise WorkflowFailedError(title, "", failed) from error
    return end("partial" if any(run.status == "partial" for run in context.runs) else "complete")
