"""Servers take in all that a program has sent, before its exit is told.

A program may write to a server of ours and exit at once. The bytes are there then, in buffers of the system, but nobody
has read them; a wait that ends with the exit of the program would say that nothing came. So servers that programs talk
to name a function here that returns when everything that has arrived is taken in, under the journal of their run, and
`Process` calls those of its run before it tells the exit.

A server may live in the loop of another thread; the call is passed on to it. A server that does not come to an end with
what has arrived, because a handler hangs, holds the exit up for `WITHIN` seconds and no longer.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from soundstage.journal import Journal

WITHIN: Final = 1.0  # seconds
TakeIn = Callable[[], Awaitable[None]]


class _Server(NamedTuple):
    loop: asyncio.AbstractEventLoop
    take_in: TakeIn


_LOCK: Final = threading.Lock()
_RUNS: Final[WeakKeyDictionary[Journal, list[_Server]]] = WeakKeyDictionary()


def before_exits(journal: Journal, take_in: TakeIn) -> Callable[[], None]:
    """Let programs of a run exit on record only after `take_in`, which is called in the running loop.

    Args:
        journal: the run's.
        take_in: returns when everything that has arrived from programs is on record.

    Returns:
        What ends that; harmless when repeated.
    """
    server = _Server(asyncio.get_running_loop(), take_in)
    with _LOCK:
        _RUNS.setdefault(journal, []).append(server)

    def end() -> None:
        with _LOCK:
            if server in (left := _RUNS.get(journal, [])):
                left.remove(server)

    return end


async def take_in_arrivals(journal: Journal) -> None:
    """Wait until everything that has arrived at the servers of a run is on record."""
    with _LOCK:
        servers = list(_RUNS.get(journal, ()))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(WITHIN if servers else None):
            for server in servers:
                await _take_in(server)


async def _take_in(server: _Server) -> None:
    if server.loop is asyncio.get_running_loop():
        await server.take_in()
        return
    waiting = server.take_in()
    try:
        task = asyncio.run_coroutine_threadsafe(_wait(waiting), server.loop)
    except RuntimeError:  # its loop is closed, and nothing arrives there any more
        return
    await asyncio.wrap_future(task)


async def _wait(waiting: Awaitable[None]) -> None:
    await waiting
