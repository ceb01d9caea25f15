"""Runs that are kept: saving and exporting against the same bytes written by hand, and questions among 10,000 runs.

Each run has a journal of 50 records, a text of its own and a file that all share. By hand means: the same files in a
folder for each run, each file and the folder written back to the disk (fsync), without hash, index or lock; for an
export, the same zip archive of files that are not compared with their hashes. The disk is that of the system's
temporary folder.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from _pairs import interleave, median, ratio
from _settings import Settings
from _table import Row
from soundstage.journal import Journal, MessageSent, Redactor, encode_records
from soundstage.runs import Bundle, RunRecord, RunStore, export_run

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # its server of PostgreSQL
from support.postgres import PostgresServer, postgres_programs

NAME = "runs"
BUNDLES, LISTED = 1000, 10_000
NOW = datetime.now(UTC)
SHARED = b"a line that all runs share\n" * 2000
NUMBERS = itertools.count()


def rows(settings: Settings) -> Iterator[Row]:
    """The rows of this file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = RunStore(folder / "store")
        yield from _saving(settings, folder, store)
        yield from _exporting(settings, folder, store)
        store.close()
        yield from _asking(settings, folder)


def _record(number: int) -> RunRecord:
    """One of a hundred tests, half an hour after the one before; one in ten failed."""
    began = NOW - timedelta(minutes=30 * (number % LISTED))
    outcome = "failed" if number // 100 % 10 == 0 else "passed"
    return RunRecord(
        id=f"run{number}",
        started=began,
        ended=began,
        test=f"tests/test_a.py::test_{number % 100}",
        outcome=outcome,
    )


def _saving(settings: Settings, folder: Path, store: RunStore) -> Iterator[Row]:
    journal = Journal(redactor=Redactor())
    for number in range(50):
        journal.append(
            MessageSent(text=f"message {number} of an ordinary length, as they are"), source="console"
        )
    records, each = journal.read(), settings.scaled(BUNDLES) // settings.rounds
    redactor = Redactor(["correct-horse-battery-staple"])

    def ours() -> float:
        def save(number: int) -> None:
            files = {"own.txt": f"of {number}", "shared.txt": SHARED}
            store.save(_record(number), journal=records, files=files, redactor=redactor)

        return _timed(save, each)

    def by_hand() -> float:
        def write(number: int) -> None:
            place = folder / "bare" / str(number)
            place.mkdir(parents=True)
            lines = b"".join(encode_records(records))
            for name, data in (
                ("run.json", b"{}"),
                ("journal.jsonl", lines),
                ("own", b"of"),
                ("shared", SHARED),
            ):
                with (place / name).open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            handle = os.open(place, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)

        return _timed(write, each)

    found = interleave({"ours": ours, "by hand": by_hand}, settings.rounds, settings.tell)
    yield Row(
        f"{each * settings.rounds:,} runs kept, one after the other",
        "the same files by hand, each with fsync",
        f"{_ms(found['ours'])} : {_ms(found['by hand'])} each",
        ratio(found["ours"], found["by hand"]),
        3.0,
        "at most",
    )


def _exporting(settings: Settings, folder: Path, store: RunStore) -> Iterator[Row]:
    saved = store.list()
    each = max(len(saved) // settings.rounds, 1)
    turns = itertools.cycle(saved)

    def ours() -> float:
        return _timed(lambda number: export_run(store.open(next(turns).id), folder / f"{number}.zip"), each)

    def by_hand() -> float:
        def write(number: int) -> None:
            place = next((folder / "bare").iterdir())
            with zipfile.ZipFile(folder / f"{number}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                for path in sorted(place.iterdir()):
                    archive.write(path, path.name)

        return _timed(write, each)

    found = interleave({"ours": ours, "by hand": by_hand}, settings.rounds, settings.tell)
    yield Row(
        f"{each * settings.rounds:,} runs opened and exported",
        "a zip archive of such files",
        f"{_ms(found['ours'])} : {_ms(found['by hand'])} each",
        ratio(found["ours"], found["by hand"]),
        3.0,
        "at most",
    )


def _asking(settings: Settings, folder: Path) -> Iterator[Row]:
    """The same 10,000 folders, an index in a file and one on a server."""
    import msgspec

    count = settings.scaled(LISTED)
    for number in range(count):
        record = _record(number)
        place = folder / "many" / "runs" / record.folder
        place.mkdir(parents=True)
        (place / "run.json").write_bytes(msgspec.json.encode(Bundle(run=record)))
    with _server() as url:
        stores = {"SQLite": RunStore(folder / "many")}
        if url:
            stores["PostgreSQL"] = RunStore(folder / "many", index=url)
        built = {
            name: _timed(lambda _, store=store: store.list(limit=1), 1) for name, store in stores.items()
        }

        def asks(store: RunStore) -> float:
            return _timed(
                lambda number: store.list(
                    test=f"tests/test_a.py::test_{number % 100}", outcome="failed", days=30
                ),
                50,
            )

        turns = {name: lambda store=store: asks(store) for name, store in stores.items()}
        found = interleave(turns, settings.rounds, settings.tell)
        for store in stores.values():
            store.close()
    for name, times in found.items():
        yield Row(
            f"runs of a test, failed, of 30 days, among {count:,}; {name}",
            "a limit",
            f"{_ms(times)}; the index of all was made in {built[name]:.1f} s",
            median(times) * 1000,
            20.0,
            "at most",
            "ms",
        )
    if "PostgreSQL" not in found:
        yield Row(
            f"the same among {count:,}; PostgreSQL",
            "a limit",
            "there is no server",
            None,
            20.0,
            "at most",
            "ms",
        )


@contextlib.contextmanager
def _server() -> Iterator[str]:
    programs = postgres_programs()
    if programs is None:
        yield ""
        return
    with PostgresServer(programs) as server:
        yield server.url


def _timed(do: object, times: int) -> float:
    """Seconds for one call of many."""
    numbers = list(itertools.islice(NUMBERS, times))
    begun = time.perf_counter()
    for number in numbers:
        do(number)
    return (time.perf_counter() - begun) / times


def _ms(times: list[float]) -> str:
    return f"{median(times) * 1000:.1f} ms"
