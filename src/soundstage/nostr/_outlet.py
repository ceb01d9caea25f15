"""Send the messages of one connection in order, and late if the test asked for that.

A frame is journaled at the moment at which it goes out. So the journal says what the client was sent, and not
what it would have been sent if its connection had lived on. Nothing here waits: late frames are sent by a timer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec

from soundstage.clock import Clock
from soundstage.journal import Event

_encode = msgspec.json.Encoder().encode


class RelayClose(NamedTuple):
    """The last item of an outbox: close with a code, or cut the connection if there is none."""

    code: int | None = None
    reason: str = ""


class RelayOutbox(Protocol):
    """Where a connection takes what it sends."""

    def put(self, item: str | RelayClose) -> None:
        """Add one message, or the end."""
        ...


class _Late(NamedTuple):
    due: float
    frame: list[Any]
    fact: Event
    cause: int | None


class Outlet:
    """The way to one client.

    Args:
        outbox: where frames go.
        clock: tells when late frames are due.
        delay: seconds by which a frame is late, asked for each one.
        record: puts the fact that a frame was sent on record.
    """

    def __init__(
        self,
        outbox: RelayOutbox,
        clock: Clock,
        delay: Callable[[], float],
        record: Callable[[Event, int | None], int],
    ) -> None:
        self._outbox = outbox
        self._clock = clock
        self._delay = delay
        self._record = record
        self._late: deque[_Late] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._over = False

    def send(self, frame: list[Any], fact: Event, cause: int | None) -> None:
        """Send a frame after those that were sent before it."""
        if self._over:
            return
        item = _Late(self._clock.now() + self._delay(), frame, fact, cause)
        if not self._late and item.due <= self._clock.now():
            self._go(item)
            return
        self._late.append(item)
        self._set_timer()

    def end(self, item: RelayClose | None = None) -> None:
        """Send nothing any more, late frames included."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._over and item is not None:
            self._outbox.put(item)
        self._over = True

    def _go(self, item: _Late) -> None:
        self._record(item.fact, item.cause)
        self._outbox.put(_encode(item.frame).decode())

    def _set_timer(self) -> None:
        if self._timer is None:
            left = max(self._late[0].due - self._clock.now(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(left, self._due)

    def _due(self) -> None:
        """Send what is due; a timer may be early by the resolution of the loop's clock, and is set again."""
        self._timer = None
        while self._late and self._late[0].due <= self._clock.now():
            self._go(self._late.popleft())
        if self._late:
            self._set_timer()
