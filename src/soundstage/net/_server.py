"""The HTTP server: uvicorn without its process management, as a daemon.

How it works. uvicorn parses HTTP and calls our ASGI function once per request; that reads the whole body (up
to a limit) and hands an `HttpRequest` and an `Exchange` to the handler. The handler answers in one piece
(`reply`) or as a stream (`begin`, `write`, `end`), or breaks the connection off (`cut`).

Streams are written in batches that nobody can see: `write` only collects, and what has been collected goes
out when the producer has to wait, or is done. So a reply that is there at once costs one system call, and a
slow one is sent as it comes. `Exchange.each` does this: it runs the producer up to its next real suspension
and flushes there.

A client that goes away is noticed while the producer waits: a watcher, started at the first suspension,
cancels the handler's task. Nothing is left behind, and the server goes on.

Stopping closes the listening socket and idle connections. Requests in flight get `grace` seconds in which they
are finished and clients read what was sent; then what is left is cancelled and broken off.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any, Final, NamedTuple, TypeVar

from soundstage.errors import EnvironmentProblem, InvalidStateError, ScriptError
from soundstage.journal import Journal, RequestRefused
from soundstage.lifecycle import Daemon, before_exits
from soundstage.net._arrivals import Handlers
from soundstage.net._listeners import Listener, announce
from soundstage.net._websocket import WebSocketHandler, serve_websocket

LOOPBACK: Final = "127.0.0.1"
MAX_BODY: Final = 32 * 1024 * 1024
HEAD_WITHIN: Final = 30.0  # seconds
BODY_WITHIN: Final = 300.0  # seconds
MOMENT: Final = 1.0  # seconds for a handler to end once it is cancelled
FAILED: Final = {"content-type": "text/plain; charset=utf-8", "x-should-retry": "false"}
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
T = TypeVar("T")


class HttpRequest(NamedTuple):
    """One request. Header names are in lower case; `too_large` means that `body` was cut off at the limit."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    too_large: bool = False


