"""Tapes: what a program and its models said to each other, one JSON line each, for people to read and for replay.

The first line is the head. A line of an exchange has two layers. `request`, `response` and `latency_ms` are what people
review in a pull request, and may edit. `frames` (from the wire) or `chunks` (in process) are the pieces of the answer
with their times, so that a replay is cut and paced like the original. The response is what counts: where it was
edited, so that the pieces no longer make it up, they are made anew.

A tape grows with what is new. A request says which earlier one it goes on from (`like`), how many of that one's
messages it begins with (`same`), and what follows; tools, settings and caller that are left out are those of the
earlier one. So the same system prompt stands once in a tape, and an edit of it counts for all.

What MCP servers were asked and answered stands between the exchanges, in lines of their own (`_mcp_line`).

Nothing gets into a tape without passing the redactor. A secret that was streamed in two pieces is found too: when the
pieces no longer make up the redacted response, they are replaced by it.
"""

from __future__ import annotations

import contextlib
import heapq
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.errors import TapeError
from soundstage.journal import Redactor
from soundstage.messages import Caller, Message, ModelRequest, ModelResponse, ToolDefinition
from soundstage.tapes._change import ForkOrigin
from soundstage.tapes._clean import cleaned
from soundstage.tapes._exchange import (
    HOW_TO_RECORD,
    HttpCall,
    RecordedExchange,
    RecordedFailure,
    TimedChunk,
)
from soundstage.tapes._file import TapeFile
from soundstage.tapes._frames import Frames
from soundstage.tapes._mcp_line import McpTapeLine
from soundstage.tapes._surroundings import Mask, Surroundings

VERSION: Final = 2
FOLDER: Final = "__tapes__"
"""Where the mark `tape` keeps tapes: in this folder beside the test file, in one that is called as that file."""
_LOOKED_BACK: Final = 16  # earlier requests that a new one may go on from


class TapeHead(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag="tape",
    tag_field="line",
    forbid_unknown_fields=True,
):
    """The first line of a tape.

    Args:
        v: version of the format.
        recorded: when the recording began (ISO 8601, UTC).
        places: folders and the day of the recording; a replay puts its own in their place before it compares.
        masks: texts that differ from run to run, and what stands for them when requests are compared.
        fork: the tape that this one is a branch of, if it is one.
    """

    v: int = VERSION
    recorded: str = ""
    places: Surroundings = Surroundings()
    masks: tuple[Mask, ...] = ()
    fork: ForkOrigin | None = None

    def at(self, places: Surroundings) -> TapeHead:
        """The same, with other folders."""
        return msgspec.structs.replace(self, places=places)


