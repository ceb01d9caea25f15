"""The file behind a journal.

Records are written as whole lines to a file opened for appending, before `append` returns; those that are appended
together (`extend`) in one `write`. What the kernel has accepted survives the death of the process, whatever kills it,
so an acknowledged event is never lost. A process killed inside `write` can leave a torn last line, and lines of events
before it that are appended with it; none was acknowledged, and opening the file again cuts the torn one off.

An interrupt (Ctrl-C) between the write and its acknowledgement leaves a line that the journal does not know
of; the next event takes the same position. So of two neighbouring lines with one position the later counts.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from soundstage.errors import EnvironmentProblem, FileError, HarnessError
from soundstage.journal._codec import decode_record, earlier_of, encode_line, lost_record
from soundstage.journal._earlier import Reader, Writer
from soundstage.journal._events import ModelRequested, Record, UnknownEvent
from soundstage.journal._redact import Redactor
from soundstage.journal._stream_redactor import StreamRedactor


def read_journal(path: Path | str) -> list[Record]:
    """All records of a journal file. A torn last line is left out.

    A line that cannot be read costs that line: in its place is an `UnknownEvent` with its number and the `problem`.

    Raises:
        EnvironmentProblem: if there is no such file.
        HarnessError: if no line is a record.
    """
    return decode_records(_read(Path(path)), str(path))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EnvironmentProblem(
            f"the journal {path} cannot be read",
            seen=error.strerror or str(error),
            hint="give the path of a journal.jsonl; `soundstage serve --journal FILE` writes one",
        ) from None


def decode_records(data: bytes, name: str) -> list[Record]:
    """All records in the bytes of a journal file, as `read_journal` reads them; `name` is how errors call it."""
    records: list[Record] = []
    first: HarnessError | None = None
    readable = False
    reader = Reader()
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].split(b"\n"), start=1):
        if not line:
            continue
        where = f"{name}:{number}"
        try:
            record = decode_record(line, reader)
            readable = True
        except HarnessError as error:
            first = first or HarnessError(
                f"{where}: {error.summary}", expected=error.expected, seen=error.seen, hint=error.hint
            )
            record = lost_record(line, records[-1] if records else None, where, error)
        if records and records[-1].position == record.position:
            records.pop()
        records.append(record)
    if first is not None and not readable:
        raise first
    return records


def _without_gaps(records: list[Record]) -> list[Record]:
    """The records at their places: what is missing next to a line that cannot be read was in that line."""
    placed: list[Record] = []
    lost: Record | None = None
    for record in records:
        broken = type(record.event) is UnknownEvent and bool(record.event.problem)
        beside = lost or (record if broken else None)
        while beside is not None and len(placed) + 1 < record.position:
            placed.append(msgspec.structs.replace(beside, position=len(placed) + 1))
        placed.append(record)
        lost = record if broken else None
    return placed


class JournalFile:
    """An open journal file, for one writer at a time. `records` are those that it held when it was opened."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self.path = path
        self._redactor = redactor
        self._pieces = StreamRedactor(redactor)
        self._requests = Writer()
        self.problem: EnvironmentProblem | None = None  # the first event that was not written
        self._fd = self._open()
        try:
            self._lock()
            self.records = self._recover()
        except BaseException:
            os.close(self._fd)
            self._fd = -1
            raise

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise FileError(
                f"the journal {self.path} cannot be opened for writing",
                seen=error.strerror or str(error),
                hint="choose a folder that you may write to",
            ) from None

    def _lock(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileError(
                f"the journal {self.path} is in use",
                seen="another process, or another journal of this one, has it open",
                hint="end that run first, or give this one a file of its own",
            ) from None
        except OSError as error:
            raise FileError(
                f"the journal {self.path} cannot be locked",
                seen=error.strerror or str(error),
                hint="choose a folder on a local disk",
            ) from None

    def _recover(self) -> list[Record]:
        data = _read(self.path)
        records = _without_gaps(decode_records(data, str(self.path)))
        for place, record in enumerate(records, start=1):
            if record.position != place:
                raise HarnessError(
                    f"the journal {self.path} cannot be continued",
                    expected=f"positions 1, 2, 3...: {place}",
                    seen=f"position {record.position}",
                    hint="give the new run a file of its own; `read_journal` reads such a file",
                )
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            os.ftruncate(self._fd, whole)
        return records

    def take_records(self) -> list[Record]:
        """The records that the file held when it was opened, once; nobody else keeps them alive."""
        records, self.records = self.records, []
        return records

    def forget(self) -> None:
        """Refer to no earlier request any more, and keep none alive."""
        self._requests = Writer()

    def write(self, record: Record) -> None:
        """Write one line. When this returns the kernel has it."""
        if type(record.event) is ModelRequested:
            self._write_request(record)
        else:
            self._put(self._clean(self._line(record)))

    def write_all(self, records: Sequence[Record]) -> None:
        """Write lines in one piece: all of them, or none. When this returns the kernel has them.

        A request comes alone: what is left out of its line depends on the lines before it.
        """
        if len(records) == 1:
            self.write(records[0])
            return
        lines = [self._line(record) for record in records]
        whole = b"".join(lines)
        if self._redactor.suspects(whole):
            whole = b"".join(map(self._clean, lines))
        self._put(whole)

    def _line(self, record: Record) -> bytes:
        return encode_line(self._pieces.clean(record) if type(record.event).routine else record)

    def _write_request(self, record: Record) -> None:
        """Without what an earlier line holds, unless redaction would touch what it says of that."""
        short = self._requests.line(record)
        line = self._clean(short) if short is not None else None
        refers = line is not None and (line is short or earlier_of(line) == earlier_of(short or b""))
        if line is None or not refers:
            line = self._clean(encode_line(record))
        self._put(line)
        self._requests.written(record, line, whole=not refers)

    def _clean(self, line: bytes) -> bytes:
        return self._redacted(line) if self._redactor.suspects(line) else line

    def _put(self, line: bytes) -> None:
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            self._fail(0, error.strerror or str(error))
        if written != len(line):
            self._fail(written, f"{written} of {len(line)} bytes were written")

    def _missing(self) -> str:
        """Why nobody will find what has been written; empty if the file is where it was made."""
        try:
            here, there = os.fstat(self._fd), self.path.stat()
        except OSError as error:
            return f"{self.path}: {error.strerror}"
        return "" if os.path.samestat(here, there) else f"{self.path} is another file now"

    def _redacted(self, line: bytes) -> bytes:
        clean = self._redactor.json(line)
        if clean is not line:
            earlier_of(clean)  # better no line than one that nobody can read
        return clean

    def _fail(self, written: int, reason: str) -> NoReturn:
        """Take back what a failed write has left; if even that fails, write no more after the torn line."""
        try:
            if written:
                os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
        except OSError:
            os.close(self._fd)
            self._fd = -1
        problem = EnvironmentProblem(
            f"the journal {self.path} cannot be written",
            seen=reason,
            hint="free some disk space, or choose another folder for the journal",
        )
        self.problem = self.problem or problem
        raise problem from None

    def close(self) -> None:
        """Close the file; harmless when it is closed.

        Raises:
            EnvironmentProblem: if the file has been deleted or replaced meanwhile, or the disk fails; it is closed.
        """
        if self._fd < 0:
            return
        missing = self._missing()
        fd, self._fd = self._fd, -1
        try:
            os.close(fd)
        except OSError as error:
            missing = missing or error.strerror or str(error)
        if missing:
            raise EnvironmentProblem(
                f"the journal {self.path} is lost",
                expected="the file that this run has written, where it was made",
                seen=missing,
                hint="keep the folder of the journal until the run has ended",
            )
