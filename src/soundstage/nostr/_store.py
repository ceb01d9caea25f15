"""The events that a relay keeps: its state, as a table of a database would be. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from soundstage.nostr._filters import Filter, newest_first, select
from soundstage.nostr._record import NostrEvent, address, is_ephemeral

Outcome = Literal["stored", "ephemeral", "duplicate", "outdated"]


class Kept(NamedTuple):
    """The outcome of storing an event, and the id of the one that it replaced, if it did."""

    outcome: Outcome
    replaced: str = ""


class EventStore:
    """Keeps events: of replaceable kinds the newest, of ephemeral kinds none."""

    def __init__(self) -> None:
        self._events: dict[str, NostrEvent] = {}
        self._newest: dict[tuple[int, str, str], str] = {}

    def add(self, event: NostrEvent) -> Kept:
        """Keep an event, if it is to be kept.

        Returns:
            `stored`; `ephemeral`, to be passed on and not kept; `duplicate`, already here; `outdated`, older
            than the version that is here.
        """
        if is_ephemeral(event.kind):
            return Kept("ephemeral")
        if event.id in self._events:
            return Kept("duplicate")
        replaced = ""
        if (place := address(event)) is not None:
            replaced = self._newest.get(place, "")
            if replaced and newest_first(self._events[replaced]) < newest_first(event):
                return Kept("outdated")
            self._events.pop(replaced, None)
            self._newest[place] = event.id
        self._events[event.id] = event
        return Kept("stored", replaced)

    def select(self, filters: Sequence[Filter]) -> list[NostrEvent]:
        """The events that pass one of the filters, newest first."""
        return select(self._events.values(), filters)
