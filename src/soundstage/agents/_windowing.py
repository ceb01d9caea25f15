"""The windowing daemon: chunks of streams become outputs, by policy; the end of a stream flushes the rest.

One daemon deals with all chunk types of a family, in the order of the journal. When a stream is complete, it
flushes the chunk types in the order in which the family lists them. So the order of outputs is fixed: thoughts
come before the response, always. Streams are kept apart by the field `stream` of their entries.

History is ignored: it begins after the newest entry that is there when it starts.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from soundstage.agents._buffer import StreamBuffer, Windowing
from soundstage.agents._entries import (
    AgentEntry,
    AgentResponse,
    AgentResponseChunk,
    AgentStreamCompleted,
    AgentThought,
    AgentThoughtChunk,
    ChatChunk,
    ChatEntry,
    ChatReceived,
    ChatReceivedDraft,
    ChatReply,
    ChatReplyDraft,
    ChatStreamCompleted,
)
from soundstage.agents._followers import Followers
from soundstage.agents._pump import Pump
from soundstage.agents._windows import AnyWindow, LengthWindow, MarkerWindow, ParagraphWindow
from soundstage.journal import Event, Record


class DraftType(NamedTuple):
    """A draft type and its final type. Its pieces are chunks of a stream, or finals without a chunk type."""

    draft: type[Event]
    final: type[Event]
    chunk: type[Event] | None = None


class EntryFamily(NamedTuple):
    """The streams and drafts of a family of entries.

    Args:
        entries: the base class.
        windowings: the chunk types, in the order in which the end of a stream flushes them.
        completed: the leaf type that ends a stream.
        drafts: what may have to be cut before it is final.
    """

    entries: type[Event]
    windowings: tuple[Windowing, ...] = ()
    completed: type[Event] | None = None
    drafts: tuple[DraftType, ...] = ()


CHAT: Final = EntryFamily(
    ChatEntry,
    (Windowing(ChatChunk, ChatReply, AnyWindow((ParagraphWindow(), LengthWindow(2000)))),),
    ChatStreamCompleted,
    (DraftType(ChatReplyDraft, ChatReply, ChatChunk), DraftType(ChatReceivedDraft, ChatReceived)),
)
AGENT: Final = EntryFamily(
    AgentEntry,
    (
        Windowing(AgentThoughtChunk, AgentThought, AnyWindow((MarkerWindow(), LengthWindow(4096)))),
        Windowing(AgentResponseChunk, AgentResponse, AnyWindow((ParagraphWindow(), LengthWindow(4096)))),
    ),
    AgentStreamCompleted,
)


class WindowingDaemon(Pump):
    """Turns the chunks of a family into outputs.

    Args:
        family: what becomes what, and when.
        followers: who reads the journal.
        name: how messages and the journal call it.
    """

    def __init__(self, family: EntryFamily, followers: Followers, *, name: str = "") -> None:
        name = name or f"windows of {family.entries.__name__}"
        kinds = [windowing.chunk for windowing in family.windowings]
        ends = [family.completed] if family.completed is not None else []
        super().__init__(name, followers, [*kinds, *ends], self._take)
        self._family = family
        self._by_chunk = {windowing.chunk: windowing for windowing in family.windowings}
        self._buffers: dict[tuple[type[Event], str], StreamBuffer] = {}

    async def _start(self) -> None:
        self.follower.skip_to(len(self.journal))
        await super()._start()

    def _take(self, record: Record) -> None:
        event: Any = record.event
        stream = getattr(event, "stream", "")
        if type(event) is self._family.completed:
            outputs = self._flush(stream)
        else:
            key = (type(event), stream)
            if key not in self._buffers:
                self._buffers[key] = StreamBuffer(self._by_chunk[type(event)])
            outputs = self._buffers[key].add(event, record.time)
        for output in outputs:
            self.journal.append(output, source=self.name, cause=record.position)

    def _flush(self, stream: str) -> list[Event]:
        buffers = [self._buffers.pop((kind, stream), None) for kind in self._by_chunk]
        return [output for buffer in buffers if buffer is not None for output in buffer.flush()]
