"""The supervisor: start in order, stop in reverse, lose nothing."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import VirtualClock, run
from soundstage.errors import HarnessError, WaitTimeout
from soundstage.journal import Journal
from soundstage.lifecycle import Daemon, Status, Supervisor


class Part(Daemon):
    """A daemon that takes its time and may fail. What it does is in `log`."""

    def __init__(self, name, log, *, start=0, stop=0, start_error=None, stop_error=None):
        super().__init__(name, Journal(clock=VirtualClock()))
        self._log = log
        self._plan = {"start": (start, start_error), "stop": (stop, stop_error)}

    async def _start(self):
        await self._do("start")

    async def _stop(self):
        await self._do("stop")

    async def _do(self, what):
        seconds, error = self._plan[what]
        await asyncio.sleep(seconds)
        if error is not None:
            raise error
        self._log.append(f"{what} {self.name}")


def on_virtual_time(body):
    """Run `body(clock, log)`; the log and how long it took."""
    clock, log = VirtualClock(), []
    run(body(clock, log), clock=clock)
    return log, clock.now()


def test_daemons_start_in_order_and_stop_in_reverse():
    async def body(clock, log):
        supervisor = Supervisor([Part(name, log, start=1, stop=1) for name in "abc"], clock=clock)
        assert supervisor.states() == "a: stopped\nb: stopped\nc: stopped"
        await supervisor.start()
        assert supervisor.states() == "a: running\nb: running\nc: running"
        await supervisor.stop()
        await supervisor.stop()

    log, took = on_virtual_time(body)
    assert log == ["start a", "start b", "start c", "stop c", "stop b", "stop a"]
    assert took == 6


def test_no_daemons_are_fine():
    async def body(clock, log):
        supervisor = Supervisor([], clock=clock)
        assert supervisor.states() == "no daemons"
        await supervisor.start()
        await supervisor.stop()

    assert on_virtual_time(body) == ([], 0)


def test_a_start_that_fails_stops_those_before_it_and_is_raised_as_it_is():
    error = OSError("no port")

    async def body(clock, log):
        parts = [
            Part("a", log),
            Part("b", log, stop_error=ValueError("stuck")),
            Part("c", log, start_error=error),
        ]
        supervisor = Supervisor([*parts, Part("d", log)], clock=clock)
        with pytest.raises(OSError, match="no port") as caught:
            await supervisor.start()
        assert caught.value is error
        assert caught.value.__notes__ == [
            "while starting 'c'; stopped again: b, a",
            "and while stopping: ValueError('stuck')",
        ]
        await supervisor.stop()

    assert on_virtual_time(body)[0] == ["start a", "start b", "stop a"]


def test_the_first_to_fail_has_nothing_to_roll_back():
    async def body(clock, log):
        with pytest.raises(OSError, match="no port") as caught:
            await Supervisor([Part("a", log, start_error=OSError("no port"))], clock=clock).start()
        assert caught.value.__notes__ == ["while starting 'a'; stopped again: nothing"]

    on_virtual_time(body)


def test_daemons_share_the_time_to_start():
    async def body(clock, log):
        parts = [Part(name, log, start=4) for name in "abc"]
        supervisor = Supervisor(parts, clock=clock, start_within=10)
        with pytest.raises(WaitTimeout, match="'c' was not ready within 10 s") as caught:
            await supervisor.start()
        assert caught.value.seen == "a: running\nb: running\nc: stopped"
        assert caught.value.__notes__ == ["while starting 'c'; stopped again: b, a"]

    log, took = on_virtual_time(body)
    assert log == ["start a", "start b", "stop b", "stop a"]
    assert took == 10


@pytest.mark.parametrize("error", [TimeoutError("its own"), WaitTimeout("its own")])
def test_a_timeout_of_a_daemon_is_not_taken_for_ours(error):
    async def body(clock, log):
        supervisor = Supervisor([Part("a", log, start_error=error)], clock=clock)
        with pytest.raises(TimeoutError, match="its own") as caught:
            await supervisor.start()
        assert caught.value is error
        supervisor = Supervisor([Part("b", log, stop_error=error)], clock=clock)
        await supervisor.start()
        with pytest.raises(TimeoutError, match="its own") as caught:
            await supervisor.stop()
        assert caught.value is error

    on_virtual_time(body)


def test_everything_that_goes_wrong_while_stopping_is_raised_together():
    errors = {name: ValueError(name) for name in "ac"}

    async def body(clock, log):
        parts = [Part(name, log, stop_error=errors.get(name)) for name in "abc"]
        supervisor = Supervisor(parts, clock=clock)
        await supervisor.start()
        with pytest.raises(ExceptionGroup, match="did not end cleanly") as caught:
            await supervisor.stop()
        assert caught.value.exceptions == (errors["c"], errors["a"])
        assert {part.status for part in parts} == {Status.COMPLETED}

    assert on_virtual_time(body)[0][-1] == "stop b"


def test_a_daemon_that_does_not_stop_in_time_is_cancelled_and_costs_the_others_nothing():
    async def body(clock, log):
        parts = [Part("a", log, stop=0.5), Part("b", log, stop=99)]
        supervisor = Supervisor(parts, clock=clock, stop_within=10)
        await supervisor.start()
        with pytest.raises(WaitTimeout, match="a deadlock of pumps") as caught:
            await supervisor.stop()
        problem = caught.value
        assert problem.summary == "the daemon 'b' did not stop within 10 s"
        assert problem.seen.startswith("a: running\nb: running\n")
        assert not hasattr(problem, "__notes__")

    log, took = on_virtual_time(body)
    assert log[-1] == "stop a"
    assert took == 10.5


class Stubborn(Part):
    """A daemon whose stop ignores that it is cancelled, so often."""

    def __init__(self, name, log, *, times, error=None):
        super().__init__(name, log)
        self._times = times
        self._error = error

    async def _stop(self):
        while self._times:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                self._times -= 1
        if self._error is not None:
            raise self._error


@pytest.mark.parametrize(
    ("times", "error", "note"),
    [
        (2, None, "it ignores that it has been cancelled, and was left behind"),
        (1, ValueError("late"), "and when it was cancelled: ValueError('late')"),
    ],
)
def test_a_daemon_that_cannot_be_stopped_does_not_hang_the_run(times, error, note):
    async def body(clock, log):
        supervisor = Supervisor([Part("a", log), Stubborn("b", log, times=times, error=error)], clock=clock)
        await supervisor.start()
        with pytest.raises(WaitTimeout) as caught:
            await supervisor.stop()
        assert caught.value.__notes__ == [note]

    assert on_virtual_time(body)[0][-1] == "stop a"


def test_whoever_stops_may_be_cancelled_and_the_daemons_are_stopped_all_the_same():
    async def body(clock, log):
        parts = [
            Part("a", log, stop=1),
            Part("b", log, stop=1, stop_error=ValueError("stuck")),
            Part("c", log, stop=1),
        ]
        supervisor = Supervisor(parts, clock=clock)
        await supervisor.start()
        stopping = asyncio.create_task(supervisor.stop())
        for _ in range(2):
            await asyncio.sleep(0.25)
            stopping.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await stopping
        assert caught.value.__notes__ == ["while stopping: ValueError('stuck')"]

    log, took = on_virtual_time(body)
    assert log[-2:] == ["stop c", "stop a"]
    assert took == 3


def test_a_start_that_is_cancelled_is_rolled_back():
    async def body(clock, log):
        supervisor = Supervisor([Part("a", log), Part("b", log, start=99)], clock=clock)
        starting = asyncio.create_task(supervisor.start())
        await asyncio.sleep(1)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    assert on_virtual_time(body) == (["start a", "stop a"], 1)


def test_a_daemon_that_lets_its_own_cancellation_through_is_reported():
    async def body(clock, log):
        supervisor = Supervisor([Part("a", log, stop_error=asyncio.CancelledError())], clock=clock)
        await supervisor.start()
        with pytest.raises(HarnessError):
            await supervisor.stop()

    on_virtual_time(body)
