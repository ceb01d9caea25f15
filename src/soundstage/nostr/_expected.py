"""Conditions for an expected event of a relay, and how far others are from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from soundstage.journal import one_line
from soundstage.match import Matcher
from soundstage.nostr._events import NostrEventReceived
from soundstage.nostr._record import tag_values

NEAR: Final = 5
SHOWN: Final = 160


class Expected(Matcher):
    """A condition on an event of the app.

    Args:
        content: what it must say.
        kind: its kind.
        pubkey: who must have signed it.
        tags: for the name of a tag, what one of its values must be like.
    """

    __slots__ = ("content", "kind", "pubkey", "tags")

    def __init__(
        self, content: Matcher, *, kind: int | None, pubkey: str | None, tags: Mapping[str, Matcher]
    ) -> None:
        self.content = content
        self.kind = kind
        self.pubkey = pubkey
        self.tags = tags

    def explain(self, value: Any) -> str | None:
        return "; ".join(self.problems(value)) or None

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

    def instead(self, came: list[Any]) -> list[str]:
        """The events that came, those with the fewest differences first, each with what is different."""
        judged = sorted(((self.problems(record.event), record.event) for record in came), key=_number)
        return [f"{in_words(event)}: {'; '.join(problems)}" for problems, event in judged[:NEAR]]


def _number(judged: tuple[list[str], Any]) -> int:
    return len(judged[0])


def in_words(event: NostrEventReceived) -> str:
    """An event on one line."""
    return one_line(str(event), SHOWN)
