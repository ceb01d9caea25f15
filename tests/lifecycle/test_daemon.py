"""Daemons: one life, told by the journal."""

from __future__ import annotations

import asyncio
import sys

import pytest

from soundstage.clock import run
from soundstage.errors import AppError, InvalidStateError, WaitTimeout
from soundstage.journal import DaemonChanged, Journal
from soundstage.lifecycle import Daemon, Status, TaskDaemon
from soundstage.lifecycle._daemon import ALLOWED


class Part(Daemon):
    """A daemon whose start and stop do as they are told."""

    def __init__(self, journal, *, start=None, stop=None):
        super().__init__("part", journal)
        self.done = []
        self._on = {"start": start, "stop": stop}

    async def _start(self):
        await self._do("start")

    async def _stop(self):
        await self._do("stop")

    async def _do(self, what):
        self.done.append(what)
        if isinstance(self._on[what], BaseException):
            raise self._on[what]
        if self._on[what] is not None:
            await asyncio.sleep(self._on[what])


def changes(journal):
    return [(event.status, event.error) for event in journal.events(DaemonChanged)]


def test_a_daemon_is_stopped_then_running_then_completed_and_the_journal_says_so():
    async def main():
        part = Part(Journal())
        assert part.status is Status.STOPPED
        await part.start()
        assert part.status is Status.RUNNING
        await part.stop()
        assert part.status is Status.COMPLETED
        assert part.done == ["start", "stop"]
        return part.journal

    journal = run(main())
    assert changes(journal) == [("running", ""), ("completed", "")]
    assert {record.source for record in journal.read()} == {"part"}


@pytest.mark.parametrize("come", Status)
@pytest.mark.parametrize("to", Status)
def test_the_table_says_which_moves_are_allowed(come, to):
    part = Part(Journal())
    part._status = come
    if (come, to) in ALLOWED:
        part._move(to)
        assert part.status is to
    else:
        with pytest.raises(InvalidStateError, match=f"the daemon 'part' cannot become {to}") as caught:
            part._move(to)
        assert caught.value.seen == f"it is {come}"
        assert part.status is come


def test_a_daemon_has_one_life():
    async def main():
        part = Part(Journal())
        await part.start()
        with pytest.raises(InvalidStateError, match="cannot become running") as caught:
            await part.start()
        assert caught.value.expected == "from running: completed"
        await part.stop()
        with pytest.raises(InvalidStateError) as caught:
            await part.start()
        assert caught.value.expected == "from completed: nothing, it is over"

    run(main())


def test_stopping_what_does_not_run_is_harmless():
    async def main():
        part = Part(Journal())
        await part.stop()
        assert part.status is Status.STOPPED
        await part.start()
        await part.stop()
        await part.stop()
        return part.done

    assert run(main()) == ["start", "stop"]


def test_a_start_that_fails_is_on_record_and_leaves_it_stopped():
    async def main():
        part = Part(Journal(), start=OSError("no port"))
        with pytest.raises(OSError, match="no port"):
            await part.start()
        await part.stop()
        return part

    part = run(main())
    assert part.status is Status.STOPPED
    assert changes(part.journal) == [("stopped", "OSError: no port")]
    assert part.done == ["start"]


def test_a_stop_that_fails_raises_and_completes_all_the_same():
    async def main():
        part = Part(Journal(), stop=OSError("stuck"))
        await part.start()
        with pytest.raises(OSError, match="stuck"):
            await part.stop()
        return part

    assert run(main()).status is Status.COMPLETED


def test_starts_and_stops_take_turns():
    async def main():
        part = Part(Journal(), start=2, stop=2)
        starting = asyncio.create_task(part.start())
        again = asyncio.create_task(part.start())
        await asyncio.sleep(1)
        stops = [asyncio.create_task(part.stop()) for _ in range(2)]
        await starting
        with pytest.raises(InvalidStateError):
            await again
        await asyncio.gather(*stops)
        return part.done, part.journal.clock.now()

    assert run(main()) == (["start", "stop"], 4)


def task_daemon(body):
    return TaskDaemon("app", Journal(), body)


def test_a_task_runs_in_the_background_until_it_is_stopped():
    seen = []

    async def body():
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main():
        app = task_daemon(body)
        assert not app.done
        await app.wait()
        await app.start()
        await asyncio.sleep(1)
        assert not app.done
        await app.stop()
        assert app.done
        await app.wait()

    run(main())
    assert seen == ["cancelled"]


def test_the_end_of_a_task_can_be_waited_for():
    async def main():
        app = task_daemon(lambda: asyncio.sleep(5))
        await app.start()
        await app.wait()
        assert app.done
        await app.stop()
        return app.journal.clock.now()

    assert run(main()) == 5


async def fail():
    await asyncio.sleep(1)
    raise ValueError("broken")


