"""A model that is asked again when it fails in a way that may pass."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from soundstage.clock import Clock, running_clock
from soundstage.errors import ConnectionCut, ModelError, ProviderError
from soundstage.messages import ModelChunk, ModelRequest
from soundstage.models import Model, Wrapper

_PASSING: Final = frozenset({408, 409, 425, 429})


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """How often to try again, and how long to wait before.

    Args:
        retries: tries after the first one.
        first: seconds before the first of them; each later wait is twice as long.
        longest: seconds; no wait is longer, jitter included.
        jitter: the part of a wait by which it may be longer or shorter.
    """

    retries: int = 3
    first: float = 1.0
    longest: float = 60.0
    jitter: float = 0.1

    def wait(self, retry: int, chance: float) -> float:
        """Seconds before a retry, counted from 1. `chance` is between 0 and 1.

        Example:
            >>> [Backoff().wait(retry, 0.5) for retry in (1, 2, 3, 10)]
            [1.0, 2.0, 4.0, 60.0]
        """
        plain = min(self.first * 2.0 ** min(retry - 1, 60), self.longest)
        return min(plain * (1 + self.jitter * (2 * chance - 1)), self.longest)


class RetryingModel(Wrapper):
    """Asks the inner model again when it is overloaded, fails or breaks off.

    A reply is passed on when it is whole, so that a broken one is never mixed with the next. Errors that will
    not pass (a bad request, no permission) come out at once, others after the last try.

    Args:
        inner: the model; put it around a `JournaledModel`, so that each try is in the journal.
        backoff: how often, and how long to wait.
        seed: of the jitter.
        clock: whose seconds; the running loop's unless given.
    """

    def __init__(
        self, inner: Model, *, backoff: Backoff | None = None, seed: int = 0, clock: Clock | None = None
    ) -> None:
        super().__init__(inner)
        self.backoff = backoff if backoff is not None else Backoff()
        self._random = random.Random(seed)  # noqa: S311  (repeatable on purpose, not a secret)
        self._clock = clock

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The inner model's reply, at the first try that succeeds."""
        for chunk in await self._whole(request):
            yield chunk

    async def _whole(self, request: ModelRequest) -> list[ModelChunk]:
        retry = 0
        while True:
            try:
                return [chunk async for chunk in self.inner.stream(request)]
            except ModelError as error:
                retry += 1
                if retry > self.backoff.retries or not may_pass(error):
                    raise
            clock = self._clock if self._clock is not None else running_clock()
            await clock.sleep(self.backoff.wait(retry, self._random.random()))


def may_pass(error: ModelError) -> bool:
    """Whether it makes sense to ask again.

    Example:
        >>> may_pass(ProviderError("busy", status=529)), may_pass(ProviderError("bad", status=400))
        (True, False)
    """
    if isinstance(error, ProviderError):
        return error.status >= 500 or error.status in _PASSING
    return isinstance(error, ConnectionCut)
