"""Builders for tests of users: each makes its thing anew, and overrides leave the first builder as it was."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from soundstage.clock import VirtualClock, run
from soundstage.errors import ReplayMismatchError, UnknownNameError, WaitTimeout, WrongValueError
from soundstage.journal import Journal
from soundstage.runs import (
    AgentRunner,
    Budget,
    CostBudgetExceededError,
    RunAbortedError,
    assert_same_result,
    assert_within_budget,
)
from soundstage.scenarios import ScenarioNotFoundError, load_recording, result_of
from soundstage.scenarios.testing import (
    ContextBuilder,
    JudgedRunBuilder,
    RecordedRunnerBuilder,
    RecordedSession,
    ReporterSpiesBuilder,
    WorkspaceBuilder,
)
from soundstage.workflows import ReporterFailed

DATA = Path(__file__).parent / "data"
PROMPT = "Review shop.py: does total() count right?"
REVIEW = RecordedRunnerBuilder(root=DATA, scenario="reviewer")


def on_virtual_time(body):
    """Run a coroutine function of a fresh journal."""

    async def made():
        return await body(Journal(clock=clock))

    clock = VirtualClock()
    return run(made(), clock=clock)


def test_a_builder_with_overrides_is_another_one_and_leaves_the_first_as_it_was():
    first = ContextBuilder(title="one", options={"config": {"model": "m"}})
    second = first.with_overrides(title="two", options={"on_abort": "return"})
    assert (first.title, first.options) == ("one", {"config": {"model": "m"}})
    assert (second.title, second.options) == ("two", {"config": {"model": "m"}, "on_abort": "return"})
    assert second.make().id != second.make().id
    assert second.make().title == "two"


def test_an_option_that_a_builder_does_not_have_is_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'title'"):
        ContextBuilder().with_overrides(titel="x")


@pytest.mark.parametrize("git", [False, True])
def test_a_workspace_has_its_files_and_a_repository_only_if_it_is_to_have_one(git):
    async def body():
        journal = Journal()
        builder = WorkspaceBuilder(journal=journal, files={"src/a.py": "a = 1"}, git=git)
        async with builder.make() as workspace:
            assert workspace.read("src/a.py") == "a = 1"
            assert (workspace.root / ".git").exists() == git
            if git:
                assert [commit.subject for commit in workspace.commits()] == ["first version"]
            assert workspace.record_changes() == ()  # the test's own files are no change
            root = workspace.root
        assert not root.exists()

    asyncio.run(body())


def test_a_recorded_runner_comes_to_what_was_recorded_without_a_program():
    async def body(journal):
        return await REVIEW.with_overrides(journal=journal).make().run(PROMPT)

    result, recorded = on_virtual_time(body), result_of(load_recording(DATA, "reviewer"))
    assert result.duration == pytest.approx(recorded.duration, abs=0.1)
    assert recorded.duration > 0.5
    assert (result.status, result.output) == ("complete", "total() leaves out the first price.")
    assert_within_budget(result, recorded.cost.usd)
    of_its_own = ("id", "run", "timeline", "started", "ended", "asked_at", "returned_at")
    assert_same_result(result, recorded, ignore=of_its_own)


def test_a_recorded_run_is_stopped_by_a_budget_and_a_watcher_as_any_other():
    async def body(journal, **options):
        return await REVIEW.with_overrides(journal=journal, options=options).make().run(PROMPT)

    async def stop(event):
        return {"abort": True}

    with pytest.raises(CostBudgetExceededError) as error:
        on_virtual_time(lambda journal: body(journal, budget=Budget(cost=0.0001)))
    assert error.value.partial_result.status == "partial"
    with pytest.raises(RunAbortedError, match="watcher"):
        on_virtual_time(lambda journal: body(journal, watchers=(stop,)))
    with pytest.raises(RunAbortedError, match="session-timeout"):
        on_virtual_time(lambda journal: body(journal, config={"session_timeout": 0.01}))


def test_another_prompt_than_the_recorded_one_is_refused_with_both_and_so_is_one_more_or_too_little_time():
    async def other(journal):
        await REVIEW.with_overrides(journal=journal).make().run("Something else")

    with pytest.raises(ReplayMismatchError, match=r"expected: 'Review shop.py(.|\n)*seen: 'Something else'"):
        on_virtual_time(other)

    async def twice(journal):
        runner = AgentRunner(RecordedSession(load_recording(DATA, "reviewer"), journal), journal=journal)
        await runner.run(PROMPT)
        await runner.run(PROMPT)

    with pytest.raises(ReplayMismatchError, match="no further turn"):
        on_virtual_time(twice)

    async def hurried(journal):
        await RecordedSession(load_recording(DATA, "reviewer"), journal).prompt(PROMPT, within=0.01)

    with pytest.raises(WaitTimeout, match=r"longer than 0.01 s"):
        on_virtual_time(hurried)

    async def ended(journal):
        session = RecordedSession(load_recording(DATA, "reviewer"), journal)
        await session.end()
        await session.prompt(PROMPT, within=1)

    with pytest.raises(ReplayMismatchError, match="no further turn"):
        on_virtual_time(ended)


def test_a_recording_of_two_turns_is_played_prompt_for_prompt():
    async def body(journal):
        runner = RecordedRunnerBuilder(journal=journal, root=DATA, scenario="shop").make()
        first = await runner.run("Put the price of a pear into prices.txt.")
        return first, await runner.run("Now delete .env.")

    first, second = on_virtual_time(body)
    assert ([file.path for file in first.files], second.files) == (["prices.txt"], ())
    assert (first.output, second.output) != ("", "")
    assert first.positions[1] < second.positions[0]


def test_a_scenario_that_is_not_recorded_is_named_when_the_runner_is_made():
    with pytest.raises(ScenarioNotFoundError, match="reviewer"):
        REVIEW.with_overrides(scenario="review").make()


def test_a_context_tells_its_spies_the_very_result_of_its_runs_also_when_one_of_them_raises():
    async def body(journal):
        spies = ReporterSpiesBuilder(error=RuntimeError("no paper")).make()
        session = RecordedSession(load_recording(DATA, "reviewer"), journal)
        context = ContextBuilder(journal=journal, target=session, reporters=spies).make()
        result = await context.run_agent(PROMPT)
        failed = [record.event for record in journal.read() if isinstance(record.event, ReporterFailed)]
        return result, spies, failed

    result, (first, second), (failed,) = on_virtual_time(body)
    assert "no paper" in str(failed)
    assert first.told == second.told == [result]
    assert first.told[0] is second.told[0] is result


def test_there_is_at_least_one_spy():
    with pytest.raises(WrongValueError, match="from 1"):
        ReporterSpiesBuilder(count=0).make()


def test_what_is_to_be_judged_is_a_recording_of_a_judge_and_no_other():
    with pytest.raises(UnknownNameError, match=r"judge-happy-path, judge-fail, judge-malformed-response"):
        JudgedRunBuilder(scenario="reviewer", root=DATA).make()
    with pytest.raises(ScenarioNotFoundError, match="soundstage scenario record judge-fail"):
        JudgedRunBuilder(scenario="judge-fail", root=DATA).make()