def test_a_failure_in_the_background_is_on_record_at_once_and_raised_by_stop():
    async def main():
        app = task_daemon(fail)
        await app.start()
        await asyncio.sleep(2)
        assert changes(app.journal) == [("running", ""), ("running", "ValueError: broken")]
        with pytest.raises(ValueError, match="broken"):
            await app.stop()
        assert app.status is Status.COMPLETED

    run(main())


def test_a_failure_that_a_wait_has_raised_is_not_raised_again_by_stop():
    async def main():
        app = task_daemon(fail)
        await app.start()
        for _ in range(2):
            with pytest.raises(ValueError, match="broken"):
                await app.wait()
        await app.stop()

    run(main())


def test_a_wait_that_is_given_up_leaves_the_task_alone():
    async def main():
        app = task_daemon(lambda: asyncio.sleep(5))
        await app.start()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await app.wait()
        assert not app.done
        await app.wait()

    run(main())


def test_a_stop_that_is_given_up_is_not_taken_for_a_stop():
    async def body():
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(1000)
        await asyncio.sleep(10)

    async def main():
        app = task_daemon(body)
        await app.start()
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await app.stop()
        assert not app.done
        await app.wait()

    run(main())


def test_an_error_while_a_task_is_cancelled_is_raised_by_stop():
    async def body():
        try:
            await asyncio.sleep(1000)
        finally:
            raise ValueError("while leaving")

    async def main():
        app = task_daemon(body)
        await app.start()
        await asyncio.sleep(0)
        with pytest.raises(ValueError, match="while leaving"):
            await app.stop()

    run(main())


@pytest.mark.parametrize("code", [None, 0])
def test_an_app_that_exits_has_come_to_its_end(code):
    async def body():
        sys.exit(code)

    async def main():
        app = task_daemon(body)
        await app.start()
        await app.wait()
        await app.stop()
        return app.journal

    assert changes(run(main())) == [("running", ""), ("completed", "")]


def test_an_app_that_exits_with_an_error_has_failed_and_does_not_end_the_run():
    async def body():
        sys.exit(3)

    async def main():
        app = task_daemon(body)
        await app.start()
        with pytest.raises(AppError, match=r"'app' ended itself with sys.exit\(3\)"):
            await app.wait()
        return app.journal

    assert "AppError" in changes(run(main()))[-1][1]


def test_an_app_may_stop_itself():
    daemons = []

    async def body():
        await daemons[0].stop()

    async def main():
        daemons.append(task_daemon(body))
        await daemons[0].start()
        await daemons[0].wait()
        return daemons[0].status

    assert run(main()) is Status.COMPLETED


def test_a_status_is_waited_for_and_one_that_was_before_counts():
    async def main():
        part = Part(Journal(), start=3, stop=4)
        waiting = asyncio.create_task(part.wait_for(Status.RUNNING, within=10))
        done = asyncio.create_task(part.wait_for(Status.COMPLETED, within=10))
        await part.wait_for(Status.STOPPED, within=1)
        await part.start()
        await waiting
        await part.stop()
        await done
        for status in Status:
            await part.wait_for(status, within=1)
        return part.journal.clock.now()

    assert run(main()) == 7


def test_a_status_of_another_daemon_of_the_same_name_does_not_count():
    async def main():
        journal = Journal()
        part, other = Part(journal), Part(journal)
        waiting = asyncio.create_task(part.wait_for(Status.RUNNING, within=5))
        await asyncio.sleep(1)
        await other.start()
        with pytest.raises(WaitTimeout, match=r"'part' did not get there within 5 s[\s\S]*it is stopped"):
            await waiting
        return journal.clock.now()

    assert run(main()) == 5


def test_a_failure_is_waited_for_and_failures_are_a_snapshot():
    async def main():
        part = Part(Journal())
        before = part.failures
        waiting = asyncio.create_task(part.wait_for_failure(within=10))
        await asyncio.sleep(1)
        first, second = KeyError("first"), KeyError("second")
        part.report_failure(first)
        part.report_failure(second)
        assert await waiting is first
        assert await part.wait_for_failure(within=1) is first
        assert (before, part.failures) == ((), (first, second))
        with pytest.raises(WaitTimeout, match=r"it is running[\s\S]*it is stopped\n\s*KeyError: 'first'"):
            await part.wait_for(Status.RUNNING, within=1)

    run(main())


def test_a_wait_ends_when_nothing_more_can_be_told():
    async def main():
        part = Part(Journal())
        waiting = asyncio.create_task(part.wait_for_failure(within=100))
        await asyncio.sleep(1)
        part.journal.close()
        with pytest.raises(WaitTimeout):
            await waiting
        return part.journal.clock.now()

    assert run(main()) == 1


def test_being_cancelled_from_outside_is_no_failure():
    async def for_ever():
        await asyncio.get_running_loop().create_future()

    async def main():
        task = TaskDaemon("task", Journal(), for_ever)
        await task.start()
        await asyncio.sleep(1)
        await task.stop()
        return task.failures

    assert run(main()) == ()
