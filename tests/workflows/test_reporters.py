"""Reporters: told each result as it comes, failures before they are raised, and never in the way."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.runs.result import RunResult
from soundstage.workflows import (
    ReporterFailed,
    Stage,
    StageResult,
    Workflow,
    WorkflowContext,
    WorkflowFailedError,
    WorkflowResult,
)


async def boom(context):
    raise ValueError("boom")


async def test_all_reporters_are_told_the_very_result_that_the_caller_gets(journal, editor, ears):
    others = type(ears)()
    context = WorkflowContext(journal, editor, reporters=[ears, others])
    result = await Workflow(Stage("plan", prompt="plan.md")).run(context)
    assert ears.heard[-1] is result
    assert others.heard[-1] is result


async def test_reporters_are_told_of_runs_and_stages_as_they_end(context, ears):
    seen = []

    async def look(context):
        seen.extend((type(one), one.status) for one in ears.heard)

    await Workflow(Stage("plan", prompt="plan.md"), Stage("look", look)).run(context)
    assert seen == [(RunResult, "complete"), (StageResult, "complete")]
    assert [type(one) for one in ears.heard[2:]] == [StageResult, WorkflowResult]


async def test_reporters_are_told_of_a_failure_before_it_is_raised(context, ears):
    log = []

    class Late:
        async def report(self, result):
            await asyncio.sleep(1)
            log.append((type(result), result.status, result.error))

    context.reporters = (ears, Late())
    try:
        await Workflow(Stage("build", boom)).run(context)
    except WorkflowFailedError as error:
        log.append("raised")
        assert ears.heard[-1] is error.partial_result
    assert log == [
        (StageResult, "failed", "ValueError: boom"),
        (WorkflowResult, "failed", "ValueError: boom"),
        "raised",
    ]
    assert ears.heard[-1].failed_stage == "build"


async def test_a_partial_result_of_an_agent_reaches_the_reporters_as_partial(context, editor, ears):
    editor.status = "partial"
    result = await Workflow(Stage("build", prompt="a.py")).run(context)
    assert [(type(one), one.status) for one in ears.heard] == [
        (RunResult, "partial"),
        (StageResult, "partial"),
        (WorkflowResult, "partial"),
    ]
    assert result.status == "partial"


async def test_a_stage_behind_a_partial_one_is_complete_and_the_workflow_partial(context, editor):
    async def well(context):
        editor.status = "complete"

    editor.status = "partial"
    flow = Workflow(Stage("a", prompt="a.py"), Stage("well", well), Stage("b", prompt="b.py"))
    result = await flow.run(context)
    assert [stage.status for stage in result.stages] == ["partial", "complete", "complete"]
    assert result.status == "partial"


async def test_the_partial_result_that_an_error_carries_reaches_the_reporters_too(context, editor, ears):
    cut = RunResult(id="cut", status="partial", abort="timeout")

    class AbortedError(Exception):
        partial_result = cut

    async def run(prompt, **overrides):
        raise AbortedError

    editor.run = run
    with pytest.raises(WorkflowFailedError) as failed:
        await Workflow(Stage("build", prompt="a.py")).run(context)
    assert isinstance(failed.value.__cause__, AbortedError)
    assert ears.heard[0] is cut
    assert context.get_run(-1) is cut
    assert [one.status for one in ears.heard] == ["partial", "failed", "failed"]


@pytest.mark.parametrize("fails", [True, False])
async def test_a_reporter_that_raises_is_noted_and_masks_nothing(fails, journal, editor, ears):
    class Broken:
        def report(self, result):
            raise KeyError("the reporter's")

    context = WorkflowContext(journal, editor, reporters=[Broken(), ears])
    flow = Workflow(Stage("build", boom) if fails else Stage("build", prompt="a.py"))
    try:
        assert (await flow.run(context)).status == "complete"
    except WorkflowFailedError as failed:
        assert fails
        assert str(failed.__cause__) == "boom"
    noted = journal.events(ReporterFailed)
    assert noted == [ReporterFailed(reporter="Broken", error='KeyError: "the reporter\'s"')] * len(ears.heard)
    assert isinstance(ears.heard[-1], WorkflowResult), "the other reporter is told all the same"


async def test_a_reporter_that_hangs_is_left_behind(journal, ears):
    class Stuck:
        async def report(self, result):
            await asyncio.Event().wait()

    async def work(context):
        pass

    context = WorkflowContext(journal, reporters=[Stuck(), ears])
    assert (await Workflow(Stage("plan", work)).run(context)).status == "complete"
    assert [event.error for event in journal.events(ReporterFailed)] == ["TimeoutError: "] * 2
    assert len(ears.heard) == 2


async def test_reporters_are_told_of_a_workflow_that_is_cancelled(context, ears):
    inside = asyncio.Event()

    async def waits(context):
        inside.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(Workflow(Stage("waits", waits)).run(context))
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(type(one), one.status) for one in ears.heard] == [
        (StageResult, "failed"),
        (WorkflowResult, "failed"),
    ]
