"""The server over HTTP: `/mcp` for clients with the token, `/health` for everybody.

How it works. The project's one HTTP server takes the requests; the SDK's transport for one client answers
them, through a small bridge that speaks ASGI. A client begins with `initialize`, without a session id; it
gets a transport, and a task that serves its connection until the client ends it (DELETE), asks nothing for
too long, or the server stops. Requests with an id that is not known are answered with 404, as MCP says.

A page in a browser reaches loopback too, and nobody has asked it in. It is known by what browsers say and pages cannot
leave out: an `Origin`, `Sec-Fetch-Site`, or, where the page's own name has been made to lead here (DNS rebinding), a
`Host` that is none of ours. Who has the token may call us as he likes.

Requests of the protocol's stateless form (2026-07-28) name no session at all, and tests are about sessions.
They are refused with the versions that are served; clients then begin with `initialize`.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp.server import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from soundstage.mcp.server._toolset import ClientTools
from soundstage.net import Exchange, HttpRequest

PATH: Final = "/mcp"
HEALTH: Final = "/health"
VERSION: Final = "mcp-protocol-version"
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_JSON: Final = {"content-type": "application/json"}


class Clients:
    """The clients that are connected over HTTP.

    Args:
        server: what each of them talks to.
        tools: how many tools it has.
        session_id: makes the id of a client's connection; nobody must be able to guess it.
        token: what they must send; empty for none.
        idle: seconds after which a client that asks nothing is taken for gone.
        report: gets what went wrong while a connection was served.
        loopback: whether the server can be reached on this machine alone.
    """

    def __init__(
        self,
        server: Server[ClientTools],
        session_id: Callable[[], str],
        *,
        tools: int,
        token: str,
        idle: float,
        report: Callable[[BaseException], None],
        loopback: bool,
    ) -> None:
        self._server = server
        self._session_id = session_id
        self._tools = tools
        self._token = token
        self._idle = idle
        self._report = report
        self._loopback = loopback
        self._transports: dict[str, StreamableHTTPServerTransport] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: set[asyncio.Task[Any]] = set()

    async def handle(self, request: HttpRequest, exchange: Exchange) -> None:
        """Answer one request."""
        known = self._knows_token(request)
        page = web_page(request.headers, any_host=known or not self._loopback)
        if page:
            await _reply(exchange, 403, {"error": f"web pages may not use this server: {page}"})
        elif request.path == HEALTH:
            await _reply(exchange, 200, self.health())
        elif request.path.rstrip("/") != PATH:
            await _reply(exchange, 404, {"error": f"there is {PATH} and {HEALTH}, not {request.path}"})
        elif self._token and not known:
            challenge = {"www-authenticate": "Bearer"}
            await _reply(exchange, 401, {"error": "send the header Authorization: Bearer TOKEN"}, challenge)
        elif request.too_large:
            await _reply(exchange, 413, {"error": "the request is too large"})
        else:
            await self._serve(request, exchange)

    def health(self) -> dict[str, Any]:
        """Return the answer of `/health`."""
        return {
            "status": "ok",
            "server": self._server.name,
            "version": self._server.version,
            "tools": self._tools,
            "clients": len(self._transports),
        }

    def _knows_token(self, request: HttpRequest) -> bool:
        if not self._token:
            return False
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token.encode())

    async def _serve(self, request: HttpRequest, exchange: Exchange) -> None:
        session = request.headers.get(MCP_SESSION_ID_HEADER)
        if session is None:
            version = request.headers.get(VERSION)
            if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
                await _reply(exchange, 400, _unsupported(request.body, version))
                return
            await self._open(request, exchange)
            return
        transport = self._transports.get(session)
        if transport is None:
            await _reply(exchange, 404, _problem(request.body, -32600, "there is no such session"))
            return
        await self._pass(transport, request, exchange)
        if transport.is_terminated:
            self._transports.pop(session, None)

    async def _open(self, request: HttpRequest, exchange: Exchange) -> None:
        """Serve the first request of a client; it must be `initialize`, or nothing has been opened."""
        session = self._session_id()
        transport = StreamableHTTPServerTransport(session, idle_timeout=self._idle)
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(
            self._connection(transport, session, ready), name=f"mcp client {session[:8]}"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await ready
        self._transports[session] = transport
        status = await self._pass(transport, request, exchange)
        if status >= 400:
            self._transports.pop(session, None)
            await transport.terminate()

    async def _connection(
        self, transport: StreamableHTTPServerTransport, session: str, ready: asyncio.Future[None]
    ) -> None:
        try:
            async with transport.connect() as (read, write):
                ready.set_result(None)
                options = self._server.create_initialization_options()
                if transport.idle_scope is None:
                    await self._server.run(read, write, options)
                else:
                    with transport.idle_scope:
                        await self._server.run(read, write, options)
        except Exception as error:  # noqa: BLE001  (it concerns this client alone; the journal tells)
            self._report(error)
        finally:
            self._transports.pop(session, None)
            if not ready.done():
                ready.set_exception(ConnectionError("the connection could not be opened"))

    async def _pass(
        self, transport: StreamableHTTPServerTransport, request: HttpRequest, exchange: Exchange
    ) -> int:
        bridge = _Bridge(request, exchange)
        task = asyncio.current_task()
        if task is not None:
            self._busy.add(task)
        try:
            await exchange.wait(transport.handle_request(bridge.scope, bridge.receive, bridge.send))
        finally:
            if task is not None:
                self._busy.discard(task)
        return bridge.status

    async def close(self) -> None:
        """End every connection, with all that its client has started."""
        for transport in list(self._transports.values()):
            await transport.terminate()
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        for task in list(self._busy):
            task.cancel("the server stops")


class _Bridge:
    """One request of the HTTP server, as the SDK's transport wants it (ASGI 3)."""

    def __init__(self, request: HttpRequest, exchange: Exchange) -> None:
        self.status = 500
        self._exchange = exchange
        self._body: bytes | None = request.body
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": request.path,
            "raw_path": request.path.encode(),
            "root_path": "",
            "query_string": request.query.encode("latin-1"),
            "headers": [
                (name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.items()
            ],
            "client": None,
            "server": None,
        }

    async def receive(self) -> dict[str, Any]:
        """The body, once. A client that goes away cancels the task, so nobody has to be told."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
            await self._exchange.begin(self.status, headers)
            return
        self._exchange.write(message.get("body", b""))
        if message.get("more_body", False):
            await self._exchange.flush()
        else:
            await self._exchange.end()


def web_page(headers: Mapping[str, str], *, any_host: bool) -> str:
    """Why a request is taken for one of a web page; empty if it is none.

    Args:
        headers: their names in small letters.
        any_host: whether the server may be called by any name.
    """
    if "origin" in headers:
        return f"Origin: {headers['origin']}"
    site = headers.get("sec-fetch-site", "none")
    if site != "none":  # what a user types into the browser
        return f"Sec-Fetch-Site: {site}"
    host = headers.get("host", "")
    return (
        "" if any_host or _name(host) in LOOPBACK else f"Host: {host}, expected one of {', '.join(LOOPBACK)}"
    )


def _name(host: str) -> str:
    """The name in a `Host`, without the port; one that is written in another way is none that we know."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _unsupported(body: bytes, version: str) -> dict[str, Any]:
    data = {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": version}
    text = f"protocol version {version} has no sessions; begin with initialize"
    problem = _problem(body, UNSUPPORTED_PROTOCOL_VERSION, text)
    return {**problem, "error": {**problem["error"], "data": data}}


def _problem(body: bytes, code: int, message: str) -> dict[str, Any]:
    try:
        asked = json.loads(body)
    except ValueError:
        asked = None
    number = asked.get("id") if isinstance(asked, dict) else None
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


async def _reply(
    exchange: Exchange, status: int, data: dict[str, Any], headers: dict[str, str] | None = None
) -> None:
    await exchange.reply(status, {**_JSON, **(headers or {})}, json.dumps(data).encode())
