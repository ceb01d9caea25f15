"""Telling somebody what agents do while they do it: listeners follow the journal, there is no second channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    Event,
    Journal,
    Noted,
    Record,
    ToolCalled,
    ToolReturned,
)

LISTENED_TO: Final = (AgentStarted, ToolCalled, ToolReturned, AgentFinished)


@asynccontextmanager
async def listening(
    journal: Journal,
    listener: Callable[[Record], object],
    *,
    to: tuple[type[Event], ...] = LISTENED_TO,
) -> AsyncIterator[None]:
    """Have `listener` called with each record as it comes; when the block ends it has had all of them.

    A listener that raises disturbs nobody: that it did is noted in the journal, and it gets the next record.

    Args:
        journal: what to follow, from now on.
        listener: a plain function of a record.
        to: the classes of events; start and end of agents and tools unless given.

    Example:
        ::

            async with listening(loop.journal, lambda record: print(record.event)):
                await loop.run(task)
    """
    cursor = len(journal)

    def deliver(record: Record) -> None:
        nonlocal cursor
        cursor = record.position
        if not isinstance(record.event, to):
            return
        try:
            listener(record)
        except Exception as error:  # noqa: BLE001  (a listener must not change what it listens to)
            note = Noted(text="a listener raised", data={"error": f"{type(error).__name__}: {error}"})
            journal.append(note, source="listener", cause=record.position)

    async def follow() -> None:
        async for record in journal.tail(cursor):
            deliver(record)

    following = asyncio.create_task(follow(), name="listener")
    try:
        yield
    finally:
        following.cancel()
        await asyncio.wait({following})
        for record in journal.read(cursor):
            deliver(record)
