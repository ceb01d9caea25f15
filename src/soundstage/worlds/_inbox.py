"""The inbox of a world: what the app has said there, and how a test waits for it.

The same rules hold in every world:

- An inbox holds one kind of event of one run. What a continued journal held before belongs to an earlier run.
- It has sources, such as the channels of a Discord. Each source is read in order, and apart from the others: a wait
  goes on, in each source that it looks at, after what was found there last. Between sources there is no order.
- The end of the app ends a wait at once, and the error says how the app has ended.
- A wait has one deadline, however many records come meanwhile. Its error shows what came instead, what came too early,
  and what the app has not read yet.

How it works. A position is kept for each source. A wait begins at the first record that is unread in any source, or
that is the end of the app (`_start`), so a record is looked at again only while an earlier one is unread.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Callable, Hashable, Iterable
from typing import Any, Final, Generic, NamedTuple, TypeVar

from soundstage.clock import Deadline
from soundstage.errors import ExpectationError, WaitTimeout
from soundstage.journal import Event, Journal, Record
from soundstage.match import Matcher, preview
from soundstage.trace import checking

WITHIN: Final = 5.0
SHOWN: Final = 20  # of what came instead, in a message
T = TypeVar("T")
Fits = Callable[[Record], bool]
Only = Callable[[Any], bool]
"""Whether a wait looks at an event: it names the sources."""


class Ends(NamedTuple):
    """How an inbox learns that the app has ended.

    Args:
        at: whether nothing can come from the app after a record.
        describe: how the app has ended, from such a record.
    """

    at: Fits
    describe: Callable[[Record], str]


class Inbox(Generic[T]):
    """The events of one kind by which the app speaks in a world. Made by `World.inbox`.

    Args:
        journal: where it is.
        name: how messages call it.
        kind: the class of its events.
        begun: the position in the journal after which its run begins.
        within: seconds that waits take at most, unless they are told otherwise.
        ends: how it learns of the end of the app.
        item: what a wait returns of a record.
        own: whether a record of this kind belongs to it; unless given, if `name` is its source.
        source: the source of a record in it; all are of one, unless given.
        read: what conditions are asked about; the event's `text`, unless given.
        show: the event in one line of a message; what conditions are asked about, unless given.
        noun: what one of them is called.
        missed: what has not happened when none comes, in words.
        pending: what the app has not read yet, in words; empty if nothing is known.
    """

    def __init__(
        self,
        journal: Journal,
        name: str,
        kind: type[Event],
        *,
        begun: int,
        within: float,
        ends: Ends,
        item: Callable[[Any], T],
        own: Fits | None = None,
        source: Callable[[Any], Hashable] = lambda _: None,
        read: Callable[[Any], Any] = lambda event: event.text,
        show: Callable[[Any], str] | None = None,
        noun: str = "line",
        missed: str = "",
        pending: Callable[[], str] = str,
    ) -> None:
        self.name = name
        self.within = within
        self._journal = journal
        self._kind = kind
        self._ends = ends
        self._item = item
        self._own = own if own is not None else lambda record: record.source == name
        self._source = source
        self._read = read
        self._show = show if show is not None else lambda event: preview(read(event))
        self._noun = noun
        self._missed = missed or f"{name} did not show the expected {noun}"
        self._pending = pending
        self._begun = self._passed = begun
        self._found: dict[Hashable, int] = {}  # source -> position of what was found there last

    @property
    def items(self) -> list[T]:
        """All of this run."""
        return [self._item(record) for record in self._journal.read(self._begun) if self._has(record)]

    def _unread(self, only: Only | None = None) -> list[Record]:
        """The events so far, in the sources that are looked at, that were neither found nor passed over."""
        return [record for record in self._journal.read(self._start()) if self._is_next(record, only)]

    async def expect(
        self,
        wanted: Matcher,
        *,
        only: Only | None = None,
        within: float | None = None,
        because: str = "",
        missed: str = "",
        instead: Callable[[list[Record]], list[str]] | None = None,
    ) -> T:
        """Wait for what matches, in each source after what was found there last.

        Args:
            wanted: what it must be like.
            only: the sources to look at, as a condition on events; all, unless given.
            within: seconds on the run's clock.
            because: why it has to come; the message of a failure shows it.
            missed: what has not happened when it does not come, in words.
            instead: how the message shows what came instead; line by line, unless given.

        Raises:
            WaitTimeout: if it does not come in time.
            ExpectationError: if the app ends first.
        """
        seconds = self._seconds(within)
        found = await self._first(lambda record: wanted.matches(self._read(record.event)), only, seconds)
        if found is None or not self._has(found):
            expected = f"{wanted.describe()}, because {because}" if because else wanted.describe()
            early = [self._show(record.event) for record in self._early(wanted, only)]
            raise self._missing(expected, seconds, found, missed, early, instead)
        return self._take(found)[0]

    check = checking(expect)

    async def expect_nothing(self, *, within: float, only: Only | None = None) -> None:
        """Wait that nothing comes; after the end of the app nothing can. What is unread counts.

        Raises:
            ExpectationError: if something comes.
            ValueError: if `within` is infinite.
        """
        if within == math.inf:
            raise ValueError("nothing can be expected for ever: within= is a finite number of seconds here")
        found = await self._first(lambda _: True, only, within)
        if found is not None and self._has(found):
            raise ExpectationError(
                f"{self.name} was expected to stay quiet for {within:g} s", seen=self._show(found.event)
            )

    check_nothing = checking(expect_nothing)

    async def collect(self, count: int, *, only: Only | None = None, within: float | None = None) -> list[T]:
        """Wait for the next ones, whatever they are like: all of them before one deadline.

        Raises:
            ValueError: if `count` is less than 0.
            WaitTimeout: if fewer come.
            ExpectationError: if the app ends first.
        """
        if type(count) is not int or count < 0:
            raise ValueError(f"a number of {self._noun}s is a whole number from 0, got {count!r}")
        seconds, found = self._seconds(within), list[Record]()

        def is_last(record: Record) -> bool:
            found.append(record)
            return len(found) == count

        if count:
            last = await self._first(is_last, only, seconds)
            if last is None or not self._has(last):
                raise self._missing(f"{count} {self._noun}(s); {len(found)} came", seconds, last)
        return self._take(*found)

    async def collect_all(self, *, within: float, only: Only | None = None) -> list[T]:
        """Wait, and return all that has come then or by the end of the app; nothing is fine too."""
        await self._first(lambda _: False, only, within)
        return self.drain(only)

    def drain(self, only: Only | None = None) -> list[T]:
        """Return what is unread, without waiting. It counts as found then."""
        return self._take(*self._unread(only))

    def _seconds(self, within: float | None) -> float:
        return self.within if within is None else within

    def _has(self, record: Record) -> bool:
        return isinstance(record.event, self._kind) and self._own(record)

    def _is_unread(self, record: Record) -> bool:
        return self._has(record) and record.position > self._found.get(self._source(record), self._begun)

    def _is_next(self, record: Record, only: Only | None) -> bool:
        return self._is_unread(record) and (only is None or only(record.event))

    def _take(self, *found: Record) -> list[T]:
        for record in found:
            source = self._source(record)
            self._found[source] = max(record.position, self._found.get(source, 0))
        return [self._item(record) for record in found]

    def _start(self) -> int:
        """The position before the first record that a wait has to look at."""
        for record in self._journal.read(self._passed):
            if self._ends.at(record) or self._is_unread(record):
                break
            self._passed = record.position
        return self._passed

    async def _first(self, fits: Fits, only: Only | None, within: float) -> Record | None:
        """The first unread record that fits, or the end of the app; `None` if neither comes in time."""

        def stops(record: Record) -> bool:
            return self._ends.at(record) or (self._is_next(record, only) and fits(record))

        return await first_record(self._journal, stops, after=self._start(), within=within)

    def _early(self, wanted: Matcher, only: Only | None) -> Iterable[Record]:
        """The events that fit, among those that the test has found or passed over."""
        return (
            record
            for record in self._journal.read(self._begun)
            if self._has(record)
            and not self._is_unread(record)
            and (only is None or only(record.event))
            and wanted.matches(self._read(record.event))
        )

    def _lines(self, came: list[Record]) -> list[str]:
        before = [f"({len(came) - SHOWN} before these)"] if len(came) > SHOWN else []
        return [*before, *(self._show(record.event) for record in came[-SHOWN:])]

    def _missing(
        self,
        expected: str,
        seconds: float,
        end: Record | None,
        missed: str = "",
        early: Iterable[str] = (),
        instead: Callable[[list[Record]], list[str]] | None = None,
    ) -> ExpectationError:
        came, missed = self._unread(), missed or self._missed
        shown = self._lines(came) if instead is None else instead(came)
        shown = shown or [f"no {self._noun} at all"]
        if (pending := self._pending()) and (end is None or not came):
            shown[-1:] = [shown[-1], pending] if came else [f"{shown[-1]}; {pending}"]
        hint = "look at what the app did instead; give it more time with within= if it is slow"
        for text in list(early)[-1:]:
            shown.append(f"{text} came before the {self._noun} that was expected last")
            hint = f"expect the {self._noun}s of one source in the order in which they come"
        if end is None:
            summary = f"{missed} within {seconds:g} s"
            return WaitTimeout(summary, expected=expected, seen="\n".join(shown), hint=hint)
        how = self._ends.describe(end)
        summary = f"{summary_of(how)}; {missed}"
        hint = f"look at why the app ended; the {self._noun}s above are those that nobody has expected"
        return ExpectationError(summary, expected=expected, seen="\n".join([*shown, how]), hint=hint)


def summary_of(end: str) -> str:
    """The end of an app, as `describe_end` says it, at the beginning of a message."""
    return end.splitlines()[0].removeprefix("then ")


async def first_record(journal: Journal, fits: Fits, *, after: int, within: float) -> Record | None:
    """The first record after a position that fits; `None` if none comes in time."""
    deadline = Deadline(journal.clock, within)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(deadline.timeout), contextlib.aclosing(_tail(journal, after)) as records:
            async for record in records:
                if fits(record):
                    return record
    return None


async def _tail(journal: Journal, after: int) -> AsyncGenerator[Record, None]:
    async for record in journal.tail(after):
        yield record
