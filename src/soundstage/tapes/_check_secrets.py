"""Secrets on a tape, found by what keeps them out of one that is recorded. Somebody may have edited it since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.journal import Redactor
from soundstage.messages import respond
from soundstage.tapes._answers import chunks_in
from soundstage.tapes._exchange import RecordedExchange
from soundstage.tapes._frames import blank
from soundstage.tapes._tape import Tape

_KINDS: Final = {"exchange": "exchange", "mcp": "MCP line"}


class TapeLine(NamedTuple):
    """A line of a tape's file.

    Args:
        text: it.
        fields: what it holds; nothing if it is no JSON object.
        place: how messages call it.
    """

    text: bytes
    fields: Mapping[str, Any]
    place: str


def lines_of(path: Path) -> Iterator[TapeLine]:
    """The lines of a file that may be a tape."""
    count = {"exchange": 0, "mcp": 0}
    for place, text in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            found = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            found = None
        fields = found if isinstance(found, dict) else {}
        kind, number = fields.get("line"), fields.get("number")
        if kind not in count:
            yield TapeLine(text, fields, "the head" if kind == "tape" else f"line {place}")
            continue
        count[kind] += 1
        number = number if kind == "exchange" and number else count[kind]
        yield TapeLine(text, fields, f"{_KINDS[kind]} {number}")


def secrets_on(lines: Iterable[TapeLine], tape: Tape, redactor: Redactor) -> list[str]:
    """The places of a tape that hold secrets, in words: `exchange 3, request`.

    Args:
        lines: of its file.
        tape: what it holds; empty if it cannot be read.
        redactor: knows secrets, and learns those in headers.
    """
    found: dict[str, None] = {}
    for exchange in tape.exchanges:
        found |= dict.fromkeys(f"exchange {exchange.number}, {part}" for part in _hidden(exchange, redactor))
    for line in lines:
        found |= dict.fromkeys(_open(line, redactor))
    return [*found]


def _open(line: TapeLine, redactor: Redactor) -> Iterator[str]:
    """The parts of a line in which a secret stands as it is; of a line that is no JSON, the line."""
    if not (_holds(line.text, redactor) if line.fields else redactor.spans(line.text)):
        return
    parts = [name for name, value in line.fields.items() if _holds(msgspec.json.encode(value), redactor)]
    yield from [f"{line.place}, {name}" for name in parts] or [line.place]


def _hidden(exchange: RecordedExchange, redactor: Redactor) -> Iterator[str]:
    """The parts of an exchange with a secret that its line does not show: in headers, packed, or cut in pieces."""
    request, frames = exchange.request, exchange.frames
    if request is not None and _tells(request.caller.headers, redactor):
        yield "request"
    if frames is not None and (_tells(frames.headers, redactor) or blank(frames, redactor)[1]):
        yield "frames"
    elif frames is not None and request is not None:
        chunks = [timed.chunk for timed in chunks_in(request.format, frames)]
        if chunks and _holds(msgspec.json.encode(respond(chunks)), redactor):
            yield "frames"
    if exchange.chunks and _holds(
        msgspec.json.encode(respond([timed.chunk for timed in exchange.chunks])), redactor
    ):
        yield "chunks"


def _holds(text: bytes, redactor: Redactor) -> bool:
    return redactor.json(text) != text


def _tells(headers: Mapping[str, str], redactor: Redactor) -> bool:
    """Whether a header holds a secret."""
    return redactor.headers(headers) != {name.lower(): value for name, value in headers.items()}
