"""Journal appends: in memory against a bare list, to a file against a bare file.

The same events and records on both sides. Ours checks the type, takes the clock, holds a lock and wakes
waiters; to a file it also redacts, and the line is with the kernel before `append` returns. A plain file
keeps lines in a buffer, which a killed process loses; an unbuffered one gives the same guarantee as ours and
is reported too.
"""

from __future__ import annotations

import gc
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from _pairs import interleave, ratio
from _servers import CLIENT_CORE, on_core
from _settings import Settings
from _table import Row, micros
from soundstage.clock import SystemClock
from soundstage.journal import Journal, MessageSent, Record

NAME = "journal"
TEXT = "Hello, this is a message of ordinary length."


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    count = settings.scaled(40_000)
    with tempfile.TemporaryDirectory() as folder, on_core(CLIENT_CORE):
        turns = _turns(Path(folder), count)
        times = interleave(turns, settings.rounds, settings.tell)
    for what, ours, against, theirs, target in (
        ("journal append, in memory", "memory", "the same record, appended to a list", "list", 0.2),
        ("journal append, to a file", "file", "the same records, encoded, to a plain file", "buffered", 0.5),
        (
            "journal append, to a file",
            "file",
            "the same, unbuffered (the same guarantee)",
            "unbuffered",
            0.6,
        ),
    ):
        figures = f"{micros(times[ours])} : {micros(times[theirs])}"
        yield Row(what, against, figures, ratio(times[theirs], times[ours]), target)


def _turns(folder: Path, count: int) -> dict[str, Callable[[], float]]:
    records = _journaled(Journal(), count).read()
    fresh = (folder / f"{number}.jsonl" for number in itertools.count())

    def plain(buffering: int) -> float:
        path = next(fresh)
        with path.open("wb", buffering=buffering) as file:
            write, encode = file.write, msgspec.json.Encoder().encode
            found = _each(count, lambda index: write(encode(records[index]) + b"\n"))
        path.unlink()
        return found

    def ours() -> float:
        path = next(fresh)
        journal = Journal(path)
        found = _each(count, lambda _: journal.append(MessageSent(text=TEXT), source="console"))
        journal.close()
        path.unlink()
        return found

    return {
        "list": lambda: _bare_list(count),
        "memory": lambda: _in_memory(count),
        "buffered": lambda: plain(-1),
        "unbuffered": lambda: plain(0),
        "file": ours,
    }


def _each(count: int, action: Callable[[int], object]) -> float:
    """Seconds for one action."""
    gc.collect()
    start = time.perf_counter()
    for index in range(count):
        action(index)
    return (time.perf_counter() - start) / count


def _bare_list(count: int) -> float:
    found: list[Record] = []
    now = SystemClock().now

    def append(index: int) -> None:
        event = MessageSent(text=TEXT)
        found.append(
            Record(position=index + 1, time=now(), run="run", source="console", cause=None, event=event)
        )

    return _each(count, append)


def _in_memory(count: int) -> float:
    journal = Journal()
    return _each(count, lambda _: journal.append(MessageSent(text=TEXT), source="console"))


def _journaled(journal: Journal, count: int) -> Journal:
    for _ in range(count):
        journal.append(MessageSent(text=TEXT), source="console")
    return journal
