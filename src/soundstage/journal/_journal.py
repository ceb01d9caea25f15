"""The journal: append, read, tail, wait.

How waiting works. Records live in a list that only grows, and position p is index p - 1. A reader keeps its
own cursor into that list. When it has caught up it registers to be woken, in the same locked step in which it
looked for the last time; `append` adds the record and wakes all who are registered, under the same lock.
So no record can slip between looking and waiting, whoever else reads, however slowly, and a waiter that is
cancelled takes nothing from the others.

Appending is allowed from any thread; a reader in an event loop is woken through its loop. Closing wakes all
readers too: they get what is there, and then learn that nothing more can come.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

from soundstage.clock import Clock, Deadline, running_clock
from soundstage.errors import EnvironmentProblem, InvalidStateError, WaitTimeout
from soundstage.journal._checked import check_envelope
from soundstage.journal._contents import Contents
from soundstage.journal._events import Event, ModelRequested, Record
from soundstage.journal._faults import refuse_event
from soundstage.journal._file import JournalFile
from soundstage.journal._recent import Recent
from soundstage.journal._redact import Redactor
from soundstage.journal._requests import Checks
from soundstage.journal._wanted import Wanted, event_matcher
from soundstage.journal._words import one_line
from soundstage.match import Matcher

E = TypeVar("E", bound=Event)
_SHOWN: Final = 80  # characters of an event in a message


class Journal:
    """The append-only record of one run.

    Args:
        path: a file to keep it in as JSON lines; in memory only without it. An existing file is continued.
        clock: where times come from; unless given, the clock of the running loop or the machine's.
        run: id of the run.
        redactor: knows what is kept out of the file; unless given, one that knows the secrets of the environment.
        keep: for a server that runs for long: so many records are kept in memory, and up to twice as many; the file
            has all. `let_go` tells how many are gone. All are kept, unless given.

    Attributes:
        contents: the content that events refer to by its sha256, such as files before and after a change; in the
            folder `NAME.objects` beside the file, if there is one.

    Raises:
        EnvironmentProblem: if the file cannot be opened, or another journal has it open.
        HarnessError: if the file holds something else than a journal.

    Example:
        >>> from soundstage.journal import Noted
        >>> journal = Journal()
        >>> journal.append(Noted(text="hello"), source="test")
        1
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        clock: Clock | None = None,
        run: str = "run",
        redactor: Redactor | None = None,
        keep: int | None = None,
    ) -> None:
        self.clock: Clock = clock if clock is not None else running_clock()
        self.run = run
        self.redactor = redactor if redactor is not None else Redactor.from_environment()
        self._file = JournalFile(Path(path), self.redactor) if path is not None else None
        self.contents = (
            Contents.beside(path, self.redactor) if path is not None else Contents(None, self.redactor)
        )
        self._checks = Checks()
        self._records: list[Record] | Recent = self._file.take_records() if self._file else []
        if keep is not None:
            self._records = Recent(keep, self._records, self._forget)
        self._keep: Callable[[Record], None] | None = self._file.write if self._file else None
        self._lock = threading.Lock()
        self._wakers: list[Callable[[], None]] = []
        self._now = self.clock.now
        self._closed = False
        self._sources: set[str] = set()  # that have been checked

    def _forget(self) -> None:
        """Records have been let go: keep nothing of them alive."""
        self._checks.forget()
        if self._file is not None:
            self._file.forget()

    @property
    def let_go(self) -> int:
        """How many records from the first on are not kept in memory any more; 0 unless `keep` was given."""
        return self._records.let_go if isinstance(self._records, Recent) else 0

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""
        return self._file.path if self._file else None

    @property
    def problem(self) -> EnvironmentProblem | None:
        """Why the first of the events that are missing in the file could not be written; `None` if none is."""
        return self._file.problem if self._file else None

    @property
    def closed(self) -> bool:
        """Whether nothing can be appended any more."""
        return self._closed

    def __len__(self) -> int:
        return len(self._records)

    def append(
        self, event: Event, *, source: str = "", cause: int | None = None, at: float | None = None
    ) -> int:
        """Add an event and return its position. When this returns, a file journal has it on file.

        Args:
            event: the fact.
            source: which model, world, agent or driver it comes from.
            cause: position of the event that led to it.
            at: when it happened, for what is told later; seconds on the run's clock. Now, unless given.

        Raises:
            TypeError: if `event` is not an `Event`, or holds a value that could not be read back: of another type
                than its field, or what JSON has no form for. The message names field and value.
            InvalidStateError: if the journal is closed.
            EnvironmentProblem: if the file cannot be written; the event is then not in the journal.
        """
        if not self._checks[type(event)](event):
            refuse_event(event)
        if at is not None or (cause is not None and type(cause) is not int) or source not in self._sources:
            check_envelope(source, cause, at)
            self._sources.add(source)
        with self._lock:
            records = self._records
            position = len(records) + 1
            time = self._now() if at is None else at
            record = Record(
                position=position, time=time, run=self.run, source=source, cause=cause, event=event
            )
            if self._keep is not None:
                self._keep(record)
            records.append(record)
            if self._wakers:
                self._wake()
        return position

    def extend(self, events: Iterable[Event], *, source: str = "", cause: int | None = None) -> int:
        """Add events that happen at one moment, in their order, and return the position of the last.

        Otherwise like `append`, for each of them.
        """
        given, checks = tuple(events), self._checks
        for event in given:
            if not checks[type(event)](event):
                refuse_event(event)
        if (cause is not None and type(cause) is not int) or source not in self._sources:
            check_envelope(source, cause, None)
            self._sources.add(source)
        with self._lock:
            now, run, begun = self._now(), self.run, len(self._records)
            new = [
                Record(position=position, time=now, run=run, source=source, cause=cause, event=event)
                for position, event in enumerate(given, begun + 1)
            ]
            if self._keep is None:
                self._records.extend(new)
            elif self._closed or self._file is None:
                for record in new:
                    _refuse(record)
            else:
                for piece in _pieces(new):
                    self._file.write_all(piece)
                    self._records.extend(piece)
            if self._wakers:
                self._wake()
        return begun + len(new)

    def _wake(self) -> None:
        wakers, self._wakers = self._wakers, []
        for wake in tuple(wakers):  # a copy: a reader that is given up takes itself off the list at any time
            wake()

    def read(self, after: int = 0, type: type[Event] | tuple[type[Event], ...] | None = None) -> list[Record]:  # noqa: A002
        """The records after position `after`, all or those of one event class, oldest first; those that are kept."""
        records = self._records[_position(after) :]
        return records if type is None else [record for record in records if isinstance(record.event, type)]

    def events(self, type: type[E], after: int = 0) -> list[E]:  # noqa: A002
        """The events of one class after position `after`, without their envelopes."""
        records = self._records[_position(after) :]
        return [record.event for record in records if isinstance(record.event, type)]

    def read_backward(self, before: int | None = None) -> list[Record]:
        """The records before position `before` (all, if not given), newest first."""
        return self._records[: None if before is None else max(before - 1, 0)][::-1]

    async def tail(self, after: int = 0) -> AsyncIterator[Record]:
        """Every record after position `after`, as it comes, until the journal is closed."""
        cursor = _position(after)
        while True:
            while cursor < len(self._records):
                record = self._records[cursor]
                cursor += 1
                yield record
            if not await self._grown(cursor):
                return

    async def _grown(self, cursor: int) -> bool:
        """Wait until there are more than `cursor` records; False if the journal is closed before."""
        loop = asyncio.get_running_loop()
        thread = threading.get_ident()
        future: asyncio.Future[None] = loop.create_future()

        def settle() -> None:
            if not future.done():
                future.set_result(None)

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the reader's loop is gone, and the reader with it
                if threading.get_ident() == thread:
                    settle()
                else:
                    loop.call_soon_threadsafe(settle)

        if self._register(wake, cursor):
            try:
                await future
            finally:
                self._unregister(wake)
        return len(self._records) > cursor

    def _register(self, wake: Callable[[], None], cursor: int) -> bool:
        """Have `wake` called once there is something to do, unless there is already."""
        with self._lock:
            if len(self._records) > cursor or self._closed:
                return False
            self._wakers.append(wake)
            return True

    def _unregister(self, wake: Callable[[], None]) -> None:
        # Without the lock: Python may collect a forgotten reader at any moment, even inside `append`.
        with contextlib.suppress(ValueError):
            self._wakers.remove(wake)

    def matcher(self, match: Wanted) -> Matcher:
        """The condition on events that `wait_for` makes of what you write.

        Raises:
            MatchError: if nothing can match.
        """
        return event_matcher(match)

    async def wait_for(self, match: Wanted, *, within: float, after: int = 0) -> Record:
        """The first record after `after` whose event matches; one that is already there counts.

        Args:
            match: an event class, `event(Class, field=...)`, a text in the words of the event, a function of
                the event, or what `soundstage.match` combines of them.
            within: seconds on the run's clock, more than zero.
            after: position from which to look.

        Raises:
            WaitTimeout: if none came in time, or none can come any more because the journal is closed.
                The message shows the end of the journal.
            MatchError: if nothing can match, or a function raises.
            ValueError: if `within` is not more than zero.
        """
        search = _Search(self._records, event_matcher(match), _position(after))
        deadline = Deadline(self.clock, within)
        try:
            async with asyncio.timeout(deadline.timeout) as limit:
                while (found := search.next()) is None and await self._grown(search.cursor):
                    pass
        except TimeoutError:
            if not limit.expired():
                raise
            found = search.next()
        if found is None:
            raise self._missed(search.wanted, within, after)
        return found

    def wait(self, match: Wanted, *, within: float, after: int = 0) -> Record:
        """Like `wait_for`, for code without an event loop: blocks the calling thread.

        Raises:
            InvalidStateError: if an event loop is running in this thread; it would stand still.
        """
        _refuse_running_loop()
        search = _Search(self._records, event_matcher(match), _position(after))
        deadline = Deadline(self.clock, within)
        grown = threading.Event()
        while (found := search.next()) is None:
            if not self._register(grown.set, search.cursor):
                if self._closed and len(self._records) == search.cursor:
                    break
                continue
            try:
                in_time = grown.wait(deadline.timeout)
            finally:
                self._unregister(grown.set)
            if not in_time:
                found = search.next()
                break
            grown.clear()
        if found is None:
            raise self._missed(search.wanted, within, after)
        return found

    def _missed(self, wanted: Matcher, within: float, after: int) -> WaitTimeout:
        recent = [
            f"{record.position} {type(record.event).__name__} from {record.source or '-'}"
            + (f": {words}" if (words := one_line(str(record.event), _SHOWN)) else "")
            for record in self._records[after:][-8:]
        ]
        over = "no matching event, and none can come: the journal is closed"
        return WaitTimeout(
            over if self._closed else f"no matching event within {within:g} s",
            expected=wanted.describe(),
            seen="\n".join(recent) if recent else f"nothing after position {after}",
            hint="`soundstage show JOURNAL` prints all events; a longer `within=` waits longer",
        )

    def close(self) -> None:
        """Close the file. Reading goes on; appending is an error from now on. Harmless when repeated.

        Raises:
            EnvironmentProblem: if the file is gone, or the disk fails. The journal is closed all the same.
        """
        with self._lock:
            self._closed = True
            self._keep = _refuse
            self._wake()
            if self._file is not None:
                self._file.close()


class _Search:
    """Looks for a match, at every record once."""

    def __init__(self, records: list[Record] | Recent, wanted: Matcher, cursor: int) -> None:
        self._records = records
        self.wanted = wanted
        self.cursor = cursor

    def next(self) -> Record | None:
        """The first match among the records that have not been looked at."""
        while self.cursor < len(self._records):
            record = self._records[self.cursor]
            self.cursor += 1
            if self.wanted.matches(record.event):
                return record
        return None


def _pieces(records: list[Record]) -> list[list[Record]]:
    """Split records into what is written to a file at once: all, but a request by itself."""
    if any(type(record.event) is ModelRequested for record in records):
        return [[record] for record in records]
    return [records] if records else []


def _position(after: int) -> int:
    if after < 0:
        raise ValueError(f"positions count from 1, and `after` from 0; got {after}")
    return after


def _refuse(record: Record) -> None:
    raise InvalidStateError(
        "the journal is closed",
        seen=f"an event after the end: {type(record.event).__name__} from {record.source or 'nowhere'}",
        hint="stop what produces events before the journal",
    )


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidStateError(
        "`wait` would block the event loop that runs in this thread", hint="await wait_for(...) instead"
    )
