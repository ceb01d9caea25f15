"""HTTP/1.1 on one connection: the bytes of a client in, requests out, in whatever pieces the bytes come.

`httptools` parses. A request goes to the handler when it is there as a whole. While an answer is under way, what the
client sends is held as it came, and beyond a limit it is not read; requests that came in one piece with the one that
is answered wait in a queue. So answers go out in the order of requests, and what is broken behind them is refused when
they are complete: a refusal never comes between the pieces of an answer, and nothing depends on how the bytes were cut.

A head is everything before the body. It may have `LARGEST_HEAD` bytes, counted from the second piece on that the
system hands over, and it has to be there some seconds after the connection was made or its first byte came: otherwise
431 or 408. The body has a time of its own from the end of the head on, however regularly its bytes drip. Between two
requests the limit is `IDLE_WITHIN`. What a client could not send because we did not read is not its fault: its time
begins again.

`_wants` says what is open (nothing while an answer is made), and `_due` when it is late. There is one timer for all,
and it is not set anew with each request: when it rings too early, it is set to what is left. After a refusal our side
is closed, and what the client still sends is dropped for a moment, up to a limit: closing at once would reset the
connection, and the client would see that instead of the answer.

A WebSocket is opened by what RFC 6455 (4.1) asks for: GET, HTTP/1.1, no body. What comes right behind the head, in
one piece with it, belongs to the WebSocket and is handed over; behind an answer that is under way, both wait. Another
upgrade is ignored, as RFC 9110 (7.8) wants it (Java's client asks for `h2c` with every request). The parser takes what
follows such a head for another protocol, so the head is parsed a second time, by a new parser, without the word that
asks (in `connection`; `upgrade` itself stays, for handlers that want to refuse a WebSocket).
"""

from __future__ import annotations

import asyncio
import functools
import urllib.parse
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, Literal, NamedTuple

import httptools

from soundstage.net._arrivals import Connections, Handlers
from soundstage.net._exchange import Exchange, HttpRequest, plain_answer

MAX_BODY: Final = 32 * 1024 * 1024
LARGEST_HEAD: Final = 64 * 1024
LARGEST_REST: Final = 1024 * 1024  # of what comes after a refusal
MOST_HELD: Final = 64 * 1024  # bytes that come while an answer is under way
LINGER: Final = 1.0  # seconds for a client to read a refusal and close
IDLE_WITHIN: Final = 5.0  # seconds for the first byte of the next request
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
Open = Literal["", "next", "head", "body"]


class HttpService(NamedTuple):
    """The parts that all connections of a server share.

    Attributes:
        answer: makes the answer to one request.
        refused: is told the path, the status and the reason, when a request that had begun is refused here.
        websocket: makes what serves a connection from a handshake on; none where there are no WebSockets.
        within: seconds for what is open.
        connections: those that are there.
        handlers: the tasks that answer.
    """

    answer: Callable[[HttpRequest, Exchange], Coroutine[Any, Any, None]]
    refused: Callable[[str, int, str], None]
    websocket: Callable[[HttpRequest], Any] | None
    within: dict[str, float]
    connections: Connections
    handlers: Handlers