class Exchange:
    """The way back to one client."""

    __slots__ = ("_buffer", "_receive", "_send", "_shape", "_started", "_watcher", "complete")

    def __init__(self, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        self._receive = receive
        self._send = send
        self._buffer: list[bytes] = []
        self._started = False
        self._shape: Callable[[bytes], list[bytes]] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self.complete = False

    @property
    def started(self) -> bool:
        """Whether the status line has been sent."""
        return self._started

    async def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """Answer in one piece; see `begin`."""
        encoded = _encoded({**headers, "content-length": str(len(body))})
        self._started = True
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})
        self._unwatch()
        self.complete = True
        await self._send({"type": "http.response.body", "body": body})

    async def begin(self, status: int, headers: dict[str, str]) -> None:
        """Send status and headers; `write` and `end` follow.

        Raises:
            ScriptError: for a header that HTTP does not allow; nothing is sent then.
        """
        encoded = _encoded(headers)
        self._started = True
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    def write(self, data: bytes) -> None:
        """Add to the stream. It is sent when the producer waits, or at the end."""
        if data:
            self._buffer.append(data)

    def shape(self, pieces: Callable[[bytes], list[bytes]] | None) -> None:
        """Hold what is written until the end, and send then what `pieces` makes of it, each in a write of its own."""
        self._shape = pieces

    async def flush(self) -> None:
        """Send what has been written."""
        if self._buffer and self._started and self._shape is None:
            data, self._buffer = b"".join(self._buffer), []
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """The answer is complete."""
        await self._send_shaped()
        data, self._buffer = b"".join(self._buffer), []
        self._unwatch()
        self.complete = True
        await self._send({"type": "http.response.body", "body": data})

    async def _send_shaped(self) -> None:
        if self._shape is not None:
            pieces, self._buffer, self._shape = self._shape(b"".join(self._buffer)), [], None
            for piece in pieces:
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def cut(self) -> None:
        """Break off: send what has been written, then close the connection without an end."""
        if not self._started:
            await self.begin(200, {})
        await self._send_shaped()
        await self.flush()
        self._unwatch()

    async def drop(self) -> None:
        """Close the connection without any answer; what has been written is lost."""
        self._unwatch()
        self._receive.__self__.transport.abort()  # type: ignore[attr-defined]  # of uvicorn's cycle
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def each(self, stream: AsyncIterator[T]) -> AsyncIterator[T]:
        """The items of `stream`; what has been written is flushed whenever the stream has to wait.

        Raises:
            asyncio.CancelledError: when the client goes away meanwhile.
        """
        return _Steps(stream, self._suspended)

    async def wait(self, step: Awaitable[T]) -> T:
        """Await `step` and return its result; like `each`, for a single step."""
        result: T = await _Step(step, self._suspended)
        return result

    async def _suspended(self) -> None:
        if self._watcher is None:
            task = asyncio.current_task()
            self._watcher = asyncio.create_task(self._watch(task), name="watch for a client that goes away")
        await self.flush()

    async def _watch(self, handler: asyncio.Task[Any] | None) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if handler is not None and not self.complete:
            handler.cancel("the client has gone")

    def _unwatch(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as they are sent. Of names that differ in case only the last one counts."""
    encoded: dict[bytes, bytes] = {}
    for name, value in headers.items():
        if not value.isprintable() and _CONTROL.search(value):
            raise ScriptError(f"the value of the header {name!r} holds a control character", seen=repr(value))
        encoded[_header_name(name)] = value.encode("latin-1", "replace")
    return list(encoded.items())


@functools.lru_cache(maxsize=256)
def _header_name(name: str) -> bytes:
    if not _TOKEN.fullmatch(name):
        raise ScriptError("this is not the name of a header", seen=repr(name))
    return name.lower().encode()


class _Step:
    """Awaits one step of a producer, and calls `suspended` once if that step really has to wait."""

    __slots__ = ("_step", "_suspended")

    def __init__(self, step: Awaitable[Any], suspended: Callable[[], Awaitable[None]]) -> None:
        self._step = step
        self._suspended = suspended

    def __await__(self) -> Generator[Any, Any, Any]:
        step = self._step.__await__()
        try:
            waiting = step.send(None)
        except StopIteration as done:
            return done.value
        try:
            yield from self._suspended().__await__()
        except BaseException as error:  # noqa: BLE001  (handed to the step, as below)
            return (yield from _throw(step, error))
        return (yield from _resume(step, waiting))


class _Steps(AsyncIterator[T]):
    """The items of a stream, each as a `_Step`; no generator, since one more costs on every chunk."""

    __slots__ = ("_next", "_suspended")

    def __init__(self, stream: AsyncIterator[T], suspended: Callable[[], Awaitable[None]]) -> None:
        self._next = stream.__anext__
        self._suspended = suspended

    def __anext__(self) -> Awaitable[T]:
        return _Step(self._next(), self._suspended)


def _resume(step: Generator[Any, Any, Any], waiting: Any) -> Generator[Any, Any, Any]:
    """Go on with a generator that has already yielded `waiting`."""
    while True:
        try:
            sent = yield waiting
        except BaseException as error:  # noqa: BLE001  (handed to the step, as `yield from` would)
            return (yield from _throw(step, error))
        try:
            waiting = step.send(sent)
        except StopIteration as done:
            return done.value


def _throw(step: Generator[Any, Any, Any], error: BaseException) -> Generator[Any, Any, Any]:
    try:
        waiting = step.throw(error)
    except StopIteration as done:
        return done.value
    return (yield from _resume(step, waiting))


class _Connections(set[Any]):
    """The open connections; uvicorn adds and discards them."""

    def __init__(self) -> None:
        super().__init__()
        self._empty = asyncio.Event()

    def discard(self, connection: Any) -> None:
        super().discard(connection)
        if not self:
            self._empty.set()

    def remove(self, connection: Any) -> None:
        """Take a connection out; a WebSocket calls this, an HTTP connection `discard`."""
        self.discard(connection)

    async def gone(self) -> None:
        """Wait until there is none."""
        if self:
            self._empty.clear()
            await self._empty.wait()


Handler = Callable[[HttpRequest, Exchange], Awaitable[None]]


class HttpServer(Daemon):
    """A server on one port.

    Args:
        handler: answers requests.
        journal: where its status changes go.
        host: an address of this machine; loopback unless given.
        port: 0 picks a free one.
        grace: seconds for requests in flight to be finished and read when the server stops.
        name: how messages call it.
        websocket: serves WebSocket connections; without it they are refused.
        head_within: seconds in which a client has to send the head of a request; then 408.
        body_within: seconds in which it has to send the body, from the end of the head; then 408.

    Raises:
        EnvironmentProblem: from `start`, if the port is in use.
    """

    real_time = True

    def __init__(
        self,
        handler: Handler,
        journal: Journal,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        grace: float = 5.0,
        name: str = "server",
        websocket: WebSocketHandler | None = None,
        head_within: float = HEAD_WITHIN,
        body_within: float = BODY_WITHIN,
    ) -> None:
        super().__init__(name, journal)
        self._head_within = head_within
        self._body_within = body_within
        self._handler = handler
        self._websocket = websocket
        self._host = host
        self._port = port
        self._grace = grace
        self._uvicorn: Any = None
        self._socket: socket.socket | None = None
        self._listener: Listener | None = None
        self._handlers = Handlers()
        self._forget: Callable[[], None] | None = None

    @property
    def port(self) -> int:
        """The port it listens on."""
        if self._socket is None:
            raise InvalidStateError("the server has no port yet", hint="start it first")
        return self._port

    @property
    def url(self) -> str:
        """`http://host:port`."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}"

    async def _start(self) -> None:
        import uvicorn

        self._socket = _listen(self._host, self._port)
        self._port = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            http=functools.partial(  # type: ignore[arg-type]
                _http_protocol(),
                head_within=self._head_within,
                body_within=self._body_within,
                refused=self._refused,
            ),
            ws="none" if self._websocket is None else _websocket_protocol(),
            ws_per_message_deflate=False,
            ws_ping_interval=None,
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
        )
        config.load()
        self._uvicorn = uvicorn.Server(config)
        self._uvicorn.lifespan = config.lifespan_class(config)
        self._uvicorn.server_state.connections = _Connections()
        await self._uvicorn.startup(sockets=[self._socket])
        self._listener = announce(self.journal, self._host, self._port, self._serve_also)
        self._forget = before_exits(self.journal, self._take_in)

    async def _take_in(self) -> None:
        await self._handlers.take_in(self._listening, self._uvicorn.server_state.connections)

    def _listening(self) -> list[Any]:
        servers = [*self._uvicorn.servers, *(self._listener.servers if self._listener is not None else ())]
        return [sock for server in servers for sock in server.sockets]

    async def _serve_also(self, sock: socket.socket) -> asyncio.AbstractServer:
        """Serve a second socket as the first one, which uvicorn serves; its connections count as ours."""
        config, server = self._uvicorn.config, self._uvicorn
        protocol = functools.partial(
            config.http_protocol_class,
            config=config,
            server_state=server.server_state,
            app_state=server.lifespan.state,
        )
        return await asyncio.get_running_loop().create_server(protocol, sock=sock)

    async def _stop(self) -> None:
        state = self._uvicorn.server_state
        if self._forget is not None:
            self._forget()
        if self._listener is not None:
            self._listener.withdraw()
        for server in self._uvicorn.servers:
            server.close()
        for connection in list(state.connections):
            if (
                not connection.transport.is_closing()
            ):  # uvicorn would close a WebSocket a second time, and fail
                connection.shutdown()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._grace):
                    await state.connections.gone()
            await _cancel(set(state.tasks))
        finally:
            for connection in list(state.connections):
                connection.transport.abort()
            if self._socket is not None:
                self._socket.close()
        await state.connections.gone()

    def _refused(self, path: str, status: int, text: str) -> None:
        """On record: a request of which the handler never hears."""
        if not self.journal.closed:
            self.journal.append(
                RequestRefused(format="http", path=path, status=status, message=text), source=self.name
            )

    async def _app(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        self._handlers.begin(scope.get("client"))
        if scope["type"] == "websocket" and self._websocket is not None:
            await serve_websocket(self._websocket, scope, receive, send, self.report_failure)
            return
        request = await _read(scope, receive)
        if request is None:
            return
        exchange = Exchange(receive, send)
        try:
            await self._handler(request, exchange)
        except asyncio.CancelledError:
            exchange._unwatch()  # noqa: SLF001  (one protocol in two classes)
        except Exception as error:  # noqa: BLE001  (a bug in a handler is on record and ends its request only)
            exchange._unwatch()  # noqa: SLF001
            self.report_failure(error)
            if not exchange.started:
                text = f"Soundstage failed to answer: {type(error).__name__}: {error}"
                await exchange.reply(500, FAILED, text.encode())


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    """End handlers that are late. One that ignores it is left behind, without its connection."""
    for task in tasks:
        task.cancel("the server has stopped")
    if tasks:
        await asyncio.wait(tasks, timeout=MOMENT)


async def _read(scope: Any, receive: Callable[[], Awaitable[Any]]) -> HttpRequest | None:
    """The whole request, or None if the client left before it was sent."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        pieces = bytearray(body)
        while message.get("more_body", False):
            message = await receive()
            if len(pieces) <= MAX_BODY:
                pieces += message.get("body", b"")
        body = bytes(pieces)
    if message["type"] == "http.disconnect":
        return None
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    query = scope["query_string"].decode("latin-1")
    return HttpRequest(scope["method"], scope["path"], query, headers, body[:MAX_BODY], len(body) > MAX_BODY)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off Nagle's delay only for sockets that say they are TCP, and accepted ones say what this one does
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        busy = error.errno == errno.EADDRINUSE
        raise EnvironmentProblem(
            f"port {port} of {host} is in use" if busy else f"cannot listen on {host}:{port}",
            seen=error.strerror or str(error),
            hint="use --port 0 for a free port" if busy else "use 127.0.0.1, or an address of this machine",
        ) from None
    sock.settimeout(0)
    return sock


def _http_protocol() -> Any:
    """The class that speaks HTTP; uvicorn is loaded when a server starts."""
    from soundstage.net._http import HttpProtocol

    return HttpProtocol


def _websocket_protocol() -> Any:
    """The class that speaks WebSocket; its libraries are loaded for servers that need them only."""
    from soundstage.net._frames import WebSocketProtocol

    return WebSocketProtocol
