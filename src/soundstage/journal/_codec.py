"""Journal lines: one JSON object a record. Pure: bytes in, records out."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from soundstage.errors import HarnessError
from soundstage.journal._events import Event, Record, UnknownEvent, event_types
from soundstage.journal._homes import load_home

SCHEMA_VERSION: Final = 1

_encoder = msgspec.json.Encoder()


class _Tag(msgspec.Struct):
    type: str


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
_decode_tag = msgspec.json.Decoder(_Tag).decode
_decoders: dict[str, msgspec.json.Decoder[Any]] = {}


def encode_record(record: Record) -> bytes:
    """The line of a record, without its line end. Lines of a newer version come out as they came in.

    Raises:
        TypeError: if the event holds a value that JSON has no form for.
    """
    return encode_line(record)[:-1]


def encode_line(record: Record) -> bytes:
    """The line of a record, with its line end."""
    event = record.event
    if type(event) is UnknownEvent:
        return _unknown_line(record, event)
    try:
        return _encoder.encode_lines([record])
    except UnicodeEncodeError:
        return _encoder.encode_lines([_encodable(msgspec.to_builtins(record))])


def _unknown_line(record: Record, event: UnknownEvent) -> bytes:
    """The line as it was, if the event is where it was; else its event in an envelope for the new place."""
    was = _decode_envelope(event.line)
    here = (record.position, record.time, record.run, record.source, record.cause)
    if (was.position, was.time, was.run, was.source, was.cause) == here:
        return event.line + b"\n"
    was.position, was.time, was.run, was.source, was.cause = here
    return _encoder.encode_lines([was])


def _encodable(value: Any) -> Any:
    """`value` with a question mark for each half of a surrogate pair: text that UTF-8 has no form for."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list | tuple) else value


def decode_record(line: bytes) -> Record:
    """The record of a line.

    Raises:
        HarnessError: if the line is not a record.
    """
    try:
        envelope = _decode_envelope(line)
        kind = _decode_tag(envelope.event).type
        event = _decode_event(kind, envelope, line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
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


def _decode_event(kind: str, envelope: _Envelope, line: bytes) -> Event:
    decoder = _decoder(kind)
    if envelope.v > SCHEMA_VERSION or decoder is None:
        return UnknownEvent(event_type=kind, line=bytes(line))
    event: Event = decoder.decode(envelope.event)
    return event


def _decoder(kind: str) -> msgspec.json.Decoder[Any] | None:
    if kind not in _decoders:
        cls = event_types().get(kind)
        if cls is None and load_home(kind):
            cls = event_types().get(kind)
        if cls is None:
            return None
        _decoders[kind] = msgspec.json.Decoder(cls)
    return _decoders[kind]
