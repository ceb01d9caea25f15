"""A store: a folder with runs, saved in one step, found by an index, removed when they are old.

    .soundstage/runs/20261123T103000000Z-4f1c.../run.json        the record, and a reference for each file
    .soundstage/runs/20261123T103000000Z-4f1c.../journal.jsonl
    .soundstage/objects/ab/cdef...                               content by its sha256
    .soundstage/runs.db                                          the index, made of the folders of the runs

How a run is saved. Everything is written into a folder of the saver first, beside the runs, and written back to the
disk. Then, with the lock of the store: content moves to its place by its hash, and last the whole folder of the run
moves among the others. That one move is the moment at which the run is there: before it nobody sees anything, behind
it all is whole. Only then the index gets its row. A saver that dies leaves its folder, which the next one removes
(`ScratchFolder`), or content without a run, which a cleanup removes, or a run without a row, which the next question
finds (`_catalogue`).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

from soundstage.clock import Clock, SystemClock
from soundstage.config import Settings
from soundstage.errors import WrongValueError
from soundstage.guard import real_environment
from soundstage.journal import (
    Blob,
    Contents,
    FileChanged,
    Record,
    Redactor,
    clean_records,
    encode_records,
    read_journal,
)
from soundstage.lifecycle import ScratchFolder
from soundstage.runs._catalogue import Catalogue
from soundstage.runs._cleaning import Cleanup, CleanupResult, Retention, is_short
from soundstage.runs._disk import Disk
from soundstage.runs._errors import RunNotFoundError, told
from soundstage.runs._files import ContentSource
from soundstage.runs._lock import WITHIN, locked
from soundstage.runs._objects import Content, Objects, StagedContent
from soundstage.runs._query import RunQuery
from soundstage.runs._record import (
    JOURNAL,
    RECORD,
    Bundle,
    RunRecord,
    checked_transcripts,
    decode_bundle,
    encode_bundle,
    require_path,
)
from soundstage.runs._stored import KEEP, KEEPS, StoredRun
from soundstage.trace import ToolUse

DEFAULT: Final = ".soundstage"
Journaled = Iterable[Record] | Path
_Kind = Literal["file", "calls", "content"]


def store_of(settings: Settings, root: Path | str) -> RunStore:
    """The store in a folder, with index and retention as in the settings."""
    retention = Retention(settings.runs_max_age_days, settings.runs_min_free_mb)
    return RunStore(root, index=settings.runs_index, retention=retention)


class RunStore:
    """A folder with runs. It is made when the first run is saved.

    Threads and processes may use one store at the same time.

    Args:
        root: the folder; `.soundstage` unless given.
        index: URL of a database for the index, `postgresql://...`; unless given, a file of SQLite in the folder.
        within: seconds to wait for others that write.
        retention: how long runs stay; see `clean`.
        clock: says how old runs are.
        disk: does the steps on files.

    Raises:
        ConfigError: when the index is first used, if its URL is none of SQLite or PostgreSQL.
        WrongValueError: for a retention with a negative number.

    Example:
        ::

            store = RunStore()
            store.save(record, journal=records, files={"report.html": Path("report.html")})
            for run in store.list(test="tests/test_shop.py::test_buy", outcome="failed", days=30):
                print(store.open(run).files["report.html"].text())
    """

    def __init__(
        self,
        root: Path | str = DEFAULT,
        *,
        index: str = "",
        within: float = WITHIN,
        retention: Retention | None = None,
        clock: Clock | None = None,
        disk: Disk | None = None,
    ) -> None:
        self.root = Path(root).resolve()
        self.retention = (retention or Retention()).validated()
        self.clock = clock or SystemClock()
        self.disk = disk or Disk()
        self.objects = Objects(self.root, self.disk)
        self.catalogue = Catalogue(self.root, index, within, self.clock, self.disk)

    def __repr__(self) -> str:
        return f"<RunStore {self.root}>"

    def close(self) -> None:
        """Let go of the index; it is opened again when it is needed."""
        self.catalogue.close()

    @property
    def unreadable(self) -> tuple[str, ...]:
        """Folders among the runs whose record cannot be read, as of the last look; they are not listed."""
        return self.catalogue.unreadable

    def save(
        self,
        record: RunRecord,
        *,
        journal: Journaled | None = None,
        files: Mapping[str, Content] | None = None,
        transcripts: Iterable[ToolUse | Mapping[str, Any]] | None = None,
        contents: ContentSource | None = None,
        redactor: Redactor | None = None,
    ) -> StoredRun:
        """Keep a run that is over. When this returns, nothing but the disk itself can lose it.

        Args:
            record: what is known of it.
            journal: its records, or the file that has them.
            files: by path, as bytes, text, or the path of a file that is there.
            transcripts: its tool calls, as `trace.tools` has them.
            contents: `journal.contents`, from which files before and after changes are kept; unless given, the folder
                beside the journal, if that is a file.
            redactor: knows the secrets that must not reach the disk; unless given, those of the environment.

        Raises:
            WrongValueError: if the store has that run, or a path leads out of the run.
            SchemaError: if a transcript is not as its schema says.
            DiskFullError: if there is no space.
            StoreBusyError: if somebody else writes all the time.
            EnvironmentProblem: if the index cannot be reached; the run is kept, and found when it can be again.
        """
        for path in files or {}:
            require_path(path)
        redactor = redactor or Redactor.from_environment(real_environment())
        calls = None if transcripts is None else redactor.json(checked_transcripts(list(transcripts)))
        records = read_journal(journal) if isinstance(journal, Path) else list(journal or ())
        if contents is None and isinstance(journal, Path):
            contents = Contents.beside(journal)
        with told("keep a run", self.root):
            self.disk.make_folder(self.root)
            if is_short(self.disk, self.root, self.retention):
                self.clean()
        with told("keep a run", self.root), self.staging() as folder:
            given: dict[tuple[_Kind, str], Content] = {
                **{("file", path): content for path, content in (files or {}).items()},
                **({("calls", ""): calls} if calls is not None else {}),
                **{("content", sha256): content for sha256, content in named_contents(records, contents)},
            }
            staged = {
                key: self.objects.stage(content, folder / str(number), redactor)
                for number, (key, content) in enumerate(given.items())
            }
            bundle = self._write(folder / "run", record, records, staged, redactor)
            with self.catalogue.held("keep a run"):
                self._commit(folder / "run", bundle, staged.values())
        return StoredRun(self.folder_of(bundle.run), bundle, self.objects)

    @contextlib.contextmanager
    def claim(self, name: str, *, doing: str) -> Iterator[None]:
        """Hold a name in this store, so that nobody does the same at once. It is let go with whoever holds it.

        Args:
            name: in words; others that claim the same name are refused.
            doing: tells them for what it is held.

        Raises:
            StoreBusyError: if somebody else, or another part of this program, holds it; the message says who.
        """
        with told("be used", self.root):
            folder = self.root / "locks"
            self.disk.make_folder(folder)
        path = folder / hashlib.sha256(name.encode()).hexdigest()[:16]
        with locked(path, doing=doing, within=0, of=f"{name} in the store {self.root}"):
            yield

    def folder_of(self, record: RunRecord) -> Path:
        """The folder of a run."""
        return self.catalogue.runs / record.folder

    @contextlib.contextmanager
    def staging(self) -> Iterator[Path]:
        """A folder of this process on the store's disk."""
        beside = self.root / "tmp"
        self.disk.make_folder(beside)
        with ScratchFolder(parent=beside) as scratch:
            yield scratch.path

    def _write(
        self,
        folder: Path,
        record: RunRecord,
        records: list[Record],
        staged: Mapping[tuple[_Kind, str], StagedContent],
        redactor: Redactor,
    ) -> Bundle:
        """The folder of a run, on the disk, but not yet among the others. What is in it has no secrets."""
        blobs: dict[_Kind, dict[str, Blob]] = {"file": {}, "calls": {}, "content": {}}
        for (kind, name), content in staged.items():
            blobs[kind][name] = content.blob
        bundle = Bundle(
            run=record,
            records=len(records),
            transcripts=blobs["calls"].get(""),
            files=blobs["file"],
            contents=blobs["content"],
        )
        data = redactor.json(encode_bundle(bundle))
        self.disk.make_folder(folder)
        self.disk.write(folder / JOURNAL, encode_records(clean_records(records, redactor)))
        self.disk.write(folder / RECORD, [data])
        self.disk.settle(folder)
        return decode_bundle(data, RECORD)

    def _commit(self, folder: Path, bundle: Bundle, content: Iterable[StagedContent]) -> None:
        there = self.folder_of(bundle.run)
        if there.exists():
            raise WrongValueError(
                f"the store {self.root} has the run {bundle.run.folder}",
                expected="an id of its own for each run",
                hint="`new_run_id()` makes one",
            )
        self.disk.make_folder(self.catalogue.runs)
        self.objects.take(content)
        self.catalogue.change(lambda: self.disk.move(folder, there), add=[bundle.run])

    def list(
        self,
        *,
        test: str = "",
        driver: str = "",
        status: str = "",
        outcome: str = "",
        labels: Mapping[str, str] | None = None,
        days: float | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        limit: int = 0,
    ) -> list[RunRecord]:
        """The runs that fit, the newest first. What is not given does not matter.

        Args:
            test: id of the test, whole.
            driver: who ran them.
            status: `complete`, `partial` or `failed`.
            outcome: `passed`, `failed`, ...: see `RunRecord`.
            labels: all of these.
            days: that began in the last so many days.
            since: that began then or later.
            before: that began earlier.
            limit: so many at most; 0 for all.

        Raises:
            WrongValueError: for a status or an outcome that no run can have, `days` and `since` together, or a time
                without a zone.
        """
        if days is not None and since is not None:
            raise WrongValueError("`days` and `since` both say from when on", hint="give one of them")
        if any(moment is not None and moment.tzinfo is None for moment in (since, before)):
            raise WrongValueError("a time has a time zone", hint="write: datetime.now(UTC)")
        since = since if days is None else self.clock.wall() - timedelta(days=days)
        query = RunQuery(test, driver, status, outcome, labels or {}, since, before, limit)
        query.require_words()
        if not self.catalogue.runs.is_dir():
            return []
        with told("be read", self.root):
            return self.catalogue.ask(lambda index: index.find(query))

    def open(self, run: str | RunRecord) -> StoredRun:
        """A run with its files, none of which has been read yet.

        Args:
            run: its id, the name of its folder, or how one of them begins. A record that `list` gave needs no search.

        Raises:
            RunNotFoundError: if no run begins so, several do, or the run of the record is gone.
            HarnessError: if its record cannot be read.
        """
        if isinstance(run, RunRecord) and self.folder_of(run).is_dir():
            found = run
        else:
            found = self.find(run if isinstance(run, str) else run.id)
        with told("be read", self.root):
            path = self.folder_of(found)
            return StoredRun(
                path, decode_bundle((path / RECORD).read_bytes(), str(path / RECORD)), self.objects
            )

    def find(self, run: str) -> RunRecord:
        """The record of a run. Argument and errors as of `open`."""
        found: list[RunRecord] = []
        if run and self.catalogue.runs.is_dir():
            with told("be read", self.root):
                found = self.catalogue.ask(lambda index: index.begin_with(run))
        if len(found) == 2 and found[0].id == run != found[1].id:
            found.pop()
        if len(found) != 1:
            raise RunNotFoundError(
                f"the store {self.root} has {'several runs' if found else 'no run'} {run!r}",
                expected="the id of a run, its folder's name, or enough of one of them",
                seen=", ".join(record.folder for record in found),
                hint="soundstage runs list",
            )
        return found[0]

    def keep(self, run: str, *, kept: bool = True) -> StoredRun:
        """Mark a run to be kept whatever its age, or take that back. Argument and errors as of `open`."""
        opened = self.open(run)
        with told("mark a run", self.root), self.catalogue.held("mark a run"):
            if kept:
                (opened.path / KEEP).touch()
            else:
                for name in KEEPS:
                    self.disk.remove(opened.path / name)
        return opened

    def clean(
        self, retention: Retention | None = None, *, dry_run: bool = False, within: float | None = None
    ) -> CleanupResult:
        """Remove runs that are too old, and more while there is too little space; then content that no run has.

        Marked runs stay. Each run that goes is in the log of the store, `runs-log.jsonl`, with the reason.

        Args:
            retention: other than that of the store.
            dry_run: remove nothing, and say which runs are too old.
            within: seconds to wait for others that write; 0 asks once.

        Raises:
            WrongValueError: for a negative number.
            StoreBusyError: if somebody else writes all the time.
        """
        chosen = (retention or self.retention).validated()
        if not self.catalogue.runs.is_dir():
            return CleanupResult((), 0, 0)
        with told("be cleaned", self.root), self.catalogue.held("clean it", within):
            cleanup = Cleanup(self.catalogue, self.objects, self.disk, self.staging)
            return cleanup.run(chosen, self.clock.wall(), dry_run=dry_run)


def named_contents(records: Iterable[Record], contents: ContentSource | None) -> Iterator[tuple[str, bytes]]:
    """The content that the events of a journal name, each once with its hash there, as far as it is there."""
    if contents is None:
        return
    changes = [record.event for record in records if isinstance(record.event, FileChanged)]
    named = dict.fromkeys(sha256 for event in changes for sha256 in (event.before, event.after) if sha256)
    for sha256 in named:
        blob = contents.find(sha256)
        if blob is not None:
            with contents.open(blob.sha256) as file:
                yield sha256, file.read()
