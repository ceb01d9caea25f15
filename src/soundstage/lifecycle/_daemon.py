"""Daemons: parts of a run that live in the background. Worlds, servers, drivers and apps are daemons.

A daemon is stopped, then running, then completed. Which moves are allowed is a table; each one made is an
event of the journal. A failure is an event too and does not change the status: the exception is kept and
raised by `stop`, so nothing that went wrong in the background is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final

from soundstage.errors import InvalidStateError
from soundstage.journal import DaemonChanged, Journal


class Status(StrEnum):
    """Where a daemon is in its life."""

    STOPPED = "stopped"
    RUNNING = "running"
    COMPLETED = "completed"


ALLOWED: Final = frozenset(
    {
        (Status.STOPPED, Status.RUNNING),
        (Status.RUNNING, Status.COMPLETED),
    }
)


class Daemon(ABC):
    """Base of everything that starts and stops. Override `_start` and `_stop`.

    Args:
        name: how messages call it.
        journal: where its status changes go.
    """

    def __init__(self, name: str, journal: Journal) -> None:
        self.name = name
        self.journal = journal
        self._status = Status.STOPPED

    @property
    def status(self) -> Status:
        """The status at this moment."""
        return self._status

    async def start(self) -> None:
        """Start; return when it is ready for use.

        Raises:
            InvalidStateError: if it has been started before.
        """
        if self._status is not Status.STOPPED:
            self._refuse(Status.RUNNING)
        try:
            await self._start()
        except BaseException as error:
            self.report_failure(error)
            raise
        self._move(Status.RUNNING)

    async def stop(self) -> None:
        """Stop; harmless when it is not running. Raises what went wrong in the background."""
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
        self.journal.append(
            DaemonChanged(daemon=self.name, status=self._status, error=f"{type(error).__name__}: {error}"),
            source=self.name,
        )

    def _move(self, status: Status) -> None:
        if status is self._status:
            return
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

    Args:
        name: how messages call it.
        journal: where its status changes go.
        body: makes the coroutine.
    """

    def __init__(self, name: str, journal: Journal, body: Callable[[], Awaitable[None]]) -> None:
        super().__init__(name, journal)
        self._body = body
        self._task: asyncio.Task[None] | None = None

    @property
    def done(self) -> bool:
        """Whether the coroutine has come to its end."""
        return self._task is not None and self._task.done()

    async def _start(self) -> None:
        self._task = asyncio.create_task(self._guarded(), name=self.name)

    async def _guarded(self) -> None:
        try:
            await self._body()
        except Exception as error:
            self.report_failure(error)
            raise

    async def wait(self) -> None:
        """Wait until the coroutine has come to its end; raise what it raised."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def _stop(self) -> None:
        if self._task is None:
            return
        if not self._task.done():
            self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
