"""Clocks: where time comes from. One seam, two peers."""

from __future__ import annotations

import asyncio
import math
import time
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, runtime_checkable

from soundstage.errors import InvalidStateError

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)  # where virtual time begins, the same in every run
MAX_JUMPS: Final = 1_000_000  # some seconds of the machine's time


@runtime_checkable
class Clock(Protocol):
    """The source of time."""

    virtual: bool

    def now(self) -> float:
        """Seconds since the clock was made."""
        ...

    def wall(self) -> datetime:
        """The date and time that the run believes in (UTC)."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait. On a virtual clock this takes no time of the machine."""
        ...


class SystemClock:
    """The machine's time."""

    virtual = False

    def __init__(self) -> None:
        self._origin = time.monotonic()
        self._wall_origin = datetime.now(UTC)

    def now(self) -> float:
        """Seconds since the clock was made."""
        return time.monotonic() - self._origin

    def wall(self) -> datetime:
        """The date and time (UTC)."""
        return self._wall_origin + timedelta(seconds=self.now())

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""
        if seconds > 0:
            await asyncio.sleep(seconds)


class VirtualClock:
    """Time that moves only when nothing else can: it jumps to the next timer when every task waits.

    It needs a loop that follows it: `soundstage.clock.run(main(), clock=clock)`.

    Args:
        max_jumps: how often it may jump before a run that has not ended is taken to wait in vain.
        schedule: the seed of the order in which ready tasks run; that of `scheduled(...)`, or else asyncio's own
            order, unless given.
    """

    virtual = True

    def __init__(self, *, max_jumps: int = MAX_JUMPS, schedule: int | None = None) -> None:
        self.max_jumps = max_jumps
        self.schedule = schedule
        self._now = 0.0

    def now(self) -> float:
        """Virtual seconds since the clock was made."""
        return self._now

    def wall(self) -> datetime:
        """2026-01-01 00:00 UTC plus the virtual seconds."""
        return EPOCH + timedelta(seconds=self._now)

    def advance(self, seconds: float) -> None:
        """Move on. The loop calls this; a test has no need to."""
        self._now += max(seconds, 0.0)

    async def sleep(self, seconds: float) -> None:
        """Wait for virtual seconds."""
        if getattr(asyncio.get_running_loop(), "clock", None) is not self:
            raise InvalidStateError(
                "this virtual clock does not drive the running event loop",
                expected="a loop that follows the clock",
                seen=f"{type(asyncio.get_running_loop()).__name__}, on the machine's time",
                hint="run the test with soundstage.clock.run(main(), clock=clock), or pass SystemClock()",
            )
        if seconds > 0:
            await asyncio.sleep(seconds)


def running_clock() -> Clock:
    """The clock of the running event loop: its virtual clock if it has one, else the machine's."""
    try:
        clock = getattr(asyncio.get_running_loop(), "clock", None)
    except RuntimeError:
        clock = None
    return clock if clock is not None else SystemClock()


def validate_seconds(seconds: float, what: str = "a timeout") -> float:
    """The seconds that a wait may take: more than zero; infinity is a wait without a deadline.

    Raises:
        ValueError: for zero, a negative number, and what is no number (NaN).
    """
    if not seconds > 0:
        raise ValueError(f"{what} is a number of seconds, more than 0, got {seconds!r}; math.inf has no end")
    return seconds


def time_limit(within: float) -> asyncio.Timeout:
    """`asyncio.timeout`, for seconds that were given to a wait: see `validate_seconds`."""
    return asyncio.timeout(None if validate_seconds(within) == math.inf else within)


class Deadline:
    """A point in time that several waits share: later waits get what earlier ones left.

    Args:
        clock: whose time.
        within: seconds from now, more than zero; infinity is no deadline at all.

    Raises:
        ValueError: if `within` is not more than zero.
    """

    def __init__(self, clock: Clock, within: float) -> None:
        self._clock = clock
        self.within = validate_seconds(within)
        self._at = clock.now() + within

    @property
    def left(self) -> float:
        """Seconds left, never below zero; infinity without a deadline."""
        return max(self._at - self._clock.now(), 0.0)

    @property
    def timeout(self) -> float | None:
        """The seconds that are left, for functions of the system, which take `None` for no deadline."""
        return None if self._at == math.inf else self.left
