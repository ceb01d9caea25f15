"""The journal: append, read, tail, wait.

How waiting works. Records live in a list that only grows, and position p is index p - 1. A reader keeps its
own cursor into that list. When it has caught up it registers to be woken, in the same locked step in which it
looked for the last time; `append` adds the record and wakes all who are registered, under the same lock.
So no record can slip between looking and waiting, whoever else reads, however slowly, and a waiter that is
cancelled takes nothing from the others.

Appending is allowed from any thread; a reader in an event loop is woken through its loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

from soundstage.clock import Clock, Deadline, running_clock
from soundstage.errors import InvalidStateError, MatchError, WaitTimeout
from soundstage.journal._events import Event, Record
from soundstage.journal._file import JournalFile
from soundstage.journal._redact import Redactor
from soundstage.match import Fields, Matcher, Predicate, matcher

E = TypeVar("E", bound=Event)


def event(kind: type[Event], /, **fields: Any) -> Matcher:
    """A matcher for events of one class whose fields match; see `soundstage.match` for what can be written.

    >>> from soundstage.journal import MessageSent
    >>> event(MessageSent, text="/hel+o/").matches(MessageSent(text="hello"))
    True
    """
    unknown = sorted(set(fields) - set(kind.__struct_fields__))
    if unknown:
        raise MatchError(
            f"{kind.__name__} has no field {unknown[0]!r}",
            expected="one of " + ", ".join(kind.__struct_fields__),
        )
    return Fields({name: matcher(spec) for name, spec in fields.items()}, type=kind)


class Journal:
    """The append-only record of one run.

    Args:
        path: a file to keep it in as JSON lines; in memory only without it. An existing file is continued.
        clock: where times come from; unless given, the clock of the running loop or the machine's.
        run: id of the run.
        redactor: what is kept out of the file.

    Example:
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
    ) -> None:
        self.clock: Clock = clock if clock is not None else running_clock()
        self.run = run
        self.redactor = redactor if redactor is not None else Redactor()
        self._file = JournalFile(Path(path), self.redactor) if path is not None else None
        self._records: list[Record] = self._file.records if self._file else []
        self._lock = threading.Lock()
        self._wakers: list[Callable[[], None]] = []
        self._now = self.clock.now
        self._closed = False

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""
        return self._file.path if self._file else None

    def __len__(self) -> int:
        return len(self._records)

    def append(self, event: Event, *, source: str = "", cause: int | None = None) -> int:
        """Add an event and return its position. When this returns, a file journal has it on file.

        Args:
            event: the fact.
            source: which model, world, agent or driver it comes from.
            cause: position of the event that led to it.

        Raises:
            TypeError: if `event` is not an `Event`.
            InvalidStateError: if the journal is closed.
            EnvironmentProblem: if the file cannot be written; the event is then not in the journal.
        """
        if not isinstance(event, Event):
            raise TypeError(f"expected an Event, got {type(event).__name__}: subclass soundstage.journal.Event")
        with self._lock:
            position = len(self._records) + 1
            record = Record(
                position=position, time=self._now(), run=self.run, source=source, cause=cause, event=event
            )
            if self._file is not None or self._closed:
                self._write(record)
            self._records.append(record)
            if self._wakers:
                wakers, self._wakers = self._wakers, []
                for wake in wakers:
                    wake()
        return position

    def _write(self, record: Record) -> None:
        if self._closed:
            raise InvalidStateError(
                "the journal is closed",
                seen=f"an event after the end: {type(record.event).__name__} from {record.source or 'nowhere'}",
                hint="stop what produces events before the journal",
            )
        if self._file is not None:
            self._file.write(record)

    def read(self, after: int = 0, type: type[Event] | tuple[type[Event], ...] | None = None) -> list[Record]:  # noqa: A002
        """The records after position `after`, all or those of one event class, oldest first."""
        records = self._records[after:]
        return records if type is None else [record for record in records if isinstance(record.event, type)]

    def events(self, type: type[E], after: int = 0) -> list[E]:  # noqa: A002
        """The events of one class after position `after`, without their envelopes."""
        return [record.event for record in self._records[after:] if isinstance(record.event, type)]

    def read_backward(self, before: int | None = None) -> list[Record]:
        """The records before position `before` (all, if not given), newest first."""
        return self._records[: None if before is None else max(before - 1, 0)][::-1]

    async def tail(self, after: int = 0) -> AsyncIterator[Record]:
        """Every record after position `after`, as it comes, until the caller stops asking."""
        cursor = after
        while True:
            while cursor < len(self._records):
                record = self._records[cursor]
                cursor += 1
                yield record
            await self._grown(cursor)

    async def _grown(self, cursor: int) -> None:
        """Return when there are more than `cursor` records."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def settle() -> None:
            if not future.done():
                future.set_result(None)

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the reader's loop is gone, and the reader with it
                loop.call_soon_threadsafe(settle)

        if not self._register(wake, cursor):
            return
        try:
            await future
        finally:
            self._unregister(wake)

    def _register(self, wake: Callable[[], None], cursor: int) -> bool:
        with self._lock:
            if len(self._records) > cursor:
                return False
            self._wakers.append(wake)
            return True

    def _unregister(self, wake: Callable[[], None]) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._wakers.remove(wake)

    async def wait_for(
        self, match: type[Event] | Matcher | Callable[[Any], Any], *, within: float, after: int = 0
    ) -> Record:
        """The first record after `after` whose event matches; one that is already there counts.

        Args:
            match: an event class, `event(Class, field=...)`, or a function of the event.
            within: seconds on the run's clock.
            after: position from which to look.

        Raises:
            WaitTimeout: if none came in time; the message shows the end of the journal.
            MatchError: if a function raises.
        """
        wanted = _event_matcher(match)
        deadline = Deadline(self.clock, within)
        try:
            async with asyncio.timeout(deadline.left):
                async for record in self.tail(after):
                    if wanted.matches(record.event):
                        return record
        except TimeoutError:
            pass
        raise self._missed(wanted, within, after)

    def wait(
        self, match: type[Event] | Matcher | Callable[[Any], Any], *, within: float, after: int = 0
    ) -> Record:
        """Like `wait_for`, for code without an event loop: blocks the calling thread."""
        wanted = _event_matcher(match)
        deadline = Deadline(self.clock, within)
        cursor = after
        grown = threading.Event()
        while True:
            grown.clear()
            for record in self._records[cursor:]:
                cursor = record.position
                if wanted.matches(record.event):
                    return record
            if self._register(grown.set, cursor) and not grown.wait(deadline.left):
                self._unregister(grown.set)
                raise self._missed(wanted, within, after)

    def _missed(self, wanted: Matcher, within: float, after: int) -> WaitTimeout:
        recent = [
            f"{record.position} {type(record.event).__name__} from {record.source or '-'}"
            for record in self._records[after:][-8:]
        ]
        return WaitTimeout(
            f"no matching event within {within:g} s",
            expected=wanted.describe(),
            seen="\n".join(recent) if recent else f"nothing after position {after}",
            hint="`soundstage show JOURNAL` prints all events; a longer `within=` waits longer",
        )

    def close(self) -> None:
        """Close the file. Reading goes on; appending is an error from now on. Harmless when repeated."""
        with self._lock:
            self._closed = True
            if self._file is not None:
                self._file.close()


def _event_matcher(match: type[Event] | Matcher | Callable[[Any], Any]) -> Matcher:
    if isinstance(match, Matcher):
        return match
    if isinstance(match, type):
        return Fields({}, type=match)
    return Predicate(match)
