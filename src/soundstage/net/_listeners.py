"""Listeners of a run, so that a program in a network of its own can reach them.

How it works. A server announces the address that it listens on, under the journal of its run: all parts of a
run share one journal, and nothing else does. Whoever makes a network for a program asks for the addresses of
the run, opens a socket on each of them in there, and lets its server serve it: the same addresses lead to the
same servers inside and outside. A server may live in the loop of another thread; the call is passed on to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakKeyDictionary

from soundstage.journal import Journal

Serve = Callable[[socket.socket], Awaitable[asyncio.AbstractServer]]

_LOCK: Final = threading.Lock()
_RUNS: Final[WeakKeyDictionary[Journal, list[Listener]]] = WeakKeyDictionary()


class Listener:
    """An address that a server listens on; made in the server's loop, by `announce`."""

    def __init__(self, journal: Journal, host: str, port: int, serve: Serve) -> None:
        self.host = host
        self.port = port
        self._journal = journal
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._servers: list[asyncio.AbstractServer] = []

    @property
    def servers(self) -> tuple[asyncio.AbstractServer, ...]:
        """Those that serve other sockets besides; of the server's loop."""
        return tuple(self._servers)

    def withdraw(self) -> None:
        """The server stops: nobody shall be sent to it any more. Harmless when repeated."""
        with _LOCK:
            left = _RUNS.get(self._journal, [])
            if self in left:
                left.remove(self)
        for server in self._servers:
            server.close()
        self._servers.clear()

    async def listen_also(self, sock: socket.socket) -> Callable[[], None]:
        """Serve a second socket, which listens already. Returns what ends that; it may be called from any loop."""
        task = asyncio.run_coroutine_threadsafe(self._listen(sock), self._loop)
        server = await asyncio.wrap_future(task)
        return lambda: self._end(server)

    async def _listen(self, sock: socket.socket) -> asyncio.AbstractServer:
        server = await self._serve(sock)
        self._servers.append(server)
        return server

    def _end(self, server: asyncio.AbstractServer) -> None:
        with contextlib.suppress(RuntimeError):  # its loop is closed, and so is what it had open
            self._loop.call_soon_threadsafe(self._forget, server)

    def _forget(self, server: asyncio.AbstractServer) -> None:
        if server in self._servers:
            self._servers.remove(server)
            server.close()


def announce(journal: Journal, host: str, port: int, serve: Serve) -> Listener:
    """Say that a server of this run listens; `serve` makes it serve one more socket."""
    made = Listener(journal, host, port, serve)
    with _LOCK:
        _RUNS.setdefault(journal, []).append(made)
    return made


def listeners_of(journal: Journal) -> list[Listener]:
    """The addresses on which the servers of a run listen now."""
    with _LOCK:
        return list(_RUNS.get(journal, ()))


def is_listening(port: int) -> bool:
    """Whether a server of ours, of any run in this process, listens on a port of this machine."""
    with _LOCK:
        return any(listener.port == port for run in _RUNS.values() for listener in run)
