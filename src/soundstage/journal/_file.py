"""The file behind a journal.

Every record is one `write` of one whole line to a file opened for appending, before `append` returns. What
the kernel has accepted survives the death of the process, whatever kills it, so an acknowledged event is
never lost. A process killed inside `write` can leave a torn last line; it was never acknowledged, and
opening the file again cuts it off.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from soundstage.errors import EnvironmentProblem
from soundstage.journal._codec import decode_record, encode_record
from soundstage.journal._events import Record
from soundstage.journal._redact import Redactor


def read_journal(path: Path | str) -> list[Record]:
    """All records of a journal file. A torn last line is left out.

    Raises:
        EnvironmentProblem: if there is no such file.
        HarnessError: if a line is not a record.
    """
    return [decode_record(line) for line in _whole_lines(_read(Path(path)))]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EnvironmentProblem(
            f"the journal {path} cannot be read",
            seen=error.strerror or str(error),
            hint="give the path of a journal.jsonl; `soundstage serve --journal FILE` writes one",
        ) from None


def _whole_lines(data: bytes) -> list[bytes]:
    return [line for line in data[: data.rfind(b"\n") + 1].split(b"\n") if line]


class JournalFile:
    """An open journal file, for one writer at a time."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self.path = path
        self._redactor = redactor
        self._fd = self._open()
        self.records = self._recover()

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise EnvironmentProblem(
                f"the journal {self.path} cannot be opened for writing",
                seen=error.strerror or str(error),
                hint="choose a folder that you may write to",
            ) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise EnvironmentProblem(
                f"the journal {self.path} is in use",
                seen="another process, or another journal of this one, has it open",
                hint="end that run first, or give this one a file of its own",
            ) from None
        return fd

    def _recover(self) -> list[Record]:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            os.ftruncate(self._fd, whole)
        return [decode_record(line) for line in _whole_lines(data)]

    def write(self, record: Record) -> None:
        """Write one line. When this returns the kernel has it."""
        line = self._redactor.bytes(encode_record(record)) + b"\n"
        try:
            written = os.write(self._fd, line)
            if written == len(line):
                return
            reason = f"{written} of {len(line)} bytes were written"
        except OSError as error:
            written, reason = 0, error.strerror or str(error)
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
        raise EnvironmentProblem(
            f"the journal {self.path} cannot be written",
            seen=reason,
            hint="free some disk space, or choose another folder for the journal",
        )

    def close(self) -> None:
        """Close the file; harmless when it is closed."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
