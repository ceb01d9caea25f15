"""Which runs a store lets go, and how: by age, and by the space that is left. A marked run stays, whatever happens.

With the lock held, folders are moved out of the runs in one step each, the index forgets them, then they are removed.
Content goes last, and what goes is decided by the folders alone: everything that a run on the disk refers to stays.
While a record cannot be read, nobody knows what it refers to, so no content is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal, NamedTuple

from soundstage.errors import HarnessError, WrongValueError
from soundstage.runs._catalogue import Catalogue
from soundstage.runs._disk import Disk
from soundstage.runs._events import ContentRemoved, RunRemoved
from soundstage.runs._objects import Objects
from soundstage.runs._query import RunQuery
from soundstage.runs._record import RECORD, RunRecord, decode_bundle
from soundstage.runs._stored import is_kept

MEGABYTE: Final = 1 << 20
_SHARE: Final = 10  # of the runs that are left, this part goes at once while space is short


class Retention(NamedTuple):
    """How long runs stay.

    Args:
        max_age_days: runs that began earlier may be removed by a cleanup; `None` for no limit.
        min_free_mb: megabytes of the disk that shall be free. With less, saving a run cleans first: by age, then the
            oldest runs until there is enough; 0 for never.

    Raises:
        WrongValueError: in `validated`, for a negative number.

    Example:
        >>> Retention(max_age_days=7).validated().min_free_mb
        0
    """

    max_age_days: float | None = 30
    min_free_mb: float = 0

    def validated(self) -> Retention:
        """Itself, if both are numbers from 0."""
        for name, value in self._asdict().items():
            if value is not None and not value >= 0:
                raise WrongValueError(
                    f"the retention has {name} {value}", expected="a number from 0", hint=f"{name}=30"
                )
        return self


class CleanupResult(NamedTuple):
    """A cleanup that is over, or, for a dry run, what it would have removed.

    Args:
        removed: the runs.
        files: how many pieces of content.
        size: their bytes.
        unreadable: folders whose record cannot be read; while there are any, no content is removed.
    """

    removed: tuple[RunRecord, ...]
    files: int
    size: int
    unreadable: tuple[str, ...] = ()


def too_old(records: Iterable[RunRecord], retention: Retention, now: datetime) -> list[RunRecord]:
    """The runs that are older than they may be, whether marked or not."""
    if retention.max_age_days is None:
        return []
    border = now - timedelta(days=retention.max_age_days)
    return [record for record in records if record.started < border]


class Cleanup(NamedTuple):
    """The parts of a store that a cleanup works on.

    Args:
        catalogue: its runs.
        objects: its content.
        disk: does the steps.
        staging: makes a folder that is removed with what is in it.
    """

    catalogue: Catalogue
    objects: Objects
    disk: Disk
    staging: Callable[[], AbstractContextManager[Path]]

    def run(self, retention: Retention, now: datetime, *, dry_run: bool) -> CleanupResult:
        """Remove runs and content; for who has the lock."""
        records = self.catalogue.ask(lambda index: index.find(RunQuery()), held=True)
        left = [record for record in reversed(records) if not is_kept(self._folder(record))]
        gone = too_old(left, retention, now)
        if dry_run:
            return CleanupResult(tuple(gone), 0, 0, self.catalogue.unreadable)
        left = left[len(gone) :]  # the oldest came first
        self._remove(gone, "age")
        files, size = self._sweep()
        while left and is_short(self.disk, self.catalogue.root, retention):
            share = left[: max(len(left) // _SHARE, 1)]
            left = left[len(share) :]
            self._remove(share, "space")
            more = self._sweep()
            gone, files, size = [*gone, *share], files + more[0], size + more[1]
        return CleanupResult(tuple(gone), files, size, self.catalogue.unreadable)

    def _folder(self, record: RunRecord) -> Path:
        return self.catalogue.runs / record.folder

    def _remove(self, records: Sequence[RunRecord], reason: Literal["age", "space"]) -> None:
        if not records:
            return
        with self.staging() as beside:

            def move() -> None:
                for record in records:
                    self.disk.move(self._folder(record), beside / record.folder)

            self.catalogue.change(move, remove=[record.folder for record in records])
        removed = [RunRemoved(run=record.id, folder=record.folder, reason=reason) for record in records]
        self.catalogue.log(removed)

    def _sweep(self) -> tuple[int, int]:
        """Remove content that no run refers to: how many files, how many bytes."""
        wanted = self._referred()
        if wanted is None:
            return 0, 0
        files = size = 0
        for sha256, place in self.objects.stored():
            if sha256 not in wanted:
                files, size = files + 1, size + place.stat().st_size
                self.disk.remove(place)
        if files:
            self.catalogue.log([ContentRemoved(files=files, size=size)])
        return files, size

    def _referred(self) -> set[str] | None:
        """The hashes of all content that runs have; `None` if a record cannot be read."""
        found: set[str] = set()
        for name in self.catalogue.names():
            path = self.catalogue.runs / name / RECORD
            try:
                found.update(blob.sha256 for blob in decode_bundle(path.read_bytes(), str(path)).blobs)
            except (OSError, HarnessError):
                return None
        return found


def is_short(disk: Disk, root: Path, retention: Retention) -> bool:
    """Whether the disk of a store has less space than it shall have."""
    return bool(retention.min_free_mb) and disk.free(root) < retention.min_free_mb * MEGABYTE
