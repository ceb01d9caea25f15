"""Waiting for a record."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from soundstage.clock import Deadline
from soundstage.journal import Journal, Record

Fits = Callable[[Record], bool]


async def first_record(journal: Journal, fits: Fits, *, after: int, within: float) -> Record | None:
    """The first record after a position that fits; `None` if none comes in time."""
    deadline = Deadline(journal.clock, within)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(deadline.left), contextlib.aclosing(_tail(journal, after)) as records:
            async for record in records:
                if fits(record):
                    return record
    return None


async def _tail(journal: Journal, after: int) -> AsyncGenerator[Record, None]:
    async for record in journal.tail(after):
        yield record
