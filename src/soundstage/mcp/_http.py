"""Streamable HTTP: what an MCP server answers on its one address.

A message of the client is a POST. A request is answered on the same exchange, as a stream of events if the client
takes one, else as JSON; everything else is acknowledged with 202. The first request, `initialize`, opens a session,
whose id is in a header of the answer and of all that follows. A GET opens the stream on which the server tells
things by itself, a DELETE ends the session.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import urlsplit

from soundstage.mcp._core import McpCore
from soundstage.mcp._events import McpMessageRefused
from soundstage.mcp._jsonrpc import (
    INVALID_REQUEST,
    UNSUPPORTED_VERSION,
    Id,
    Message,
    Request,
    RpcError,
    RpcRefused,
    error_bytes,
    parse,
)
from soundstage.mcp._protocol import VERSIONS
from soundstage.mcp._session import Delivery, McpSession
from soundstage.mcp._sessions import Sessions
from soundstage.net import Exchange, HttpRequest

PATH: Final = "/mcp"
SESSION: Final = "mcp-session-id"
VERSION: Final = "mcp-protocol-version"
_JSON: Final = {"content-type": "application/json"}
_EVENTS: Final = {"content-type": "text/event-stream", "cache-control": "no-cache, no-transform"}
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class HttpSide:
    """Answers HTTP requests of MCP clients.

    Args:
        core: the server.
        sessions: its clients.
    """

    def __init__(self, core: McpCore, sessions: Sessions) -> None:
        self._core = core
        self._sessions = sessions

    async def handle(self, request: HttpRequest, exchange: Exchange) -> None:
        """Answer one request."""
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).hostname not in _LOOPBACK:  # against DNS rebinding
            await self._refuse(exchange, 403, "Invalid Origin header", text=origin)
        elif request.path.rstrip("/") != PATH:
            await self._refuse(exchange, 404, f"there is only {PATH} here", text=request.path)
        elif request.method == "POST":
            await self._post(request, exchange)
        elif request.method in ("GET", "DELETE"):
            await self._of_session(request, exchange)
        else:
            await self._refuse(exchange, 405, "Method Not Allowed", text=request.method)

    async def _post(self, request: HttpRequest, exchange: Exchange) -> None:
        message = parse(request.body)
        if request.too_large:
            await self._refuse(exchange, 413, "the message is too large", text=f"{len(request.body)} bytes")
        elif isinstance(message, RpcRefused):
            await self._refuse(
                exchange, 400, message.reason, text=message.text, code=message.code, identity=message.id
            )
        elif not _takes(request, "application/json") and not _takes(request, "text/event-stream"):
            await self._refuse(
                exchange, 406, "the client takes neither JSON nor events", text=_accept(request)
            )
        elif isinstance(message, Request) and message.method == "initialize":
            await self._open(message, request, exchange)
        else:
            await self._in_session(message, request, exchange)

    async def _open(self, message: Request, request: HttpRequest, exchange: Exchange) -> None:
        session = self._sessions.open("http")
        if session is None:
            await exchange.reply(503, _JSON, b'{"error":"service unavailable"}')
            return
        await self._answer(session, message, request, exchange)

    async def _in_session(self, message: Message, request: HttpRequest, exchange: Exchange) -> None:
        identity = message.id if isinstance(message, Request) else None
        session = await self._session(request, exchange, identity)
        if session is None:
            return
        if isinstance(message, Request):
            await self._answer(session, message, request, exchange)
            return
        session.take(message)
        await exchange.reply(202, {}, b"")

    async def _session(
        self, request: HttpRequest, exchange: Exchange, identity: Id | None = None
    ) -> McpSession | None:
        """The session of a request; without one the request has been answered."""
        version = request.headers.get(VERSION)
        if version is not None and version not in VERSIONS:
            error = RpcError(
                UNSUPPORTED_VERSION,
                f"Unsupported protocol version: {version}",
                {"supported": list(VERSIONS), "requested": version},
            )
            await self._refuse(exchange, 400, error.message, text=version, identity=identity, error=error)
            return None
        wanted = request.headers.get(SESSION, "")
        session = self._sessions.find(wanted)
        if session is None:
            status, reason = (404, "Session not found") if wanted else (400, "Missing session ID")
            await self._refuse(exchange, status, reason, text=wanted, identity=identity)
        return session

    async def _answer(
        self, session: McpSession, message: Request, request: HttpRequest, exchange: Exchange
    ) -> None:
        headers = {SESSION: session.id}
        if not _takes(request, "text/event-stream"):
            await self._answer_json(await exchange.wait(session.request(message)), headers, exchange, session)
            return
        await exchange.begin(200, {**_EVENTS, **headers})
        delivery = await self._streamed(session, message, exchange)
        for place, answer in enumerate(delivery.messages, start=1):
            last = delivery.cut and place == len(delivery.messages)
            exchange.write(b"event: message\ndata: " + answer + (b"" if last else b"\n\n"))
        if delivery.cut:
            await self._cut(exchange, session)
        else:
            await exchange.end()

    async def _streamed(self, session: McpSession, message: Request, exchange: Exchange) -> Delivery:
        """The answer to a request, after all that belongs before it has been sent."""
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        answering = asyncio.create_task(session.request(message, lines.put_nowait), name="answer a stream")
        answering.add_done_callback(lambda _: lines.put_nowait(None))
        try:
            while (line := await exchange.wait(lines.get())) is not None:
                exchange.write(b"event: message\ndata: " + line + b"\n\n")
            return answering.result()
        finally:
            answering.cancel()
            await asyncio.wait([answering])

    async def _answer_json(
        self, delivery: Delivery, headers: dict[str, str], exchange: Exchange, session: McpSession
    ) -> None:
        body = b"".join(delivery.messages)
        if not delivery.cut:
            await exchange.reply(200 if body else 202, {**_JSON, **headers}, body)
            return
        await exchange.begin(200, {**_JSON, **headers})
        exchange.write(body)
        await self._cut(exchange, session)

    async def _cut(self, exchange: Exchange, session: McpSession) -> None:
        session.end("cut", by="server", reason="in the middle of an answer")
        await exchange.cut()

    async def _of_session(self, request: HttpRequest, exchange: Exchange) -> None:
        """A GET, which listens, or a DELETE, which ends."""
        session = await self._session(request, exchange)
        if session is None:
            return
        if request.method == "DELETE":
            session.end("closed", reason="the client ended the session")
            await exchange.reply(200, {}, b"")
            return
        if session.listened:
            await self._refuse(exchange, 409, "there is another stream for this session", text="")
            return
        session.listened = True
        try:
            await exchange.begin(200, {**_EVENTS, SESSION: session.id})
            while (message := await exchange.wait(session.outbox.get())) is not None:
                exchange.write(b"event: message\ndata: " + message + b"\n")
            await (exchange.cut() if session.ended == "cut" else exchange.end())
        finally:
            session.listened = False

    async def _refuse(
        self,
        exchange: Exchange,
        status: int,
        reason: str,
        *,
        text: str,
        code: int = INVALID_REQUEST,
        identity: Id | None = None,
        error: RpcError | None = None,
    ) -> None:
        self._core.tell(McpMessageRefused(text=text, reason=f"{status} {reason}"))
        failure = error if error is not None else RpcError(code, reason)
        await exchange.reply(status, _JSON, error_bytes(identity, failure.as_json()))


def _accept(request: HttpRequest) -> str:
    return request.headers.get("accept", "*/*")


def _takes(request: HttpRequest, kind: str) -> bool:
    accepted = _accept(request)
    return kind in accepted or "*/*" in accepted or f"{kind.split('/', maxsplit=1)[0]}/*" in accepted
