"""The model of one run of a sweep: a good model, with one thing going wrong.

A request that is sent again after a fault gets the reply that was due, as a provider would give it: a rule of a script
that serves once has served already. Each other request is the good model's. Beyond `limit` requests nothing is answered
any more, and `flooded` is set: the app retries without an end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from soundstage.clock import running_clock
from soundstage.faults._calls import asks_the_same
from soundstage.faults._cases import Injection, bytes_of
from soundstage.messages import ModelChunk, ModelRequest, StartChunk, TextChunk
from soundstage.models import ErrorSpec, FaultyModel, Model, Wrapper


class SweptModel(Wrapper):
    """Another model's replies, with one injection.

    Args:
        inner: the model of a good run.
        injection: what goes wrong; nothing, for a good run.
        limit: requests that are answered.
        asked: is called at each request, before it is answered.
    """

    def __init__(
        self,
        inner: Model,
        injection: Injection | None,
        *,
        limit: int,
        asked: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(inner)
        self._injection = injection
        self._limit = limit
        self._asked = asked
        self._due: tuple[ModelRequest, Sequence[ModelChunk]] | None = None
        self.requests = 0
        self.flooded = False
        self._heard = asyncio.Event()

    async def next_request(self) -> None:
        """Wait for a request that has not been waited for."""
        await self._heard.wait()
        self._heard.clear()

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The inner model's reply, or what is injected into this call."""
        self.requests += 1
        self._heard.set()
        if self._asked is not None:
            self._asked()
        if self.requests > self._limit:
            self.flooded = True
            return _never()
        injection = self._injection
        if injection is None or not _hits(injection, self.requests):
            return self._good(request)
        return self._injected(request, injection)

    def _good(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        if self._due is not None and asks_the_same(self._due[0], request):
            chunks, self._due = self._due[1], None
            return _Given(chunks).stream(request)
        return self.inner.stream(request)

    async def _injected(self, request: ModelRequest, injection: Injection) -> AsyncIterator[ModelChunk]:
        given = _Given([])
        if not isinstance(injection.fault, ErrorSpec):
            chunks = [chunk async for chunk in self._good(request)]
            self._due = request, chunks
            given = _Given(_sent(injection, chunks), injection.pause)
        model = given if injection.fault is None else FaultyModel(given, injection.fault)
        async for chunk in model.stream(request):
            yield chunk


class _Given:
    """A model that gives these chunks."""

    def __init__(self, chunks: Sequence[ModelChunk], pause: float = 0.0) -> None:
        self._chunks = chunks
        self._pause = pause

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        clock = running_clock()
        for chunk in self._chunks:
            await clock.sleep(self._pause)
            yield chunk


def _sent(injection: Injection, good: Sequence[ModelChunk]) -> Sequence[ModelChunk]:
    """The chunks of a reply, whose first one says how it is delivered. Recorded bytes stay what is sent, unless
    something in them is another.
    """
    chunks, delivery, body = injection.reshape(good), injection.delivery, bytes_of(good)
    if delivery is not None and injection.fault is None:
        delivery = msgspec.structs.replace(delivery, body=body)
    if delivery is None and not body:
        return chunks
    if chunks and isinstance(chunks[0], StartChunk):
        return [msgspec.structs.replace(chunks[0], delivery=delivery), *chunks[1:]]
    return [StartChunk(delivery=delivery), *chunks] if delivery is not None else chunks


async def _never() -> AsyncIterator[ModelChunk]:
    await asyncio.Event().wait()
    yield TextChunk(index=0, text="")


def _hits(injection: Injection, number: int) -> bool:
    return number >= injection.call if injection.lasting else number == injection.call
