"""Daemons: parts of a run that live in the background. Worlds, servers, drivers and apps are daemons.

A daemon is stopped, then running, then completed. Which moves are allowed is a table; each one made is an
event of the journal. A failure is an event too and does not change the status: the exception is kept and
raised by `stop`, so nothing that went wrong in the background is lost.

Whoever waits for a status or a failure waits for this daemon: the journal wakes it, its own state answers. What was
before counts, so nobody can come too late.

Tasks and timers know which daemon they belong to, by the context variable `of_daemon`: a task inherits it from the one
that made it. So whoever ends a run can tell the timers of its parts from those of the test.

Starting and stopping take turns: whoever stops a daemon that is about to start waits until it has started.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import ContextVar
from enum import StrEnum
from typing import ClassVar, Final

from soundstage.clock import Deadline
from soundstage.errors import AppError, InvalidStateError, WaitTimeout
from soundstage.journal import DaemonChanged, Journal
from soundstage.lifecycle._interrupts import raise_together
from soundstage.lifecycle._tasks import StartedTasks

of_daemon: ContextVar[Daemon | None] = ContextVar("of_daemon", default=None)
"""The outermost daemon that the running code belongs to."""


class Status(StrEnum):
    """The state of a daemon."""

    STOPPED = "stopped"
    RUNNING = "running"
    COMPLETED = "completed"


ALLOWED: Final = frozenset(
    {
        (Status.STOPPED, Status.RUNNING),
        (Status.RUNNING, Status.COMPLETED),
    }
)


ENDED: Final = "ended"
"""The words of the journal for a coroutine that has come to its end by itself; it runs until it is stopped."""

REACHED: Final = {  # a status -> those in which it is, or was before
    Status.STOPPED: frozenset(Status),
    Status.RUNNING: frozenset({Status.RUNNING, Status.COMPLETED}),
    Status.COMPLETED: frozenset({Status.COMPLETED}),
}


class Daemon(ABC):
    """Base of everything that starts and stops. Override `_start` and `_stop`.

    The two may run in different tasks. What one task must both enter and leave, such as a task group, belongs
    in a task that `_start` makes and `_stop` ends.

    Args:
        name: how messages call it.
        journal: where its status changes go.

    Attributes:
        begun: the position of the journal when it was made; what is before belongs to earlier runs.
        real_time: whether it needs the machine's time, because it uses sockets or processes. A run with such a part is
            not on virtual time.
    """

    real_time: ClassVar[bool] = False

    def __init__(self, name: str, journal: Journal) -> None:
        self.name = name
        self.journal = journal
        self.begun = len(journal)
        self._status = Status.STOPPED
        self._reported: list[BaseException] = []
        self._turn = asyncio.Lock()

    @property
    def status(self) -> Status:
        """The status at this moment."""
        return self._status

    @property
    def failures(self) -> tuple[BaseException, ...]:
        """The failures so far, in order; a cancellation from outside is no failure of a background task."""
        return tuple(self._reported)

    def environment(self) -> dict[str, str]:
        """Variables that point a program of the run at it; none, unless overridden."""
        return {}

    def end_input(self) -> None:  # noqa: B027  (a hook)
        """End what it sends to the app, because the run ends; nothing, unless overridden."""

    async def wait_for(self, status: Status, *, within: float) -> None:
        """Wait until it has reached a status; one that it had before counts.

        Args:
            status: which one.
            within: seconds on the run's clock.

        Raises:
            WaitTimeout: if it does not in time; the message has its status and its failures.
        """
        await self._until(lambda: self._status in REACHED[status], f"it is {status.value}", within)

    async def wait_for_failure(self, *, within: float) -> BaseException:
        """Wait until something has failed in it, and return the first failure.

        Raises:
            WaitTimeout: if nothing does in time.
        """
        await self._until(lambda: bool(self._reported), "it fails", within)
        return self._reported[0]

    async def _until(self, holds: Callable[[], bool], expected: str, within: float) -> None:
        deadline = Deadline(self.journal.clock, within)
        if holds():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline.timeout), contextlib.aclosing(self._changes()) as changes:
                async for _ in changes:
                    if holds():
                        return
        failed = [f"{type(error).__name__}: {error}" for error in self._reported]
        raise WaitTimeout(
            f"the daemon {self.name!r} did not get there within {within:g} s",
            expected=expected,
            seen="\n".join([f"it is {self._status.value}", *failed]),
            hint="look at its events in the journal",
        )

    async def _changes(self) -> AsyncGenerator[None, None]:
        """Whenever something is told; the first time after what is there now."""
        async for _ in self.journal.tail(len(self.journal)):
            yield

    async def start(self) -> None:
        """Start; return when it is ready for use.

        Raises:
            InvalidStateError: if it has been started before.
        """
        async with self._turn:
            if self._status is not Status.STOPPED:
                self._refuse(Status.RUNNING)
            whose = of_daemon.set(of_daemon.get() or self)
            try:
                await self._start()
            except BaseException as error:
                self.report_failure(error)
                raise
            finally:
                with contextlib.suppress(ValueError):  # given up unfinished, and ended from elsewhere
                    of_daemon.reset(whose)
            self._move(Status.RUNNING)

    async def stop(self) -> None:
        """Stop; harmless when it is not running. Raises what went wrong in the background."""
        async with self._turn:
            if self._status is not Status.RUNNING:
                return
            try:
                await self._stop()
            finally:
                self._move(Status.COMPLETED)

    @abstractmethod
    async def _start(self) -> None: ...

    @abstractmethod
    async def _stop(self) -> None: ...

    def report_failure(self, error: BaseException) -> None:
        """Put a failure on record. The status stays as it is."""
        self._reported.append(error)
        self.journal.append(
            DaemonChanged(daemon=self.name, status=self._status, error=f"{type(error).__name__}: {error}"),
            source=self.name,
        )

    def _move(self, status: Status) -> None:
        if (self._status, status) not in ALLOWED:
            self._refuse(status)
        self._status = status
        self.journal.append(DaemonChanged(daemon=self.name, status=status), source=self.name)

    def _refuse(self, status: Status) -> None:
        allowed = [to.value for come, to in sorted(ALLOWED) if come is self._status]
        raise InvalidStateError(
            f"the daemon {self.name!r} cannot become {status.value}",
            expected=f"from {self._status.value}: {', '.join(allowed) or 'nothing, it is over'}",
            seen=f"it is {self._status.value}",
            hint="build a new one for another run",
        )


class TaskDaemon(Daemon):
    """A daemon that is one background coroutine, such as an app under test.

    An exception of an asyncio task that the coroutine has started, and that nobody has taken, is its failure too.

    Args:
        name: how messages call it.
        journal: where its status changes go.
        body: makes the coroutine.
    """

    def __init__(self, name: str, journal: Journal, body: Callable[[], Awaitable[None]]) -> None:
        super().__init__(name, journal)
        self._body = body
        self._task: asyncio.Task[None] | None = None
        self._told = False
        self._started = StartedTasks()
        self.tells_end = False

    @property
    def failures(self) -> tuple[BaseException, ...]:
        """The failures so far, with those of its tasks that nobody has taken yet."""
        return (*super().failures, *self._started.untaken)

    @property
    def done(self) -> bool:
        """Whether the coroutine has come to its end."""
        return self._task is not None and self._task.done()

    async def _start(self) -> None:
        self._started.begin()
        self._task = asyncio.create_task(self._guarded(), name=self.name)

    async def _guarded(self) -> None:
        self._started.own()
        try:
            await self._body()
            if self.tells_end:
                self.journal.append(DaemonChanged(daemon=self.name, status=ENDED), source=self.name)
        except SystemExit as end:
            if end.code not in (None, 0):
                self._raise_exit(end)
        except Exception as error:
            self.report_failure(error)
            raise

    def _raise_exit(self, end: SystemExit) -> None:
        error = AppError(
            f"{self.name!r} ended itself with sys.exit({end.code!r})",
            expected="it returns, or exits with 0",
            hint="its own messages may say why; they are in the journal",
        )
        self.report_failure(error)
        raise error from end

    async def settle(self, within: float) -> bool:
        """Give the coroutine some seconds to end by itself; whether it has."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task], timeout=within)
        return self.done

    async def wait(self) -> None:
        """Wait until the coroutine has ended; raise what it raised, which `stop` then does not repeat."""
        if self._task is not None:
            await asyncio.wait([self._task])
            self._told = True
            raise_together(_failure_of(self._task))

    async def _stop(self) -> None:
        task, problems = self._task, list[BaseException]()
        try:
            if task is not None and task is not asyncio.current_task():
                task.cancel()
                await asyncio.wait([task])
                problems += [] if self._told else _failure_of(task)
        finally:
            lost = self._started.end()
            for error in lost:
                self.report_failure(error)
        raise_together([*problems, *lost])


def _failure_of(task: asyncio.Task[None]) -> list[BaseException]:
    error = None if task.cancelled() else task.exception()
    return [] if error is None else [error]
