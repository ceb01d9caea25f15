"""Which runs a store has: the folder of all runs, its index, and the lock under which both change.

Whoever changes the folder of all runs holds the lock, marks the index as stale, changes the folder in one step, and
gives the index its rows with how the folder looks then. Whoever asks compares how the folder looks with what the
index has seen, and looks again if they differ: after a writer that was killed, or somebody who has copied or removed
folders by hand.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from soundstage.clock import Clock
from soundstage.errors import EnvironmentProblem, HarnessError
from soundstage.journal import Event, Journal
from soundstage.runs._disk import Disk
from soundstage.runs._events import IndexRebuilt
from soundstage.runs._lock import locked
from soundstage.runs._query import MISSING, STALE, IndexDamagedError
from soundstage.runs._record import FOLDER, RECORD, RunRecord, decode_bundle, new_run_id

if TYPE_CHECKING:
    from soundstage.runs._index import RunIndex

LOG: Final = "runs-log.jsonl"
_STORE: Final = "store.json"
T = TypeVar("T")


class _Identity(msgspec.Struct):
    """The file `store.json`: whose rows an index has, when several stores share a server."""

    id: str


class Catalogue:
    """The runs of one store.

    Args:
        root: the store.
        url: of the database with the index.
        within: seconds to wait for the lock.
        clock: of the log.
        disk: does the steps.
    """

    def __init__(self, root: Path, url: str, within: float, clock: Clock, disk: Disk) -> None:
        self.root = root
        self.runs = root / "runs"
        self.unreadable: tuple[str, ...] = ()
        self._url = url or f"sqlite:///{root / 'runs.db'}"
        self._within = within
        self._clock = clock
        self._disk = disk
        self._opened: RunIndex | None = None

    @contextlib.contextmanager
    def held(self, doing: str, within: float | None = None) -> Iterator[None]:
        """Hold the lock.

        Raises:
            StoreBusyError: if somebody else has it all the time.
        """
        with locked(self.root / "lock", doing=doing, within=self._within if within is None else within):
            yield

    def ask(self, question: Callable[[RunIndex], T], *, held: bool = False) -> T:
        """Ask the index, after bringing it up to date if it is not.

        Args:
            question: gets the index.
            held: whether the lock is held already.
        """
        problem = ""
        index = self._index(held=held)
        try:
            if index.seen() == self._looks():
                return question(index)
        except IndexDamagedError as error:
            problem = str(error)
        with contextlib.nullcontext() if held else self.held("bring the index up to date"):
            self._bring_up_to_date(index, problem)
        return question(index)

    def change(
        self, step: Callable[[], None], *, add: Iterable[RunRecord] = (), remove: Iterable[str] = ()
    ) -> None:
        """Change the folder of all runs, and the index with it; for who has the lock.

        Args:
            step: moves folders in or out.
            add: the records of those that come in.
            remove: the names of those that go out.

        Raises:
            EnvironmentProblem: if the index cannot be reached. The step is done all the same, and the index will know.
        """
        problem: EnvironmentProblem | None = None
        try:
            self._mark_stale()
        except EnvironmentProblem as error:
            problem = error
        step()
        self._disk.settle(self.runs)
        index = self._index(held=True)
        try:
            if problem is None:
                index.change(add=add, remove=remove, seen=self._seen(self._looks()))
        except IndexDamagedError as error:
            self._bring_up_to_date(index, str(error))
        except EnvironmentProblem as error:
            problem = error
        if problem is not None:
            raise problem

    def _mark_stale(self) -> None:
        """One question if the index is up to date, as it is nearly always."""
        with contextlib.suppress(IndexDamagedError):
            if self._index(held=True).mark_stale(self._looks()):
                return
        self.ask(lambda index: index.mark_stale(self._looks()), held=True)

    def rebuild(self, reason: str) -> int:
        """Make the index anew out of the folders; how many runs there are."""
        with self.held("make the index anew"):
            index = self._index(held=True)
            self._bring_up_to_date(index, reason)
            return len(index.folders())

    def names(self) -> set[str]:
        """The names of all folders of runs."""
        return {entry.name for entry in self.runs.iterdir() if FOLDER.fullmatch(entry.name)}

    def log(self, events: Iterable[Event]) -> None:
        """Add facts to the log of the store; for who has the lock."""
        journal = Journal(self.root / LOG, clock=self._clock, run="store")
        try:
            for event in events:
                journal.append(event, source="store")
        finally:
            journal.close()

    def close(self) -> None:
        """Let go of the index; it is opened again when somebody asks."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _looks(self) -> int:
        """How the folder of all runs looks: every name that comes or goes changes that."""
        return self.runs.stat().st_mtime_ns

    def _index(self, *, held: bool) -> RunIndex:
        if self._opened is None:
            made = _index_class()
            known = self._identity()
            if not known:
                with contextlib.nullcontext() if held else self.held("open the store"):
                    known = self._identity() or self._made_identity()
            self._opened = made(self._url, known)
        return self._opened

    def _identity(self) -> str:
        with contextlib.suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode((self.root / _STORE).read_bytes(), type=_Identity).id
        return ""

    def _made_identity(self) -> str:
        made, path = _Identity(new_run_id()), self.root / _STORE
        beside = path.with_suffix(".new")
        self._disk.remove(beside)
        self._disk.write(beside, [msgspec.json.encode(made)])
        self._disk.move(beside, path)
        return made.id

    def _bring_up_to_date(self, index: RunIndex, problem: str) -> None:
        """Give the index rows for what is there, and none for what is gone; make it anew if it has a problem."""
        try:
            if not problem:
                self._compare(index)
                return
        except IndexDamagedError as error:
            problem = str(error)
        index.make_anew()
        self._compare(index)
        if problem != MISSING:
            self.log([IndexRebuilt(runs=len(index.folders()), reason=problem)])

    def _compare(self, index: RunIndex) -> None:
        looks, names, known = self._looks(), self.names(), index.folders()
        found, unreadable = [], []
        for name in sorted(names - known):
            try:
                found.append(self.record_of(name))
            except (HarnessError, EnvironmentProblem):
                unreadable.append(name)
        self.unreadable = tuple(unreadable)
        index.change(add=found, remove=known - names, seen=self._seen(looks))

    def _seen(self, looks: int) -> int:
        """A folder that cannot be read may be mended at any time, which changes no name: the index looks each time."""
        return STALE if self.unreadable else looks

    def record_of(self, name: str) -> RunRecord:
        """The record in a folder.

        Raises:
            EnvironmentProblem: if it cannot be read.
            HarnessError: if it is no record, or that of another folder.
        """
        path = self.runs / name / RECORD
        try:
            record = decode_bundle(path.read_bytes(), str(path)).run
        except OSError as error:
            raise EnvironmentProblem(f"{path} cannot be read", seen=error.strerror or str(error)) from None
        if record.folder != name:
            raise HarnessError(
                f"{path} is the record of another run", expected=record.folder, seen=f"a folder called {name}"
            )
        return record


def _index_class() -> type[RunIndex]:
    """The class that needs SQLAlchemy, which is loaded when an index is first used."""
    try:
        from soundstage.runs._index import RunIndex
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(
            f"the index of runs needs the module {error.name}, which is not installed",
            hint="pip install 'soundstage[runs]'",
        ) from error
    return RunIndex
