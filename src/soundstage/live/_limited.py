"""A model behind the gate of its provider: it waits for its turn, and asks again when the provider is too busy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count

from soundstage.errors import EnvironmentProblem, ProviderError
from soundstage.journal import Journal
from soundstage.live._events import ModelThrottled
from soundstage.live._limits import ProviderGate, wait_of
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest
from soundstage.models import Model, Wrapper, asked_tokens, close

BUSY = (429, 529)
SPENT = "insufficient_quota"  # of OpenAI, with 429: no wait helps


class LimitedModel(Wrapper):
    """Asks another model within the limits of its provider.

    An answer that says that the provider is too busy (status 429 or 529) is no failure of who asks: the gate is
    shut for as long as it says, and the request is sent again. Each such answer is in the journal.

    Args:
        inner: the model that answers.
        gate: of its provider, shared with others.
        journal: gets a `ModelThrottled` for each request that is sent again.

    Attributes:
        problem: the last error that is the environment's fault, such as a provider that stays too busy.
        waited: seconds that requests have waited for the limits, and for a provider that was too busy.

    Example:
        ::

            gate = ProviderGate(ProviderLimits(requests_per_minute=60))
            model = LimitedModel(LiveModel("openai"), gate, journal)
    """

    def __init__(self, inner: Model, gate: ProviderGate, journal: Journal) -> None:
        super().__init__(inner)
        self._gate = gate
        self._journal = journal
        self.problem: EnvironmentProblem | None = None
        self.waited = 0.0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The inner model's reply, when it is its turn.

        Raises:
            EnvironmentProblem: if the provider turns it away as often as the limits allow.
        """
        guess = asked_tokens(request)
        for attempt in count(1):
            begun = False
            await self._enter(guess)
            stream = self.inner.stream(request)
            try:
                async for chunk in stream:
                    begun = True
                    if isinstance(chunk, FinishChunk):
                        self._gate.correct(chunk.usage.total_tokens - guess)
                    yield chunk
                return
            except ProviderError as error:
                if begun or error.status not in BUSY:
                    raise
                self._turned_away(error, attempt)
            except EnvironmentProblem as problem:
                self.problem = problem
                raise
            finally:
                self._gate.leave()
                await close(stream)

    async def _enter(self, tokens: int) -> None:
        came = self._gate.clock.now()
        try:
            await self._gate.enter(tokens)
        finally:
            self.waited += self._gate.clock.now() - came

    def _turned_away(self, error: ProviderError, attempt: int) -> None:
        """Shut the gate for a while; or give up."""
        wait = wait_of(error, attempt, self._gate.clock)
        event = ModelThrottled(status=error.status, message=error.message, wait=wait, attempt=attempt)
        self._journal.append(event, source="provider")
        if error.code == SPENT or attempt >= self._gate.limits.attempts:
            self.problem = EnvironmentProblem(
                f"the provider has turned away a request {attempt} times",
                expected="an answer",
                seen=str(error),
                hint="lower its limits (requests_per_minute, tokens_per_minute, concurrency), or try again later",
            )
            raise self.problem from error
        self._gate.shut(wait)
