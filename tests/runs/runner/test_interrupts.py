"""A run that ends before its time, at any moment and in any way: the target is stopped, and nothing is lost."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.clock import run
from soundstage.drivers import Command
from soundstage.errors import DeadlockError, InvalidStateError
from soundstage.journal import Journal, Noted, ProcessStarted, RunAborted
from soundstage.lifecycle import Daemon
from soundstage.runs import AgentRunner, Budget, RunAbortedError, RunStore
from support.cases import cases
from support.stores import QuickDisk

STEPS = 6


class Steps(Daemon):
    """A driver in process that does some steps, a second apart, and takes a while to start and to stop."""

    def __init__(self, journal):
        super().__init__("steps", journal)
        self.at_work = False

    async def _start(self):
        await asyncio.sleep(1)

    async def _stop(self):
        await asyncio.sleep(1)

    async def prompt(self, text, *, within):
        self.at_work = True
        try:
            for number in range(STEPS):
                self.journal.append(Noted(text=f"step {number}"), source=self.name)
                await asyncio.sleep(1)
            return type("Turn", (), {"text": "done", "is_error": False})
        finally:
            self.at_work = False

    async def interrupt(self, *, within): ...

    async def end(self):
        return 0


class Saved(RunStore):
    """A store that remembers what it was to keep: a hundred runs on a disk take a minute."""

    def __init__(self):
        super().__init__("nowhere")
        self.records = []

    def save(self, record, **content):
        self.records.append((record.id, record.status, len(content["journal"])))


class Interrupted:
    """One run that is ended in some way at some time; `made` says who starts the target."""

    def __init__(self, way, at, made):
        self.way, self.at, self.made = way, at, made
        self.journal = Journal()
        self.steps = []
        self.store = Saved()
        self.error = None

    def target(self, config=None):
        self.steps.append(Steps(self.journal))
        return self.steps[-1]

    async def watch(self, watched):
        if self.way == "watcher" and watched.record.position >= self.at:
            return {"abort": True}
        return None

    async def main(self):
        target = self.target if self.made == "anew" else self.target()
        if self.made == "running":
            await target.start()
        self.runner = AgentRunner(
            target,
            journal=self.journal,
            store=self.store,
            watchers=[self.watch],
            budget=Budget(time=max(self.at, 0.001)) if self.way == "budget" else None,
            config={"timeout": max(self.at, 0.001)} if self.way == "timeout" else None,
        )
        task = asyncio.create_task(self.runner.run("go"))
        if self.way in ("cancel", "cancel twice"):
            await asyncio.sleep(self.at)
            task.cancel()
        if self.way == "cancel twice":
            await asyncio.sleep(0.5)
            task.cancel()
        (self.error,) = await asyncio.gather(task, return_exceptions=True)
        return asyncio.all_tasks() - {asyncio.current_task()}


@given(
    way=st.sampled_from(["cancel", "cancel twice", "timeout", "budget", "watcher"]),
    at=st.integers(1, 2 * STEPS + 6).map(lambda halves: halves / 2),
    made=st.sampled_from(["anew", "before", "running"]),
)
@cases(150)
def test_wherever_a_run_is_ended_its_target_is_stopped_and_its_partial_result_is_there_and_kept(
    way, at, made
):
    ended = Interrupted(way, at, made)
    tasks = run(ended.main())
    result, records = ended.runner.last, ended.journal.read()
    assert tasks == set(), "nothing of the run goes on"
    assert not any(steps.at_work for steps in ended.steps)
    assert ended.store.records == [(result.id, result.status, len(result.timeline))], "kept once"
    begun = result.timeline[0].position
    assert list(result.timeline) == records[begun - 1 :], "nothing that happened is missing in the result"
    if isinstance(ended.error, Exception | asyncio.CancelledError):
        reason = {"cancel": "interrupted", "cancel twice": "interrupted"}.get(way, way)
        assert (result.status, result.abort) == ("partial", reason)
        assert any(isinstance(record.event, RunAborted) for record in result.timeline)
        assert [steps for steps in ended.steps if steps.status == "running"] == []
        if isinstance(ended.error, RunAbortedError):
            assert ended.error.partial_result == result
    else:
        assert (result.status, result.output) == ("complete", "done")
        assert (ended.steps[0].status == "running") is (made == "running")


def test_a_target_that_does_not_listen_is_told_by_a_warning_and_holds_nobody_up():
    async def deaf(prompt, context):
        while True:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                prompt += "!"
                if len(prompt) > 5:
                    raise

    journal = Journal()
    runner = AgentRunner(deaf, journal=journal, config={"timeout": 5})

    async def main():
        with pytest.raises(RunAbortedError) as caught:
            await runner.run("go")
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        return caught.value, asyncio.get_running_loop().time()

    error, took = run(main())
    assert error.reason == "timeout"
    assert took < 60
    assert any("deaf does not stop" in warning for warning in error.partial_result.warnings)


def test_an_error_of_the_target_when_it_is_stopped_does_not_hide_the_one_before():
    class Broken(Steps):
        async def prompt(self, text, *, within):
            raise ZeroDivisionError("first")

        async def _stop(self):
            raise KeyError("second")

    async def main():
        journal = Journal()
        with pytest.raises(ZeroDivisionError, match="first") as caught:
            await AgentRunner(lambda config: Broken(journal), journal=journal).run("go")
        return caught.value

    error = run(main())
    assert "second" in error.__notes__[0]
    assert error.partial_result.status == "failed"


def test_a_session_that_takes_too_long_for_its_own_limit_is_a_timeout_of_the_session():
    async def agent(prompt, context):
        raise TimeoutError("the session took too long")

    async def main():
        await AgentRunner(agent, journal=Journal()).run("go")

    with pytest.raises(RunAbortedError) as caught:
        run(main())
    assert (caught.value.reason, caught.value.partial_result.abort) == ("session-timeout", "session-timeout")


def test_a_run_that_waits_for_ever_on_virtual_time_keeps_what_there_is(root):
    store = RunStore(root, disk=QuickDisk())

    async def waits(prompt, context):
        context.journal.append(Noted(text="waiting"), source="agent")
        await asyncio.Event().wait()

    async def main():
        runner = AgentRunner(waits, journal=Journal(), store=store, config={"timeout": float("inf")})
        await runner.run("go")

    with pytest.raises(DeadlockError):
        run(main())
    (kept,) = store.list()
    assert (kept.status, kept.reason) == ("partial", "interrupted · the run was cancelled")


def test_ctrl_c_leaves_the_partial_result_in_the_store(root):
    store = RunStore(root, disk=QuickDisk())
    runners = []

    async def interrupted(prompt, context):
        context.journal.append(Noted(text="at work"), source="agent")
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)

    async def main():
        runners.append(AgentRunner(interrupted, journal=Journal(), store=store))
        await runners[0].run("go")

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    (kept,) = store.list()
    assert (kept.id, kept.status, runners[0].last.abort) == (runners[0].last.id, "partial", "interrupted")
    assert any(record.event == Noted(text="at work") for record in store.open(kept.id).journal())


def test_a_program_over_the_limit_of_a_session_is_ended_and_what_it_said_is_there():
    async def main():
        journal = Journal()

        runner = AgentRunner(
            lambda config: Command(["sh", "-c", "echo begun; exec sleep 1000"], journal),
            journal=journal,
            config={"session_timeout": 0.5},
        )
        with pytest.raises(RunAbortedError) as caught:
            await runner.run("go")
        (started,) = journal.events(ProcessStarted)
        return caught.value, Path(f"/proc/{started.pid}").exists()

    error, alive = asyncio.run(main())
    assert (error.reason, error.partial_result.abort, alive) == ("session-timeout", "session-timeout", False)
    assert "begun" in [getattr(record.event, "text", "") for record in error.partial_result.timeline]


def test_two_runs_of_one_journal_take_turns():
    async def agent(prompt, context):
        if prompt == "outer":
            await AgentRunner(agent, journal=context.journal).run("inner")

    async def main():
        journal = Journal()
        with pytest.raises(InvalidStateError, match="another run of this journal"):
            await AgentRunner(agent, journal=journal).run("outer")
        return (await AgentRunner(agent, journal=journal).run("afterwards")).status

    assert run(main()) == "complete"


def test_a_journal_that_is_closed_under_a_run_hides_neither_result_nor_error():
    async def agent(prompt, context):
        context.journal.close()
        await asyncio.sleep(100)

    async def main():
        await AgentRunner(agent, journal=Journal(), config={"timeout": 5}).run("go")

    with pytest.raises(RunAbortedError) as caught:
        run(main())
    partial = caught.value.partial_result
    assert (caught.value.reason, partial.status, partial.abort) == ("timeout", "partial", "timeout")
    assert any("no word of the end" in warning for warning in partial.warnings)
