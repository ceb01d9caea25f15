"""WebSocket connections: what a handler of the server gets.

How it works. `_frames` speaks the protocol: handshake, frames, pings, the closing handshake. It makes one `WebSocket`
for each connection, and `serve_websocket` gives it to the handler. The handler accepts or refuses, receives and sends
until one side closes. It need not notice the end: `receive` and `send`
raise `WebSocketClosed` then, and the server takes that for a normal return.

A handler that returns without closing cuts the connection: the client sees it end without a closing frame, as
when a network fails. That is on purpose; `close` is there for the other way.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final, Literal, Protocol

from soundstage.errors import InvalidStateError
from soundstage.net._exchange import HttpRequest

ABNORMAL: Final = (
    1006  # what a side notes when the other one is gone without a closing frame (RFC 6455, 7.4.1)
)
FAILED: Final = 1011  # the server met an unexpected condition


class WebSocketClosed(Exception):  # noqa: N818  (it says what happened)
    """Raised when the connection is over. `code` and `reason` are those of the closing frame."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(f"the connection is closed: {code} {reason}".rstrip())
        self.code = code
        self.reason = reason


class WebSocketFrames(Protocol):
    """The protocol on one connection. Each method may raise `ConnectionError`."""

    async def accept(self) -> None:
        """Complete the handshake."""

    async def refuse(self, status: int, text: str) -> None:
        """Answer it with a status."""

    async def receive(self) -> str | bytes | WebSocketClosed:
        """The next message, or how the connection has ended."""

    async def send(self, data: str | bytes) -> None:
        """Send one message."""

    async def ping(self) -> None:
        """Wait until the peer has read what was sent."""

    async def close(self, code: int, reason: str) -> None:
        """Say goodbye."""


class WebSocket:
    """One connection, seen from the server.

    Attributes:
        path: the path that the client asked for.
        query: the text after the question mark.
        headers: of the handshake, names in lower case.
    """

    def __init__(self, request: HttpRequest, frames: WebSocketFrames) -> None:
        self.path = request.path
        self.query = request.query
        self.headers = request.headers
        self._frames = frames
        self._phase: Literal["asked", "open", "over"] = "asked"
        self._over = WebSocketClosed(ABNORMAL)

    async def accept(self) -> None:
        """Complete the handshake.

        Raises:
            InvalidStateError: if it has been accepted or refused before.
        """
        self._decide()
        self._phase = "open"
        await self._deliver(self._frames.accept())

    async def refuse(self, status: int, text: str = "") -> None:
        """Answer the handshake with an HTTP status instead."""
        self._decide()
        self._phase = "over"
        await self._deliver(self._frames.refuse(status, text))

    def _decide(self) -> None:
        if self._phase != "asked":
            raise InvalidStateError(
                f"the WebSocket handshake for {self.path} has been answered",
                expected="one accept or one refuse",
                seen=f"the connection is {self._phase}",
            )

    async def receive(self) -> str | bytes:
        """The next message: text or bytes.

        Raises:
            WebSocketClosed: when the connection is over.
        """
        self._need_open()
        message = await self._frames.receive()
        if isinstance(message, WebSocketClosed):
            raise self._end(message)
        return message

    async def send(self, data: str | bytes) -> None:
        """Send one message.

        Raises:
            WebSocketClosed: when the connection is over.
        """
        self._need_open()
        await self._deliver(self._frames.send(data))

    async def ping(self) -> None:
        """Wait until the peer has read everything that was sent before: it answers a ping when it comes to it.

        Raises:
            WebSocketClosed: when the connection is over, or ends meanwhile.
        """
        self._need_open()
        await self._deliver(self._frames.ping())

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close with a code; harmless when the connection is over."""
        if self._phase == "open":
            self._end(WebSocketClosed(code, reason))
            with contextlib.suppress(WebSocketClosed):
                await self._deliver(self._frames.close(code, reason))

    def _need_open(self) -> None:
        if self._phase == "over":
            raise self._over
        if self._phase == "asked":
            raise InvalidStateError(
                "the WebSocket handshake has not been answered", hint="await accept() first"
            )

    async def _deliver(self, step: Awaitable[None]) -> None:
        try:
            await step
        except ConnectionError:
            raise self._end(WebSocketClosed(ABNORMAL)) from None

    def _end(self, how: WebSocketClosed) -> WebSocketClosed:
        self._phase = "over"
        self._over = how
        return how


WebSocketHandler = Callable[[WebSocket], Awaitable[None]]


async def serve_websocket(
    handler: WebSocketHandler, websocket: WebSocket, failed: Callable[[BaseException], None]
) -> None:
    """Serve one connection.

    Args:
        handler: what to do with it.
        websocket: the connection, whose handshake is not answered.
        failed: told when the handler raises; the client then sees code 1011.
    """
    try:
        await handler(websocket)
    except (WebSocketClosed, asyncio.CancelledError):
        return
    except Exception as error:  # noqa: BLE001  (a bug in a handler is on record and ends its connection only)
        failed(error)
        await websocket.close(FAILED, f"{type(error).__name__} in the server")