class _RequestLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A request as the file has it; what is `None` is as in the request that this one is `like`."""

    like: int = 0
    same: int = 0
    model: str | None = None
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolDefinition, ...] | None = None
    stream: bool = False
    purpose: str = "main"
    format: str = ""
    settings: dict[str, Any] | None = None
    caller: Caller | None = None


class _ExchangeLine(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag="exchange",
    tag_field="line",
    forbid_unknown_fields=True,
):
    number: int = 0
    timestamp: str = ""
    started_ms: float = 0.0
    latency_ms: float = 0.0
    http: HttpCall | None = None
    request: _RequestLine | None = None
    response: ModelResponse | None = None
    failure: RecordedFailure | None = None
    chunks: tuple[TimedChunk, ...] = ()
    frames: Frames | None = None


_ALIKE: Final = ("model", "tools", "settings", "caller")
_encode: Final = msgspec.json.Encoder().encode
_decode_line: Final = msgspec.json.Decoder(TapeHead | _ExchangeLine | McpTapeLine).decode
_decode_exchange: Final = msgspec.json.Decoder(_ExchangeLine).decode
_decode_mcp: Final = msgspec.json.Decoder(McpTapeLine).decode


class OldTapeError(TapeError):
    """Raised for a tape of an older format."""


class Tape(TapeFile):
    """Recorded exchanges with models, and lines of MCP servers, in memory or in a file.

    Args:
        records: the exchanges with models.
        name: how messages call it.
        redactor: knows what is kept out of it; unless given, one that knows the secrets of the environment.
        head: its first line.
        mcp_lines: the lines of MCP servers.

    Example:
        >>> tape = Tape()
        >>> len(tape)
        0
    """

    def __init__(
        self,
        records: Iterable[RecordedExchange] = (),
        *,
        name: str = "tape",
        redactor: Redactor | None = None,
        head: TapeHead | None = None,
        mcp_lines: Iterable[McpTapeLine] = (),
    ) -> None:
        super().__init__(records, name=name, redactor=redactor)
        self._mcp = list(mcp_lines)
        self.head = head if head is not None else TapeHead()
        self.redacted: list[str] = []  # what was taken out of answers
        self.problems: list[str] = []  # what could not be kept
        self._lock = threading.Lock()
        self._numbered = 0
        self._begun = False
        self._count = 0  # lines that have been read
        self._requests = {record.number: record.request for record in self._records if record.request}

    @property
    def exchanges(self) -> tuple[RecordedExchange, ...]:
        """The recorded exchanges, in the order of their requests."""
        return tuple(self._records)

    @property
    def mcp_lines(self) -> tuple[McpTapeLine, ...]:
        """The lines of MCP servers, in the order of their answers."""
        return tuple(self._mcp)

    @property
    def mcp_servers(self) -> tuple[str, ...]:
        """The names of the MCP servers that were recorded."""
        return tuple(dict.fromkeys(line.server for line in self._mcp))

    def next_number(self) -> int:
        """The number of the request that comes next; each is given once, whoever records."""
        with self._lock:
            self._numbered = max([self._numbered, *(record.number for record in self._records[-1:])]) + 1
            return self._numbered

    def append(self, record: RecordedExchange) -> RecordedExchange:
        """Add an exchange, without its secrets; see `TapeFile`. Any thread may."""
        with self._lock:
            return super().append(record)

    def require_models_alone(self, doing: str) -> None:
        """Refuse a tape with MCP servers where nothing would play them.

        Raises:
            TapeError: if it has lines of MCP servers.
        """
        if self._mcp:
            raise TapeError(
                f"{doing} has no MCP servers for the program",
                expected="a tape of models alone",
                seen=f"{self.name} with lines of {', '.join(self.mcp_servers)}",
                hint="`soundstage replay`, `doctor` and `fork` play the servers of a tape",
            )

    def append_mcp(self, line: McpTapeLine) -> McpTapeLine:
        """Add a line of an MCP server, without its secrets, with the next number; see `append`. Any thread may.

        Raises:
            EnvironmentProblem: if the file cannot be written.
        """
        with self._lock:
            numbered = msgspec.structs.replace(line, number=len(self._mcp) + 1)
            written = self.redactor.json(_encode(numbered))
            if self._path is not None:
                self._write(self._path, b"\n".join([*self._first_line(), written]) + b"\n")
            self._begun = True
            kept = _decode_mcp(written)
            if (kept.result, kept.error) != (line.result, line.error):
                self.redacted.append(f"{kept.server}, line {kept.number}: a secret in the answer")
            self._mcp.append(kept)
            return kept

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""
        return self._path

    def save(self, path: Path | str) -> None:
        """Write the whole tape into a file, in the place of what is there.

        Raises:
            EnvironmentProblem: if the file cannot be written.
        """
        lines = [self.redactor.json(_encode(self.head))]
        earlier: dict[int, ModelRequest] = {}
        records: list[list[RecordedExchange | McpTapeLine]] = [[*self._records], [*self._mcp]]
        for record in heapq.merge(*records, key=_started):
            line = record if isinstance(record, McpTapeLine) else _line_of(record, earlier)
            lines.append(self.redactor.json(_encode(line)))
            if isinstance(record, RecordedExchange) and record.request is not None:
                earlier[record.number] = record.request
        where = Path(path)
        try:
            with tempfile.NamedTemporaryFile(dir=where.parent, prefix=where.name, delete=False) as new:
                new.write(b"\n".join(lines) + b"\n")
            with contextlib.suppress(OSError):
                Path(new.name).chmod(where.stat().st_mode)
            Path(new.name).replace(where)
        except OSError as error:
            raise self._unwritten(error.strerror or str(error)) from None

    def _lines_of(self, record: RecordedExchange) -> Iterator[bytes]:
        yield from self._first_line()
        yield self.redactor.json(_encode(_line_of(self._clean(record), self._requests)))

    def _first_line(self) -> Iterator[bytes]:
        """The head, if nothing has been written yet."""
        if not (self._begun or self._records or self._mcp):
            yield self.redactor.json(_encode(self.head))

    def _taken(self, record: RecordedExchange, line: bytes) -> RecordedExchange:
        self._begun = True
        kept = self._whole(_decode_exchange(line))
        if record.request is not None:  # as it was asked, so that the next one is known to go on from it
            self._requests[record.number] = record.request
        return kept

    def _decoded(self, line: bytes) -> RecordedExchange | None:
        found = self._line(line)
        if isinstance(found, TapeHead):
            self._check_version(found)
            self.head = found
            return None
        if isinstance(found, McpTapeLine):
            self._mcp.append(msgspec.structs.replace(found, number=len(self._mcp) + 1))
            return None
        self._count += 1
        whole = self._whole(found)
        if not whole.number:  # written by hand
            whole = msgspec.structs.replace(whole, number=self._count)
        if whole.request is not None:
            self._requests[whole.number] = whole.request
        return whole

    def _line(self, line: bytes) -> TapeHead | _ExchangeLine | McpTapeLine:
        try:
            found: TapeHead | _ExchangeLine | McpTapeLine = _decode_line(line)
        except msgspec.ValidationError:
            if _is_of_version_1(line):
                self._check_version(TapeHead(v=1))
            raise
        return found

    def _check_version(self, head: TapeHead) -> None:
        if head.v == VERSION:
            return
        if head.v < VERSION:
            raise OldTapeError(
                "tape older than its format",
                expected=f"version {VERSION}",
                seen=f"version {head.v}",
                hint=HOW_TO_RECORD,
            )
        raise TapeError(
            "it was recorded by a newer version",
            expected=f"version {VERSION}",
            seen=f"version {head.v}",
            hint=f"update Soundstage, or {HOW_TO_RECORD}",
        )

    def _whole(self, line: _ExchangeLine) -> RecordedExchange:
        """An exchange with its whole request."""
        fields = {name: getattr(line, name) for name in line.__struct_fields__ if name != "request"}
        return RecordedExchange(request=self._request(line), **fields)

    def _request(self, line: _ExchangeLine) -> ModelRequest | None:
        short = line.request
        if short is None:
            return None
        base = self._requests.get(short.like)
        if short.like and (base is None or len(base.messages) < short.same):
            raise TapeError(
                f"exchange {line.number} of {self.name} goes on from exchange {short.like}",
                expected=f"an earlier exchange {short.like} with at least {short.same} message(s)",
                seen="no such exchange" if base is None else f"{len(base.messages)} message(s)",
                hint="leave the lines in their order, or record it again",
            )
        alike = {name: getattr(short, name) for name in _ALIKE}
        given = {name: value for name, value in alike.items() if value is not None}
        before = base.messages[: short.same] if base is not None else ()
        plain = ModelRequest(
            model="", messages=before + short.messages, stream=short.stream, purpose=short.purpose,
            format=short.format,
        )  # fmt: skip
        if base is not None:
            given = {name: getattr(base, name) for name in _ALIKE} | given
        return msgspec.structs.replace(plain, **given)

    def _clean(self, record: RecordedExchange) -> RecordedExchange:
        clean = cleaned(record, self.redactor)
        self.redacted += [clean.changed] if clean.changed else []
        self.problems += [clean.broken] if clean.broken else []
        return clean.exchange


def _is_of_version_1(line: bytes) -> bool:
    """Whether a line is one of an older tape, of models or of a server: without `line`."""
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    return (
        isinstance(found, dict)
        and "line" not in found
        and (found.keys() >= {"timestamp", "request"} or found.keys() >= {"number", "method"})
    )


def _started(record: RecordedExchange | McpTapeLine) -> float:
    return record.started_ms


def _line_of(record: RecordedExchange, earlier: dict[int, ModelRequest]) -> _ExchangeLine:
    fields = {name: getattr(record, name) for name in _ExchangeLine.__struct_fields__ if name != "request"}
    return _ExchangeLine(
        request=_short(record.request, earlier) if record.request is not None else None, **fields
    )


def _short(request: ModelRequest, earlier: dict[int, ModelRequest]) -> _RequestLine:
    """A request by what is new in it."""
    like, base, same = 0, None, 0
    for number in reversed([*earlier][-_LOOKED_BACK:]):
        shared = _shared(earlier[number].messages, request.messages)
        if base is None or shared > same:
            like, base, same = number, earlier[number], shared
    alike = {
        name: getattr(request, name)
        for name in _ALIKE
        if base is None or getattr(base, name) != getattr(request, name)
    }
    return _RequestLine(
        like=like,
        same=same,
        messages=request.messages[same:],
        stream=request.stream,
        purpose=request.purpose,
        format=request.format,
        **alike,
    )


def _shared(before: tuple[Message, ...], now: tuple[Message, ...]) -> int:
    """The number of messages that both begin with."""
    if now[: len(before)] == before:
        return len(before)
    pairs = zip(before, now, strict=False)
    return next(
        (place for place, (one, other) in enumerate(pairs) if one != other), min(len(before), len(now))
    )
