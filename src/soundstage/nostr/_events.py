"""The events of a Nostr relay in the journal.

A connection has a number, from 1; what users of the test publish has none and comes from connection 0. The
signature of an event is left out: it differs from run to run, and everything else does not.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from soundstage.journal import Event


def _from(connection: int) -> str:
    return f"connection {connection}" if connection else "the test"


class NostrConnectionChanged(Event, frozen=True, kw_only=True):
    """A client connected, or its connection ended.

    Args:
        change: `opened`; `closed` with a code; `cut` without one; `refused` before it was open.
        connection: its number.
        code: of the closing frame, or the HTTP status of a refusal.
        reason: in words.
        by: who ended it: the `client`, or the `relay`, which the test plays.
    """

    change: Literal["opened", "closed", "cut", "refused"]
    connection: int = 0
    code: int = 0
    reason: str = ""
    by: Literal["client", "relay"] = "client"

    def __str__(self) -> str:
        facts = [f"by the {self.by}" if self.change != "opened" else "", str(self.code or ""), self.reason]
        return " ".join(filter(None, [f"connection {self.connection} {self.change}", *facts]))


class NostrEventReceived(Event, frozen=True, kw_only=True):
    """The relay took an event: it keeps it, or, if its kind is ephemeral, passes it on.

    Args:
        id: of the event.
        pubkey: who signed it.
        author: their name, if the test gave them one; else their public key.
        kind: its kind.
        content: what it says.
        tags: its tags.
        created_at: its time, in seconds since 1970.
        connection: where it came from; 0 is a user of the test.
        replaced: id of the older version that is gone now.
        deleted: ids of the events that are gone now, because this one deletes them.
    """

    id: str
    pubkey: str
    author: str
    kind: int
    content: str
    tags: tuple[tuple[str, ...], ...] = ()
    created_at: int = 0
    connection: int = 0
    replaced: str = ""
    deleted: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.author}: {self.content} · kind {self.kind} from {_from(self.connection)}"


class NostrEventRefused(Event, frozen=True, kw_only=True):
    """The relay did not take an event. `ok`: it said that all is well, because it has that event already."""

    id: str
    pubkey: str
    author: str
    kind: int
    content: str
    reason: str
    ok: bool = False
    connection: int = 0

    def __str__(self) -> str:
        return (
            f"{self.author}: {self.content} · kind {self.kind} from {_from(self.connection)} · {self.reason}"
        )


class NostrEventSent(Event, frozen=True, kw_only=True):
    """The relay told a subscription of an event. `live`: it came after the subscription began."""

    routine: ClassVar[bool] = True

    id: str
    kind: int
    author: str
    subscription: str
    connection: int
    live: bool = False

    def __str__(self) -> str:
        return f"kind {self.kind} of {self.author} to {self.subscription!r} of connection {self.connection}"


class NostrSubscriptionChanged(Event, frozen=True, kw_only=True):
    """A subscription was opened, got other filters, was closed by the client or the relay, or was refused."""

    change: Literal["opened", "replaced", "closed", "refused"]
    subscription: str
    connection: int
    filters: tuple[dict[str, Any], ...] = ()
    by: Literal["client", "relay"] = "client"
    reason: str = ""

    def __str__(self) -> str:
        what = f"{self.subscription!r} of connection {self.connection} {self.change}"
        return " ".join(filter(None, [what, *map(str, self.filters), self.reason]))


class NostrAnswered(Event, frozen=True, kw_only=True):
    """The relay sent something else than an event. `message` is the whole of it, parsed."""

    routine: ClassVar[bool] = True

    message: tuple[Any, ...]
    connection: int

    def __str__(self) -> str:
        return f"{' '.join(map(str, self.message))} to connection {self.connection}"


class NostrMessageRefused(Event, frozen=True, kw_only=True):
    """A client sent what the relay cannot read. `text` is its beginning."""

    text: str
    reason: str
    connection: int

    def __str__(self) -> str:
        return f"connection {self.connection}: {self.text} · {self.reason}"


class NostrAuthenticated(Event, frozen=True, kw_only=True):
    """A client said who it is (NIP-42). With a `reason`, the relay does not believe it."""

    pubkey: str
    author: str
    connection: int
    reason: str = ""

    def __str__(self) -> str:
        return " · ".join(filter(None, [f"connection {self.connection} is {self.author}", self.reason]))


class NostrFaultChanged(Event, frozen=True, kw_only=True):
    """The test asked for a fault, it struck, or it was taken back.

    Args:
        change: which of these.
        fault: what it does, such as `refuse publishes`.
        connection: which connection it struck, if it was open.
        detail: what else is known: times, kinds, reason, seconds.
    """

    change: Literal["asked for", "struck", "taken back"]
    fault: str
    connection: int = 0
    detail: dict[str, Any] = msgspec.field(default_factory=dict)

    def __str__(self) -> str:
        facts = ", ".join(f"{name}={value!r}" for name, value in self.detail.items())
        where = f"connection {self.connection}" if self.connection else ""
        return " ".join(filter(None, [f"{self.fault}: {self.change}", where, facts]))
