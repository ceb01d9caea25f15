"""Journal lines: what goes in comes out, also from a newer version."""

from __future__ import annotations

import importlib
import types
import typing
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import HarnessError
from soundstage.journal import (
    SCHEMA_VERSION,
    Event,
    MessageSent,
    Noted,
    Record,
    UnknownEvent,
    decode_record,
    encode_record,
    event_types,
)
from soundstage.wings import wings
from support.cases import cases

fixed = cases(100)  # the same examples in every run

for wing in wings():  # not only those that another test happens to have loaded
    for module in wing.events:
        importlib.import_module(module)
BUILT_IN = [cls for cls in event_types().values() if cls.__module__.startswith("soundstage.")]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
SIMPLE = {
    str: st.text(),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(),
    types.NoneType: st.none(),
    Any: JSON,
}


def values_of(hint):
    """A strategy for the values of a type that an event may have."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in SIMPLE:
        return SIMPLE[hint]
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([values_of(part) for part in arguments])
    if origin is tuple and arguments[-1] is not Ellipsis:
        return st.tuples(*map(values_of, arguments))
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=3)
    return records_of(hint)


def records_of(struct):
    hints = typing.get_type_hints(struct)
    given_always = {f.name: values_of(hints[f.name]) for f in msgspec.structs.fields(struct) if f.required}
    optional = {f.name: values_of(hints[f.name]) for f in msgspec.structs.fields(struct) if not f.required}
    return st.fixed_dictionaries(given_always, optional=optional).map(lambda values: struct(**values))


def envelopes(events):
    return st.builds(
        Record,
        position=st.integers(1, 2**40),
        time=st.floats(0, 1e9),
        run=st.text(),
        source=st.text(),
        cause=st.none() | st.integers(1, 2**40),
        event=events,
    )


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.__name__)
@cases(25)
@given(data=st.data())
def test_every_event_survives_the_file(kind, data):
    record = data.draw(envelopes(records_of(kind)))
    line = encode_record(record)
    assert b"\n" not in line
    assert decode_record(line) == record
    assert encode_record(decode_record(line)) == line


def test_a_line_is_an_object_with_envelope_and_event():
    record = Record(position=1, time=0.5, run="r", source="s", cause=None, event=Noted(text="hi"))
    assert msgspec.json.decode(encode_record(record)) == {
        "position": 1,
        "time": 0.5,
        "run": "r",
        "source": "s",
        "cause": None,
        "event": {"type": "Noted", "text": "hi"},
        "v": SCHEMA_VERSION,
    }


class HallOpened(Event, frozen=True, kw_only=True):
    """An event of an app."""

    rooms: tuple[str, ...] = ()


def test_an_event_class_of_an_app_is_known_by_its_name():
    record = Record(position=1, time=0.0, run="", source="", cause=None, event=HallOpened(rooms=("hall",)))
    assert event_types()["HallOpened"] is HallOpened
    assert decode_record(encode_record(record)) == record


def test_the_class_for_unknown_events_is_no_type_of_its_own():
    assert "UnknownEvent" not in event_types()


NEWER = (
    b'{"position": 7, "time":1e0,"run":"r","source":"s","cause":3, "extra": [1, 2],'
    b'"event":{"type":"Teleported","to":{"x": 1.50}},"v":%d}'
)


@pytest.mark.parametrize("line", [NEWER % 1, NEWER % 2, NEWER.replace(b"Teleported", b"Noted") % 2])
def test_an_unknown_or_newer_event_survives_byte_for_byte(line):
    record = decode_record(line)
    assert isinstance(record.event, UnknownEvent)
    assert record.event.event_type in {"Teleported", "Noted"}
    assert (record.position, record.time, record.source, record.cause) == (7, 1.0, "s", 3)
    assert encode_record(record) == line


def test_an_unknown_event_can_move_to_another_place():
    record = decode_record(NEWER % 2)
    moved = msgspec.structs.replace(record, position=1, cause=None)
    again = decode_record(encode_record(moved))
    assert (again.position, again.cause, again.v, again.event.event_type) == (1, None, 2, "Teleported")
    assert b'{"x": 1.50}' in encode_record(moved)


@fixed
@given(st.binary() | st.text().map(str.encode))
def test_what_is_no_record_is_refused_with_its_beginning(line):
    with pytest.raises(HarnessError, match="not a record") as caught:
        decode_record(line)
    assert repr(line[:20])[2:-1] in caught.value.seen


@pytest.mark.parametrize(
    "line",
    [
        b'{"position":1}',
        b'{"position":1,"time":0,"run":"","source":"","cause":null,"event":{}}',
        b'{"position":1,"time":0,"run":"","source":"","cause":null,"event":{"type":"Noted"}}',
        b'{"position":1,"time":0,"run":"","source":"","cause":null,"event":{"type":"Noted","text":"\xff"}}',
        b'{"position":1,"time":0,"run":"","source":"","cause":null,"event":' + b"[" * 100_000,
    ],
)
def test_a_line_with_parts_missing_or_broken_is_refused(line):
    with pytest.raises(HarnessError, match="not a record"):
        decode_record(line)


def test_a_value_that_json_has_no_form_for_is_an_error():
    record = Record(
        position=1, time=0.0, run="", source="", cause=None, event=Noted(text="", data={"x": object()})
    )
    with pytest.raises(TypeError, match="object"):
        encode_record(record)


def test_the_line_of_an_event_does_not_change_by_accident():
    record = Record(position=1, time=0.0, run="r", source="s", cause=None, event=MessageSent(text="é\n"))
    assert encode_record(record).decode() == (
        '{"position":1,"time":0.0,"run":"r","source":"s","cause":null,'
        '"event":{"type":"MessageSent","text":"é\\n"},"v":1}'
    )
