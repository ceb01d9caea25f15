"""uvicorn's HTTP protocol, with limits for the head of a request, and without upgrades that nobody does.

A head is everything before the body. It may have `LARGEST_HEAD` bytes, counted from the second piece on that the system
hands over, and it has to be there some seconds after the connection was made or its first byte came: otherwise 431 or
408, and the connection is closed. Between two requests uvicorn's own limit holds.

An upgrade that we do not do is ignored, as RFC 9110 (7.8) wants it: Java's client asks for `h2c` with every request.
The parser takes what follows such a head for another protocol, so the head is parsed a second time, by a new parser,
without the header that asks (`connection`; `upgrade` itself stays, for handlers that want to refuse a WebSocket).
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD: Final = 64 * 1024


class HttpProtocol(HttpToolsProtocol):
    """One connection.

    Args:
        head_within: seconds for the head of a request.
        more: what uvicorn gives.
    """

    def __init__(self, *, head_within: float, **more: Any) -> None:
        super().__init__(**more)
        self._head_within = head_within
        self._timer: asyncio.TimerHandle | None = None
        self._in_head = True
        self._begun = 0  # heads
        self._size = 0  # of the open head
        self._ignored = False  # whether the open head asks for an upgrade that is ignored

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._timer = self.loop.call_later(self._head_within, self._too_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
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
        if not self._in_head:
            self._disarm()
            return
        self._size += more
        if self._size > LARGEST_HEAD:
            self._refuse(b"431 Request Header Fields Too Large", f"a head has at most {LARGEST_HEAD} bytes")
        elif self._timer is None and self._begun:
            self._timer = self.loop.call_later(self._head_within, self._too_late)

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
        self._in_head = True

    def on_headers_complete(self) -> None:
        self._in_head = False
        method = self.parser.get_method()
        self._ignored = self.parser.should_upgrade() and not self._should_upgrade() and method != b"CONNECT"
        if self._ignored:
            self.scope["method"] = method.decode("ascii")
        else:
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        if not self._ignored:
            super().on_message_complete()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self._refuse(b"408 Request Timeout", f"a request begins within {self._head_within:g} seconds")

    def _refuse(self, status: bytes, text: str) -> None:
        self._disarm()
        head = [b"HTTP/1.1 " + status, b"content-type: text/plain; charset=utf-8", b"connection: close"]
        head.append(b"content-length: %d" % len(text))
        self.transport.write(b"\r\n".join([*head, b"", text.encode()]))
        self.transport.close()
