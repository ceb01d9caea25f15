"""Waiting for a record, and for the end of the app that could have led to it."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final

from soundstage.clock import Deadline
from soundstage.errors import ExpectationError, WaitTimeout
from soundstage.journal import DaemonChanged, Journal, ProcessExited, Record
from soundstage.lifecycle import ENDED
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


def finite(within: float) -> float:
    """The seconds for which nothing must happen: they have an end.

    Raises:
        ValueError: if they are infinite.
    """
    if within == math.inf:
        raise ValueError("nothing can be expected for ever: within= is a finite number of seconds here")
    return within


def has_ended(record: Record, app: str) -> bool:
    """Whether nothing can come from the app after this record.

    Args:
        record: any record.
        app: the app's daemon, which then has failed or ended; or what the journal calls its program, which has exited.
    """
    event = record.event
    if isinstance(event, DaemonChanged):
        return event.daemon == app and (bool(event.error) or event.status == ENDED)
    return isinstance(event, ProcessExited) and record.source == app


def describe_end(record: Record) -> str:
    """The end of an app, as the last line of what was seen."""
    if isinstance(record.event, ProcessExited):
        return f"then the program exited with code {record.event.code}"
    error = getattr(record.event, "error", "")
    return f"then the app failed: {error}" if error else "then the app ended by itself"


def ended(how: str) -> str:
    """The end of an app as the beginning of a message."""
    return how.partition("\n")[0].removeprefix("then ")


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
    hint = "look at what the app did instead; give it more time with within= if it is slow"
    if end is None:
        seen = "\n".join(came)
        return WaitTimeout(f"{what} within {within:g} s", expected=wanted.describe(), seen=seen, hint=hint)
    how = describe_end(end)
    seen = "\n".join([*came, how])
    hint = "look at why the app ended"
    return ExpectationError(f"{ended(how)}; {what}", expected=wanted.describe(), seen=seen, hint=hint)


async def _tail(journal: Journal, after: int) -> AsyncGenerator[Record, None]:
    async for record in journal.tail(after):
        yield record
