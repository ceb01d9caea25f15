"""Stages: their order, their gates, their repetitions, and how one that fails ends the rest."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.errors import AppError, WrongTypeError, WrongValueError
from soundstage.workflows import (
    Stage,
    StageFinished,
    StageIterated,
    StageOverlapError,
    StageSkipped,
    StageStarted,
    Until,
    Workflow,
    WorkflowFailedError,
    WorkflowFinished,
    WorkflowStarted,
)

FACTS = (WorkflowStarted, StageSkipped, StageStarted, StageIterated, StageFinished, WorkflowFinished)


def takes(seconds, log, name):
    async def work(context):
        log.append(f"{name} begins")
        await asyncio.sleep(seconds)
        log.append(f"{name} ends")

    return Stage(name, work)


def counting(log, **options):
    async def work(context):
        log.append(context.iteration)

    return Stage("count", work, **options)


def breaks(name="breaks", error=None):
    async def work(context):
        raise error or ValueError("boom")

    return Stage(name, work)


async def nothing(context):
    pass


async def test_stages_run_in_declared_order_however_long_each_takes(context):
    log = []
    flow = Workflow(takes(3, log, "slow"), takes(2, log, "middle"), takes(1, log, "quick"))
    result = await flow.run(context)
    assert log == [f"{name} {word}" for name in ("slow", "middle", "quick") for word in ("begins", "ends")]
    assert [stage.name for stage in result.stages] == ["slow", "middle", "quick"]
    assert [stage.result.duration for stage in result.stages] == [3, 2, 1]
    assert result.duration == 6


async def test_a_stage_with_a_shut_gate_is_skipped_with_its_reason_in_the_journal(context, journal):
    log = []

    async def later(context):
        return False

    gated = Stage("gated", lambda context: log.append("ran"), should_run=later, metadata={"owner": "ann"})
    result = await Workflow(gated, Stage("open", nothing, should_run=lambda context: True)).run(context)
    assert log == []
    assert [(stage.name, stage.status) for stage in result.stages] == [
        ("gated", "skipped"),
        ("open", "complete"),
    ]
    assert journal.events(StageSkipped) == [
        StageSkipped(stage="gated", reason="should_run is false", metadata={"owner": "ann"})
    ]
    assert result.status == "complete", "a stage that was not wanted takes nothing from the others"


@pytest.mark.parametrize("question", ["should_run", "until"])
async def test_an_answer_that_is_neither_true_nor_false_fails_the_stage(question, context):
    log = []
    wanted = (
        {"should_run": lambda context: None}
        if question == "should_run"
        else {"until": Until(lambda context: 1)}
    )
    with pytest.raises(WorkflowFailedError) as failed:
        await Workflow(Stage("plan", counting(log).work, **wanted)).run(context)
    assert isinstance(failed.value.__cause__, WrongTypeError)
    assert failed.value.stage == "plan"
    assert bool(log) == (question == "until"), "a gate that cannot be read lets nothing through"


@pytest.mark.parametrize(("met_at", "runs"), [(1, [1]), (3, [1, 2, 3])])
async def test_a_repetition_ends_with_the_run_that_meets_its_predicate(met_at, runs, context, journal):
    log = []
    stage = counting(log, until=Until(lambda context: context.iteration == met_at, limit=5))
    result = (await Workflow(stage).run(context)).stage("count")
    assert log == runs
    assert (result.reason, result.max_iterations_reached) == ("predicate-met", False)
    assert [event.met for event in journal.events(StageIterated)] == [*[False] * (met_at - 1), True]


async def test_a_repetition_that_is_never_met_ends_at_its_limit_and_keeps_its_history(context):
    stage = Stage(
        "edit", prompt=lambda context: f"{context.iteration}.py", until=Until(lambda context: False)
    )
    result = (await Workflow(stage).run(context)).stage("edit")
    assert (result.reason, result.max_iterations_reached) == ("max-iterations", True)
    assert [run.output for run in result.iterations] == [f"edited {number}.py" for number in range(1, 11)]
    assert [[file.path for file in run.files] for run in result.iterations] == [
        [f"{number}.py"] for number in range(1, 11)
    ]
    assert result.status == "complete"


async def test_the_count_of_a_repetition_ends_with_it(context):
    log = []
    await Workflow(counting([], until=Until(lambda context: True)), Stage("after", counting(log).work)).run(
        context
    )
    assert log == [0]


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "3"])
def test_a_limit_below_one_is_a_value_error(limit):
    with pytest.raises(ValueError, match="a limit of 1 or more"):
        Until(lambda context: True, limit)


async def test_a_stage_that_fails_ends_the_workflow_and_is_named(context, journal):
    log = []
    with pytest.raises(WorkflowFailedError) as failed:
        await Workflow(counting([]), breaks("build"), takes(1, log, "ship")).run(context)
    assert log == []
    error = failed.value
    assert (error.stage, error.title) == ("build", "the release")
    assert str(error.__cause__) == "boom"
    assert "the stage 'build' of the release failed" in str(error)
    assert "ship" in error.hint
    result = error.partial_result
    assert [(stage.name, stage.status) for stage in result.stages] == [
        ("count", "complete"),
        ("build", "failed"),
        ("ship", "skipped"),
    ]
    assert result.stage("ship").reason == "build failed"
    assert (result.status, result.failed_stage, result.error) == ("failed", "build", "ValueError: boom")
    assert journal.events(WorkflowFinished)[0].failed_stage == "build"


async def test_an_agent_that_comes_to_nothing_fails_its_stage(context, editor):
    editor.status = "failed"
    with pytest.raises(WorkflowFailedError, match="it could not be done") as failed:
        await Workflow(Stage("build", prompt="a.py")).run(context)
    assert isinstance(failed.value.__cause__, AppError)


async def test_a_workflow_goes_on_behind_a_failure_with_all_that_there_was(context):
    healed = []

    async def build(context):
        if not healed:
            raise ValueError("boom")
        return await context.run_agent("b.py")

    flow = Workflow(Stage("plan", prompt="plan.md"), Stage("build", build), Stage("ship", prompt="ship.sh"))
    with pytest.raises(WorkflowFailedError):
        await flow.run(context)
    healed.append(True)
    result = await flow.run(context, start="build")
    assert [(stage.name, stage.status) for stage in result.stages] == [
        ("plan", "skipped"),
        ("build", "complete"),
        ("ship", "complete"),
    ]
    assert result.stage("plan").reason == "begins with build"
    assert [run.output for run in context.runs] == ["edited plan.md", "edited b.py", "edited ship.sh"]


async def test_a_start_that_no_stage_has_is_refused(context, journal):
    before = len(journal)
    with pytest.raises(WrongValueError, match="did you mean 'build'"):
        await Workflow(Stage("build", nothing)).run(context, start="biuld")
    assert len(journal) == before


async def test_stages_of_one_context_cannot_overlap(context):
    inside = asyncio.Event()

    async def waits(context):
        inside.set()
        await asyncio.sleep(1)

    first = asyncio.create_task(Workflow(Stage("first", waits), name="one").run(context))
    await inside.wait()
    with pytest.raises(RuntimeError, match="the workflow two begins while one is under way") as refused:
        await Workflow(Stage("second", nothing), name="two").run(context)
    assert isinstance(refused.value, StageOverlapError)
    assert (await first).status == "complete"


async def test_runs_of_one_context_cannot_overlap(context, editor):
    async def both(context):
        await asyncio.gather(context.run_agent("a.py"), context.run_agent("b.py"))

    async def slow(prompt, **overrides):
        await asyncio.sleep(1)

    editor.run = slow
    with pytest.raises(WorkflowFailedError) as failed:
        await Workflow(Stage("both", both)).run(context)
    assert isinstance(failed.value.__cause__, StageOverlapError)


async def test_hooks_stand_around_each_stage_also_around_one_that_fails(context):
    log = []

    async def before(context, stage):
        log.append(("before", stage.name, stage.metadata))

    async def after(context, result):
        log.append(("after", result.name, result.status, result.metadata))

    noted = Stage("plan", nothing, metadata={"owner": "ann"})
    skipped = Stage("never", nothing, should_run=lambda context: False)
    flow = Workflow(noted, skipped, breaks("build"), before=[before], after=[after])
    with pytest.raises(WorkflowFailedError):
        await flow.run(context)
    assert log == [
        ("before", "plan", {"owner": "ann"}),
        ("after", "plan", "complete", {"owner": "ann"}),
        ("before", "build", {}),
        ("after", "build", "failed", {}),
    ]


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_hook_that_raises_fails_its_stage(place, context):
    log = []

    async def hook(context, _):
        raise ValueError("boom")

    with pytest.raises(WorkflowFailedError) as failed:
        await Workflow(takes(1, log, "plan"), **{place: [hook]}).run(context)
    assert (failed.value.stage, str(failed.value.__cause__)) == ("plan", "boom")
    assert bool(log) == (place == "after"), (
        "a hook in front of a stage that raises keeps the stage from running"
    )
    assert context.stages[0].status == "failed"


async def test_a_hook_behind_a_stage_that_failed_does_not_mask_its_error(context):
    async def after(context, _):
        raise KeyError("the hook's")

    with pytest.raises(WorkflowFailedError) as failed:
        await Workflow(breaks(), after=[after]).run(context)
    assert str(failed.value.__cause__) == "boom"
    assert "the hook's" in failed.value.__cause__.__notes__[0]


async def test_a_cancelled_workflow_is_closed_in_the_journal_and_stays_cancelled(context, journal):
    inside = asyncio.Event()

    async def waits(context):
        inside.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(Workflow(Stage("waits", waits), Stage("next", nothing)).run(context))
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [type(event) for event in journal.events(FACTS)] == [
        WorkflowStarted,
        StageStarted,
        StageFinished,
        StageSkipped,
        WorkflowFinished,
    ]
    await Workflow(Stage("again", nothing)).run(context)


@pytest.mark.parametrize("outcome", [pytest.skip, pytest.xfail])
async def test_a_test_may_be_skipped_from_within_a_stage(outcome, context):
    async def work(context):
        outcome("not today")

    with pytest.raises(outcome.Exception, match="not today"):
        await Workflow(Stage("plan", work)).run(context)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": ""}, "a stage has a name"),
        ({"name": "plan"}, "has no work"),
        ({"name": "plan", "work": nothing, "prompt": "x"}, "two kinds of work"),
        ({"name": "plan", "work": nothing, "target": 1}, "runs agents itself"),
        ({"name": "plan", "work": nothing, "options": {"model": "m"}}, "runs agents itself"),
        ({"name": "plan", "work": "x"}, "is a function of the context"),
    ],
)
def test_a_stage_that_cannot_run_is_refused_when_it_is_made(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Stage(**options)


@pytest.mark.parametrize("stages", [(), (Stage("a", nothing), Stage("a", prompt="x"))])
def test_a_workflow_has_stages_of_different_names(stages):
    with pytest.raises(WrongValueError, match=r"no stage|two stages 'a'"):
        Workflow(*stages)


async def test_work_that_cannot_be_awaited_fails_its_stage(context):
    with pytest.raises(WorkflowFailedError, match="write: async def"):
        await Workflow(Stage("plan", lambda context: 3)).run(context)


async def test_work_of_a_stage_that_no_agent_is_named_for_fails_with_the_word_to_add(journal):
    from soundstage.workflows import WorkflowContext

    with pytest.raises(WorkflowFailedError, match="target=AGENT"):
        await Workflow(Stage("plan", prompt="x")).run(WorkflowContext(journal))
