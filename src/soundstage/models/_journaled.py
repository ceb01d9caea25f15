"""The one place where model traffic enters the journal.

Every request passes here, in process and over the wire: `ModelRequested`, then each chunk, then
`ModelResponded` or `ModelFailed`. A request's cause is the newest event that led to it: the reply whose tool
results it brings, else the event that the calling task is working on (`working_on`), else the reply of the
asking agent's parent, else the prompt of the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextvars import ContextVar
from typing import Final, Literal

import msgspec

from soundstage.errors import ConnectionCut, NoMatchError, ProviderError, ReplayMismatchError, ScriptError
from soundstage.journal import (
    Journal,
    MessageReceived,
    ModelChunked,
    ModelFailed,
    ModelRequested,
    ModelResponded,
)
from soundstage.messages import (
    MAIN,
    FinishChunk,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    ToolCall,
    respond,
)
from soundstage.models._protocol import Model, Stream, Wrapper, close, kind_of, take

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


_NAMES: Final = 10_000  # of agents, that are known once a journal lets records go


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
        self.journal = journal
        self.source = source
        self._identify = identify
        self._log = _ExchangeLog(journal, source, kind_of(inner))

    def stream(self, request: ModelRequest) -> JournaledStream:
        """The inner model's reply, journaled on the way."""
        if self._identify is not None:
            request = self._log.parent_named(request, self._identify(request))
        return JournaledStream(self.inner, request, self._log)


class _ExchangeLog:
    """Writes the exchanges of one model, and knows what led to each request."""

    def __init__(self, journal: Journal, source: str, kind: str) -> None:
        self.journal = journal
        self.source = source
        self._kind = kind
        # positions of replies that asked for tools: by the id of the call, and the newest of a conversation
        self._asked_by: dict[str, int] = {}
        self._asked_in: dict[str, int] = {}
        # by conversation and agent: its calls of tools with those positions, and the name that a rule gave it
        self._calls: dict[tuple[str, str], list[tuple[int, ToolCall]]] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._prompts: dict[str, int] = {}  # channel -> position of the newest message on it
        self._looked_at = 0
        self._let_go = 0

    def parent_named(self, request: ModelRequest, identified: ModelRequest) -> ModelRequest:
        """`identified` with its parent by the name that the parent's own requests have got from a rule."""
        before, caller = request.caller, identified.caller
        self._names[before.conversation, before.agent or MAIN] = caller.agent or MAIN
        parent = self._names.get((caller.conversation, caller.parent), caller.parent)
        if parent == caller.parent:
            return identified
        return msgspec.structs.replace(identified, caller=msgspec.structs.replace(caller, parent=parent))

    def requested(self, request: ModelRequest) -> int:
        if self.journal.let_go != self._let_go:
            self._forget(self.journal.let_go)
        event = ModelRequested(request=request, model_kind=self._kind)
        return self.journal.append(event, source=self.source, cause=self._cause(request))

    def _forget(self, gone: int) -> None:
        """Let go what led to nothing while the journal has kept it; a test's journal keeps all."""
        self._let_go = gone
        for positions in (self._asked_by, self._asked_in, self._prompts):
            for key in [key for key, position in positions.items() if position <= gone]:
                del positions[key]
        for asker, calls in list(self._calls.items()):
            calls[:] = [(position, call) for position, call in calls if position > gone]
            if not calls:
                del self._calls[asker]
        for name in list(self._names)[:-_NAMES]:
            del self._names[name]

    def _cause(self, request: ModelRequest) -> int | None:
        """The position of the event that led to `request`. Without ids of calls, the conversation tells."""
        if self._asked_by:
            results = request.tool_results
            if results:
                asked = max(self._asked_by.get(result.call_id, 0) for result in results)
                asked = asked or self._asked_in.get(request.caller.conversation, 0)
                if asked:
                    return asked
        caller = request.caller
        return (
            working_on.get()
            or (self._started(request) if caller.parent else None)
            or (self._prompted(caller.conversation) if caller.conversation else None)
        )

    def _started(self, request: ModelRequest) -> int | None:
        """The reply of the parent whose call quotes what the agent is asked; its newest one if none does."""
        caller = request.caller
        calls = self._calls.get((caller.conversation, caller.parent), ())
        asked = request.last_user_text or ""
        quoted = (position for position, call in reversed(calls) if _task_of(call) in asked)
        return next(quoted, calls[-1][0] if calls else None)

    def _prompted(self, conversation: str) -> int | None:
        """The newest message from a world on the channel of this name; a driver's prompt is on its session's."""
        for record in self.journal.read(self._looked_at, MessageReceived):
            self._prompts[record.event.channel] = record.position  # type: ignore[attr-defined]
        self._looked_at = len(self.journal)
        return self._prompts.get(conversation)

    def chunked(self, chunks: Iterable[ModelChunk], position: int) -> None:
        self.journal.extend(_chunk_events(chunks), source=self.source, cause=position)

    def responded(
        self, request: ModelRequest, response: ModelResponse, position: int, chunks: Iterable[ModelChunk] = ()
    ) -> None:
        """Note the whole response, behind chunks that came with it and are not on record yet."""
        events = [*_chunk_events(chunks), ModelResponded(response=response)]
        done = self.journal.extend(events, source=self.source, cause=position)
        for part in response.parts:
            if type(part) is ToolCall:
                self._asked_by[part.id] = done
                self._asked_in[request.caller.conversation] = done
                asker = request.caller.conversation, request.caller.agent or MAIN
                self._calls.setdefault(asker, []).append((done, part))

    def failed(self, error: BaseException, position: int, served_by: str) -> None:
        self.journal.append(
            ModelFailed(
                reason=_reason(error),
                message=str(error) or type(error).__name__,
                status=getattr(error, "status", 0),
                kind=getattr(error, "kind", ""),
                served_by=served_by,
            ),
            source=self.source,
            cause=position,
        )


