"""Pumps: daemons that read entries and act on each, one after the other.

A pump that fails puts a failure on record under its own name and ends with that error; the app that owns it
ends too. It tells where it was in a note on the error.

Entries that were dealt with before are left alone when an app is started a second time in one run. Parts that
speak to the outside say so with an ack; what a pump has written itself is known by its cause.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection
from contextlib import aclosing
from typing import Any

from soundstage.agents._followers import Followers
from soundstage.agents._manifest import EntryRoute, type_name
from soundstage.errors import ScriptError
from soundstage.journal import Event, Record
from soundstage.lifecycle import TaskDaemon
from soundstage.models import working_on

Handle = Callable[[Record], Awaitable[None] | None]


class Pump(TaskDaemon):
    """Hands every record of some leaf types to a function, in order. For parts of an app written by hand too.

    Args:
        name: how messages and the journal call it.
        followers: who reads the journal of this app; `scope.followers`.
        kinds: leaf types; entries of their subclasses are left alone.
        handle: deals with one record; it may be asynchronous, and the next record waits for it.
        done: positions that were dealt with before.
    """

    def __init__(
        self,
        name: str,
        followers: Followers,
        kinds: Collection[type[Event]],
        handle: Handle,
        *,
        done: Collection[int] = (),
    ) -> None:
        super().__init__(name, followers.journal, self._pump)
        self.follower = followers.follow(*kinds)
        self._handle = handle
        self._done = frozenset(done)

    async def _pump(self) -> None:
        async with aclosing(self.follower.records()) as records:  # type: ignore[type-var]
            async for record in records:
                if record.position not in self._done:
                    await self._deal_with(record)

    async def _deal_with(self, record: Record) -> None:
        working_on.set(record.position)
        try:
            result = self._handle(record)
            if inspect.isawaitable(result):
                await result
        except Exception as error:
            error.add_note(f"in {self.name!r}, at {type_name(type(record.event))} {record.position}")
            raise


def route_pump(route: EntryRoute, followers: Followers) -> Pump:
    """The daemon of one route of a covenant."""
    journal = followers.journal

    async def handle(record: Record) -> None:
        entry = route.transform(record.event)
        made = await entry if inspect.isawaitable(entry) else entry
        _check_made(route, made)
        journal.append(made, source=route.name, cause=record.position)

    return Pump(route.name, followers, (route.source,), handle, done=answered(followers, route.name))


def _check_made(route: EntryRoute, made: Any) -> None:
    if type(made) is not route.target:
        raise ScriptError(
            f"the function of {route.name} returned something else",
            expected=f"exactly {route.target.__name__}",
            seen=type_name(type(made)),
            hint="return a new entry of the target's class",
        )


def answered(followers: Followers, source: str) -> set[int]:
    """The positions that led to an entry of `source` in this run."""
    records = followers.journal.read(followers.start)
    return {record.cause for record in records if record.source == source and record.cause is not None}


def acked(followers: Followers, ack: type[Event], source: str) -> set[int]:
    """The positions that `source` has acknowledged in this run."""
    records = followers.journal.read(followers.start, ack)
    return {getattr(record.event, "position", 0) for record in records if record.source == source}
