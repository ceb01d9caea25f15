"""A server of the world as a daemon: HTTP and stdio before a backend, and the test's side of it.

How it works. There is one listening socket, on loopback. Clients over HTTP come to `/mcp`; a client over stdio starts
a small program (`_bridge`) that comes to `/stdio` with a WebSocket. Both are sessions (`_session`), and share a core
(`_core`) with one backend: a script, a tape, or a real server.

Why not the SDK's server: it is built not to send what is wrong. It cannot cut a connection in the middle of an
answer, spoil one, or answer a handshake late; it wants an ASGI server of its own; and it takes half a second to load.
The protocol that remains is small. The SDK's client is what the tests use, with the real Claude Code.
"""

from __future__ import annotations

import asyncio
from typing import Final

from soundstage.clock import IdSource
from soundstage.errors import SoundstageError
from soundstage.journal import Journal
from soundstage.lifecycle import Status
from soundstage.mcp._answer import Json
from soundstage.mcp._backend import Backend
from soundstage.mcp._config import bridge_config
from soundstage.mcp._control import McpFaults
from soundstage.mcp._core import McpCore
from soundstage.mcp._events import McpToolsChanged
from soundstage.mcp._http import PATH, HttpSide
from soundstage.mcp._protocol import CHANGED
from soundstage.mcp._sessions import Sessions
from soundstage.mcp._stdio import serve_stdio
from soundstage.mcp._test_side import McpTestSide
from soundstage.net import HttpServer, WebSocket

FAREWELL: Final = 1.0  # seconds for clients to read what was sent


class McpDaemon(McpTestSide, McpFaults, HttpServer):
    """The base of every server of this package. See `McpServer`.

    Servers with another backend than a script are made of it, too: a tape's, and one that records.

    Args:
        journal: where everything goes.
        backend: what answers.
        name: how clients, messages and the journal call it.
        ids: where ids of HTTP sessions come from.
        port: 0 picks a free one.
    """

    def __init__(
        self, journal: Journal, backend: Backend, *, name: str, ids: IdSource | None, port: int
    ) -> None:
        self._core = McpCore(journal, name, backend, self._fail)
        self._sessions = Sessions(self._core, ids if ids is not None else IdSource())
        self._failures: list[Exception] = []
        self._piping: set[asyncio.Task[None]] = set()
        http = HttpSide(self._core, self._sessions)
        handle, serve = http.handle, self._serve
        HttpServer.__init__(self, handle, journal, port=port, name=name, grace=FAREWELL, websocket=serve)
        self._open_inboxes()

    @property
    def url(self) -> str:
        """The address for clients over HTTP: `http://127.0.0.1:port/mcp`."""
        return super().url + PATH

    def http_config(self) -> Json:
        """Its entry of `.mcp.json` as an HTTP server."""
        return {"type": "http", "url": self.url}

    def stdio_config(self) -> Json:
        """Its entry of `.mcp.json` as a stdio server: a program whose streams end here."""
        return bridge_config(super().url)

    async def _serve(self, websocket: WebSocket) -> None:
        task = asyncio.create_task(serve_stdio(self._sessions, websocket), name=f"{self.name} bridge")
        self._piping.add(task)
        try:
            await task
        finally:
            self._piping.discard(task)

    async def _stop(self) -> None:
        self._sessions.end("closed", "the server stops")
        if self._piping:
            await asyncio.wait(self._piping, timeout=FAREWELL)
        await super()._stop()
        if self._failures:
            raise self._failures[0]

    def _fail(self, error: Exception) -> None:
        """Something on our side is wrong: it is on record now, and `stop` raises it."""
        self.report_failure(error)
        if isinstance(error, SoundstageError):
            self._failures.append(error)

    def tell_clients(self, method: str, params: Json) -> None:
        """Send all clients a notification."""
        self._sessions.tell(method, params)

    def _tools_changed(self) -> None:
        self._tell_changed("tools", tuple(self._core.stubs))

    def _tell_changed(self, what: str, names: tuple[str, ...], uri: str = "") -> None:
        """Tell the journal and all clients that a list is different now; before the start there is nobody."""
        if self.status is not Status.RUNNING:
            return
        self._core.tell(McpToolsChanged(what=what, names=names))
        self._sessions.tell(*(("notifications/resources/updated", {"uri": uri}) if uri else (CHANGED[what],)))
