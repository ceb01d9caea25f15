"""One connection on a socket: two tasks, one that reads messages and one that sends what is in the line.

Reading hands messages to the `RelaySession`, which answers by putting frames into the `RelayLine`; so nobody who
answers ever waits for a slow client. A `RelayClose` ends both: with a closing frame if it has a code, and with a cut
connection if it has none.
"""

from __future__ import annotations

import asyncio
import contextlib

from soundstage.net import WebSocket, WebSocketClosed
from soundstage.nostr._core import RelayCore
from soundstage.nostr._events import NostrConnectionChanged
from soundstage.nostr._outlet import RelayClose
from soundstage.nostr._session import RelaySession

UNAVAILABLE = 503
GOING_AWAY = 1001


class RelayLine:
    """The messages to send on one connection, in order."""

    def __init__(self) -> None:
        self._items: asyncio.Queue[str | RelayClose] = asyncio.Queue()

    def put(self, item: str | RelayClose) -> None:
        """Add one message, or the end."""
        self._items.put_nowait(item)

    async def write(self, websocket: WebSocket) -> None:
        """Send what is put in, until the end of the line."""
        while not isinstance(item := await self._items.get(), RelayClose):
            await websocket.send(item)
        if item.code is not None:
            await websocket.close(item.code, item.reason)


async def serve_relay(core: RelayCore, websocket: WebSocket) -> None:
    """Serve one connection of a client, to its end."""
    if core.strike("connect") is not None:
        refusal = NostrConnectionChanged(change="refused", code=UNAVAILABLE, by="relay")
        core.record(refusal)
        await websocket.refuse(UNAVAILABLE, "the relay takes no connections now")
        return
    await websocket.accept()
    line = RelayLine()
    session = RelaySession(core, line)
    session.open()
    writing = asyncio.create_task(line.write(websocket), name="relay writer")
    reading = asyncio.create_task(_read(websocket, session), name="relay reader")
    try:
        await asyncio.wait([writing, reading], return_when=asyncio.FIRST_COMPLETED)
    finally:
        session.end(RelayClose(GOING_AWAY, "the relay stops"))
        for task in (reading, writing):
            task.cancel()
        await asyncio.wait([reading, writing])
    _raise(reading, writing)


async def _read(websocket: WebSocket, session: RelaySession) -> None:
    while True:
        try:
            data = await websocket.receive()
        except WebSocketClosed as closed:
            session.left(closed.code, closed.reason)
            return
        session.receive(data)


def _raise(*tasks: asyncio.Task[None]) -> None:
    """Raise what went wrong; that the connection is over is nothing wrong."""
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            with contextlib.suppress(WebSocketClosed):
                raise error