class HttpProtocol(asyncio.Protocol):
    """One connection."""

    transport: Any

    def __init__(self, service: HttpService) -> None:
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._parser: Any = None
        self._url = b""
        self._fields: list[tuple[bytes, bytes]] = []
        self._request = HttpRequest("", "", "", {}, b"")  # the open one, without its body
        self._pieces: list[bytes] = []  # of its body
        self._length = 0  # of that
        self._keep = True
        self._asks = ""  # for another protocol: "websocket", or "other" for what is ignored
        self._awaits_leave = False  # to send the body
        self._begun = 0  # heads
        self._size = 0  # of the open head
        self._wants: Open = ""
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._active: Exchange | None = None  # whose answer is made
        self._queue: deque[tuple[HttpRequest, Exchange]] = deque()
        self._held: deque[bytes] = deque()
        self._held_size = 0
        self._refusal: bytes | None = None
        self._closing = False  # the server stops
        self._deaf = False  # nothing that comes is a request any more
        self.unwritable = False
        self._writable: asyncio.Event | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._service.connections.add(self)
        self._new_parser()
        self._want("head")

    def _new_parser(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        # what comes behind a request after which the connection closes is dropped here
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._service.connections.discard(self)
        self._deaf = True
        self._queue.clear()
        self._held.clear()
        self._want("")
        if self._timer is not None:
            self._timer.cancel()
        self.resume_writing()
        if self._active is not None:
            self._active.client_gone()
        self._parser = None

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self.unwritable = True

    def resume_writing(self) -> None:
        """It has read enough."""
        self.unwritable = False
        if self._writable is not None:
            self._writable.set()
            self._writable = None

    async def drain(self) -> None:
        """Wait until the client has read enough, or is gone."""
        while self.unwritable:
            if self._writable is None:
                self._writable = asyncio.Event()
            await self._writable.wait()

    # --- bytes in

    def data_received(self, data: bytes) -> None:
        if self._active is not None:
            self._hold(data)
        elif not self._deaf:
            self._take(data)
        elif self._refusal is not None:
            self._size += len(data)
            if self._size > LARGEST_REST:
                self.transport.close()

    def _hold(self, data: bytes) -> None:
        if self._deaf:
            return
        self._held.append(data)
        self._held_size += len(data)
        if self._held_size > MOST_HELD:
            self.transport.pause_reading()

    def _take(self, data: bytes) -> None:
        begun, size = self._begun, len(data)
        if self._wants == "next":
            self._want("head")
        while data:
            data = self._parse(data)
        if self._deaf:
            return
        if self._wants == "head" and begun == self._begun:
            self._size += size
            if self._size > LARGEST_HEAD:
                text = f"a head has at most {LARGEST_HEAD} bytes"
                self._refuse(431, text)
        elif self._awaits_leave and self._wants == "body" and self._active is None:
            self._awaits_leave = False
            if not self._length:
                self.transport.write(CONTINUE)

    def _parse(self, data: bytes) -> bytes:
        """Parse one piece, and return what is left for a new parser."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
            if self._deaf:
                return b""
            if self._asks == "websocket":
                self._open_websocket(rest)
                return b""
            return self._head_again(_without_upgrade) + rest
        except httptools.HttpParserError as error:
            if not self._deaf:
                self._refuse(400, f"this is no HTTP request: {error.__context__ or error}")
        return b""

    def _head_again(self, changed: Callable[[bytes, bytes], bytes] | None = None) -> bytes:
        """The head as it came, but for what is changed, for a new parser."""
        version = self._parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self._parser.get_method(), self._url, version)]
        fields = (
            self._fields
            if changed is None
            else [(name, changed(name.lower(), value)) for name, value in self._fields]
        )
        lines += [b"%b: %b" % field for field in fields]
        self._new_parser()
        return b"\r\n".join([*lines, b"", b""])

    def on_message_begin(self) -> None:
        """A head begins."""
        self._url = b""
        self._fields = []
        self._begun += 1
        self._size = 0
        self._wants = "head"

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or one behind the body, of which no handler hears."""
        self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        """The head is there."""
        parser = self._parser
        method = parser.get_method()
        if method == b"CONNECT":
            raise ValueError("there is no tunnel here")
        path, query = _target(self._url)
        headers = {_name(name): value.decode("latin-1") for name, value in self._fields}
        self._request = HttpRequest(method.decode("ascii"), path, query, headers, b"")
        self._pieces = []
        self._length = 0
        self._asks = self._upgrade() if parser.should_upgrade() else ""
        old = parser.get_http_version() == "1.0"
        self._keep = not old and parser.should_keep_alive()
        self._awaits_leave = not old and headers.get("expect", "").lower() == "100-continue"
        if not self._asks:
            self._want("body")

    def _upgrade(self) -> str:
        """Whether the head is the handshake of a WebSocket, or asks for what is not done here."""
        asked = [
            token for name, value in self._fields if name.lower() == b"upgrade" for token in _tokens(value)
        ]
        headers = self._request.headers
        handshake = (
            self._service.websocket is not None
            and self._request.method == "GET"
            and asked == [b"websocket"]
            and self._parser.get_http_version() == "1.1"
            and not headers.get("transfer-encoding")
            and not headers.get("content-length", "").strip("0")
        )
        return "websocket" if handshake else "other"

    def on_body(self, data: bytes) -> None:
        """A piece of the body; what is beyond the limit is dropped."""
        if self._length <= MAX_BODY:
            self._pieces.append(data)
            self._length += len(data)

    def on_message_complete(self) -> None:
        """The request is there."""
        if self._asks or self._deaf:
            return
        self._wants = ""
        body = b"".join(self._pieces) if len(self._pieces) != 1 else self._pieces[0]
        self._pieces = []
        method, path, query, headers, _, _ = self._request
        request = HttpRequest(method, path, query, headers, body)
        if len(body) > MAX_BODY:
            request = HttpRequest(method, path, query, headers, body[:MAX_BODY], too_large=True)
        old = self._parser.get_http_version() == "1.0"
        exchange = Exchange(self, head_only=method == "HEAD", keep=self._keep, old=old)
        self._deaf = not self._keep
        if self._active is None:
            self._begin(request, exchange)
        else:
            self._queue.append((request, exchange))

    def _open_websocket(self, rest: bytes) -> None:
        head = self._head_again()
        if self._active is not None:  # both wait
            self._wants = ""
            self._hold(head + rest)
            return
        assert self._service.websocket is not None
        self._deaf = True
        self._want("")
        if self._timer is not None:
            self._timer.cancel()
        protocol = self._service.websocket(self._request)
        self.transport.set_protocol(protocol)
        self._service.connections.add(protocol)
        self._service.connections.discard(self)
        rest += b"".join(self._held)
        self._held.clear()
        self._held_size = 0
        protocol.begin(self.transport, head, rest)

    # --- answers

    def _begin(self, request: HttpRequest, exchange: Exchange) -> None:
        self._active = exchange
        self._service.handlers.begin(self._service.answer(request, exchange), self)

    def stays(self) -> bool:
        """Whether the connection is kept behind the answer that is made, if nobody stops the server meanwhile."""
        return not self._closing or bool(self._queue)

    def answered(self, *, keep: bool) -> None:
        """The answer is complete: on with the next request, or with what came meanwhile."""
        self._active = None
        if self.transport.is_closing():
            return
        if not keep:
            self._deaf = True
            self._queue.clear()
            self.transport.close()
        elif self._queue:
            self._begin(*self._queue.popleft())
        elif self._refusal is not None:
            self._send_refusal(self._refusal)
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Take what has been held, and time what is open."""
        self._want(self._wants or "next")
        if self._awaits_leave and self._wants == "body" and not self._held:
            self._awaits_leave = False
            self.transport.write(CONTINUE)
        if self._held_size > MOST_HELD:
            self.transport.resume_reading()
        while self._held and self._active is None and not self._deaf:
            data = self._held.popleft()
            self._held_size -= len(data)
            self._take(data)
        if self._held_size > MOST_HELD:
            self.transport.pause_reading()
        if self._closing and self._is_idle():
            self.transport.close()

    def _is_idle(self) -> bool:
        return self._active is None and self._wants != "body" and self._refusal is None

    def shutdown(self) -> None:
        """The server stops: close, behind the answers to what has been asked."""
        self._closing = True
        if self._is_idle():
            self.transport.close()

    # --- limits

    def _want(self, what: Open) -> None:
        """Give the client its time for what is open."""
        self._wants = what
        if not what or self._active is not None:
            return
        self._due = self._loop.time() + self._service.within[what]
        if self._timer is not None and self._timer.when() > self._due:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self._loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._deaf or not self._wants or self._active is not None or self.transport.is_closing():
            return
        if self._loop.time() < self._due:
            self._timer = self._loop.call_at(self._due, self._ring)
        elif self._wants == "next":
            self.transport.close()
        else:
            seconds = self._service.within[self._wants]
            self._refuse(408, f"the {self._wants} of a request is complete within {seconds:g} seconds")

    def _refuse(self, status: int, text: str) -> None:
        """Refuse what is open, behind the answers that are under way."""
        self._deaf = True
        if self.transport.is_closing():
            return
        if self._begun:
            self._service.refused(self._url.decode("latin-1"), status, text)
        self._refusal = plain_answer(status, text)
        if self._active is None:
            self._send_refusal(self._refusal)

    def _send_refusal(self, refusal: bytes) -> None:
        self._size = 0
        self.transport.write(refusal)
        self.transport.write_eof()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(LINGER, self.transport.close)


@functools.lru_cache(maxsize=128)
def _target(url: bytes) -> tuple[str, str]:
    """The path and the query of a target."""
    parsed = httptools.parse_url(url)
    if parsed.path is None:
        raise ValueError("its target has no path")
    return urllib.parse.unquote(parsed.path.decode("ascii")), (parsed.query or b"").decode("latin-1")


@functools.lru_cache(maxsize=512)
def _name(name: bytes) -> str:
    return name.lower().decode("latin-1")


def _tokens(value: bytes) -> list[bytes]:
    return [token for piece in value.lower().split(b",") if (token := piece.strip())]


def _without_upgrade(name: bytes, value: bytes) -> bytes:
    kept = (token for token in _tokens(value) if token != b"upgrade")
    return b", ".join(kept) if name == b"connection" else value
