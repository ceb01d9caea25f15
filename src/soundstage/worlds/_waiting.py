"""Waiting for a record, and for the end of the app that could have led to it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final

from soundstage.clock import Deadline
from soundstage.errors import ExpectationError, WaitTimeout
from soundstage.journal import DaemonChanged, Journal, ProcessExited, Record
from soundstage.match import Matcher

APP: Final = "app"
Fits = Callable[[Record], bool]


async def first_record(journal: Journal, fits: Fits, *, after: int, within: float) -> Record | None:
    """The first record after a position that fits; `None` if none comes in time."""
    deadline = Deadline(journal.clock, within)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(deadline.timeout), contextlib.aclosing(_tail(journal, after)) as records:
            async for record in records:
                if fits(record):
                    return record
    return None


def has_ended(record: Record, app: str) -> bool:
    """Whether nothing can come from the app after this record.

    Args:
        record: any record.
        app: the app's daemon, which then has failed; or what the journal calls its program, which has exited.
    """
    event = record.event
    if isinstance(event, DaemonChanged):
        return event.daemon == app and bool(event.error)
    return isinstance(event, ProcessExited) and record.source == app


def describe_end(record: Record) -> str:
    """The end of an app, as the last line of what was seen."""
    if isinstance(record.event, ProcessExited):
        return f"then the program exited with code {record.event.code}"
    return f"then the app failed: {getattr(record.event, 'error', '')}"


def missed(
    what: str, wanted: Matcher, came: Sequence[str], within: float, end: Record | None
) -> ExpectationError:
    """The error of an expectation that was not met: in time, or before the end of the app.

    Args:
        what: did not happen, in words.
        wanted: what was waited for.
        came: what came instead, line by line.
        within: seconds that were waited.
        end: the record with which the app ended, if it did.
    """
    hint = "what is shown above came after the last expected message"
    if end is None:
        seen = "\n".join(came)
        return WaitTimeout(f"{what} within {within:g} s", expected=wanted.describe(), seen=seen, hint=hint)
    seen = "\n".join([*came, describe_end(end)])
    return ExpectationError(f"{what} and has ended", expected=wanted.describe(), seen=seen, hint=hint)


async def _tail(journal: Journal, after: int) -> AsyncGenerator[Record, None]:
    async for record in journal.tail(after):
        yield record
