"""WebSocket connections: what a handler of the server gets instead of uvicorn's messages.

How it works. uvicorn speaks the protocol: handshake, frames, pings, the closing handshake. It calls our ASGI
function once per connection, and `serve_websocket` makes a `WebSocket` of it for the handler. The handler
accepts or refuses, receives and sends until one side closes. It need not notice the end: `receive` and `send`
raise `WebSocketClosed` then, and the server takes that for a normal return.

A handler that returns without closing cuts the connection: the client sees it end without a closing frame, as
when a network fails. That is on purpose; `close` is there for the other way.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

from soundstage.errors import InvalidStateError

PING: Final = "soundstage.ping"  # see `_frames`, which is loaded by servers only

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


class WebSocket:
    """One connection, seen from the server.

    Attributes:
        path: the path that the client asked for.
        query: the text after the question mark.
        headers: of the handshake, names in lower case.
    """

    def __init__(
        self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self._receive = receive
        self._send = send
        self._phase: Literal["asked", "open", "over"] = "asked"
        self._over = WebSocketClosed(ABNORMAL)

    async def accept(self) -> None:
        """Complete the handshake.

        Raises:
            InvalidStateError: if it has been accepted or refused before.
        """
        self._decide()
        self._phase = "open"
        await self._deliver({"type": "websocket.accept"})

    async def refuse(self, status: int, text: str = "") -> None:
        """Answer the handshake with an HTTP status instead."""
        self._decide()
        self._phase = "over"
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await self._deliver({"type": "websocket.http.response.start", "status": status, "headers": headers})
        await self._deliver({"type": "websocket.http.response.body", "body": text.encode()})

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
        message = await self._receive()
        if message["type"] == "websocket.receive":
            text: str | None = message.get("text")
            return text if text is not None else bytes(message["bytes"])
        raise self._end(message.get("code", ABNORMAL), message.get("reason", ""))

    async def send(self, data: str | bytes) -> None:
        """Send one message.

        Raises:
            WebSocketClosed: when the connection is over.
        """
        self._need_open()
        key = "text" if isinstance(data, str) else "bytes"
        await self._deliver({"type": "websocket.send", key: data})

    async def ping(self) -> None:
        """Wait until the peer has read everything that was sent before: it answers a ping when it comes to it.

        Raises:
            WebSocketClosed: when the connection is over, or ends meanwhile.
        """
        self._need_open()
        await self._deliver({"type": PING})

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close with a code; harmless when the connection is over."""
        if self._phase == "open":
            self._end(code, reason)
            with contextlib.suppress(WebSocketClosed):
                await self._deliver({"type": "websocket.close", "code": code, "reason": reason})

    def _need_open(self) -> None:
        if self._phase == "over":
            raise self._over
        if self._phase == "asked":
            raise InvalidStateError(
                "the WebSocket handshake has not been answered", hint="await accept() first"
            )

    async def _deliver(self, message: dict[str, Any]) -> None:
        try:
            await self._send(message)
        except OSError:  # uvicorn's ClientDisconnected is one
            raise self._end(ABNORMAL, "") from None

    def _end(self, code: int, reason: str | None) -> WebSocketClosed:
        self._phase = "over"
        self._over = WebSocketClosed(code, reason or "")
        return self._over


WebSocketHandler = Callable[[WebSocket], Awaitable[None]]


async def serve_websocket(
    handler: WebSocketHandler,
    scope: Any,
    receive: Callable[[], Awaitable[Any]],
    send: Callable[[Any], Awaitable[None]],
    failed: Callable[[BaseException], None],
) -> None:
    """Serve one connection: what uvicorn calls for it.

    Args:
        handler: what to do with it.
        scope: uvicorn's description of the connection.
        receive: the next message from uvicorn.
        send: a message to uvicorn.
        failed: told when the handler raises; the client then sees code 1011.
    """
    await receive()  # the client's wish to connect
    websocket = WebSocket(scope, receive, send)
    try:
        await handler(websocket)
    except (WebSocketClosed, asyncio.CancelledError):
        return
    except Exception as error:  # noqa: BLE001  (a bug in a handler is on record and ends its connection only)
        failed(error)
        await websocket.close(FAILED, f"{type(error).__name__} in the server")
