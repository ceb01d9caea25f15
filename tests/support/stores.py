"""Disks that fail or die at one of their steps, and records of runs."""

from __future__ import annotations

import errno
from datetime import UTC, datetime, timedelta

from soundstage.runs import Disk, RunRecord

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


class KilledError(BaseException):
    """The process is gone: nothing that it would have done happens."""


class QuickDisk(Disk):
    """A disk that does not wait until it has what was written: the tests cut no power."""

    def write(self, path, pieces):
        with path.open("xb") as file:
            file.writelines(pieces)

    def settle(self, folder):
        assert folder.is_dir()


class FailingDisk(QuickDisk):
    """A disk whose step `at` fails, the first being 0: in its middle, or, with `after`, just behind it.

    With `error` the system refuses that step alone. Without, the process dies there: no later step happens.
    """

    def __init__(self, at=None, *, after=False, error=None):
        self.at, self.after, self.error = at, after, error
        self.steps = []
        self._dead = False

    def _step(self, name, do, half=lambda: None):
        if self._dead:
            raise KilledError
        number = len(self.steps)
        self.steps.append(name)
        if number == self.at and not self.after:
            half()
            self._fail()
        done = do()
        if number == self.at:
            self._fail()
        return done

    def _fail(self):
        if self.error is not None:
            raise self.error
        self._dead = True
        raise KilledError

    def write(self, path, pieces):
        data = b"".join(pieces)
        half = lambda: path.write_bytes(data[: len(data) // 2])  # noqa: E731
        self._step(f"write {path.name}", lambda: super(FailingDisk, self).write(path, [data]), half)

    def make_folder(self, path):
        self._step(f"make {path.name}", lambda: super(FailingDisk, self).make_folder(path))

    def move(self, old, new):
        self._step(f"move {new.name}", lambda: super(FailingDisk, self).move(old, new))

    def settle(self, folder):
        self._step(f"settle {folder.name}", lambda: super(FailingDisk, self).settle(folder))

    def remove(self, path):
        self._step(f"remove {path.name}", lambda: super(FailingDisk, self).remove(path))


FULL = OSError(errno.ENOSPC, "No space left on device")


def run_of(number=0, *, days=0.0, **facts):
    """The record of a run that began so many days before noon."""
    began = NOON - timedelta(days=days) + timedelta(seconds=number)
    return RunRecord(id=f"run{number}", started=began, ended=began + timedelta(seconds=2), **facts)
