"""Tapes: what was recorded, one JSON line for each record, for people to read and edit, and for replay.

A file is written a whole line at a time. Nothing gets into a tape without passing the redactor.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, NamedTuple, Protocol, Self, TypeVar

import msgspec

from soundstage.errors import EnvironmentProblem, TapeError
from soundstage.journal import Redactor
from soundstage.match import preview
from soundstage.scripts._file import shown

VERSION: Final = 1


class TapeRecord(Protocol):
    """One record: which one of the recording it was, and the version of its form."""

    @property
    def number(self) -> int:
        """Its place in the recording, from 1."""

    @property
    def v(self) -> int:
        """The version of its line."""


R = TypeVar("R", bound=TapeRecord)


class TapeForm(NamedTuple):
    """The records of one kind of tape, and words for messages.

    Args:
        record: their class.
        called: one of them, in words.
        example: a line.
        how_to_record: what to do for a new tape.
    """

    record: type[Any]
    called: str
    example: str
    how_to_record: str


class TapeFile(Generic[R]):
    """Records, in memory or in a file.

    Args:
        records: what is on it.
        name: how messages call it.
        redactor: knows what is kept out of it; unless given, one that knows the secrets of the environment.
    """

    form: ClassVar[TapeForm]

    def __init__(
        self, records: Iterable[R] = (), *, name: str = "tape", redactor: Redactor | None = None
    ) -> None:
        self.name = name
        self.redactor = redactor if redactor is not None else Redactor.from_environment()
        self._records = sorted(records, key=_number)
        self._path: Path | None = None
        self._new = False

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a tape file.

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
                hint=cls.form.how_to_record,
            ) from None
        found = [cls._read(line, name, number) for number, line in enumerate(lines, start=1) if line.strip()]
        return cls(found, name=name)

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

    def append(self, record: R) -> R:
        """Add a record, without its secrets. When this returns, a tape in a file has it on file.

        Raises:
            EnvironmentProblem: if the file cannot be written.
        """
        line = self.redactor.json(msgspec.json.encode(self._redacted(record)))
        if self._path is not None:
            self._write(self._path, line + b"\n")
        kept: R = msgspec.json.decode(line, type=self.form.record)
        self._records.append(kept)
        self._records.sort(key=_number)
        return kept

    def _redacted(self, record: R) -> R:
        """The record without the secrets that its JSON, as a whole, does not show."""
        return record

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

    @classmethod
    def _read(cls, line: bytes, name: str, number: int) -> R:
        try:
            record: R = msgspec.json.decode(line, type=cls.form.record)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise TapeError(
                f"line {number} of {name} is not {cls.form.called}",
                expected=cls.form.example,
                seen=f"{preview(line.decode('utf-8', 'replace'))} ({error})",
                hint=f"correct or remove the line, or {cls.form.how_to_record}",
            ) from None
        if record.v > VERSION:
            raise TapeError(
                f"line {number} of {name} was recorded by a newer version",
                expected=f"version {VERSION}",
                seen=f"version {record.v}",
                hint=f"update Soundstage, or {cls.form.how_to_record}",
            )
        return record


def _number(record: TapeRecord) -> int:
    return record.number
