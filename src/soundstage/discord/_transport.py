"""Connections of the gateway: a socket, a line of payloads to send, and the deadline for heartbeats.

How it works. Two tasks serve a connection. One reads, and hands messages to `Connection`, which answers by
putting payloads into the `GatewayLine`. The other writes what is in the line, in order, so that nobody who puts
something there ever waits. An item of class `GatewayClose` ends both: with a closing frame if it has a code, and with
a cut connection if it has none. A connection whose bot does not beat in time is closed by a timer, which every
heartbeat sets back. When the timer itself is late, this loop was held up (a breakpoint, a machine that is too busy):
what the bot has sent may not have been read yet, or the bot was held up too; it gets the whole time again.

`GatewayLine.round_trip` sends a ping of the WebSocket and waits for its answer. When it comes, the bot has taken notice
of everything that was sent before. The acts of users wait for that (see `_scene`). A request for a heartbeat, which
Discord has too, would not do: libraries count those among what they send, and send no more than 120 in a minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qs

from soundstage.discord._gateway import GOING_AWAY, Connection
from soundstage.discord._platform import Platform
from soundstage.discord._sessions import GatewayClose
from soundstage.net import WebSocket, WebSocketClosed

GRACE: Final = 1.5  # of the heartbeat interval; a bot that is later than that has lost its session
HELD_UP: Final = 0.02  # seconds that a timer is late when the loop was


class GatewayLine:
    """The messages to send on one connection, and whether the bot is still alive.

    Args:
        pack: makes a message of a payload: text, or compressed bytes.
        patience: seconds within which heartbeats have to come.
    """

    def __init__(self, pack: Callable[[bytes], str | bytes], patience: float) -> None:
        self._pack = pack
        self._patience = patience
        self._items: asyncio.Queue[bytes | GatewayClose | asyncio.Future[None]] = asyncio.Queue()
        self._waiting: set[asyncio.Future[None]] = set()
        self._late: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def put(self, item: bytes | GatewayClose) -> None:
        """Add one payload, or the end."""
        self._items.put_nowait(item)

    async def write(self, websocket: WebSocket) -> None:
        """Send what is put in, until the end of the line."""
        while not isinstance(item := await self._items.get(), GatewayClose):
            if isinstance(item, bytes):
                await websocket.send(self._pack(item))
            else:
                await websocket.ping()
                _settle(item)
        if item.code is not None:
            await websocket.close(item.code, item.reason)

    async def round_trip(self) -> None:
        """Wait until the bot has read what was put in before, or for the end of the connection."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(done)
        self._items.put_nowait(done)
        try:
            await done
        finally:
            self._waiting.discard(done)

    def watch(self, late: Callable[[], None]) -> None:
        """Call `late` when no heartbeat comes in time."""
        self._late = late
        self._set_timer()

    def beaten(self) -> None:
        """A heartbeat came."""
        self._set_timer()

    def end(self) -> None:
        """Nothing can be answered any more."""
        if self._timer is not None:
            self._timer.cancel()
        self._late = None
        for done in self._waiting:
            _settle(done)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._late is not None:
            self._timer = asyncio.get_running_loop().call_later(self._patience, self._due)

    def _due(self) -> None:
        assert self._timer is not None
        assert self._late is not None
        if asyncio.get_running_loop().time() - self._timer.when() > HELD_UP:
            self._set_timer()
        else:
            self._late()


def _settle(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


async def serve_gateway(platform: Platform, websocket: WebSocket, now: Callable[[], float]) -> None:
    """Serve one connection of the bot to the gateway, to its end."""
    query = {name: values[-1] for name, values in parse_qs(websocket.query).items()}
    transport = query.get("compress", "plain")
    problem = _unfit(websocket.path, query)
    if problem:
        await websocket.refuse(400, problem)
        return
    await websocket.accept()
    pack = PACKS[transport]()
    line = GatewayLine(pack, platform.settings.heartbeat * GRACE)
    connection = Connection(platform, line, version=query.get("v", "10"), transport=transport)
    line.watch(connection.late)
    connection.open()
    writing = asyncio.create_task(line.write(websocket), name="gateway writer")
    reading = asyncio.create_task(_read(websocket, connection, now), name="gateway reader")
    try:
        await asyncio.wait([writing, reading], return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        connection.left(GOING_AWAY, "the server stops")
        raise
    finally:
        line.end()
        await _end(reading, writing)
        connection.cut()
    _raise(reading, writing)


async def _read(websocket: WebSocket, connection: Connection, now: Callable[[], float]) -> None:
    while True:
        try:
            data = await websocket.receive()
        except WebSocketClosed as closed:
            connection.left(closed.code, closed.reason)
            return
        connection.receive(data, now())


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def _raise(*tasks: asyncio.Task[None]) -> None:
    """Raise what went wrong; that the connection is over is nothing wrong."""
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            with contextlib.suppress(WebSocketClosed):
                raise error


def _unfit(path: str, query: dict[str, str]) -> str:
    """Why a connection cannot be served, if so."""
    if path.rstrip("/") not in ("", "/gateway"):
        return f"the gateway is at /gateway, not at {path}"
    if query.get("encoding", "json") != "json":
        return f"this gateway speaks encoding=json, not {query['encoding']}"
    if query.get("compress", "plain") not in PACKS:
        return f"this gateway speaks compress={' or '.join(PACKS)}, not {query['compress']}"
    return ""


def _plain() -> Callable[[bytes], str]:
    return bytes.decode


def _zlib() -> Callable[[bytes], bytes]:
    """One compressed stream for the whole connection; each message ends with a flush."""
    deflate = zlib.compressobj()

    def pack(payload: bytes) -> bytes:
        return deflate.compress(payload) + deflate.flush(zlib.Z_SYNC_FLUSH)

    return pack


def _zstd() -> Callable[[bytes], bytes]:
    """The same with the compression that discord.py prefers where it can read it."""
    import zstandard

    deflate = zstandard.ZstdCompressor().compressobj()

    def pack(payload: bytes) -> bytes:
        return deflate.compress(payload) + deflate.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    return pack


PACKS: Final[dict[str, Callable[[], Callable[[bytes], str | bytes]]]] = {
    "plain": _plain,
    "zlib-stream": _zlib,
    "zstd-stream": _zstd,
}
