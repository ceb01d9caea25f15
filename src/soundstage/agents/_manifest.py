"""The manifest of a branch, and the route between two types of entries. Frozen records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from soundstage.agents._entries import (
    ChatChunk,
    ChatEntry,
    ChatReceived,
    ChatReply,
    ChatReplyDraft,
    ChatStreamCompleted,
)
from soundstage.journal import Event

Transform = Callable[[Any], Event | Awaitable[Event]]


class BranchManifest(NamedTuple):
    """Which entries a branch writes and reads.

    Args:
        branch: its name, unique in an app.
        entries: the family of all its entries.
        produces: leaf types that it writes; each needs a route or must be declared terminal.
        consumes: leaf types that it reads; each needs a route that leads to it.
        accepts: leaf types that it also reads, in the place of those that it consumes. A route may lead to
            them, and need not.
        offers: leaf types that it also writes. A route may begin at them, and need not.
    """

    branch: str
    entries: type[Event]
    produces: tuple[type[Event], ...] = ()
    consumes: tuple[type[Event], ...] = ()
    accepts: tuple[type[Event], ...] = ()
    offers: tuple[type[Event], ...] = ()

    @property
    def listed(self) -> tuple[type[Event], ...]:
        """All types that it names."""
        return (*self.produces, *self.consumes, *self.accepts, *self.offers)


class EntryRoute(NamedTuple):
    """Every entry of exactly the class `source` becomes one of exactly the class `target`."""

    source: type[Event]
    target: type[Event]
    transform: Transform

    @property
    def name(self) -> str:
        """How messages and the journal call it."""
        return f"route {type_name(self.source)} -> {type_name(self.target)}"


def type_name(kind: object) -> str:
    """The name of a class; whatever else was given is shown as it is."""
    return kind.__name__ if isinstance(kind, type) else repr(kind)


def chat_manifest(name: str) -> BranchManifest:
    """The manifest of a branch between people and the app: it writes messages, and reads replies, whole or cut."""
    return BranchManifest(
        name,
        ChatEntry,
        produces=(ChatReceived,),
        consumes=(ChatReply,),
        accepts=(ChatReplyDraft, ChatChunk, ChatStreamCompleted),
    )
