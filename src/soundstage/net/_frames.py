"""uvicorn's WebSocket protocol: pings that a handler may wait for, and answers to whatever bytes a client sends.

uvicorn sends pings of its own to find dead connections, and does not let an application send one. A peer answers
a ping when it reads it, so the answer says that it has read everything before. An ASGI message of type `PING`
sends one; sending it returns when the peer has answered, or the connection is lost.

Frames may come right behind the handshake, in one piece with it. They are held until the handler has accepted and our
101 is written: before that, the library would answer a ping, or fail on a broken frame without a word. When much is
held, nothing more is read. Frames before a broken one are served, also where both come in one piece.

A head is parsed twice, here by a library that takes shorter lines and fewer headers; what it does not take is
answered with 400. Sending on a connection that has ended is a `ConnectionError`, whoever has ended it: uvicorn tells
some of these cases as mistakes of the application.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState

from soundstage.net._websocket import PING

MOST_HELD: Final = 64 * 1024  # bytes that come before the handshake is answered


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """One connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pings: dict[bytes, asyncio.Future[None]] = {}
        self._count = 0
        self._held = bytearray()

    def data_received(self, data: bytes) -> None:
        """The head of the handshake, and then frames."""
        if self.transport.is_closing():
            return
        if self.handshake_initiated and not self.handshake_complete:
            self._hold(data)
            return
        self.conn.receive_data(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self._refuse_head(self.conn.handshake_exc)
            return
        self.handle_events()
        if self.conn.parser_exc is not None and not self.transport.is_closing():
            self.handle_parser_exception()

    def handle_connect(self, event: Any) -> None:
        """Begin the handshake; the library fails on what is not ASCII where it looks."""
        looked_at = [
            event.path,
            *(f"{name}: {value}" for name, value in event.headers.raw_items() if _is_ours(name)),
        ]
        odd = [text for text in looked_at if not text.isascii()]
        if odd:
            self._refuse_head(ValueError(f"{odd[0]!a} is not ASCII"))
        else:
            super().handle_connect(event)

    def _hold(self, data: bytes) -> None:
        self._held += data
        if len(self._held) >= MOST_HELD:
            self.transport.pause_reading()

    def _release(self) -> None:
        held, self._held = bytes(self._held), bytearray()
        self.transport.resume_reading()
        if held:
            self.data_received(held)

    def _refuse_head(self, error: Exception) -> None:
        text = f"this is no handshake of a WebSocket: {error.__cause__ or error}".encode()
        head = [b"HTTP/1.1 400 Bad Request", b"content-type: text/plain; charset=utf-8"]
        head += [b"connection: close", b"content-length: %d" % len(text)]
        self.transport.write(b"\r\n".join([*head, b"", text]))
        self.transport.close()

    def send_receive_event_to_app(self) -> None:
        """Give a whole message to the handler; a text that is not UTF-8 ends the connection."""
        try:
            super().send_receive_event_to_app()
        except InvalidState:  # of such a text, with the client's closing frame behind it in one piece
            self.handle_parser_exception()

    async def send(self, message: Any) -> None:
        """Send a ping and wait, or whatever else uvicorn can send."""
        await self.writable.wait()
        if self.close_sent or self.transport.is_closing():
            raise ConnectionError("the connection is closed")
        if message["type"] == PING:
            await self._ping()
            return
        await super().send(message)
        if message["type"] == "websocket.accept":
            self._release()

    async def _ping(self) -> None:
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


def _is_ours(name: str) -> bool:
    return name.lower() in ("connection", "upgrade") or name.lower().startswith("sec-websocket-")