class JournaledStream(Stream):
    """A reply that is journaled while it is read, or when it is taken."""

    _inner: AsyncIterator[ModelChunk] | None = None
    _position = 0

    def __init__(self, model: Model, request: ModelRequest, log: _ExchangeLog) -> None:
        self._model = model
        self._request = request
        self._log = log

    def _begin(self) -> AsyncIterator[ModelChunk]:
        self._position = self._log.requested(self._request)
        self._inner = self._model.stream(self._request)
        return self._inner

    def take(self) -> list[ModelChunk] | None:
        """All chunks, if none has to be waited for."""
        inner = self._begin()
        try:
            chunks = take(inner)
            if chunks is None:
                return None
            self.response = self._folded(chunks)
        except BaseException as error:
            self._log.failed(error, self._position, _source_of(inner))
            raise
        self._log.responded(self._request, self.response, self._position, chunks)
        return chunks

    def _folded(self, chunks: list[ModelChunk]) -> ModelResponse:
        """The response; chunks that make none are on record all the same."""
        try:
            return respond(chunks)
        except BaseException:
            self._log.chunked(chunks, self._position)
            raise

    async def steps(self) -> AsyncIterator[ModelChunk]:
        """The chunks one by one."""
        inner = self._inner or self._begin()
        chunks: list[ModelChunk] = []
        try:
            async for chunk in inner:
                chunks.append(chunk)
                if type(chunk) is not FinishChunk:
                    self._log.chunked((chunk,), self._position)
                    yield chunk
            self.response = respond(chunks)
        except BaseException as error:
            self._log.failed(error, self._position, _source_of(inner))
            await close(inner)
            raise
        self._log.responded(self._request, self.response, self._position)
        if chunks and type(chunks[-1]) is FinishChunk:
            yield chunks[-1]


def _chunk_events(chunks: Iterable[ModelChunk]) -> list[ModelChunked]:
    return [ModelChunked(chunk=chunk) for chunk in chunks if type(chunk) is not FinishChunk]


def _task_of(call: ToolCall) -> str:
    """The longest text in a call: what an agent that it starts is asked to do."""
    texts = [value for value in call.arguments.values() if isinstance(value, str)]
    return max(texts, key=len, default="") or call.raw or call.name


def _source_of(stream: AsyncIterator[ModelChunk]) -> str:
    return str(getattr(stream, "served_by", ""))


def _reason(error: BaseException) -> Reason:
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), "harness")
