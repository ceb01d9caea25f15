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
from collections.abc import Callable, Iterable
from typing import Any, Final

ROUNDS: Final = 8  # of the loop: twice those between accepting a connection and the first step of its handler
_READABLE: Final = select.POLLIN | getattr(select, "POLLRDHUP", 0)


class Handlers:
    """The handlers of a server that are at work, and the address of each one's client."""

    def __init__(self) -> None:
        self._clients: dict[asyncio.Task[Any], Any] = {}

    def begin(self, client: Any) -> None:
        """Note that the running task serves a client."""
        task = asyncio.current_task()
        assert task is not None
        self._clients[task] = client
        task.add_done_callback(self._clients.pop)

    async def take_in(self, sockets: Callable[[], Iterable[Any]], connections: Iterable[Any]) -> None:
        """Return when all that has arrived is with its handler, and handlers of clients that are gone have ended.

        Args:
            sockets: the listening sockets.
            connections: uvicorn's, which change meanwhile.
        """
        quiet = 0
        while quiet < ROUNDS:
            quiet = 0 if _can_be_read([*sockets(), *map(_socket, connections)]) else quiet + 1
            await asyncio.sleep(0)
        there = {connection.client for connection in connections}
        left = [task for task, client in self._clients.items() if client not in there]
        if left:
            await asyncio.wait(left)


def _socket(connection: Any) -> Any:
    transport = connection.transport
    return None if transport.is_closing() else transport.get_extra_info("socket")


def _can_be_read(sockets: Iterable[Any]) -> bool:
    poll = select.poll()
    for sock in sockets:
        if sock is not None and sock.fileno() >= 0:
            poll.register(sock.fileno(), _READABLE)
    return bool(poll.poll(0))
