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

Stopping closes the listening socket, lets requests in flight finish for `grace` seconds, then cancels them.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any, Final, NamedTuple, TypeVar

from soundstage.errors import EnvironmentProblem, InvalidStateError
from soundstage.journal import Journal
from soundstage.lifecycle import Daemon

LOOPBACK: Final = "127.0.0.1"
MAX_BODY: Final = 32 * 1024 * 1024
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

    __slots__ = ("_buffer", "_receive", "_send", "_started", "_watcher", "complete")

    def __init__(self, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        self._receive = receive
        self._send = send
        self._buffer: list[bytes] = []
        self._started = False
        self._watcher: asyncio.Task[None] | None = None
        self.complete = False

    @property
    def started(self) -> bool:
        """Whether the status line has been sent."""
        return self._started

    async def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """Answer in one piece."""
        await self.begin(status, {**headers, "content-length": str(len(body))})
        self._buffer.append(body)
        await self.end()

    async def begin(self, status: int, headers: dict[str, str]) -> None:
        """Send status and headers; `write` and `end` follow."""
        self._started = True
        encoded = [
            (name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    def write(self, data: bytes) -> None:
        """Add to the stream. It is sent when the producer waits, or at the end."""
        if data:
            self._buffer.append(data)

    async def flush(self) -> None:
        """Send what has been written."""
        if self._buffer and self._started:
            data, self._buffer = b"".join(self._buffer), []
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """The answer is complete."""
        data, self._buffer = b"".join(self._buffer), []
        self._unwatch()
        self.complete = True
        await self._send({"type": "http.response.body", "body": data})

    async def cut(self) -> None:
        """Break off: send what has been written, then close the connection without an end."""
        if not self._started:
            await self.begin(200, {})
        await self.flush()
        self._unwatch()

    async def each(self, stream: AsyncIterator[T]) -> AsyncIterator[T]:
        """The items of `stream`; what has been written is flushed whenever the stream has to wait.

        Raises:
            asyncio.CancelledError: when the client goes away meanwhile.
        """
        while True:
            try:
                yield await _Step(stream.__anext__(), self._suspended)
            except StopAsyncIteration:
                return

    async def _suspended(self) -> None:
        if self._watcher is None:
            task = asyncio.current_task()
            self._watcher = asyncio.create_task(self._watch(task), name="watch for a client that goes away")
        await self.flush()

    async def _watch(self, handler: asyncio.Task[Any] | None) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if handler is not None and not self.complete:
            handler.cancel()

    def _unwatch(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None


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
        except BaseException as error:
            return (yield from _throw(step, error))
        return (yield from _resume(step, waiting))


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


Handler = Callable[[HttpRequest, Exchange], Awaitable[None]]


class HttpServer(Daemon):
    """A server on one port.

    Args:
        handler: answers requests.
        journal: where its status changes go.
        host: an address of this machine; loopback unless given.
        port: 0 picks a free one.
        grace: seconds that requests in flight get when the server stops.
        name: how messages call it.

    Raises:
        EnvironmentProblem: from `start`, if the port is in use.
    """

    def __init__(
        self,
        handler: Handler,
        journal: Journal,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        grace: float = 5.0,
        name: str = "server",
    ) -> None:
        super().__init__(name, journal)
        self._handler = handler
        self._host = host
        self._port = port
        self._grace = grace
        self._uvicorn: Any = None
        self._socket: socket.socket | None = None

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
            http="httptools",
            ws="none",
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
        await self._uvicorn.startup(sockets=[self._socket])

    async def _stop(self) -> None:
        state = self._uvicorn.server_state
        for server in self._uvicorn.servers:
            server.close()
        for connection in list(state.connections):
            connection.shutdown()
        tasks = set(state.tasks)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._grace)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for connection in list(state.connections):
            connection.transport.abort()
        if self._socket is not None:
            self._socket.close()

    async def _app(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        if scope["type"] != "http":
            return
        request = await _read(scope, receive)
        if request is None:
            return
        exchange = Exchange(receive, send)
        try:
            await self._handler(request, exchange)
        except asyncio.CancelledError:
            exchange._unwatch()  # noqa: SLF001  (one protocol in two classes)
        except Exception as error:
            exchange._unwatch()  # noqa: SLF001
            self.report_failure(error)
            if not exchange.started:
                text = f"Soundstage failed to answer: {type(error).__name__}: {error}"
                await exchange.reply(500, {"content-type": "text/plain; charset=utf-8"}, text.encode())


async def _read(scope: Any, receive: Callable[[], Awaitable[Any]]) -> HttpRequest | None:
    """The whole request, or None if the client left before it was sent."""
    body = b""
    too_large = False
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        piece = message.get("body", b"")
        size += len(piece)
        if size <= MAX_BODY:
            parts.append(piece)
        else:
            too_large = True
        if not message.get("more_body", False):
            break
    body = parts[0] if len(parts) == 1 else b"".join(parts)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return HttpRequest(
        scope["method"], scope["path"], scope["query_string"].decode("latin-1"), headers, body, too_large
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
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
    sock.setblocking(False)
    with contextlib.suppress(OSError):
        sock.set_inheritable(False)
    return sock
