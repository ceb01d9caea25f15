"""The fixture `run_agent`: any target on the journal of the test."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.errors import ConfigError
from soundstage.runs import Budget, RunAbortedError, RunOpened, RunStore
from support.stores import QuickDisk


async def agent(prompt, run):
    await asyncio.sleep(3600)
    return f"{prompt} by {run.config.model}"


async def test_options_go_to_the_runner_and_everything_else_to_the_configuration(run_agent, journal, root):
    store = RunStore(root, disk=QuickDisk())
    result = await run_agent(agent, "done", model="m", timeout=7200, store=store, budget=Budget(time=7200))
    assert (result.output, result.status) == ("done by m", "complete")
    assert [opened.run for opened in journal.events(RunOpened)] == [result.id]
    (kept,) = store.list()
    assert kept.test.endswith("::test_options_go_to_the_runner_and_everything_else_to_the_configuration")
    store.close()


async def test_a_runner_of_the_fixture_makes_several_runs_and_stops_each_in_virtual_time(run_agent):
    runner = run_agent.runner(agent, budget=Budget(time=60))
    for _ in range(2):
        with pytest.raises(RunAbortedError, match="60 seconds of 60"):
            await runner.run("go")


async def test_a_misspelt_option_is_refused_with_its_path(run_agent):
    with pytest.raises(ConfigError, match=r"call\.budgte"):
        await run_agent(agent, "go", budgte=Budget(time=1))


def test_settings_come_from_the_project_and_the_environment(request, journal, monkeypatch):
    monkeypatch.setenv("SOUNDSTAGE_RUN_MODEL", "of the environment")
    run_agent = request.getfixturevalue("run_agent")
    assert run_agent.runner(agent).configuration().model == "of the environment"
