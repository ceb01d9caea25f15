"""stdio: a client that starts a program, and the program that hands its streams on.

How it works. A client of a stdio server starts a program and speaks to it in lines. That program is `_bridge`: it
carries what it reads to a WebSocket of ours, and writes what comes back. So the server is here, in the run, and the
client has its process. Both directions are plain bytes: we cut lines ourselves, and can send half a line. When the
connection is cut, the bridge ends, and the client sees its server die.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
"""

from __future__ import annotations

import asyncio
from typing import Final

from soundstage.mcp._jsonrpc import Request, RpcError, RpcRefused, error_bytes, parse
from soundstage.mcp._session import McpSession
from soundstage.mcp._sessions import Sessions
from soundstage.net import WebSocket, WebSocketClosed

PATH: Final = "/stdio"
_PIECE: Final = 1024 * 1024
_NORMAL: Final = 1000
_GOING_AWAY: Final = 1001


async def serve_stdio(sessions: Sessions, websocket: WebSocket) -> None:
    """Serve one bridge, until one of the two is done."""
    if websocket.path != PATH:
        await websocket.refuse(404, f"WebSockets are served at {PATH} alone")
        return
    session = sessions.open("stdio")
    if session is None:
        await websocket.refuse(503, "this server cannot be reached")
        return
    await websocket.accept()
    await _Pipe(session, websocket).run()


class _Pipe:
    """The two directions of one connection."""

    def __init__(self, session: McpSession, websocket: WebSocket) -> None:
        self._session = session
        self._websocket = websocket
        self._answering: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        reading = asyncio.create_task(self._read(), name="read a bridge")
        try:
            await self._write()
        except WebSocketClosed as closed:
            self._session.end("closed" if closed.code == _NORMAL else "cut")
        finally:
            reading.cancel()
            for task in self._answering:
                task.cancel()
            await asyncio.wait([reading, *self._answering])

    async def _write(self) -> None:
        """Send what is in the outbox, until the session ends."""
        while (message := await self._session.outbox.get()) is not None:
            for start in range(0, len(message), _PIECE):
                await self._websocket.send(message[start : start + _PIECE])
        if self._session.ended != "cut":  # else returning cuts the connection
            await self._websocket.close(_GOING_AWAY, "the server has ended")

    async def _read(self) -> None:
        rest = bytearray()
        try:
            while True:
                data = await self._websocket.receive()
                rest += data.encode() if isinstance(data, str) else data
                *lines, tail = rest.split(b"\n")
                rest = tail
                for line in lines:
                    self._take(bytes(line).strip())
        except WebSocketClosed as closed:
            self._session.end("closed" if closed.code == _NORMAL else "cut")

    def _take(self, line: bytes) -> None:
        if not line:
            return
        message = parse(line)
        if not isinstance(message, Request):
            self._session.take(message)
            if isinstance(message, RpcRefused):
                error = RpcError(message.code, message.reason).as_json()
                self._session.outbox.put_nowait(error_bytes(message.id, error) + b"\n")
            return
        task = asyncio.create_task(self._answer(message), name=f"answer {message.method}")
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, request: Request) -> None:
        delivery = await self._session.request(request)
        outbox = self._session.outbox
        for place, answer in enumerate(delivery.messages, start=1):
            last = delivery.cut and place == len(delivery.messages)
            outbox.put_nowait(answer if last else answer + b"\n")
        if delivery.cut:
            self._session.end("cut", by="server", reason="in the middle of an answer")
