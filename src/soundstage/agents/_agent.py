"""The agent branch: each `AgentPrompt` is a request to the model, whose answer becomes entries.

Prompts are answered one after the other. A whole answer is one thought, if the model shows any, and one
response. A streamed one is chunks, in the order in which the model sends them, and a completion, which comes
also when the model fails or the app is stopped; the windowing daemon makes thoughts and responses of them. The
next prompt waits for that, so that its transcript holds the whole answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from soundstage.agents._entries import (
    AgentAck,
    AgentEntry,
    AgentPrompt,
    AgentResponse,
    AgentResponseChunk,
    AgentStreamCompleted,
    AgentThought,
    AgentThoughtChunk,
)
from soundstage.agents._errors import SettingError
from soundstage.agents._manifest import BranchManifest
from soundstage.agents._pump import Pump, acked
from soundstage.agents._scope import AppScope, BranchDaemons
from soundstage.agents._transcript import TranscriptInput, read_turns
from soundstage.errors import ScriptError
from soundstage.journal import Event, Record
from soundstage.messages import (
    Caller,
    ModelChunk,
    ModelRequest,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolCallChunk,
)
from soundstage.models import Model, complete

_ENTRY: Final[dict[type[Any], type[AgentResponseChunk | AgentThoughtChunk]]] = {
    TextChunk: AgentResponseChunk,
    ThinkingChunk: AgentThoughtChunk,
}


class AgentBranch(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that answers prompts with what a model says. It offers the model no tools.

    Args:
        model: the name of the model to ask for.
        name: unique in an app; the sender of its entries, and the agent of its requests.
        system: its instructions.
        streaming: whether the answer comes as chunks, put together by window policies.
        history: how many earlier turns the model is told at most; all, unless given.
        settings: everything else for the request, by the provider's names: `temperature`, `top_p`...

    Raises:
        SettingError: if `model` is empty, or `history` is less than 0.
    """

    model: str
    name: str = "agent"
    system: str = ""
    streaming: bool = False
    history: int | None = None
    settings: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        if not self.model:
            raise SettingError("an agent needs the name of a model", hint='use_agent("gpt-4o")')
        if self.history is not None and (type(self.history) is not int or self.history < 0):
            raise SettingError(
                "the history is clipped to a whole number of turns from 0, or None for all",
                seen=f"history={self.history!r}",
            )

    @property
    def manifest(self) -> BranchManifest:
        """It reads prompts and writes responses and thoughts; chunks too, when streaming."""
        chunks = (AgentResponseChunk, AgentThoughtChunk) if self.streaming else ()
        return BranchManifest(
            self.name,
            AgentEntry,
            produces=(AgentResponse, AgentThought, *chunks),
            consumes=(AgentPrompt,),
            offers=(AgentStreamCompleted,) if self.streaming else (),
        )

    def daemons(self, scope: AppScope) -> BranchDaemons:
        """One that answers prompts."""
        client: Model = scope.part("model", self.name)
        work = _Work(self, scope, client)
        done = acked(scope.followers, AgentAck, self.name)
        return BranchDaemons((Pump(self.name, scope.followers, (AgentPrompt,), work.answer, done=done),))


class _Work:
    """The work of an agent in one run of an app."""

    def __init__(self, branch: AgentBranch, scope: AppScope, client: Model) -> None:
        self._branch = branch
        self._scope = scope
        self._client = client

    async def answer(self, record: Record) -> None:
        assert isinstance(record.event, AgentPrompt)
        request = self._request(record.position, record.event)
        if self._branch.streaming:
            await self._stream(request, record.position)
        else:
            await self._complete(request, record.position)
        self._append(AgentAck(position=record.position), record.position)

    def _request(self, position: int, prompt: AgentPrompt) -> ModelRequest:
        branch = self._branch
        entries = self._scope.journals.get(AgentEntry).read(self._scope.followers.start)
        turns = read_turns(entries, position, branch.history)
        messages = self._scope.transcript(TranscriptInput(branch.system, turns, prompt))
        return ModelRequest(
            model=branch.model,
            messages=tuple(messages),
            stream=branch.streaming,
            settings=dict(branch.settings),
            caller=Caller(agent=branch.name),
        )

    async def _complete(self, request: ModelRequest, prompt: int) -> None:
        response = await complete(self._client, request)
        self._refuse_tools([call.name for call in response.tool_calls])
        thought = "".join(part.text for part in response.parts if isinstance(part, Thinking))
        if thought:
            self._append(AgentThought(text=thought, sender=self._branch.name), prompt)
        if response.text:
            self._append(AgentResponse(text=response.text, sender=self._branch.name), prompt)

    async def _stream(self, request: ModelRequest, prompt: int) -> None:
        name, stream = self._branch.name, f"{self._branch.name}-{prompt}"
        try:
            async with _closed(self._client.stream(request)) as chunks:
                async for chunk in chunks:
                    kind = _ENTRY.get(type(chunk))
                    if kind is not None and (text := getattr(chunk, "text", "")):
                        self._append(kind(text=text, sender=name, stream=stream), prompt)
                    elif isinstance(chunk, ToolCallChunk):
                        self._refuse_tools([chunk.name])
        finally:
            end = self._append(AgentStreamCompleted(sender=name, stream=stream), prompt)
        await self._scope.wait_windowed(end)

    def _append(self, entry: Event, prompt: int) -> int:
        return self._scope.journal.append(entry, source=self._branch.name, cause=prompt)

    def _refuse_tools(self, names: list[str]) -> None:
        if names:
            raise ScriptError(
                f"the model asks the agent {self._branch.name!r} for a tool, and this agent has none",
                seen=", ".join(names),
                hint="let the script answer with text, or write an agent that runs tools",
            )


@asynccontextmanager
async def _closed(stream: AsyncIterator[ModelChunk]) -> AsyncIterator[AsyncIterator[ModelChunk]]:
    """A reply that is ended at once when its reader leaves, where it can be."""
    try:
        yield stream
    finally:
        if hasattr(stream, "aclose"):
            await stream.aclose()
