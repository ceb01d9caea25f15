"""Files that a target changes in a workspace belong to the result of its run."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import pytest

from soundstage.clock import run
from soundstage.journal import Journal
from soundstage.runs import AgentRunner, RunAbortedError, RunStore
from soundstage.worlds import Workspace
from support.stores import QuickDisk


@pytest.fixture
async def project(journal):
    workspace = Workspace(journal)
    await workspace.start()
    workspace.write("shop.py", "old\n")
    workspace.write("kept.py", "as it was\n")
    yield workspace
    await workspace.stop()


def editor(workspace):
    """An agent that writes the prompt into a file; `hang` and `fail` end it otherwise behind that."""

    async def edits(prompt, context):
        (workspace.root / "shop.py").write_text(f"{prompt}\n")
        if prompt == "hang":
            await asyncio.Event().wait()
        if prompt == "fail":
            raise ValueError("no")
        return "done"

    return edits


def changed(result):
    return [(file.path, file.before.text(), file.after.text()) for file in result.files]


@pytest.mark.parametrize("prompt", ["new", "hang", "fail"])
async def test_a_result_has_the_files_that_its_run_changed_however_it_ended(project, journal, root, prompt):
    store = RunStore(root, disk=QuickDisk())
    runner = AgentRunner(editor(project), journal=journal, workspace=project, store=store)
    raised = {
        "new": nullcontext(),
        "hang": pytest.raises(RunAbortedError),
        "fail": pytest.raises(ValueError, match="no"),
    }
    with raised[prompt]:
        await runner.run(prompt, timeout=5)
    assert changed(runner.last) == [("shop.py", "old\n", f"{prompt}\n")]
    assert changed(store.open(runner.last.id).result()) == changed(runner.last)
    store.close()


async def test_each_run_has_its_own_changes_and_none_of_the_test(project, journal):
    runner = AgentRunner(editor(project), journal=journal, workspace=project)
    assert changed(await runner.run("one")) == [("shop.py", "old\n", "one\n")]
    project.write("kept.py", "by the test\n")
    assert changed(await runner.run("two")) == [("shop.py", "one\n", "two\n")]
    assert changed(await runner.run("two")) == []


@pytest.mark.soundstage(clock="system")
async def test_a_commit_of_a_run_is_of_its_result(project, journal):
    project.git()
    project.commit("start")

    async def commits(prompt, context):
        project.write("shop.py", "new\n")
        project.commit("by hand")  # of the test: it does not count
        (project.root / "new.py").write_text("x = 1\n")
        git = await asyncio.create_subprocess_exec("git", "add", "-A", cwd=project.root)
        await git.wait()
        env = project.environment()
        git = await asyncio.create_subprocess_exec(
            "git", "commit", "-qm", "of the agent", cwd=project.root, env=env
        )
        await git.wait()

    result = await AgentRunner(commits, journal=journal, workspace=project).run("go")
    assert [commit.subject for commit in result.commits] == ["of the agent"]


def test_a_workspace_that_is_gone_is_a_warning_and_not_the_end(tmp_path):
    async def scenario():
        journal = Journal()
        workspace = Workspace(journal)
        await workspace.start()

        async def leaves(prompt, context):
            await workspace.stop()
            return "done"

        return await AgentRunner(leaves, journal=journal, workspace=workspace).run("go")

    result = run(scenario())
    assert result.output == "done"
    (warning,) = result.warnings
    assert "files that were changed are missing" in warning


async def test_the_fixture_takes_the_workspace_of_the_test(run_agent, workspace):
    workspace.write("shop.py", "old\n")
    assert changed(await run_agent(editor(workspace), "new")) == [("shop.py", "old\n", "new\n")]


async def test_the_fixture_makes_no_workspace_for_a_test_without_one(run_agent, stage):
    async def agent(prompt, context):
        return "done"

    assert (await run_agent(agent, "go")).files == ()
    assert stage.made_workspace is None
