"""The fixture `workflow`: a fresh context for each test, with fields, reporters, and the workspace of the test."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.errors import InvalidStateError
from soundstage.workflows import Stage, WorkflowFailedError


async def agent(prompt, run):
    return f"did {prompt}"


@pytest.fixture
def base():
    return {"base": True, "city": "Bern"}


@pytest.fixture
def workflow_fields(base):
    async def later(context):
        await asyncio.sleep(1)
        return {"city": "Basel", "question": f"where is {context.city}?"}

    return [base, later]


@pytest.fixture
def workflow_reporters(ears):
    return [ears]


@pytest.fixture
def kept():
    """Contexts to keep; when their tests are over they are empty."""
    found = []
    yield found
    assert [one.runs for one in found] == [()] * len(found), "the context of a test that is over is empty"
    with pytest.raises(InvalidStateError):
        found[0].watch(agent)


async def test_a_test_begins_with_an_empty_context_which_ends_with_it(kept, workflow):
    context = workflow.context
    assert (context.runs, context.files, context.stages) == ((), (), ())
    await workflow(Stage("plan", prompt="x"), target=agent)
    assert len(context.runs) == 1
    kept.append(context)


async def test_fields_of_the_test_replace_those_of_all(workflow):
    await workflow(Stage("ask", prompt=lambda context: context.question), target=agent)
    assert (workflow.context.base, workflow.context.city) == (True, "Basel")
    assert workflow.context.output == "did where is Bern?"


async def test_reporters_of_the_test_are_told_the_very_result(workflow, ears):
    result = await workflow(Stage("plan", prompt="x"), target=agent)
    assert ears.heard[-1] is result


async def test_changes_of_the_workspace_are_those_of_the_stage_that_made_them(workflow, workspace):
    async def write(context):
        (workspace.root / "a.txt").write_text("new")

    async def look(context):
        assert [file.path for file in context.stages[0].result.files] == ["a.txt"]

    result = await workflow(Stage("write", write), Stage("look", look))
    assert [len(stage.result.files) for stage in result.stages] == [1, 0]
    assert result.files[0].after.text() == "new"


@pytest.fixture
def late_workspace(workflow, stage):
    """The project folder, as a driver's fixture asks for it: behind the workflow's."""
    return stage.workspace()


async def test_a_run_of_a_stage_has_its_files_also_where_a_driver_brought_the_workspace(
    workflow, late_workspace
):
    async def writes(prompt, run):
        (late_workspace.root / f"{prompt}.txt").write_text(prompt)
        return prompt

    result = await workflow(Stage("one", prompt="a"), Stage("two", prompt="b"), target=writes)
    assert [[file.path for file in run.files] for run in workflow.context.runs] == [["a.txt"], ["b.txt"]]
    assert [file.path for file in result.files] == ["a.txt", "b.txt"]


async def test_hooks_and_the_start_reach_the_workflow(workflow):
    log = []

    async def before(context, stage):
        log.append(stage.name)

    async def after(context, result):
        log.append(result.status)

    stages = [Stage("plan", prompt="x"), Stage("build", prompt="y")]
    await workflow(*stages, target=agent, start="build", before=[before], after=[after])
    assert log == ["build", "complete"]


async def test_a_failure_carries_the_name_of_the_test(workflow, request):
    async def boom(context):
        raise ValueError("boom")

    with pytest.raises(WorkflowFailedError) as failed:
        await workflow(Stage("plan", boom))
    assert failed.value.title == request.node.nodeid
