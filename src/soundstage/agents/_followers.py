"""Who reads the journal of an app, and how far each has come.

The parts of an app work by reading the journal. A part is a follower: it sees the records of its kinds one by
one, in order, and has *passed* a record when it asks for the next one. From that one number the app knows when
everything that was said has been dealt with: when every follower has passed the last record. Nobody polls:
whoever waits for that is woken each time a follower moves on.

What a follower hands to another task is no longer counted, so a handler should await what it starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from soundstage.journal import Event, Journal, Record, RunStarted


class Follower:
    """One reader. Made by `Followers.follow`.

    Attributes:
        passed: the position up to which it has dealt with everything.
        kinds: the classes of records that it sees.
    """

    def __init__(self, followers: Followers, kinds: tuple[type[Event], ...], after: int) -> None:
        self._followers = followers
        self.kinds = frozenset(kinds)
        self.passed = after

    def skip_to(self, position: int) -> None:
        """Leave out what is there up to `position`."""
        self.passed = max(self.passed, position)

    async def records(self) -> AsyncIterator[Record]:
        """The records of exactly these classes, until the journal is closed. Subclasses are left alone."""
        try:
            async with aclosing(self._followers.journal.tail(self.passed)) as tail:  # type: ignore[type-var]
                async for record in tail:
                    if type(record.event) in self.kinds:
                        yield record
                    self.passed = record.position
                    self._followers.moved()
        finally:
            self._followers.leave(self)

    async def wait_passed(self, position: int) -> None:
        """Wait until it has dealt with everything up to `position`."""
        await self._followers.wait_until(lambda: self.passed >= position)


class Followers:
    """All readers of one app.

    Args:
        journal: what they read.

    Attributes:
        start: where the run begins: the position of the newest `RunStarted`, or 0.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        newest = (
            record.position for record in journal.read_backward() if isinstance(record.event, RunStarted)
        )
        self.start = next(newest, 0)
        self._followers: list[Follower] = []
        self._waiting: list[asyncio.Future[None]] = []

    def follow(self, *kinds: type[Event], after: int | None = None) -> Follower:
        """A reader of the records of exactly these classes.

        Args:
            kinds: leaf types.
            after: position from which to read; the start of the run, unless given.
        """
        follower = Follower(self, kinds, self.start if after is None else after)
        self._followers.append(follower)
        return follower

    @property
    def kinds(self) -> frozenset[type[Event]]:
        """The classes of records that somebody reads."""
        return frozenset().union(*(follower.kinds for follower in self._followers))

    def leave(self, follower: Follower) -> None:
        """Forget a follower that reads no more."""
        if follower in self._followers:
            self._followers.remove(follower)
        self.moved()

    def moved(self) -> None:
        """Wake those who wait for followers to move on."""
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def wait_until(self, condition: Callable[[], Any]) -> None:
        """Wait until `condition` holds; it is asked each time a follower has moved on."""
        while not condition():
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future

    async def settled(self) -> None:
        """Wait until every follower has dealt with everything that is in the journal."""
        await self.wait_until(self._all_passed)

    def _all_passed(self) -> bool:
        last = len(self.journal)
        return all(follower.passed >= last for follower in self._followers)
