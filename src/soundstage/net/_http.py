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

A refusal never comes between the pieces of an answer. Behind requests whose answers are under way, those are finished,
and then the connection is closed: what is left of the order of answers is no place for one more. uvicorn tells the
newest request of a connection when the client has gone; here the one whose answer is made is told (`_active`), which
is another where requests come one behind the other.

A WebSocket is opened by what RFC 6455 (4.1) asks for: GET, HTTP/1.1, no body. What comes right behind the head, in one
piece with it, belongs to the WebSocket and is handed over. Another upgrade is ignored, as RFC 9110 (7.8) wants it
(Java's client asks for `h2c` with every request), and so is one behind an answer that is under way. The parser takes
what follows such a head for another protocol, so the head is parsed a second time, by a new parser, without the word
that asks (in `connection`; `upgrade` itself stays, for handlers that want to refuse a WebSocket).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Literal

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

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
        self._opens = False  # whether the open head is the handshake of a WebSocket
        self._ignored = False  # whether it asks for an upgrade that is ignored
        self._active: RequestResponseCycle | None = None  # the request whose answer is made
        self._lingers = False  # after a refusal
        self._deaf = False  # after a refusal behind answers that are under way

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        if self._active is not None and not self._active.response_complete:
            self._active.disconnected = True
            self._active.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._lingers:
            self._size += len(data)
            if self._size > LARGEST_REST:
                self.transport.close()
            return
        if self._deaf:
            return
        self._unset_keepalive_if_required()
        begun = self._begun
        size = len(data)
        while data:
            data = self._parse(data)
        if self._reads():
            self._check_head(size if begun == self._begun else 0)

    def _parse(self, data: bytes) -> bytes:
        """Parse one piece, and return what is left for a new parser."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
            if not self._opens:
                return self._head_again() + rest
            self._disarm()
            self.handle_websocket_upgrade()
            if rest:
                self.transport.get_protocol().data_received(rest)  # type: ignore[attr-defined]
        except httptools.HttpParserError as error:
            self._refuse(400, b"Bad Request", f"this is no HTTP request: {error.__context__ or error}")
        return b""

    def _reads(self) -> bool:
        """Whether more is read here: neither refused nor handed over."""
        return not self._lingers and not self._deaf and self.transport.get_protocol() is self

    def _check_head(self, more: int) -> None:
        if self._wants == "head":
            self._size += more
            if self._size > LARGEST_HEAD:
                text = f"a head has at most {LARGEST_HEAD} bytes"
                self._refuse(431, b"Request Header Fields Too Large", text)
                return
        if self._wants != self._timed or not self._wants:
            self._arm()

    def _head_again(self) -> bytes:
        """The head without what asks for an upgrade, for a new parser."""
        method, version = str(self.scope["method"]).encode(), self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (method, self.url, version)]
        lines += [b"%s: %s" % (name, _without_upgrade(name, value)) for name, value in self.headers]
        self.parser = httptools.HttpRequestParser(self)
        return b"\r\n".join([*lines, b"", b""])

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun += 1
        self._size = 0
        self._wants = "head"

    def on_headers_complete(self) -> None:
        method, asks = self.parser.get_method(), self.parser.should_upgrade()
        if method == b"CONNECT":
            raise ValueError("there is no tunnel here")
        if not self.url.startswith(b"/") and httptools.parse_url(self.url).path is None:
            raise ValueError("its target has no path")
        self._opens = asks and method == b"GET" and self._opens_websocket()
        self._ignored = asks and not self._opens
        if self._ignored:
            self.scope["method"] = method.decode("ascii")
        else:
            super().on_headers_complete()
        self._wants = "body"

    def _opens_websocket(self) -> bool:
        """Whether this head is a handshake that we can serve now."""
        named = {
            name: value for name, value in self.headers if name in (b"content-length", b"transfer-encoding")
        }
        asked = [token for name, value in self.headers if name == b"upgrade" for token in _tokens(value)]
        return (
            self._should_upgrade_to_ws()
            and asked == [b"websocket"]
            and self.parser.get_http_version() == "1.1"
            and not named.get(b"transfer-encoding")
            and not named.get(b"content-length", b"").strip(b"0")
            and not self._is_answering()
        )

    def _should_upgrade(self) -> bool:
        return self._opens

    def on_message_complete(self) -> None:
        self._wants = ""
        if not self._ignored:
            super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._active = cycle
        super()._start_asgi_task(cycle, app)

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
        return self._active is not None and not self._active.response_complete and not self._active.more_body

    def _refuse(self, status: int, reason: bytes, text: str) -> None:
        self._disarm()
        if self.transport.is_closing():
            return
        if self._begun:
            self._refused(self.url.decode("latin-1"), status, text)
        if self._is_answering():
            self._answer_and_close()
            return
        head = [b"HTTP/1.1 %d %s" % (status, reason), b"content-type: text/plain; charset=utf-8"]
        head += [b"connection: close", b"content-length: %d" % len(text)]
        self.transport.write(b"\r\n".join([*head, b"", text.encode()]))
        self.transport.write_eof()
        self._lingers = True
        self._size = 0
        self._timer = self.loop.call_later(LINGER, self.transport.close)

    def _answer_and_close(self) -> None:
        """Whole requests before the one that is refused get their answers; there is no place for one to this."""
        self._deaf = True
        if self.pipeline and self.pipeline[0][0].more_body:
            self.pipeline.popleft()
        last = self.pipeline[0][0] if self.pipeline else self._active
        assert last is not None  # there is an answer under way
        last.keep_alive = False
        self.cycle = last


def _tokens(value: bytes) -> list[bytes]:
    return [token for piece in value.lower().split(b",") if (token := piece.strip())]


def _without_upgrade(name: bytes, value: bytes) -> bytes:
    return (
        b", ".join(token for token in _tokens(value) if token != b"upgrade")
        if name == b"connection"
        else value
    )
