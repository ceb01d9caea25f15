"""The one place where model traffic enters the journal.

Every request passes here, in process and over the wire: `ModelRequested`, then each chunk, then
`ModelResponded` or `ModelFailed`. A request's cause is the newest event that led to it: the reply whose tool
results it brings, else the event that the calling task is working on (`working_on`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Final, Literal

from soundstage.errors import ConnectionCut, NoMatchError, ProviderError, ReplayMismatchError, ScriptError
from soundstage.journal import (
    Journal,
    MessageReceived,
    ModelChunked,
    ModelFailed,
    ModelRequested,
    ModelResponded,
)
from soundstage.messages import FinishChunk, ModelChunk, ModelRequest, ToolCall, respond
from soundstage.models._protocol import Model, Wrapper, close, kind_of

working_on: ContextVar[int | None] = ContextVar("working_on", default=None)
"""Position of the event that the current task is working on; worlds set it when they hand out a message."""

Reason = Literal["error", "cut", "no_match", "replay_mismatch", "client_gone", "script", "harness"]
_REASONS: Final[tuple[tuple[type[BaseException], Reason], ...]] = (
    (ProviderError, "error"),
    (ConnectionCut, "cut"),
    (NoMatchError, "no_match"),
    (ReplayMismatchError, "replay_mismatch"),
    (ScriptError, "script"),
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
        # positions of replies that asked for tools: by the id of the call, and the newest of a conversation
        self._asked_by: dict[str, int] = {}
        self._asked_in: dict[str, int] = {}
        self._prompts: dict[str, int] = {}  # channel -> position of the newest message on it
        self._looked_at = 0

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
        stream = self.inner.stream(request)
        try:
            async for chunk in stream:
                chunks.append(chunk)
                if type(chunk) is not FinishChunk:
                    append(ModelChunked(chunk=chunk), source=source, cause=position)
                    yield chunk
            response = respond(chunks)
        except BaseException as error:
            self._failed(error, position)
            await close(stream)
            raise
        done = append(ModelResponded(response=response), source=source, cause=position)
        for part in response.parts:
            if type(part) is ToolCall:
                self._asked_by[part.id] = done
                self._asked_in[request.caller.conversation] = done
        if chunks and type(chunks[-1]) is FinishChunk:
            yield chunks[-1]

    def _cause(self, request: ModelRequest) -> int | None:
        """What led to `request`. Where a client does not send ids of calls back, the conversation tells."""
        if self._asked_by:
            results = request.tool_results
            if results:
                asked = max(self._asked_by.get(result.call_id, 0) for result in results)
                asked = asked or self._asked_in.get(request.caller.conversation, 0)
                if asked:
                    return asked
        return working_on.get() or self._prompted(request.caller.conversation)

    def _prompted(self, conversation: str) -> int | None:
        """The newest message from a world on the channel of this name; a driver's prompt is on its session's."""
        if not conversation:
            return None
        for record in self.journal.read(self._looked_at, MessageReceived):
            self._prompts[record.event.channel] = record.position  # type: ignore[attr-defined]
        self._looked_at = len(self.journal)
        return self._prompts.get(conversation)

    def _failed(self, error: BaseException, position: int) -> None:
        self.journal.append(
            ModelFailed(
                reason=_reason(error),
                message=str(error) or type(error).__name__,
                status=getattr(error, "status", 0),
                kind=getattr(error, "kind", ""),
            ),
            source=self.source,
            cause=position,
        )


def _reason(error: BaseException) -> Reason:
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), "harness")
