"""Journals of one kind of entry: views over the one journal of the run. They store nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Generic, TypeVar

from soundstage.agents._errors import UnknownEntryError
from soundstage.journal import Event, Journal, Record, Wanted, event, event_matcher
from soundstage.match import AllOf, Matcher

E = TypeVar("E", bound=Event)
F = TypeVar("F", bound=Event)


class TypedJournal(Generic[E]):
    """The entries of one class and its subclasses, in the journal of a run.

    Args:
        journal: the journal; whatever is appended here is in it, and what others append there is here.
        entries: the class.

    Example:
        >>> from soundstage.agents import ChatEntry, ChatReceived
        >>> chat = TypedJournal(Journal(), ChatEntry)
        >>> chat.append(ChatReceived(text="hello", sender="user"))
        1
        >>> [entry.text for entry in chat.events()]
        ['hello']
    """

    def __init__(self, journal: Journal, entries: type[E]) -> None:
        self.journal = journal
        self.entries = entries

    def append(self, entry: E, *, source: str = "", cause: int | None = None) -> int:
        """Add an entry and return its position.

        Args:
            entry: of the class of this view.
            source: which branch or daemon it comes from.
            cause: position of the entry that led to it.

        Raises:
            TypeError: if it is of another class.
        """
        if not isinstance(entry, self.entries):
            raise TypeError(
                f"the journal of {self.entries.__name__} takes no {type(entry).__name__}: "
                f"subclass {self.entries.__name__}, or append to the journal of its own class"
            )
        return self.journal.append(entry, source=source, cause=cause)

    def read(self, after: int = 0) -> list[Record]:
        """The records of these entries after position `after`, oldest first."""
        return self.journal.read(after, self.entries)

    def events(self, after: int = 0) -> list[E]:
        """The entries after position `after`, without their envelopes."""
        return self.journal.events(self.entries, after)

    def read_backward(self, before: int | None = None) -> list[Record]:
        """The records of these entries before position `before` (all, if not given), newest first."""
        records = self.journal.read_backward(before)
        return [record for record in records if isinstance(record.event, self.entries)]

    async def tail(self, after: int = 0) -> AsyncIterator[Record]:
        """Every record of these entries after position `after`, as it comes, until the journal is closed."""
        async with aclosing(self.journal.tail(after)) as records:  # type: ignore[type-var]
            async for record in records:
                if isinstance(record.event, self.entries):
                    yield record

    @property
    def closed(self) -> bool:
        """Whether nothing can be appended any more."""
        return self.journal.closed

    def matcher(self, wanted: Wanted) -> Matcher:
        """The condition on these entries that `wait_for` makes of what you write.

        Raises:
            MatchError: if nothing can match.
        """
        return event_matcher(wanted, among=self.entries)

    async def wait_for(self, wanted: Wanted | None = None, *, within: float, after: int = 0) -> Record:
        """The first record after `after` whose entry matches; one that is already there counts.

        Args:
            wanted: a class of these entries, `event(Class, field=...)`, a text in the words of the entry, or a
                function of the entry; the next entry of whatever class, if not given.
            within: seconds on the run's clock.
            after: position from which to look.

        Raises:
            WaitTimeout: if none came in time.
            MatchError: if nothing can match: a class of another family, or a function that raises.
        """
        entry = event(self.entries)
        match = entry if wanted is None else AllOf(entry, self.matcher(wanted))
        return await self.journal.wait_for(match, within=within, after=after)


class Journals:
    """The typed journals of a run.

    Args:
        journal: the journal of the run.
        families: the classes of entries that this run has; every event class, unless given.

    Example:
        >>> from soundstage.agents import ChatEntry, ChatReply
        >>> journals = Journals(Journal(), (ChatEntry,))
        >>> journals.get(ChatReply).events()
        []
    """

    def __init__(self, journal: Journal, families: Sequence[type[Event]] = (Event,)) -> None:
        self.journal = journal
        self.families = tuple(families)

    def get(self, entries: type[F]) -> TypedJournal[F]:
        """The journal of a family, or of one class of it.

        Raises:
            UnknownEntryError: if no part of this run has such entries. It is a `LookupError` too.
        """
        if isinstance(entries, type) and issubclass(entries, self.families):
            return TypedJournal(self.journal, entries)
        raise UnknownEntryError(
            f"this run has no journal of {getattr(entries, '__name__', repr(entries))}",
            expected="one of these, or a subclass: " + ", ".join(kind.__name__ for kind in self.families),
            hint="use a branch that has such entries, or register their family with with_family()",
        )
