"""The clients that a server has at this moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from soundstage.clock import IdSource
from soundstage.mcp._answer import Json
from soundstage.mcp._core import McpCore
from soundstage.mcp._events import McpConnectionChanged, Transport
from soundstage.mcp._session import McpSession


class Sessions:
    """Opens sessions, finds them, and tells all of them something.

    Args:
        core: what they share.
        ids: where ids of HTTP sessions come from.
    """

    def __init__(self, core: McpCore, ids: IdSource) -> None:
        self._core = core
        self._ids = ids
        self._open: dict[int, McpSession] = {}
        self._opened = 0

    def __iter__(self) -> Iterator[McpSession]:
        return iter([session for session in self._open.values() if not session.ended])

    def open(self, transport: Transport) -> McpSession | None:
        """A new session; nothing if the connection is to be refused."""
        fault = self._core.strike("connect")
        if fault is not None:
            refused = McpConnectionChanged(
                change="refused", transport=transport, by="server", reason="as the test asked"
            )
            self._core.tell(refused)
            return None
        self._forget()
        self._opened += 1
        identity = self._ids.uuid() if transport == "http" else ""
        session = McpSession(self._core, self._opened, transport, identity)
        self._open[session.number] = session
        return session

    def find(self, identity: str) -> McpSession | None:
        """The HTTP session with this id, if it is open."""
        return next((session for session in self if session.id and session.id == identity), None)

    def tell(self, method: str, params: Json | None = None) -> None:
        """Tell all clients something."""
        for session in self:
            session.tell(method, params or {})

    def end(self, change: Literal["closed", "cut"], reason: str) -> None:
        """End all of them."""
        for session in self:
            session.end(change, by="server", reason=reason)

    def _forget(self) -> None:
        self._open = {number: session for number, session in self._open.items() if not session.ended}
