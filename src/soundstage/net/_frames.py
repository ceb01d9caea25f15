"""WebSocket on one connection: `websockets` parses, this answers whatever bytes a client sends.

A peer answers a ping when it reads it, so the answer says that it has read everything before: `ping` returns then.

Frames may come right behind the handshake, in one piece with it. They are held until the handler has accepted and our
101 is written: before that, the library would answer a ping, or fail on a broken frame without a word. When much is
held, nothing more is read. Frames before a broken one are served, also where both come in one piece. While a message
waits for the handler, nothing is read.

A head is parsed twice, here by a library that takes shorter lines and fewer headers; what it does not take is
answered with 400. Sending on a connection that has ended is a `ConnectionError`, whoever has ended it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Literal

from websockets.exceptions import InvalidState
from websockets.frames import Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from soundstage.net._arrivals import Connections, Handlers
from soundstage.net._exchange import HttpRequest, plain_answer
from soundstage.net._websocket import ABNORMAL, WebSocket, WebSocketClosed, WebSocketHandler, serve_websocket

MOST_HELD: Final = 64 * 1024  # bytes that come before the handshake is answered
LARGEST: Final = 16 * 1024 * 1024  # bytes of a message
RESTART: Final = 1012  # the server stops
NOT_UTF8: Final = 1007
FAREWELL: Final = 10.0  # seconds for a client to answer our closing frame
Phase = Literal["asked", "open", "closing", "over"]


class WebSocketProtocol(asyncio.Protocol):
    """One connection, from its handshake on.

    Args:
        request: the handshake.
        handler: serves it.
        connections: those of the server.
        handlers: the tasks of the server.
        failed: told when the handler raises.
    """

    transport: Any

    def __init__(
        self,
        request: HttpRequest,
        *,
        handler: WebSocketHandler,
        connections: Connections,
        handlers: Handlers,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._request = request
        self._handler = handler
        self._connections = connections
        self._handlers = handlers
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._library = ServerProtocol(max_size=LARGEST)
        self._response: Any = None
        self._phase: Phase = "asked"
        self._held = bytearray()
        self._parts: list[bytes] = []  # of the open message
        self._is_text = True
        self._messages: deque[str | bytes | WebSocketClosed] = deque()
        self._news: asyncio.Future[None] | None = None
        self._paused = False
        self._writable = asyncio.Event()
        self._writable.set()
        self._farewell: asyncio.TimerHandle | None = None
        self._pings: dict[bytes, asyncio.Future[None]] = {}
        self._count = 0

    def begin(self, transport: Any, head: bytes, rest: bytes) -> None:
        """Take over a connection: read the head of the handshake, start the handler, hold the rest."""
        self.transport = transport
        self._library.receive_data(head)
        error = self._library.handshake_exc or self._odd_head()
        if error is not None:
            self._answer(400, f"this is no handshake of a WebSocket: {error.__cause__ or error}")
            return
        (event,) = self._library.events_received()
        assert isinstance(event, Request)
        self._response = self._library.accept(event)
        if self._response.status_code != 101:
            self._phase = "over"
            self._library.send_response(self._response)
            self._write_out()
            transport.close()
            return
        self._handlers.begin(self._serve(), self)
        self._hold(rest)

    def _odd_head(self) -> Exception | None:
        """The library fails on what is not ASCII where it looks."""
        looked_at = [
            f"{name}: {value}" for name, value in self._request.headers.items() if _is_looked_at(name)
        ]
        odd = [text for text in looked_at if not text.isascii()]
        return ValueError(f"{odd[0]!a} is not ASCII") if odd else None

    async def _serve(self) -> None:
        try:
            await serve_websocket(self._handler, WebSocket(self._request, self), self._failed)
        finally:
            if self._phase == "asked":
                self._answer(500, "the handler has not answered the handshake")
            if self._farewell is None:
                self.transport.close()

    # --- bytes in

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._phase == "asked":
            self._hold(data)
            return
        self._library.receive_data(data)
        for event in self._library.events_received():
            self._take(event)
        if self._library.parser_exc is not None and not self.transport.is_closing():
            self._broken()

    def _hold(self, data: bytes) -> None:
        self._held += data
        if len(self._held) >= MOST_HELD:
            self.transport.pause_reading()

    def _take(self, frame: Any) -> None:
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._is_text = frame.opcode is Opcode.TEXT
            self._parts = [frame.data]
        elif frame.opcode is Opcode.CONT:
            self._parts.append(frame.data)
        elif frame.opcode is Opcode.PING:
            self._write_out()
        elif frame.opcode is Opcode.PONG:
            self._take_pong(bytes(frame.data))
        else:
            self._take_goodbye()
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT) and frame.fin:
            self._take_message(b"".join(self._parts))

    def _take_message(self, data: bytes) -> None:
        self._parts = []
        if self._phase != "open":  # we have said goodbye, and wait for theirs
            return
        try:
            self._put(data.decode() if self._is_text else data)
        except UnicodeDecodeError:
            with contextlib.suppress(InvalidState):  # the client's closing frame came behind it in one piece
                self._library.send_close(NOT_UTF8)
            self._broken()
            return
        if not self._paused:
            self._paused = True
            self.transport.pause_reading()

    def _take_pong(self, payload: bytes) -> None:
        answer = self._pings.get(payload)
        if answer is not None and not answer.done():
            answer.set_result(None)

    def _take_goodbye(self) -> None:
        if self._phase == "open" and not self.transport.is_closing():
            received = self._library.close_rcvd
            assert received is not None
            self._end(WebSocketClosed(received.code, received.reason))
        elif self._phase == "closing":
            self.transport.close()

    def _broken(self) -> None:
        """Bytes came that are against the protocol; the library has said so in a closing frame."""
        sent = self._library.close_sent
        assert sent is not None
        self._end(WebSocketClosed(sent.code, sent.reason))

    def _end(self, how: WebSocketClosed) -> None:
        self._phase = "over"
        self._put(how)
        self._write_out()
        self.transport.close()

    def _put(self, message: str | bytes | WebSocketClosed) -> None:
        self._messages.append(message)
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody answers any more."""
        self._connections.discard(self)
        self._phase = "over"
        self._put(WebSocketClosed(ABNORMAL))
        self._writable.set()
        if self._farewell is not None:
            self._farewell.cancel()
        for answer in self._pings.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the connection is lost"))

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It has read enough."""
        self._writable.set()

    # --- what a handler does

    async def receive(self) -> str | bytes | WebSocketClosed:
        """The next message, or how the connection has ended."""
        while not self._messages:
            self._news = self._loop.create_future()
            await self._news
        message = self._messages.popleft()
        if self._paused and not self._messages:
            self._paused = False
            self.transport.resume_reading()
        return message

    async def accept(self) -> None:
        """Send our 101, and take what came behind the handshake."""
        await self._may_write()
        self._phase = "open"
        del self._response.headers["Date"]
        self._library.send_response(self._response)
        self._write_out()
        held, self._held = bytes(self._held), bytearray()
        self.transport.resume_reading()
        if held:
            self.data_received(held)

    async def refuse(self, status: int, text: str) -> None:
        """Answer the handshake with a status."""
        await self._may_write()
        self._answer(status, text)

    async def send(self, data: str | bytes) -> None:
        """Send one message."""
        await self._may_write()
        try:
            if isinstance(data, str):
                self._library.send_text(data.encode())
            else:
                self._library.send_binary(data)
        except InvalidState:
            raise ConnectionError("the connection is closed") from None
        self._write_out()

    async def ping(self) -> None:
        """Send a ping, and wait for its answer."""
        await self._may_write()
        self._count += 1
        payload = f"soundstage {self._count}".encode()
        answer = self._pings[payload] = self._loop.create_future()
        self._library.send_ping(payload)
        self._write_out()
        try:
            await answer
        finally:
            self._pings.pop(payload, None)

    async def close(self, code: int, reason: str) -> None:
        """Say goodbye; the connection is closed when the client has answered, or is late."""
        await self._may_write()
        self._phase = "closing"
        self._library.send_close(code, reason)
        self._write_out()
        if self._paused:
            self._paused = False
            self.transport.resume_reading()
        self._farewell = self._loop.call_later(FAREWELL, self.transport.close)

    async def _may_write(self) -> None:
        await self._writable.wait()
        if self._phase in ("closing", "over") or self.transport.is_closing():
            raise ConnectionError("the connection is closed")

    def _write_out(self) -> None:
        if data := b"".join(self._library.data_to_send()):
            self.transport.write(data)

    def _answer(self, status: int, text: str) -> None:
        """Answer the handshake with something else than a WebSocket."""
        self._phase = "over"
        if not self.transport.is_closing():
            self.transport.write(plain_answer(status, text))
            self.transport.close()

    def shutdown(self) -> None:
        """The server stops."""
        if self._phase == "open":
            self._library.send_close(RESTART)
            self._end(WebSocketClosed(RESTART))
        elif self._phase == "asked":
            self._answer(500, "the server stops")
        else:
            self.transport.close()


def _is_looked_at(name: str) -> bool:
    return name in ("connection", "upgrade") or name.startswith("sec-websocket-")
