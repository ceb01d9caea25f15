"""uvicorn's WebSocket protocol, with pings that a handler may wait for.

uvicorn sends pings of its own to find dead connections, and does not let an application send one. A peer answers
a ping when it reads it, so the answer says that it has read everything before. An ASGI message of type `PING`
sends one; sending it returns when the peer has answered, or the connection is lost.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from soundstage.net._websocket import PING


class PingingProtocol(WebSocketsSansIOProtocol):
    """One connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pings: dict[bytes, asyncio.Future[None]] = {}
        self._count = 0

    async def send(self, message: Any) -> None:
        """Send a ping and wait, or whatever else uvicorn can send."""
        if message["type"] != PING:
            await super().send(message)
            return
        if self.close_sent or self.transport.is_closing():
            raise ConnectionError("the connection is closed")
        self._count += 1
        payload = f"soundstage {self._count}".encode()
        answer = self._pings[payload] = self.loop.create_future()
        self.conn.send_ping(payload)
        self.transport.write(b"".join(self.conn.data_to_send()))
        try:
            await answer
        finally:
            self._pings.pop(payload, None)

    def handle_pong(self, event: Any) -> None:
        """Take the answer to one of our pings, or leave it to uvicorn."""
        answer = self._pings.get(bytes(event.data))
        if answer is None:
            super().handle_pong(event)
        elif not answer.done():
            answer.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody answers any more."""
        super().connection_lost(exc)
        for answer in self._pings.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the connection is lost"))
