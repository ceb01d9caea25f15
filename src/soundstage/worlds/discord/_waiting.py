"""Waiting for a record of one source."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from soundstage.clock import Deadline
from soundstage.journal import Journal, Record

Fits = Callable[[Record], bool]


async def first_record(
    journal: Journal, source: str, fits: Fits, *, after: int, within: float
) -> Record | None:
    """The first record of a source after a position that fits; `None` if none comes in time."""
    deadline = Deadline(journal.clock, within)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(deadline.left), contextlib.aclosing(_tail(journal, after)) as records:
            async for record in records:
                if record.source == source and fits(record):
                    return record
    return None


async def _tail(journal: Journal, after: int) -> AsyncGenerator[Record, None]:
    async for record in journal.tail(after):
        yield record
