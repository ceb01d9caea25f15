"""Journal lines: one JSON object a record. Pure: bytes in, records out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from soundstage.errors import HarnessError
from soundstage.journal._earlier import Earlier, Reader, Writer
from soundstage.journal._events import Event, ModelRequested, Record, UnknownEvent, event_types
from soundstage.journal._homes import load_home

SCHEMA_VERSION: Final = 1

_encoder = msgspec.json.Encoder()


class _Tag(msgspec.Struct):
    type: str


class _Referring(msgspec.Struct):
    earlier: Earlier | None = None


class _Envelope(msgspec.Struct):
    """A record whose event has not been looked into."""

    position: int
    time: float
    run: str
    source: str
    cause: int | None
    event: msgspec.Raw
    v: int = 1


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_referring = msgspec.json.Decoder(_Referring).decode
_decode_tag = msgspec.json.Decoder(_Tag).decode
_decoders: dict[str, msgspec.json.Decoder[Any]] = {}


def encode_record(record: Record) -> bytes:
    """The line of a record, without its line end. Lines of a newer version come out as they came in.

    Raises:
        TypeError: if the event holds a value that JSON has no form for; no journal takes such an event.
        UnicodeEncodeError: if a text holds half a surrogate pair.
    """
    return encode_line(record)[:-1]


def encode_line(record: Record) -> bytes:
    """The line of a record, with its line end."""
    event = record.event
    if type(event) is UnknownEvent:
        return _unknown_line(record, event)
    return _encoder.encode_lines([record])


def encode_records(records: Iterable[Record]) -> Iterator[bytes]:
    """The lines of a journal file, with line ends. What an earlier request holds is not repeated.

    Args:
        records: in the order of the journal.
    """
    requests = Writer()
    for record in records:
        if type(record.event) is ModelRequested:
            short = requests.line(record)
            line = short if short is not None else encode_line(record)
            requests.written(record, line, whole=short is None)
            yield line
        else:
            yield encode_line(record)


def _unknown_line(record: Record, event: UnknownEvent) -> bytes:
    """The line as it was, if the event is where it was; else its event in an envelope for the new place."""
    if event.problem:
        return event.line + b"\n"
    was = _decode_envelope(event.line)
    here = (record.position, record.time, record.run, record.source, record.cause)
    if (was.position, was.time, was.run, was.source, was.cause) == here:
        return event.line + b"\n"
    was.position, was.time, was.run, was.source, was.cause = here
    return _encoder.encode_lines([was])


def decode_record(line: bytes, earlier: Reader | None = None) -> Record:
    """The record of a line.

    Args:
        line: with or without its line end.
        earlier: has read the lines before it, to which a request may refer.

    Raises:
        HarnessError: if the line is not a record, or refers to one that is not there.
    """
    try:
        record = _decode(line)
        if type(record.event) is ModelRequested:
            reader = earlier if earlier is not None else Reader()
            record = reader.whole(record, _decode_referring(line).earlier, line)
    except (ValueError, msgspec.MsgspecError) as error:
        raise HarnessError(
            "a journal line holds only a part of its request",
            expected="the line that it refers to, before it",
            seen=str(error),
            hint="`read_journal` reads a whole file",
        ) from None
    return record


def earlier_of(line: bytes) -> Earlier | None:
    """The reference of a record's line to an earlier one.

    Raises:
        HarnessError: if the line is not a record.
    """
    return _decode_referring(line).earlier if type(_decode(line).event) is ModelRequested else None


def _decode(line: bytes) -> Record:
    try:
        envelope = _decode_envelope(line)
        kind = _decode_tag(envelope.event).type
        event = _decode_event(kind, envelope, line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError, NameError) as error:
        raise HarnessError(
            "a journal line is not a record",
            expected='{"position": 1, "time": 0.0, "run": .., "source": .., "event": {"type": ..}}',
            seen=f"{line[:120]!r} ({error})",
            hint="give the path of a file that Soundstage wrote: journal.jsonl",
        ) from None
    return Record(
        position=envelope.position,
        time=envelope.time,
        run=envelope.run,
        source=envelope.source,
        cause=envelope.cause,
        event=event,
        v=envelope.v,
    )


def lost_record(line: bytes, after: Record | None, where: str, error: HarnessError) -> Record:
    """A stand-in for a line that cannot be read: `after` the record before it, if its own is not known."""
    problem = f"{where}: {error.seen}"
    try:
        was = _decode_envelope(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        position, time, run = (
            (after.position + 1, after.time, after.run) if after is not None else (1, 0.0, "")
        )
        event = UnknownEvent(event_type="unreadable", line=bytes(line), problem=problem)
        return Record(position=position, time=time, run=run, source="", cause=None, event=event)
    return Record(
        position=was.position,
        time=was.time,
        run=was.run,
        source=was.source,
        cause=was.cause,
        event=UnknownEvent(event_type="unreadable", line=bytes(line), problem=problem),
        v=was.v,
    )


def _decode_event(kind: str, envelope: _Envelope, line: bytes) -> Event:
    decoder = _decoder(kind)
    if envelope.v > SCHEMA_VERSION or decoder is None:
        return UnknownEvent(event_type=kind, line=bytes(line))
    event: Event = decoder.decode(envelope.event)
    return event


def _decoder(kind: str) -> msgspec.json.Decoder[Any] | None:
    if kind not in _decoders:
        cls = event_types().get(kind)
        if cls is None and load_home(kind, event_types):
            cls = event_types().get(kind)
        if cls is None:
            return None
        _decoders[kind] = msgspec.json.Decoder(cls)
    return _decoders[kind]
