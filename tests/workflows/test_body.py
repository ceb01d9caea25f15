"""A test with a context of its own: fresh each time, its plan is run once, and what it raises carries its title."""

from __future__ import annotations

import pytest

from soundstage.workflows import (
    Stage,
    WorkflowContext,
    WorkflowFailedError,
    WorkflowFinished,
    WorkflowResult,
    run_test,
)

PLAN = [Stage("plan", prompt="plan.md"), Stage("build", prompt="a.py")]


async def planned(context):
    return PLAN


async def test_each_test_gets_a_fresh_context(journal, editor):
    seen = []

    async def body(context):
        seen.append((context.id, context.runs, context.files, context.stages))
        await context.run_agent("a.py")

    for _ in range(2):
        await run_test("twice", body, journal=journal, target=editor)
    (first, *empty), (second, *again) = seen
    assert first != second
    assert empty == again == [(), (), ()]


async def test_the_plan_of_a_body_is_run_once_with_its_context(journal, editor):
    calls = []
    wanted = WorkflowResult(name="of the delegate")

    async def delegate(flow, context):
        calls.append((flow.stages, flow.name, context))
        return wanted

    contexts = []

    async def body(context):
        contexts.append(context)
        return PLAN

    result = await run_test("planned", body, journal=journal, target=editor, delegate=delegate)
    assert calls == [(tuple(PLAN), "planned", contexts[0])]
    assert isinstance(contexts[0], WorkflowContext)
    assert result is wanted


async def test_all_reporters_get_the_very_result_of_the_workflow_once(journal, ears):
    wanted, others = WorkflowResult(name="of the delegate"), type(ears)()

    async def delegate(flow, context):
        return wanted

    result = await run_test("planned", planned, journal=journal, reporters=[ears, others], delegate=delegate)
    assert result is wanted
    for heard in (ears.heard, others.heard):
        assert len(heard) == 1
        assert heard[0] is wanted


async def test_stages_of_a_plan_run_and_the_result_is_reported_last_and_once(journal, editor, ears):
    result = await run_test("planned", planned, journal=journal, target=editor, reporters=[ears])
    assert [stage.name for stage in result.stages] == ["plan", "build"]
    assert [one for one in ears.heard if isinstance(one, WorkflowResult)] == [result]
    assert ears.heard[-1] is result
    assert [event.outcome for event in journal.events(WorkflowFinished)] == ["complete", "complete"]


async def test_an_error_of_the_body_carries_the_title_and_its_cause(journal, editor, ears):
    async def body(context):
        await context.run_agent("a.py")
        raise ValueError("boom")

    with pytest.raises(WorkflowFailedError) as failed:
        await run_test("a test", body, journal=journal, target=editor, reporters=[ears])
    error = failed.value
    assert (error.title, error.stage, str(error.__cause__)) == ("a test", "", "boom")
    assert str(error).splitlines()[0] == "the body of a test failed"
    assert (ears.heard[-1].status, ears.heard[-1].error) == ("failed", "ValueError: boom")
    assert ears.heard[-1] is error.partial_result
    assert error.partial_result.output == "edited a.py", "what there was is not lost"


async def test_an_error_of_a_stage_is_reported_once_and_raised_as_it_is(journal, editor, ears):
    async def boom(context):
        raise ValueError("boom")

    async def body(context):
        return [Stage("build", boom)]

    with pytest.raises(WorkflowFailedError) as failed:
        await run_test("a test", body, journal=journal, target=editor, reporters=[ears])
    assert (failed.value.title, failed.value.stage, str(failed.value.__cause__)) == (
        "a test",
        "build",
        "boom",
    )
    assert [type(one) for one in ears.heard].count(WorkflowResult) == 1
    assert [event.outcome for event in journal.events(WorkflowFinished)] == ["failed", "failed"]


async def test_fields_of_fixtures_are_there_when_the_body_begins(journal, editor):
    async def later(context):
        context.configure(config={"model": "n"})
        return {"override": 42}

    async def body(context):
        assert (context.base, context.override) == (True, 42)
        assert context.options["config"] == {"model": "n", "timeout": 5}

    await run_test(
        "with fields",
        body,
        journal=journal,
        fixtures=[{"base": True}, later],
        config={"model": "m", "timeout": 5},
    )


async def test_a_fixture_that_raises_is_told_like_an_error_of_the_body(journal, ears):
    def broken(context):
        raise ValueError("boom")

    with pytest.raises(WorkflowFailedError, match="boom"):
        await run_test("a test", planned, journal=journal, fixtures=[broken], reporters=[ears])
    assert ears.heard[-1].status == "failed"


@pytest.mark.parametrize("raises", [True, False])
async def test_the_context_is_disposed_whatever_the_test_comes_to(raises, journal, editor):
    contexts = []

    async def body(context):
        contexts.append(context)
        await context.run_agent("a.py")
        if raises:
            raise ValueError("boom")

    try:
        result = await run_test("a test", body, journal=journal, target=editor)
        assert result.output == "edited a.py"
    except WorkflowFailedError:
        assert raises
    assert contexts[0].runs == ()


async def test_a_test_skipped_in_its_body_stays_skipped_and_is_reported(journal, ears):
    async def body(context):
        pytest.skip("not today")

    with pytest.raises(pytest.skip.Exception, match="not today"):
        await run_test("a test", body, journal=journal, reporters=[ears])
    assert ears.heard[-1].error == "Skipped: not today"


async def test_a_body_whose_agent_was_cut_off_is_partial(journal, editor):
    editor.status = "partial"

    async def body(context):
        await context.run_agent("a.py")

    assert (await run_test("a test", body, journal=journal, target=editor)).status == "partial"
