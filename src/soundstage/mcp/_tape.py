"""Tapes of servers: what was asked and answered, one JSON line each, for people to read and for replay.

Nothing gets into a tape without passing the redactor.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from soundstage.errors import EnvironmentProblem, TapeError
from soundstage.journal import Redactor
from soundstage.match import preview

HOW_TO_RECORD: Final = "record it: RecordingMcpServer(journal, upstream, path)"
VERSION: Final = 1


class McpTapeLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a tape: an exchange, or something that the server told by itself.

    Args:
        number: which line it is, from 1.
        kind: `exchange`, or `told`.
        method: what was asked or told.
        params: with which parameters.
        result: the answer.
        error: the JSON-RPC error that was the answer instead.
        latency_ms: milliseconds until the answer came.
        v: version of the line.
    """

    number: int
    kind: Literal["exchange", "told"] = "exchange"
    method: str
    params: dict[str, Any] = {}
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    latency_ms: float = 0.0
    v: int = VERSION


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(McpTapeLine).decode


class McpTape:
    """What a server was asked and answered, in memory or in a file.

    Args:
        lines: what is on it.
        name: how messages call it.
        redactor: knows what is kept out of it; unless given, one that knows the secrets of the environment.
    """

    def __init__(
        self, lines: Iterable[McpTapeLine] = (), *, name: str = "tape", redactor: Redactor | None = None
    ) -> None:
        self.name = name
        self.redactor = redactor if redactor is not None else Redactor.from_environment()
        self._lines = list(lines)
        self._path: Path | None = None

    @classmethod
    def load(cls, path: Path | str) -> McpTape:
        """Read a tape file.

        Raises:
            TapeError: if it is missing, or a line of it is none of a tape.
        """
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise TapeError(
                f"the tape {path} cannot be read", seen=error.strerror or str(error), hint=HOW_TO_RECORD
            ) from None
        lines = [
            _line(line, path, place) for place, line in enumerate(data.split(b"\n"), start=1) if line.strip()
        ]
        return cls(lines, name=str(path))

    @classmethod
    def create(cls, path: Path | str, *, redactor: Redactor | None = None) -> McpTape:
        """A new tape in a file, in the place of one that is there; folders are made.

        Raises:
            EnvironmentProblem: if the file cannot be written.
        """
        tape = cls(name=str(path), redactor=redactor)
        tape._path = Path(path)
        try:
            tape._path.parent.mkdir(parents=True, exist_ok=True)
            tape._path.write_bytes(b"")
        except OSError as error:
            raise _unwritten(tape.name, error) from None
        return tape

    @property
    def lines(self) -> tuple[McpTapeLine, ...]:
        """What is on it."""
        return tuple(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, **fields: Any) -> McpTapeLine:
        """Add a line, without its secrets; when this returns, a tape in a file has it on file.

        Raises:
            EnvironmentProblem: if the file cannot be written.
        """
        raw = self.redactor.json(_encode(McpTapeLine(number=len(self._lines) + 1, **fields)))
        if self._path is not None:
            self._write(self._path, raw + b"\n")
        line = _decode(raw)
        self._lines.append(line)
        return line

    def _write(self, path: Path, line: bytes) -> None:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                written = os.write(fd, line)
                if written != len(line):  # no torn line is left behind
                    os.ftruncate(fd, os.fstat(fd).st_size - written)
                    raise OSError(f"{written} of {len(line)} bytes were written")
            finally:
                os.close(fd)
        except OSError as error:
            raise _unwritten(self.name, error) from None


def _unwritten(name: str, error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"the tape {name} cannot be written",
        seen=error.strerror or str(error),
        hint="choose a folder that you may write to and that has space",
    )


def _line(data: bytes, path: Path | str, place: int) -> McpTapeLine:
    try:
        line = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise TapeError(
            f"line {place} of {path} is none of a tape of an MCP server",
            expected='{"number": 1, "method": "tools/call", "params": {..}, "result": {..}}',
            seen=f"{preview(data.decode('utf-8', 'replace'), 100)} ({error})",
            hint=f"correct or remove the line, or {HOW_TO_RECORD}",
        ) from None
    if line.v > VERSION:
        raise TapeError(
            f"line {place} of {path} was recorded by a newer version",
            expected=f"version {VERSION}",
            seen=f"version {line.v}",
        )
    return line
