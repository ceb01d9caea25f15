"""Starts daemons in order, stops them in reverse, and loses no exception on the way.

Whoever stops the daemons may be interrupted meanwhile (a timeout, Ctrl-C); they are stopped all the same, because
what they own, such as processes, would outlive the run (`_interrupts`). Each has what is left of the common time, but
never less than a moment: one that is late does not cost others theirs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from soundstage.clock import Clock, Deadline, where
from soundstage.errors import HarnessError, WaitTimeout
from soundstage.lifecycle._daemon import Daemon, Status
from soundstage.lifecycle._interrupts import DeferredInterrupts, raise_together

START_WITHIN: Final = 30.0
STOP_WITHIN: Final = 10.0
MOMENT: Final = 1.0
SHOWN: Final = 20  # tasks in the message about a daemon that does not stop


class Supervisor:
    """Owns the daemons of a run.

    Args:
        daemons: in the order in which to start them.
        clock: whose seconds the limits are.
        start_within: seconds for all to be ready.
        stop_within: seconds for all to stop.
    """

    def __init__(
        self,
        daemons: Sequence[Daemon],
        *,
        clock: Clock,
        start_within: float = START_WITHIN,
        stop_within: float = STOP_WITHIN,
    ) -> None:
        self.daemons = tuple(daemons)
        self._clock = clock
        self._start_within = start_within
        self._stop_within = stop_within
        self._started: list[Daemon] = []

    def states(self) -> str:
        """One line a daemon: its name and status."""
        return "\n".join(f"{daemon.name}: {daemon.status.value}" for daemon in self.daemons) or "no daemons"

    async def start(self) -> None:
        """Start all. If one fails, those before it are stopped and the failure is raised.

        Raises:
            WaitTimeout: if they are not ready in time.
            EnvironmentProblem: or whatever a daemon raises.
        """
        deadline = Deadline(self._clock, self._start_within)
        for daemon in self.daemons:
            try:
                async with asyncio.timeout(deadline.timeout) as limit:
                    await daemon.start()
            except BaseException as error:
                late = limit.expired() and isinstance(error, TimeoutError)
                failure = self._not_ready(daemon) if late else error
                await self._roll_back(daemon, failure)
                if late:
                    raise failure from error
                raise
            self._started.append(daemon)

    async def add(self, daemon: Daemon) -> None:
        """Start one more, which is stopped first."""
        await daemon.start()
        self.daemons = (*self.daemons, daemon)
        self._started.append(daemon)

    def _not_ready(self, daemon: Daemon) -> WaitTimeout:
        return WaitTimeout(
            f"the daemon {daemon.name!r} was not ready within {self._start_within:g} s",
            seen=self.states(),
            hint="look at its events in the journal, or give it more time",
        )

    async def _roll_back(self, failed: Daemon, error: BaseException) -> None:
        stopped = [daemon.name for daemon in reversed(self._started)]
        error.add_note(f"while starting {failed.name!r}; stopped again: {', '.join(stopped) or 'nothing'}")
        for problem in await self._stop_all(DeferredInterrupts(self._clock)):
            error.add_note(f"and while stopping: {problem!r}")

    async def stop(self) -> None:
        """Stop all that were started, in reverse order; raise what went wrong: one error as itself, several as a group.

        A cancellation that comes meanwhile is raised at the end, with what went wrong in notes.
        """
        interrupts = DeferredInterrupts(self._clock)
        problems = await self._stop_all(interrupts)
        if interrupts.interrupted is not None:
            for problem in problems:
                interrupts.interrupted.add_note(f"while stopping: {problem!r}")
        interrupts.finish()
        raise_together(problems)

    async def _stop_all(self, interrupts: DeferredInterrupts) -> list[BaseException]:
        """Stop all, whatever comes; what went wrong."""
        deadline = Deadline(self._clock, self._stop_within)
        problems: list[BaseException] = []
        while self._started:
            problem = await self._stop_one(self._started.pop(), max(deadline.left, MOMENT), interrupts)
            if problem is not None:
                problems.append(problem)
        return problems

    async def _stop_one(
        self, daemon: Daemon, seconds: float, interrupts: DeferredInterrupts
    ) -> BaseException | None:
        stopping = _begin_stop(daemon)
        await interrupts.wait(stopping, seconds)
        if stopping.cancelled() and daemon.status is Status.RUNNING:  # cancelled before its first step
            stopping = _begin_stop(daemon)
            await interrupts.wait(stopping, seconds)
        if not stopping.done():
            seen = f"{self.states()}\n{_pending_waits()}"
            stopping.cancel()
            await interrupts.wait(stopping, MOMENT)
            return self._late(daemon, stopping, seen)
        if stopping.cancelled():
            return None if interrupts.interrupted is not None else _let_through(daemon)
        return stopping.exception()

    def _late(self, daemon: Daemon, stopping: asyncio.Task[None], seen: str) -> WaitTimeout:
        problem = WaitTimeout(
            f"the daemon {daemon.name!r} did not stop within {self._stop_within:g} s",
            expected="it ends, or passes on that it is cancelled",
            seen=seen,
            hint="two parts may wait for each other (a deadlock of pumps), or one for input that nobody sends",
        )
        if not stopping.done():
            problem.add_note("it ignores that it has been cancelled, and was left behind")
        elif not stopping.cancelled() and (error := stopping.exception()) is not None:
            problem.add_note(f"and when it was cancelled: {error!r}")
        return problem


def _begin_stop(daemon: Daemon) -> asyncio.Task[None]:
    return asyncio.create_task(daemon.stop(), name=f"stop {daemon.name}")


def _let_through(daemon: Daemon) -> HarnessError:
    return HarnessError(
        f"the daemon {daemon.name!r} was cancelled while it stopped",
        expected="`_stop` ends, or raises what went wrong",
        seen="it let asyncio.CancelledError of its own task through",
    )


def _pending_waits() -> str:
    """The place where every other task of this loop waits, a line each."""
    others = sorted(where(task) for task in asyncio.all_tasks() if task is not asyncio.current_task())
    more = [f"... and {len(others) - SHOWN} more"] if len(others) > SHOWN else []
    return "\n".join([*others[:SHOWN], *more])
