"""The guarantees of every daemon."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from soundstage.clock import running_clock
from soundstage.errors import InvalidStateError
from soundstage.journal import DaemonChanged, Journal
from soundstage.lifecycle import Daemon, Status, Supervisor
from soundstage.testing._guarantee import Guarantee, NotKept, keep_all, same

MakeDaemon = Callable[[Journal], Daemon]


async def verify_daemon(make: MakeDaemon) -> None:
    """Verify that a daemon keeps what supervisors and hosts rely on.

    Args:
        make: makes a new daemon on a journal each time it is called.

    Raises:
        ExpectationError: for the first guarantee that is not kept.

    Example:
        >>> from soundstage.clock import run
        >>> from soundstage.worlds import Console
        >>> run(verify_daemon(Console))
    """
    await keep_all("daemon", DAEMON_GUARANTEES, make)


@asynccontextmanager
async def fresh(make: MakeDaemon) -> AsyncIterator[Daemon]:
    """A new daemon on a new journal, stopped at the end whatever the check has done with it."""
    journal = Journal(clock=running_clock())
    daemon = make(journal)
    try:
        yield daemon
    finally:
        await daemon.stop()
        journal.close()


def changes(daemon: Daemon) -> list[str]:
    """The status changes in the journal, under the name of the daemon."""
    return [
        event.status
        for event in daemon.journal.events(DaemonChanged)
        if event.daemon == daemon.name and not event.error
    ]


async def _begins(make: MakeDaemon) -> None:
    async with fresh(make) as daemon:
        same("the status of a new daemon", Status.STOPPED, daemon.status)
        same("its status changes", [], changes(daemon))


async def _lives(make: MakeDaemon) -> None:
    async with fresh(make) as daemon:
        await daemon.start()
        same("the status when start returns", Status.RUNNING, daemon.status)
        await daemon.stop()
        same("the status when stop returns", Status.COMPLETED, daemon.status)
        same(f"status changes of {daemon.name!r} in the journal", ["running", "completed"], changes(daemon))


async def _once(make: MakeDaemon) -> None:
    async with fresh(make) as daemon:
        await daemon.start()
        await _refuses_start(daemon, "start when it is running")
        same("the status after that", Status.RUNNING, daemon.status)
        await daemon.stop()
        await _refuses_start(daemon, "start when it is over")
        same("the status after that", Status.COMPLETED, daemon.status)


async def _refuses_start(daemon: Daemon, what: str) -> None:
    try:
        await daemon.start()
    except InvalidStateError:
        return
    raise NotKept(f"{what} raises InvalidStateError", "no error")


async def _stops_again(make: MakeDaemon) -> None:
    async with fresh(make) as daemon:
        await daemon.stop()
        same("the status after stop before start", Status.STOPPED, daemon.status)
        await daemon.start()
        await daemon.stop()
        await daemon.stop()
        same("status changes after stopping twice", ["running", "completed"], changes(daemon))


async def _leaves_nothing(make: MakeDaemon) -> None:
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    async with fresh(make) as daemon:
        await daemon.start()
        await daemon.stop()
        await asyncio.sleep(0)  # a task that has just been told to end needs one step for it
        left = [task.get_name() for task in asyncio.all_tasks() - tasks]
        same("tasks left behind", [], sorted(left))
        workers = [thread for thread in set(threading.enumerate()) - threads if not _is_pooled(thread)]
        same("threads left behind", [], sorted(thread.name for thread in workers))


def _is_pooled(thread: threading.Thread) -> bool:
    """Whether it is one that asyncio keeps for `to_thread`, until the loop is closed."""
    return thread.name.startswith(("asyncio_", "soundstage_"))


async def _apart(make: MakeDaemon) -> None:
    async with fresh(make) as first, fresh(make) as second:
        await first.start()
        same("the status of another daemon", Status.STOPPED, second.status)
        await second.start()
        await first.stop()
        same("the status of another daemon", Status.RUNNING, second.status)


async def _supervised(make: MakeDaemon) -> None:
    async with fresh(make) as daemon:
        supervisor = Supervisor([daemon], clock=daemon.journal.clock)
        await asyncio.create_task(supervisor.start())
        await asyncio.create_task(supervisor.stop())
        same("the status after another task has stopped it", Status.COMPLETED, daemon.status)


DAEMON_GUARANTEES: Final[Sequence[Guarantee[MakeDaemon]]] = (
    Guarantee("a new daemon is stopped, and has done nothing", _begins),
    Guarantee("it is running, then completed, and the journal says so under its name", _lives),
    Guarantee("it starts once", _once),
    Guarantee("stopping is harmless when it is not running", _stops_again),
    Guarantee("when it is stopped, no task and no thread of it is left", _leaves_nothing),
    Guarantee("two of them are independent", _apart),
    Guarantee("one task may start it and another one stop it", _supervised),
)
