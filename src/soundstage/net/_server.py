"""The HTTP server, as a daemon: it listens, starts a handler for each request, and ends what is left when it stops.

`_http` speaks HTTP on each connection and hands whole requests over, each with an `Exchange` (`_exchange`) for its
answer. A handler that raises is on record, and its client gets a 500, or the end of its connection where an answer has
begun.

Stopping closes the listening socket and idle connections. Requests in flight get `grace` seconds in which they
are finished and clients read what was sent; then what is left is cancelled and broken off.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Final

from soundstage.errors import EnvironmentProblem, InvalidStateError
from soundstage.journal import Journal, RequestRefused
from soundstage.lifecycle import Daemon, before_exits
from soundstage.net._arrivals import Connections, Handlers
from soundstage.net._exchange import Exchange, HttpRequest
from soundstage.net._http import IDLE_WITHIN, HttpProtocol, HttpService
from soundstage.net._listeners import Listener, announce
from soundstage.net._websocket import WebSocketHandler

LOOPBACK: Final = "127.0.0.1"
HEAD_WITHIN: Final = 30.0  # seconds
BODY_WITHIN: Final = 300.0  # seconds
BACKLOG: Final = 2048  # connections that wait to be accepted
MOMENT: Final = 1.0  # seconds for a handler to end once it is cancelled
FAILED: Final = {"content-type": "text/plain; charset=utf-8", "x-should-retry": "false"}


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
        self._connections = Connections()
        self._server: asyncio.Server | None = None
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
        self._socket = _listen(self._host, self._port)
        self._port = self._socket.getsockname()[1]
        within = {"next": IDLE_WITHIN, "head": self._head_within, "body": self._body_within}
        protocol = None if self._websocket is None else self._websocket_protocol(self._websocket)
        service = HttpService(
            self._serve_request, self._refused, protocol, within, self._connections, self._handlers
        )
        self._service = service
        self._server = await self._serve_also(self._socket)
        self._listener = announce(self.journal, self._host, self._port, self._serve_also)
        self._forget = before_exits(self.journal, self._take_in)

    def _websocket_protocol(self, handler: WebSocketHandler) -> Callable[[HttpRequest], Any]:
        """The maker of WebSocket connections; its library is loaded for servers that need it only."""
        from soundstage.net._frames import WebSocketProtocol

        return functools.partial(
            WebSocketProtocol,
            handler=handler,
            connections=self._connections,
            handlers=self._handlers,
            failed=self.report_failure,
        )

    async def _take_in(self) -> None:
        await self._handlers.take_in(self._listening, self._connections)

    def _listening(self) -> list[Any]:
        return [sock for server in self._servers() for sock in server.sockets]

    def _servers(self) -> list[asyncio.Server]:
        first = () if self._server is None else (self._server,)
        return [*first, *(self._listener.servers if self._listener is not None else ())]

    async def _serve_also(self, sock: socket.socket) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            functools.partial(HttpProtocol, self._service), sock=sock, backlog=BACKLOG
        )

    async def _stop(self) -> None:
        if self._forget is not None:
            self._forget()
        if self._listener is not None:
            self._listener.withdraw()
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            if not connection.transport.is_closing():
                connection.shutdown()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._grace):
                    await self._connections.gone()
            await self._handlers.end("the server has stopped", MOMENT)
        finally:
            for connection in list(self._connections):
                connection.transport.abort()
            if self._socket is not None:
                self._socket.close()
        await self._connections.gone()

    def _refused(self, path: str, status: int, text: str) -> None:
        """On record: a request of which the handler never hears."""
        if not self.journal.closed:
            self.journal.append(
                RequestRefused(format="http", path=path, status=status, message=text), source=self.name
            )

    async def _serve_request(self, request: HttpRequest, exchange: Exchange) -> None:
        try:
            await self._handler(request, exchange)
        except asyncio.CancelledError:
            pass
        except Exception as error:  # noqa: BLE001  (a bug in a handler is on record and ends its request only)
            self.report_failure(error)
            if not exchange.started:
                text = f"Soundstage failed to answer: {type(error).__name__}: {error}"
                await exchange.reply(500, FAILED, text.encode())
        finally:
            exchange.leave()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off Nagle's delay only for sockets that say they are TCP, and accepted ones say what this one does
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(BACKLOG)
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
