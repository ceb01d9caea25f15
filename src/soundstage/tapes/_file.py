"""Files of tapes: read line by line, and written a whole line at a time. What a line says is `Tape`'s affair."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Self

import msgspec

from soundstage.errors import EnvironmentProblem, TapeError
from soundstage.journal import Redactor
from soundstage.match import preview
from soundstage.scripts import shown
from soundstage.tapes._exchange import HOW_TO_RECORD, RecordedExchange

_EXAMPLE: Final = '{"line": "exchange", "number": 1, "request": {..}, "response": {..}, ..}'


class TapeFile(ABC):
    """Recorded exchanges, in memory or in a file.

    Args:
        records: what is on it.
        name: how messages call it.
        redactor: knows what is kept out of it; unless given, one that knows the secrets of the environment.
    """

    def __init__(
        self,
        records: Iterable[RecordedExchange] = (),
        *,
        name: str = "tape",
        redactor: Redactor | None = None,
    ) -> None:
        self.name = name
        self.redactor = redactor if redactor is not None else Redactor.from_environment()
        self._records = sorted(records, key=_number)
        self._path: Path | None = None
        self._new = False

    @classmethod
    def load(cls, path: Path | str, *, redactor: Redactor | None = None) -> Self:
        """Read a tape file. Records that are appended go into that file.

        Args:
            path: the file.
            redactor: knows what is kept out of it; unless given, one that knows the secrets of the environment.

        Raises:
            TapeError: if it is missing, or a line of it is no record.
        """
        name = shown(Path(path))
        try:
            lines = Path(path).read_bytes().split(b"\n")
        except OSError as error:
            raise TapeError(
                f"the tape {name} cannot be read",
                seen=error.strerror or str(error),
                hint=HOW_TO_RECORD,
            ) from None
        tape = cls(name=name, redactor=redactor)
        found = [tape._read(line, number) for number, line in enumerate(lines, start=1) if line.strip()]
        tape._records = sorted((record for record in found if record is not None), key=_number)
        tape._path = Path(path)
        return tape

    @classmethod
    def create(cls, path: Path | str, *, redactor: Redactor | None = None) -> Self:
        """A new tape in a file. One that is there is replaced when the first record comes.

        Args:
            path: the file; its folder is made.
            redactor: knows what is kept out of it; unless given, one that knows the secrets of the environment.

        Raises:
            EnvironmentProblem: if there cannot be a file.
        """
        tape = cls(name=shown(Path(path)), redactor=redactor)
        tape._path = Path(path)
        tape._new = True
        try:
            tape._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise tape._unwritten(error.strerror or str(error)) from None
        return tape

    def __len__(self) -> int:
        return len(self._records)

    def append(self, record: RecordedExchange) -> RecordedExchange:
        """Add a record, without its secrets. When this returns, a tape in a file has it on file.

        Raises:
            EnvironmentProblem: if the file cannot be written.
        """
        lines = [*self._lines_of(record)]
        if self._path is not None:
            self._write(self._path, b"\n".join(lines) + b"\n")
        kept = self._taken(record, lines[-1])
        insort(self._records, kept, key=_number)
        return kept

    @abstractmethod
    def _lines_of(self, record: RecordedExchange) -> Iterator[bytes]:
        """The lines to write for a record, without secrets; the last one is its own."""

    @abstractmethod
    def _taken(self, record: RecordedExchange, line: bytes) -> RecordedExchange:
        """The record that is kept for a line that has been written."""

    @abstractmethod
    def _decoded(self, line: bytes) -> RecordedExchange | None:
        """The record in a line of a file; nothing for a line that is no exchange with a model.

        Raises:
            TapeError: if another version has written it.
        """

    def _write(self, path: Path, line: bytes) -> None:
        """One write of one whole line."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | (os.O_TRUNC if self._new else 0)
        try:
            fd = os.open(path, flags, 0o644)
            try:
                written = os.write(fd, line)
                if written != len(line):  # no torn line is left behind
                    os.ftruncate(fd, os.fstat(fd).st_size - written)
            finally:
                os.close(fd)
        except OSError as error:
            raise self._unwritten(error.strerror or str(error)) from None
        if written != len(line):
            raise self._unwritten(f"{written} of {len(line)} bytes were written")
        self._new = False

    def _unwritten(self, reason: str) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"the tape {self.name} cannot be written",
            seen=reason,
            hint="choose a folder that you may write to and that has space",
        )

    def _read(self, line: bytes, number: int) -> RecordedExchange | None:
        try:
            return self._decoded(line)
        except TapeError as error:
            raise type(error)(
                f"line {number} of {self.name}: {error.summary}",
                expected=error.expected,
                seen=error.seen,
                hint=error.hint,
            ) from None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise TapeError(
                f"line {number} of {self.name} is not a line of a tape",
                expected=_EXAMPLE,
                seen=f"{preview(line.decode('utf-8', 'replace'))} ({error})",
                hint=f"correct or remove the line, or {HOW_TO_RECORD}",
            ) from None


def _number(record: RecordedExchange) -> int:
    return record.number
