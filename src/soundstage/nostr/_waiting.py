"""Waiting for a record of one relay, and telling what came instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from soundstage.journal import Event, Journal, Record
from soundstage.match import Matcher, matcher, preview
from soundstage.nostr._events import NostrEventReceived
from soundstage.nostr._record import tag_values
from soundstage.worlds._waiting import Fits, first_record

RECENT: Final = 8
NEAR: Final = 5
SHOWN: Final = 160


class Expected(NamedTuple):
    """The conditions for an event of the app.

    Args:
        content: what it must say.
        kind: its kind.
        pubkey: who must have signed it.
        tags: for the name of a tag, what one of its values must be like.
    """

    content: Matcher
    kind: int | None
    pubkey: str | None
    tags: Mapping[str, Matcher]

    def problems(self, event: NostrEventReceived) -> list[str]:
        """The differences between an event and the conditions."""
        found = []
        if self.kind not in (None, event.kind):
            found.append(f"its kind is not {self.kind}")
        if self.pubkey not in (None, event.pubkey):
            found.append("somebody else signed it")
        if (why := self.content.explain(event.content)) is not None:
            found.append(why)
        for name, wanted in self.tags.items():
            values = tag_values(event.tags, name)
            if not any(wanted.matches(value) for value in values):
                found.append(f"no tag {name!r} is {wanted.describe()}, there is {values or 'none'}")
        return found

    def describe(self) -> str:
        """All of it in words."""
        facts = [f"content {self.content.describe()}"]
        facts += [] if self.kind is None else [f"kind {self.kind}"]
        facts += [] if self.pubkey is None else [f"signed by {self.pubkey}"]
        facts += [f"tag {name!r} {wanted.describe()}" for name, wanted in self.tags.items()]
        return ", ".join(facts)


def expected(match: Any, *, kind: int | None, pubkey: str | None, tags: Mapping[str, Any] | None) -> Expected:
    """Turn the arguments of a test into conditions."""
    return Expected(
        matcher(match), kind, pubkey, {name: matcher(spec) for name, spec in (tags or {}).items()}
    )


async def first_of(journal: Journal, source: str, fits: Fits, *, after: int, within: float) -> Record | None:
    """The first record of a source after a position that fits; `None` if none comes in time."""
    return await first_record(
        journal, lambda record: record.source == source and fits(record), after=after, within=within
    )


def in_words(event: Event) -> str:
    """A fact on one line."""
    return preview(str(event), SHOWN)[1:-1]


def instead(wanted: Expected, came: list[NostrEventReceived]) -> list[str]:
    """The events that came, those with the fewest differences first, each with what is different."""
    judged = sorted(((wanted.problems(event), event) for event in came), key=lambda item: len(item[0]))
    return [f"{in_words(event)}: {'; '.join(problems)}" for problems, event in judged[:NEAR]]


def recent(journal: Journal, source: str) -> list[str]:
    """The latest events of the relay."""
    records = [record for record in journal.read() if record.source == source][-RECENT:]
    return [
        f"{record.position} {type(record.event).__name__}: {in_words(record.event)}" for record in records
    ]
