"""The middle of a relay, without sockets: events, subscriptions, faults, and the journal.

Whatever happens takes three steps: the state changes, a fact is appended to the journal, clients are told. A
message of a client (`_session`) and an act of a user of the test take the same path. Nothing here waits.

The cause of an event is the event that it answers: the last one of its `e` tags that this relay knows; for an
app in process also the event that it is working on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from soundstage.clock import IdSource
from soundstage.journal import Event, Journal
from soundstage.nostr._events import NostrEventReceived, NostrEventRefused, NostrFaultChanged
from soundstage.nostr._faults import Occasion, RelayFault, RelayPendingFaults
from soundstage.nostr._filters import Filter
from soundstage.nostr._outlet import RelayClose
from soundstage.nostr._record import NostrEvent, expiration, tag_values
from soundstage.nostr._store import EventStore

ANSWERS: Final = {
    "stored": (True, ""),
    "ephemeral": (True, ""),
    "duplicate": (True, "duplicate: already have this event"),
    "deleted": (False, "blocked: its author has deleted this event"),
    "expired": (False, "invalid: the event has expired"),
    "outdated": (False, "duplicate: a newer version of this replaceable event is here"),
}


class RelaySettings(NamedTuple):
    """Settings of a relay, fixed while it runs.

    Args:
        auth_to_publish: whether clients have to authenticate before they publish.
        auth_to_subscribe: whether they have to before they subscribe.
        members: public keys that are let in; all that authenticate if it is `None`.
        max_message: the most characters of a message.
    """

    auth_to_publish: bool
    auth_to_subscribe: bool
    members: frozenset[str] | None
    max_message: int


class RelayVerdict(NamedTuple):
    """The outcome of a published event: the answer, and the position of its record."""

    ok: bool
    text: str
    position: int


class Subscription(NamedTuple):
    """The filters of a connection: it is sent the events that match them."""

    filters: tuple[Filter, ...]
    written: tuple[dict[str, Any], ...]


class Client(Protocol):
    """A connection, as the middle sees it."""

    @property
    def subscriptions(self) -> Mapping[str, Subscription]:
        """The open ones, by id."""
        ...

    def tell(self, event: NostrEvent, position: int) -> None:
        """Send an event to the subscriptions that want it."""
        ...

    def end(self, close: RelayClose) -> None:
        """End the connection from the relay's side."""
        ...


class RelayCore:
    """Events, connections and faults of one relay.

    Args:
        journal: where everything goes.
        source: what the journal calls this relay.
        settings: what does not change.
        ids: where challenges come from.

    Attributes:
        url: what clients call it, once it is known.
        names: names that the test gave to public keys.
    """

    def __init__(self, journal: Journal, source: str, settings: RelaySettings, ids: IdSource) -> None:
        self.journal = journal
        self.source = source
        self.settings = settings
        self.ids = ids
        self.url = ""
        self.store = EventStore()
        self.faults = RelayPendingFaults()
        self.clients: dict[int, Client] = {}
        self.names: dict[str, str] = {}
        self._connections = 0
        self._positions: dict[str, int] = {}  # id of an event -> position of its fact

    def record(self, event: Event, cause: int | None = None) -> int:
        """Append a fact; returns its position."""
        return self.journal.append(event, source=self.source, cause=cause)

    def next_connection(self) -> int:
        """A number for a new connection."""
        self._connections += 1
        return self._connections

    def author(self, pubkey: str) -> str:
        """The name of who has a key."""
        return self.names.get(pubkey, pubkey)

    def pubkey(self, name: str) -> str | None:
        """The key of somebody with a name."""
        return next((key for key, known in self.names.items() if known == name), None)

    # events

    def publish(self, event: NostrEvent, *, connection: int, cause: int | None = None) -> RelayVerdict:
        """Take an event that is well signed. Whoever subscribed to it is told by `tell`."""
        try:
            expiration(event)
        except ValueError as problem:
            text = f"invalid: {problem}"
            return RelayVerdict(ok=False, text=text, position=self.refuse(event, text, connection=connection))
        kept = self.store.add(event, self._now())
        ok, text = ANSWERS[kept.outcome]
        if text:
            return RelayVerdict(ok, text, self.refuse(event, text, connection=connection, ok=ok))
        fact = NostrEventReceived(
            id=event.id,
            pubkey=event.pubkey,
            author=self.author(event.pubkey),
            kind=event.kind,
            content=event.content,
            tags=event.tags,
            created_at=event.created_at,
            connection=connection,
            replaced=kept.replaced,
            deleted=kept.deleted,
        )
        position = self.record(fact, self._answered(event) or cause)
        self._positions[event.id] = position
        return RelayVerdict(ok, text, position)

    def select(self, filters: Sequence[Filter]) -> list[NostrEvent]:
        """The events that are there at this moment and pass one of the filters, newest first."""
        return self.store.select(filters, self._now())

    def _now(self) -> float:
        return self.journal.clock.wall().timestamp()

    def refuse(self, event: NostrEvent, reason: str, *, connection: int, ok: bool = False) -> int:
        """Put on record that an event was not taken. Returns the position."""
        fact = NostrEventRefused(
            id=event.id,
            pubkey=event.pubkey,
            author=self.author(event.pubkey),
            kind=event.kind,
            content=event.content,
            reason=reason,
            ok=ok,
            connection=connection,
        )
        return self.record(fact)

    def tell(self, event: NostrEvent, position: int) -> None:
        """Send an event to the subscriptions that want it."""
        for client in list(self.clients.values()):
            client.tell(event, position)

    def position(self, id: str) -> int | None:  # noqa: A002
        """Where the journal has the event with an id."""
        return self._positions.get(id)

    def _answered(self, event: NostrEvent) -> int | None:
        known = [self._positions.get(value) for value in tag_values(event.tags, "e")]
        return next((position for position in reversed(known) if position is not None), None)

    # faults

    def strike(self, at: Occasion, *, connection: int = 0, kind: int | None = None) -> RelayFault | None:
        """The fault that strikes now, if one does; it is on record then."""
        fault = self.faults.strike(at, self.journal.clock.now(), kind)
        if fault is not None:
            self.record(NostrFaultChanged(change="struck", fault=fault.name, connection=connection))
        return fault

    def late(self) -> float:
        """Seconds by which what is sent now is late."""
        return self.faults.delay

    def subscriptions(self) -> Iterator[Subscription]:
        """The open subscriptions of all connections."""
        for client in self.clients.values():
            yield from client.subscriptions.values()

    def end_all(self, close: RelayClose) -> None:
        """End all connections."""
        for client in list(self.clients.values()):
            client.end(close)
