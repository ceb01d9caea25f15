"""uvicorn's HTTP protocol, with limits for what a client sends, and without upgrades that nobody does.

A head is everything before the body. It may have `LARGEST_HEAD` bytes, counted from the second piece on that the system
hands over, and it has to be there some seconds after the connection was made or its first byte came: otherwise 431 or
408. The body has a time of its own from the end of the head on, however regularly its bytes drip. Between two requests
uvicorn's own limit holds. While an earlier answer of the connection is under way nothing is read from the client, so
its time begins again.

One timer serves both: `_wants` says what is open (nothing while an answer is made), and the timer is armed at the end
of a piece that leaves something open. A request that comes in one piece costs no timer. After a refusal our side is
closed, and what the client still sends is dropped for a moment, up to a limit: closing at once would reset the
connection, and the client would see that instead of the answer.

An upgrade that we do not do is ignored, as RFC 9110 (7.8) wants it: Java's client asks for `h2c` with every request.
The parser takes what follows such a head for another protocol, so the head is parsed a second time, by a new parser,
without the header that asks (`connection`; `upgrade` itself stays, for handlers that want to refuse a WebSocket).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Literal

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD: Final = 64 * 1024
LARGEST_REST: Final = 1024 * 1024  # of what comes after a refusal
LINGER: Final = 1.0  # seconds for a client to read a refusal and close


class HttpProtocol(HttpToolsProtocol):
    """One connection.

    Args:
        head_within: seconds for the head of a request.
        body_within: seconds for its body.
        refused: is told the path, the status and the reason, when a request that had begun is refused here.
        more: what uvicorn gives.
    """

    def __init__(
        self, *, head_within: float, body_within: float, refused: Callable[[str, int, str], None], **more: Any
    ) -> None:
        super().__init__(**more)
        self._within = {"head": head_within, "body": body_within}
        self._refused = refused
        self._timer: asyncio.TimerHandle | None = None
        self._timed: Literal["", "head", "body"] = ""  # what the timer is for
        self._wants: Literal["", "head", "body"] = "head"  # what is open
        self._begun = 0  # heads
        self._size = 0  # of the open head
        self._ignored = False  # whether the open head asks for an upgrade that is ignored
        self._lingers = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._lingers:
            self._size += len(data)
            if self._size > LARGEST_REST:
                self.transport.close()
            return
        self._unset_keepalive_if_required()
        begun = self._begun
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
        except httptools.HttpParserUpgrade as upgrade:
            self._disarm()
            if self._should_upgrade():
                self.handle_websocket_upgrade()
            else:
                self._go_on(data[upgrade.args[0] :])
        else:
            self._check_head(len(data) if begun == self._begun else 0)

    def _check_head(self, more: int) -> None:
        if self._wants == "head":
            self._size += more
            if self._size > LARGEST_HEAD:
                text = f"a head has at most {LARGEST_HEAD} bytes"
                self._refuse(431, b"Request Header Fields Too Large", text)
                return
        if self._wants != self._timed or not self._wants:
            self._arm()

    def _go_on(self, rest: bytes) -> None:
        """Parse the head again, without the header that asks for an upgrade, and what follows it."""
        method = str(self.scope["method"]).encode()
        lines = [b"%s %s HTTP/1.1" % (method, self.url)]
        lines += [b"%s: %s" % header for header in self.headers if header[0].lower() != b"connection"]
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(b"\r\n".join([*lines, b"", b""]) + rest)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun += 1
        self._size = 0
        self._wants = "head"

    def on_headers_complete(self) -> None:
        self._wants = "body"
        method = self.parser.get_method()
        self._ignored = self.parser.should_upgrade() and not self._should_upgrade() and method != b"CONNECT"
        if self._ignored:
            self.scope["method"] = method.decode("ascii")
        else:
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._wants = ""
        if not self._ignored:
            super().on_message_complete()

    def _arm(self) -> None:
        self._disarm()
        if self._wants:
            self._timed = self._wants
            self._timer = self.loop.call_later(self._within[self._wants], self._too_late)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._timed = None, ""

    def _too_late(self) -> None:
        self._timer, self._timed = None, ""
        if self.transport.is_closing():
            return
        if self._is_answering():
            self._arm()
        elif self._wants == "head":
            text = f"the head of a request is complete within {self._within['head']:g} seconds"
            self._refuse(408, b"Request Timeout", text)
        else:
            text = f"the body of a request is complete within {self._within['body']:g} seconds"
            self._refuse(408, b"Request Timeout", text)

    def _is_answering(self) -> bool:
        """Whether the client waits for the answer to an earlier request than the open one."""
        if self._wants == "body":
            return bool(self.pipeline)
        return self.cycle is not None and not self.cycle.response_complete

    def _refuse(self, status: int, reason: bytes, text: str) -> None:
        self._disarm()
        head = [b"HTTP/1.1 %d %s" % (status, reason), b"content-type: text/plain; charset=utf-8"]
        head += [b"connection: close", b"content-length: %d" % len(text)]
        self.transport.write(b"\r\n".join([*head, b"", text.encode()]))
        self.transport.write_eof()
        self._lingers = True
        self._size = 0
        self._timer = self.loop.call_later(LINGER, self.transport.close)
        if self._begun:
            self._refused(self.url.decode("latin-1"), status, text)
