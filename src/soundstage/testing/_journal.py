"""The guarantees of every journal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from soundstage.errors import InvalidStateError, MatchError, WaitTimeout
from soundstage.journal import Journal, MessageSent, Noted, Record
from soundstage.testing._guarantee import Guarantee, NotKept, keep_all, raised, same

MakeJournal = Callable[[], Journal]
SOON: Final = 5.0
THREADS: Final = 4
EACH: Final = 25


async def verify_journal(make_journal: MakeJournal) -> None:
    """Verify that a journal keeps what the rest of Soundstage relies on.

    Args:
        make_journal: makes a new, empty journal each time it is called.

    Raises:
        ExpectationError: for the first guarantee that is not kept.

    Example:
        >>> from soundstage.clock import run
        >>> run(verify_journal(Journal))
    """
    await keep_all("journal", GUARANTEES, make_journal)


@contextlib.asynccontextmanager
async def _journal(make: MakeJournal, *texts: str) -> AsyncIterator[Journal]:
    journal = make()
    try:
        for text in texts:
            journal.append(Noted(text=text))
        yield journal
    finally:
        journal.close()


def _texts(records: list[Record]) -> list[str]:
    return [record.event.text for record in records if isinstance(record.event, Noted)]


async def _positions(make: MakeJournal) -> None:
    async with _journal(make) as journal:
        given = [journal.append(Noted(text=str(number))) for number in range(3)]
        same("positions that append returns", [1, 2, 3], given)
        same("positions that read returns", [1, 2, 3], [record.position for record in journal.read()])
        same("len(journal)", 3, len(journal))


async def _envelope(make: MakeJournal) -> None:
    async with _journal(make, "first") as journal:
        journal.append(MessageSent(text="hi"), source="console", cause=1)
        record = journal.read()[-1]
        seen = (record.source, record.cause, record.event)
        same("source, cause and event", ("console", 1, MessageSent(text="hi")), seen)


async def _reading(make: MakeJournal) -> None:
    async with _journal(make, "a", "b", "c") as journal:
        journal.append(MessageSent(text="d"))
        same("texts after position 1", ["b", "c"], _texts(journal.read(after=1)))
        same("events of one class", [MessageSent(text="d")], journal.events(MessageSent))
        same("records of one class", [4], [record.position for record in journal.read(type=MessageSent)])
        same("backwards", [4, 3, 2, 1], [record.position for record in journal.read_backward()])
        same("backwards from 3", [2, 1], [record.position for record in journal.read_backward(before=3)])


async def _collect(journal: Journal, count: int, after: int = 0) -> list[int]:
    seen: list[int] = []
    async with contextlib.aclosing(journal.tail(after)) as tail:  # type: ignore[type-var]
        async for record in tail:
            seen.append(record.position)
            if len(seen) == count:
                break
    return seen


async def _tails(make: MakeJournal) -> None:
    async with _journal(make, "a", "b") as journal:
        readers = [asyncio.create_task(_collect(journal, 4 - after, after)) for after in (0, 0, 1)]
        given_up = asyncio.create_task(_collect(journal, 100))
        await asyncio.sleep(0)
        given_up.cancel()
        for text in ("c", "d"):
            journal.append(Noted(text=text))
            await asyncio.sleep(0)
        same(
            "what three readers saw", [[1, 2, 3, 4], [1, 2, 3, 4], [2, 3, 4]], await asyncio.gather(*readers)
        )


async def _waiting(make: MakeJournal) -> None:
    async with _journal(make, "a") as journal:
        there = await journal.wait_for(Noted, within=SOON)
        same("position of what was there", 1, there.position)
        coming = asyncio.create_task(journal.wait_for(Noted, within=SOON, after=1))
        await asyncio.sleep(0)
        journal.append(MessageSent(text="no note"))
        journal.append(Noted(text="b"))
        same("position of what came", 3, (await coming).position)


async def _in_vain(make: MakeJournal) -> None:
    async with _journal(make, "a") as journal:
        try:
            found = await journal.wait_for(MessageSent, within=0.01)
        except WaitTimeout:
            return
        raise NotKept("wait_for raises WaitTimeout", found)


async def _bad_predicate(make: MakeJournal) -> None:
    async with _journal(make, "a") as journal:
        try:
            found = await journal.wait_for(lambda event: event.no_such_field, within=SOON)
        except MatchError:
            return
        raise NotKept("wait_for raises MatchError", found)


async def _threads(make: MakeJournal) -> None:
    async with _journal(make) as journal:
        last = asyncio.create_task(_collect(journal, THREADS * EACH))
        await asyncio.gather(*(asyncio.to_thread(_append_many, journal) for _ in range(THREADS)))
        everything = list(range(1, THREADS * EACH + 1))
        same("positions", everything, [record.position for record in journal.read()])
        same("what a reader in the loop saw", everything, await last)


def _append_many(journal: Journal) -> None:
    for number in range(EACH):
        journal.append(Noted(text=str(number)))


async def _refusal(make: MakeJournal) -> None:
    async with _journal(make) as journal:
        raised(TypeError, 'append("text")', lambda: journal.append("text"))  # type: ignore[arg-type]
        same("len(journal)", 0, len(journal))


async def _closing(make: MakeJournal) -> None:
    async with _journal(make, "a") as journal:
        reader = asyncio.create_task(_collect(journal, 2))
        await asyncio.sleep(0)
        journal.close()
        journal.close()
        same("what a reader saw until the end", [1], await reader)
        raised(InvalidStateError, "append after close", lambda: journal.append(Noted(text="late")))
        same("texts after close", ["a"], _texts(journal.read()))


GUARANTEES: Final = (
    Guarantee("positions are 1, 2, 3... in the order of appending", _positions),
    Guarantee("the envelope keeps source and cause", _envelope),
    Guarantee("reading selects by position and class, forwards and backwards", _reading),
    Guarantee("every reader sees every event exactly once, whoever else reads or gives up", _tails),
    Guarantee("waiting finds what is there and what comes", _waiting),
    Guarantee("waiting in vain ends with WaitTimeout", _in_vain),
    Guarantee("a predicate that raises is an error, not a mismatch", _bad_predicate),
    Guarantee("any thread may append", _threads),
    Guarantee("only events are taken", _refusal),
    Guarantee("a closed journal can be read, takes nothing more, and ends its readers", _closing),
)
