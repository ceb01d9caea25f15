"""Limits of a provider: how fast it may be asked, and when it has asked to wait.

A gate is shared by all that ask one provider. Whoever comes is let in one after the other, in the order in which they
came: when a request and its tokens fit into the rate, and when no answer of the provider has asked to wait. Rates are
kept evenly: after each request its share of a minute passes before the next, so that no minute ever has more. Idle time
is not saved up. How many tokens a request takes is guessed by its length, and put right when the answer tells.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec

from soundstage.clock import Clock, running_clock
from soundstage.errors import ProviderError, WrongValueError

_MINUTE = 60.0
_LONGEST = 60.0  # seconds of a wait that the provider has not named


class ProviderLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a provider may be asked; what is not given has no limit.

    Args:
        requests_per_minute: requests that begin.
        tokens_per_minute: tokens of requests and answers together.
        concurrency: requests at a time.
        attempts: how often a request is sent that the provider turns away because it is too busy (429, 529).

    Raises:
        WrongValueError: for a number that is not above zero.

    Example:
        >>> ProviderLimits(requests_per_minute=60, concurrency=4).attempts
        8
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int | None = None
    attempts: int = 8

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise WrongValueError("a limit of a provider is a number above 0", seen=f"{name}={value!r}")


class ProviderGate:
    """Lets requests through to one provider.

    Args:
        limits: of the provider.
        clock: whose time; that of the running loop unless given.
    """

    def __init__(self, limits: ProviderLimits | None = None, *, clock: Clock | None = None) -> None:
        self.limits = limits or ProviderLimits()
        self.clock = clock if clock is not None else running_clock()
        self._requests = _Pace(self.limits.requests_per_minute)
        self._tokens = _Pace(self.limits.tokens_per_minute)
        self._queue = asyncio.Lock()
        most = self.limits.concurrency
        self._slots = asyncio.Semaphore(most) if most is not None else None
        self._shut_until = 0.0

    async def enter(self, tokens: int) -> None:
        """Wait for a turn; who has got it calls `leave` when the request is over.

        Args:
            tokens: that the request takes, as far as is known.
        """
        if self._slots is not None:
            await self._slots.acquire()
        try:
            async with self._queue:
                while (wait := self._opens() - self.clock.now()) > 0:
                    await self.clock.sleep(wait)
                self._requests.take(self.clock.now(), 1)
                self._tokens.take(self.clock.now(), tokens)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Make room for the next one."""
        if self._slots is not None:
            self._slots.release()

    def _opens(self) -> float:
        return max(self._shut_until, self._requests.free_at, self._tokens.free_at)

    def correct(self, tokens: int) -> None:
        """Count so many tokens more, or fewer, than were guessed."""
        self._tokens.free_at += self._tokens.seconds * tokens

    def shut(self, seconds: float) -> None:
        """Let nobody in for so long."""
        self._shut_until = max(self._shut_until, self.clock.now() + seconds)


class _Pace:
    """When the next one may go, at an even rate."""

    def __init__(self, per_minute: float | None) -> None:
        self.seconds = 0.0 if per_minute is None else _MINUTE / per_minute
        self.free_at = 0.0

    def take(self, now: float, count: int) -> None:
        self.free_at = max(now, self.free_at) + self.seconds * count


def wait_of(error: ProviderError, attempt: int, clock: Clock) -> float:
    """Seconds to wait before a request is sent again: what the answer says, else more after each attempt.

    Args:
        error: the answer.
        attempt: from 1, the one that got it.
        clock: tells how far away a date is.
    """
    told = _told(error.headers, clock)
    return told if told is not None else min(2.0 ** (attempt - 1), _LONGEST)


def _told(headers: Mapping[str, str], clock: Clock) -> float | None:
    """The wait in the headers: in milliseconds, in seconds, or as a date."""
    named = {name.lower(): value for name, value in headers.items()}
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with contextlib.suppress(ValueError):
            seconds = float(named.get(name, "")) * scale
            if math.isfinite(seconds) and seconds >= 0:
                return seconds
    with contextlib.suppress(ValueError, TypeError):
        date = parsedate_to_datetime(named.get("retry-after", ""))
        return max((date - clock.wall()).total_seconds(), 0.0)
    return None
