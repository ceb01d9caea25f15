"""The one place where model traffic enters the journal.

Every request passes here, in process and over the wire: `ModelRequested`, then each chunk, then
`ModelResponded` or `ModelFailed`. A request's cause is the newest event that led to it: the reply whose tool
results it brings, else the event that the calling task is working on (`working_on`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Literal

from soundstage.errors import ConnectionCut, NoMatchError, ProviderError, ReplayMismatchError
from soundstage.journal import Journal, ModelChunked, ModelFailed, ModelRequested, ModelResponded
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest, ToolCall, respond
from soundstage.models._protocol import Model, Wrapper, kind_of

working_on: ContextVar[int | None] = ContextVar("working_on", default=None)
"""Position of the event that the current task is working on; worlds set it when they hand out a message."""

Reason = Literal["error", "cut", "no_match", "replay_mismatch", "client_gone", "harness"]
_REASONS: tuple[tuple[type[BaseException], Reason], ...] = (
    (ProviderError, "error"),
    (ConnectionCut, "cut"),
    (NoMatchError, "no_match"),
    (ReplayMismatchError, "replay_mismatch"),
    (GeneratorExit, "client_gone"),
    (asyncio.CancelledError, "client_gone"),
)


class JournaledModel(Wrapper):
    """Appends everything that passes to a journal.

    Args:
        inner: the model that answers.
        journal: where to append.
        source: the name of the model in the journal.
        identify: completes who asks, before the request is journaled.
    """

    def __init__(
        self,
        inner: Model,
        journal: Journal,
        *,
        source: str = "model",
        identify: Callable[[ModelRequest], ModelRequest] | None = None,
    ) -> None:
        super().__init__(inner)
        self._identify = identify
        self.journal = journal
        self.source = source
        self._kind = kind_of(inner)
        self._asked_by: dict[str, int] = {}  # tool call id -> position of the reply that asked for it

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The inner model's reply, journaled on the way."""
        if self._identify is not None:
            request = self._identify(request)
        append = self.journal.append
        source = self.source
        position = append(
            ModelRequested(request=request, model_kind=self._kind), source=source, cause=self._cause(request)
        )
        chunks: list[ModelChunk] = []
        try:
            async for chunk in self.inner.stream(request):
                chunks.append(chunk)
                if type(chunk) is not FinishChunk:
                    append(ModelChunked(chunk=chunk), source=source, cause=position)
                    yield chunk
        except BaseException as error:
            self._failed(error, position)
            raise
        response = respond(chunks)
        done = append(ModelResponded(response=response), source=source, cause=position)
        for part in response.parts:
            if type(part) is ToolCall:
                self._asked_by[part.id] = done
        if chunks and type(chunks[-1]) is FinishChunk:
            yield chunks[-1]

    def _cause(self, request: ModelRequest) -> int | None:
        if self._asked_by and request.messages[-1].role != "assistant":
            asked = [self._asked_by.get(result.call_id, 0) for result in request.tool_results]
            if any(asked):
                return max(asked)
        return working_on.get()

    def _failed(self, error: BaseException, position: int) -> None:
        reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), "harness")
        self.journal.append(
            ModelFailed(
                reason=reason,
                message=str(error) or type(error).__name__,
                status=getattr(error, "status", 0),
                kind=getattr(error, "kind", ""),
            ),
            source=self.source,
            cause=position,
        )
