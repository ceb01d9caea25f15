"""The context of a test: its runner, its fields, what its runs come to, and its end."""

from __future__ import annotations

import pytest

from soundstage.errors import InvalidStateError, WrongValueError
from soundstage.journal import Noted
from soundstage.workflows import Stage, StageResult, Workflow, WorkflowContext


class Spy:
    """Makes runners that remember how they were made, and with what they are run."""

    def __init__(self, editor):
        self.editor = editor
        self.made = []

    def __call__(self, target, **options):
        self.made.append((target, options))
        return self.editor


async def agent(prompt, run):
    return prompt


async def other(prompt, run):
    return prompt


def test_each_context_is_fresh(journal):
    first, second = WorkflowContext(journal), WorkflowContext(journal)
    assert first.id != second.id
    assert (second.runs, second.files, second.stages, second.output) == ((), (), (), "")
    assert second.result.status == "idle"


async def test_a_context_begins_with_what_happens_after_it(journal, editor):
    await editor.run("a.py")
    assert WorkflowContext(journal).result.output == ""


async def test_one_runner_is_made_for_each_agent_with_the_options_of_the_context(journal, editor):
    spy = Spy(editor)
    context = WorkflowContext(
        journal, agent, title="the release", runner=spy, config={"model": "m"}, budget="a budget"
    )
    await context.run_agent("a.py")
    await context.run_agent("b.py", model="n", timeout=5)
    await context.run_agent("c.py", target=other)
    assert [target for target, _ in spy.made] == [agent, other]
    for _, options in spy.made:
        assert (options["config"], options["budget"]) == ({"model": "m"}, "a budget")
        assert (options["journal"], options["test"]) == (journal, "the release")
    assert editor.calls == [("a.py", {}), ("b.py", {"model": "n", "timeout": 5}), ("c.py", {})]


async def test_options_of_a_stage_reach_its_run(context, editor):
    await Workflow(Stage("plan", prompt="a.py", options={"model": "m"})).run(context)
    assert editor.calls == [("a.py", {"model": "m"})]


async def test_options_are_changed_until_an_agent_has_run(journal, editor):
    spy = Spy(editor)
    context = WorkflowContext(journal, agent, runner=spy, config={"model": "m", "timeout": 5})
    context.configure(config={"model": "n"}, budget="a budget")
    await context.run_agent("a.py")
    assert spy.made[0][1]["config"] == {"model": "n", "timeout": 5}
    assert spy.made[0][1]["budget"] == "a budget"
    with pytest.raises(InvalidStateError, match="options come too late"):
        context.configure(config={"model": "o"})


async def test_fields_are_merged_in_order_and_awaited(context):
    async def later(context):
        context.configure(config={"model": "n"})
        return {"override": 42, "shared": "of the test"}

    await context.take({"base": True, "shared": "of all"}, lambda context: {"plain": context.base}, later)
    assert (context.base, context.plain, context.override, context.shared) == (True, True, 42, "of the test")
    assert context.options == {"config": {"model": "n"}}


@pytest.mark.parametrize("name", ["files", "journal", "run_agent", "_runs"])
async def test_a_field_cannot_hide_what_every_context_has(name, context):
    with pytest.raises(WrongValueError, match=f"every context has '{name}' already"):
        await context.take({name: 1})


def test_a_field_that_nobody_has_given_is_an_attribute_error_that_lists_the_others(context):
    with pytest.raises(AttributeError, match="no 'nonsense'; fields of fixtures: none"):
        _ = context.nonsense


async def test_runs_are_counted_from_either_end(context):
    results = [await context.run_agent(f"{name}.py") for name in "abc"]
    assert context.runs == tuple(results)
    assert context.get_run(0) is results[0]
    assert context.get_run(-1) is results[2]
    for index in (3, -4):
        with pytest.raises(IndexError, match="this context has 3"):
            context.get_run(index)


async def test_files_grow_over_runs_with_one_entry_for_each_path(context):
    await context.run_agent("a.py b.py")
    assert [file.path for file in context.files] == ["a.py", "b.py"]
    await context.run_agent("b.py c.py")
    assert [file.path for file in context.files] == ["a.py", "b.py", "c.py"]


async def test_the_files_of_a_workflow_are_those_of_all_its_stages(context):
    seen = []

    async def look(context):
        seen.extend(file.path for file in context.files)

    flow = Workflow(Stage("a", prompt="a.py b.py"), Stage("look", look), Stage("b", prompt="b.py c.py"))
    result = await flow.run(context)
    assert seen == ["a.py", "b.py"], "a stage sees what those before it have changed"
    of_stages = {file.path for stage in result.stages for file in stage.result.files}
    assert {file.path for file in result.files} == of_stages == {"a.py", "b.py", "c.py"}
    assert len(result.files) == 3


async def test_a_stage_sees_the_results_of_those_before_it(context):
    seen = []

    async def look(context):
        seen.extend(context.stages)

    await Workflow(
        Stage("never", look, should_run=lambda context: False),
        Stage("plan", prompt="a.py"),
        Stage("look", look),
    ).run(context)
    assert [(type(stage), stage.name, stage.status) for stage in seen] == [
        (StageResult, "never", "skipped"),
        (StageResult, "plan", "complete"),
    ]


async def test_a_disposed_context_is_empty_and_runs_nothing(context, journal):
    await context.take({"base": True})
    await Workflow(Stage("plan", prompt="a.py")).run(context)
    context.dispose()
    context.dispose()
    assert (context.runs, context.stages, context.files, context.output) == ((), (), (), "")
    assert not hasattr(context, "base")
    journal.append(Noted(text="later"))
    for again in (context.run_agent("b.py"), Workflow(Stage("plan", prompt="a.py")).run(context)):
        with pytest.raises(InvalidStateError, match="has been disposed"):
            await again
    with pytest.raises(InvalidStateError, match="has been disposed"):
        context.watch(agent)
