"""Drafts become final: cut by their split policy, or as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soundstage.agents._followers import Followers
from soundstage.agents._pump import Pump, answered
from soundstage.agents._splitters import SplitPolicy
from soundstage.agents._windowing import DraftType, EntryFamily
from soundstage.journal import Event, Record


class DraftPump(Pump):
    """Turns the drafts of a family into chunks of a stream, or into final entries.

    With a policy, the pieces of a draft are chunks and a completion, and the window policy of the chunks makes
    final entries of them. Without one, and where the policy leaves the draft as it is, it becomes final at once.

    Args:
        family: which drafts there are.
        splitters: the policies, by draft type.
        followers: who reads the journal.
    """

    def __init__(
        self, family: EntryFamily, splitters: Mapping[type[Event], SplitPolicy], followers: Followers
    ) -> None:
        name = f"drafts of {family.entries.__name__}"
        self._by_type = {draft.draft: draft for draft in family.drafts}
        self._splitters = splitters
        self._completed = family.completed
        super().__init__(name, followers, self._by_type, self._finish, done=answered(followers, name))

    def _finish(self, record: Record) -> None:
        event: Any = record.event
        draft = self._by_type[type(event)]
        policy = self._splitters.get(type(event))
        pieces = policy.pieces(event.text) if policy is not None else ()
        for entry in self._entries(draft, event, pieces, f"draft-{record.position}"):
            self.journal.append(entry, source=self.name, cause=record.position)

    def _entries(self, draft: DraftType, event: Any, pieces: Any, stream: str) -> list[Event]:
        if not pieces:
            return [draft.final(text=event.text, sender=event.sender)]
        if draft.chunk is None or self._completed is None:
            return [draft.final(text=piece, sender=event.sender) for piece in pieces]
        chunks = [draft.chunk(text=piece, sender=event.sender, stream=stream) for piece in pieces]
        return [*chunks, self._completed(sender=event.sender, stream=stream)]
