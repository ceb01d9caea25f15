"""Taking in what clients have sent before they were gone.

How it works. The system knows what has arrived: a socket with bytes or with the end of its connection can be read,
and so can a listening socket with a connection that nobody has accepted. The loop reads a little in each of its
rounds, so it goes round until no socket can be read (`poll`, without waiting), and some rounds more, in which a
connection that was accepted gets its protocol, and a request its handler. What was read is then in the hands of
handlers. Those whose client is gone come to their end by themselves, when they have dealt with everything that it has
sent, and are waited for. Handlers of clients that are there are nobody's business here: they may wait for ever.

A program whose exit is awaited has closed all of its sockets: the system does that, and tells our side, before anybody
can hear of the exit.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final

ROUNDS: Final = 8  # of the loop: twice those between accepting a connection and the first step of its handler
_READABLE: Final = select.POLLIN | getattr(select, "POLLRDHUP", 0)


class Connections(set[Any]):
    """The connections of a server that are open."""

    def __init__(self) -> None:
        super().__init__()
        self._empty = asyncio.Event()

    def discard(self, connection: Any) -> None:
        """Take one out; the last one wakes who waits for that."""
        super().discard(connection)
        if not self:
            self._empty.set()

    async def gone(self) -> None:
        """Wait until there is none."""
        if self:
            self._empty.clear()
            await self._empty.wait()


class Handlers:
    """The handlers of a server that are at work, and the connection of each one."""

    def __init__(self) -> None:
        self._connections: dict[asyncio.Task[Any], Any] = {}

    def begin(self, handler: Coroutine[Any, Any, None], connection: Any) -> None:
        """Run a handler."""
        task = asyncio.get_running_loop().create_task(handler)
        self._connections[task] = connection
        task.add_done_callback(self._connections.pop)

    async def end(self, why: str, within: float) -> None:
        """Cancel all. One that ignores it is left behind."""
        tasks = set(self._connections)
        for task in tasks:
            task.cancel(why)
        if tasks:
            await asyncio.wait(tasks, timeout=within)

    async def take_in(self, sockets: Callable[[], Iterable[Any]], connections: Connections) -> None:
        """Return when all that has arrived is with its handler, and handlers of clients that are gone have ended.

        Args:
            sockets: the listening sockets.
            connections: those that are open, which change meanwhile.
        """
        quiet = 0
        while quiet < ROUNDS:
            quiet = 0 if _can_be_read([*sockets(), *map(_socket, connections)]) else quiet + 1
            await asyncio.sleep(0)
        left = [task for task, connection in self._connections.items() if connection not in connections]
        if left:
            await asyncio.wait(left)


def _socket(connection: Any) -> Any:
    transport = connection.transport
    return (
        None if transport.is_closing() or not transport.is_reading() else transport.get_extra_info("socket")
    )


def _can_be_read(sockets: Iterable[Any]) -> bool:
    poll = select.poll()
    for sock in sockets:
        if sock is not None and sock.fileno() >= 0:
            poll.register(sock.fileno(), _READABLE)
    return bool(poll.poll(0))
