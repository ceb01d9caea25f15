"""Recording: what passes goes onto a tape, replies and failures alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from soundstage.clock import Clock, running_clock
from soundstage.errors import ModelError
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest, respond
from soundstage.models import Model, Wrapper, close
from soundstage.tapes._exchange import RecordedExchange, TimedChunk, failure_of
from soundstage.tapes._tape import Tape


class RecordingModel(Wrapper):
    """Puts every exchange with another model onto a tape, as it came: pieces, times, failures.

    Errors that are not the model's (a script without an answer, a missing key) are not recorded.

    Args:
        inner: the model that answers.
        tape: gets the exchanges; `Tape.create(path)` writes them to a file.
        clock: whose times are recorded; the running loop's unless given.

    Example:
        >>> from soundstage.clock import run
        >>> from soundstage.messages import user
        >>> from soundstage.models import Script, ScriptedModel, complete
        >>> script, tape = Script(), Tape()
        >>> script.queue("hi")
        >>> model = RecordingModel(ScriptedModel(script), tape)
        >>> _ = run(complete(model, ModelRequest(model="m", messages=(user("hello"),))))
        >>> tape.exchanges[0].response.text
        'hi'
    """

    def __init__(self, inner: Model, tape: Tape, *, clock: Clock | None = None) -> None:
        super().__init__(inner)
        self.tape = tape
        self._clock = clock
        self._begun: float | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The inner model's reply."""
        clock = self._clock if self._clock is not None else running_clock()
        if self._begun is None:
            self._begun = clock.now()
        take = _OpenExchange(self.tape.next_number(), request, clock, self._begun)
        stream = self.inner.stream(request)
        try:
            async for chunk in stream:
                take.add(chunk)
                yield chunk
        except (ModelError, GeneratorExit, asyncio.CancelledError) as error:
            self._keep(take.exchange(None if take.complete else error))
            await close(stream)
            raise
        self._keep(take.exchange(None))

    def _keep(self, exchange: RecordedExchange) -> None:
        self.tape.append(exchange)


class _OpenExchange:
    """One exchange while it goes on."""

    def __init__(self, number: int, request: ModelRequest, clock: Clock, first: float) -> None:
        self._number = number
        self._request = request
        self._clock = clock
        self._begun = clock.now()
        self._started_ms = round((self._begun - first) * 1000, 3)
        self._wall = clock.wall().isoformat()
        self._chunks: list[TimedChunk] = []

    @property
    def complete(self) -> bool:
        """Whether the reply has come to its end."""
        return bool(self._chunks) and isinstance(self._chunks[-1].chunk, FinishChunk)

    def add(self, chunk: ModelChunk) -> None:
        self._chunks.append(TimedChunk(at_ms=self._passed(), chunk=chunk))

    def _passed(self) -> float:
        return round((self._clock.now() - self._begun) * 1000, 3)

    def exchange(self, error: BaseException | None) -> RecordedExchange:
        chunks = [timed.chunk for timed in self._chunks]
        return RecordedExchange(
            number=self._number,
            timestamp=self._wall,
            started_ms=self._started_ms,
            latency_ms=self._passed(),
            request=self._request,
            response=respond(chunks) if chunks else None,
            failure=failure_of(error) if error is not None else None,
            chunks=tuple(self._chunks),
        )
