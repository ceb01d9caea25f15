"""Watchers: functions that see each event of a run, and may stop it.

How it works. One task follows the journal and tells one watcher after the other, in the order in which they were given,
each awaited before the next. So a slow watcher sees later what happens meanwhile; it misses nothing. When the target is
done, the rest of the journal is told before the run is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from soundstage.journal import Event, Journal, Record
from soundstage.runs.result import RunResult, build_result

_ABORT: Final = "abort"


class WatchedEvent:
    """An event of a run as a watcher gets it.

    Attributes:
        record: the event in its envelope.
    """

    def __init__(self, journal: Journal, begun: int, record: Record) -> None:
        self.record = record
        self._journal = journal
        self._begun = begun

    @property
    def event(self) -> Event:
        """The event."""
        return self.record.event

    @property
    def result(self) -> RunResult:
        """The result of the run up to this event. Made when it is asked for: it takes as long as the run is."""
        records = self._journal.read(self._begun)[: self.record.position - self._begun]
        return build_result(records, objects=self._journal.contents)


Watcher = Callable[[WatchedEvent], Awaitable[Any]]
"""An async function of a `WatchedEvent`. If it returns `{"abort": True}`, or raises, the run is stopped."""


class Watchers:
    """The watchers of one run.

    Args:
        watchers: in the order in which they are told.
        journal: of the run.
        begun: the position after which the run begins.
        stop: is told why the run is to be stopped, and by which error of a watcher.
    """

    def __init__(
        self,
        watchers: Sequence[Watcher],
        journal: Journal,
        begun: int,
        stop: Callable[[str, Exception | None], None],
    ) -> None:
        self._watchers = watchers
        self._journal = journal
        self._begun = self._told = begun
        self._stop = stop
        self._turn = asyncio.Lock()
        self._over = False

    async def follow(self) -> None:
        """Tell them each event as it comes."""
        if self._watchers:
            async for _ in self._journal.tail(self._begun):
                await self.tell()

    async def tell(self) -> None:
        """Tell them all that they do not know yet."""
        async with self._turn:
            while records := self._journal.read(self._told):
                for record in records:
                    if self._over:
                        return
                    self._told = record.position
                    await self._tell(WatchedEvent(self._journal, self._begun, record))

    async def _tell(self, event: WatchedEvent) -> None:
        for watcher in self._watchers:
            name = getattr(watcher, "__qualname__", type(watcher).__name__)
            try:
                wanted = await watcher(event)
            except Exception as error:  # noqa: BLE001  (whatever it is, it stops the run)
                self._over = True
                self._stop(f"{name} raised {type(error).__name__}: {error}", error)
                return
            if isinstance(wanted, dict) and wanted.get(_ABORT) is True:
                self._over = True
                self._stop(f"{name} asked for it at {event.record.position}", None)
                return

    async def tell_the_end(self, within: float) -> None:
        """Tell them of the end of a run that was stopped, if none of them has stopped it. None has a say any more.

        Args:
            within: seconds; a watcher that takes longer hears no more.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self.tell()
