"""Work that is under way in a run, and how the end of the run waits for it.

What counts as work: a request that has no complete reply yet, a tool that has not returned, and on virtual time also
every timer that a part of the run has set, because something happens when it fires. Timers that only repeat, such as
a heartbeat, do not count: a timer that one task sets again and again at the same place, `REPEATS` times, is one.

On virtual time waiting costs nothing, so the end waits until no work is left, or until nothing can move what is left,
a hold-up without an end. It moves the clock from timer to timer of this run's parts; those of the test, such as a
deadline around the run, are left alone. On the machine's time the app gets its grace, and no more.

What is left then is cut off by the end, and that is a finding: a test that ends while a reply is being made says
nothing about the reply.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from soundstage.clock import PendingTimer, VirtualLoop, where
from soundstage.journal import (
    Journal,
    MessageSent,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Record,
    ToolCalled,
    ToolReturned,
    one_line,
)
from soundstage.lifecycle import Daemon, TaskDaemon, of_daemon

REPEATS: Final = 100  # times that a task sets a timer at one place until it counts as a repeating one
HOPELESS: Final = 10_000  # the same while a reply or a tool is under way, which may wait in small steps
SHOWN: Final = 120  # characters of a request or a call in messages
_BEGIN: Final = (ModelRequested, ToolCalled)
_END: Final = (ModelResponded, ModelFailed, ToolReturned)


class Cut(NamedTuple):
    """Work that the end of a run has cut off.

    Args:
        at: position of the journal at which the end no longer waited.
        records: the requests and calls of tools that were under way.
        waits: where the tasks of the run's parts waited.
    """

    at: int
    records: Sequence[Record] = ()
    waits: Sequence[str] = ()


def under_way(journal: Journal, after: int) -> list[Record]:
    """The requests and calls of tools after a position that have come to no end."""
    begun: dict[int, Record] = {}
    for record in journal.read(after):
        if isinstance(record.event, _BEGIN):
            begun[record.position] = record
        elif isinstance(record.event, _END) and record.cause is not None:
            begun.pop(record.cause, None)
    return list(begun.values())


async def finish_work(
    daemons: Sequence[Daemon], apps: Sequence[TaskDaemon], journal: Journal, *, after: int, grace: float
) -> Cut:
    """Wait until the apps have ended or no work is left; what is left nevertheless.

    Args:
        daemons: all parts of the run: what they do is work.
        apps: those that may end by themselves.
        journal: the journal of the run.
        after: position in the journal after which the run begins.
        grace: seconds that the apps get on the machine's time.
    """
    loop = asyncio.get_running_loop()
    waits: Sequence[str] = ()
    if isinstance(loop, VirtualLoop):
        waits = await _VirtualEnd(loop, daemons, journal, after).wait(apps)
    else:
        for app in apps:
            await app.settle(grace)
    return Cut(len(journal), under_way(journal, after), waits)


class _VirtualEnd:
    """The end of a run on virtual time."""

    def __init__(self, loop: VirtualLoop, daemons: Collection[object], journal: Journal, after: int) -> None:
        self._loop = loop
        self._daemons = daemons
        self._journal = journal
        self._after = after
        self._fired: Counter[tuple[Any, str]] = Counter()

    async def wait(self, apps: Sequence[TaskDaemon]) -> list[str]:
        """Go from timer to timer until no work is left; where tasks wait that nothing can move."""
        while True:
            await self._loop.idle()
            working = under_way(self._journal, self._after)
            if not working and all(app.done for app in apps):
                return []
            due = self._due(HOPELESS if working else REPEATS)
            if due is None:
                return self._waits() if working else []
            await self._journal.clock.sleep(due - self._loop.time())

    def _due(self, limit: int) -> float | None:
        """When the next timer of this run fires, if one is left that has not fired `limit` times."""
        timers = [timer for timer in self._loop.pending() if timer.context.get(of_daemon) in self._daemons]
        places = {_place(timer) for timer in timers}
        if not any(self._fired[place] < limit for place in places):
            return None
        due = min(timer.at for timer in timers)
        self._fired.update({_place(timer) for timer in timers if timer.at == due})
        return due

    def _waits(self) -> list[str]:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        return sorted(where(task) for task in tasks)[:10]


def _place(timer: PendingTimer) -> tuple[Any, str]:
    return timer.task, "" if timer.task is None else where(timer.task)


def describe_cut(journal: Journal, cut: Cut) -> list[str]:
    """The work that was cut off, line by line; empty if all that was under way came to its end after all."""
    ends = {record.cause: record.event for record in journal.read(cut.at) if isinstance(record.event, _END)}
    requests = {
        record.position: record for record in journal.read() if isinstance(record.event, ModelRequested)
    }
    gone = [requests[cause] for cause, end in ends.items() if _is_gone(end) and cause in requests]
    left = {record.position: record for record in [*cut.records, *gone] if not _ended_well(record, ends)}
    lines = [f"{position} {_words(record)}" for position, record in sorted(left.items())]
    return [*lines, *cut.waits] if lines else []


def _ended_well(record: Record, ends: dict[int | None, Any]) -> bool:
    """Whether a request that was under way has got its reply while the run was being ended."""
    end = ends.get(record.position)
    return isinstance(record.event, ModelRequested) and end is not None and not _is_gone(end)


def _is_gone(end: object) -> bool:
    return isinstance(end, ModelFailed) and end.reason == "client_gone"


def dropped(journal: Journal, after: int, until: int) -> list[str]:
    """Requests whose client went away while the reply was being made, and after which the app did nothing more.

    An app that asks again, says something or goes on with its work has dealt with it: its own time-out, for one.
    """
    records = journal.read(after)[: max(until - after, 0)]
    gone: dict[int, Record] = {}
    requests = {record.position: record for record in records if isinstance(record.event, ModelRequested)}
    for record in records:
        if _is_gone(record.event) and record.cause in requests:
            gone[record.cause] = requests[record.cause]
        elif isinstance(record.event, ModelRequested | MessageSent | ToolCalled | ToolReturned):
            gone.clear()
    return [f"{position} {_words(record)}" for position, record in sorted(gone.items())]


def _words(record: Record) -> str:
    return f"{type(record.event).__name__} from {record.source or '-'}: {one_line(str(record.event), SHOWN)}"
