"""The events that a relay keeps: its state, as a table of a database would be. Pure.

NIP-09: an event of kind 5 takes those with it that its author has signed and that its tags name: `e` an event, `a`
all versions of an address up to its own time. They do not come back; who publishes them again is refused. A deletion
cannot be deleted. NIP-40: an event is there until the second of its `expiration` tag.

Sources: https://github.com/nostr-protocol/nips/blob/master/09.md and 40.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from soundstage.nostr._filters import Filter, newest_first, select
from soundstage.nostr._record import (
    DELETION_KIND,
    NostrEvent,
    address,
    expiration,
    is_ephemeral,
    tag_values,
)

Outcome = Literal["stored", "ephemeral", "duplicate", "outdated", "deleted", "expired"]
Address = tuple[int, str, str]


class Kept(NamedTuple):
    """The outcome of storing an event, the id of the one that it replaced, and the ids of those that it deleted."""

    outcome: Outcome
    replaced: str = ""
    deleted: tuple[str, ...] = ()


class EventStore:
    """Keeps events: of replaceable kinds the newest, of ephemeral kinds none, of deleted ones none either."""

    def __init__(self) -> None:
        self._events: dict[str, NostrEvent] = {}
        self._newest: dict[Address, str] = {}
        self._deleted: set[tuple[str, str]] = set()  # id of an event, and who has deleted it
        self._deleted_until: dict[Address, int] = {}

    def add(self, event: NostrEvent, now: float) -> Kept:
        """Keep an event, if it is to be kept.

        Args:
            event: well signed, with a readable expiration.
            now: seconds since 1970.

        Returns:
            `stored`; `ephemeral`, to be passed on and not kept; `duplicate`, already here; `outdated`, older
            than the version that is here; `deleted` by its author; `expired`.
        """
        if _is_over(event, now):
            return Kept("expired")
        if is_ephemeral(event.kind):
            return Kept("ephemeral")
        if event.id in self._events:
            return Kept("duplicate")
        if self._is_deleted(event):
            return Kept("deleted")
        replaced = ""
        if (place := address(event)) is not None:
            replaced = self._newest.get(place, "")
            if replaced and newest_first(self._events[replaced]) < newest_first(event):
                return Kept("outdated")
            self._events.pop(replaced, None)
            self._newest[place] = event.id
        self._events[event.id] = event
        return Kept("stored", replaced, tuple(self._delete(event)) if event.kind == DELETION_KIND else ())

    def select(self, filters: Sequence[Filter], now: float) -> list[NostrEvent]:
        """The events that are there now and pass one of the filters, newest first."""
        return select((event for event in self._events.values() if not _is_over(event, now)), filters)

    def _is_deleted(self, event: NostrEvent) -> bool:
        if event.kind == DELETION_KIND:
            return False
        place = address(event)
        until = -1 if place is None else self._deleted_until.get(place, -1)
        return (event.id, event.pubkey) in self._deleted or event.created_at <= until

    def _delete(self, deletion: NostrEvent) -> Iterator[str]:
        """Take away all that a deletion names, and remember it. Yields the ids of those that were here."""
        self._deleted.update((id_, deletion.pubkey) for id_ in tag_values(deletion.tags, "e"))
        for place in _addresses(deletion):
            until = max(self._deleted_until.get(place, -1), deletion.created_at)
            self._deleted_until[place] = until
        for event in [event for event in self._events.values() if self._is_deleted(event)]:
            del self._events[event.id]
            if (vacated := address(event)) is not None:
                del self._newest[vacated]
            yield event.id


def _addresses(deletion: NostrEvent) -> Iterator[Address]:
    """The addresses of its own author that a deletion names; it has no say over others."""
    for value in tag_values(deletion.tags, "a"):
        kind, _, rest = value.partition(":")
        pubkey, _, name = rest.partition(":")
        if kind.isascii() and kind.isdigit() and pubkey == deletion.pubkey:
            yield int(kind), pubkey, name


def _is_over(event: NostrEvent, now: float) -> bool:
    end = expiration(event)
    return end is not None and end <= now
