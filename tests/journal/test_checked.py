"""An event that could not be read back is refused by the append that brings it, in memory and on file."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.journal import (
    DaemonChanged,
    Event,
    Journal,
    MessageSent,
    ModelRequested,
    Noted,
    RunFinished,
    ScreenChanged,
    decode_record,
    encode_record,
    read_journal,
)
from soundstage.journal._checked import check_of
from soundstage.lifecycle import Status
from soundstage.messages import Message, ModelRequest, Text, ToolCall, ToolDefinition, ToolResult, user
from soundstage.nostr import NostrConnectionChanged
from support.cases import cases

fixed = cases(150)


class Point(msgspec.Struct, frozen=True):
    x: int
    nearest: Point | None = None


class Odd(Event, frozen=True, kw_only=True):
    """An event of an app, with a field of each kind."""

    number: int = 0
    share: float = 0.0
    sure: bool = False
    kind: Literal["a", "b"] = "a"
    when: dt.datetime | None = None
    names: tuple[str, ...] = ()
    pair: tuple[int, str] = (0, "")
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    by_number: dict[int, str] = msgspec.field(default_factory=dict)
    point: Point | None = None
    points: list[Point] = msgspec.field(default_factory=list)
    raw: bytes = b""
    data: Any = None


class Plain(Event, frozen=True, kw_only=True):
    """An event of an app, with fields that are looked at quickly."""

    seconds: float = 0.0
    point: Point | None = None
    points: list[Point] = msgspec.field(default_factory=list)
    data: Any = None


class Broken(StrEnum):
    """Texts of a class of their own that would not be the same when they are read back."""

    HALF = "\ud800"
    OTHER = "other"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = StrEnum.__hash__


def cycle():
    inner: list[Any] = []
    inner += [inner, inner]
    return inner


def nested(depth):
    value: Any = 1
    for _ in range(depth):
        value = {"x": [value]}
    return value


def journals(tmp_path):
    return Journal(), Journal(tmp_path / "journal.jsonl")


REFUSED = [
    (MessageSent(text=5), "text", "5 (int)"),
    (MessageSent(text=None), "text", "None"),
    (MessageSent(text="a\ud800b"), "text", "ud800"),
    (MessageSent(text=b"x"), "text", "(bytes)"),
    (MessageSent(text=Broken.HALF), "text", "(Broken)"),
    (MessageSent(text=Broken.OTHER), "text", "(Broken)"),
    (RunFinished(outcome="maybe"), "outcome", "'maybe' (str)"),
    (RunFinished(outcome=["passed"]), "outcome", "(list)"),
    (ScreenChanged(text="x", cursor=(1, 2, 3)), "cursor", "(1, 2, 3)"),
    (ScreenChanged(text="x", columns=True), "columns", "True (bool)"),
    (ScreenChanged(text="x", styles=((1, 2, "3", "red"),)), "styles[0]", "(1, 2, '3', 'red')"),
    (Odd(number=1.5), "number", "1.5"),
    (Odd(number=10**400), "number", "(int)"),
    (Odd(share=float("nan")), "share", "nan"),
    (Odd(share=float("inf")), "share", "inf"),
    (Odd(sure=1), "sure", "1 (int)"),
    (Odd(names=("a", 2)), "names[1]", "2 (int)"),
    (Odd(counts={"a": "b"}), "counts['a']", "'b' (str)"),
    (Odd(counts={5: 5}), "the key '5' of counts", "5 (int)"),
    (Odd(point=Point(x=1, nearest=Point(x="far"))), "point.nearest.x", "'far' (str)"),
    (Odd(points=[Point(x=1), "there"]), "points[1]", "'there' (str)"),
    (Odd(raw="text"), "raw", "'text' (str)"),
    (Noted(text="x", data={"x": object()}), "data['x']", "object"),
    (Noted(text="x", data={"x": [1, float("nan")]}), "data['x'][1]", "nan"),
    (Noted(text="x", data={"x": {"y": b"bytes"}}), "data['x']['y']", "(bytes)"),
    (Noted(text="x", data={"x": {1: "a"}}), "a key of data['x']", "1 (int)"),
    (Noted(text="x", data={"x": {1, 2}}), "data['x']", "(set)"),
    (Noted(text="x", data={"\ud800": 1}), "the key", "ud800"),
    (Noted(text="x", data={"x": 10**5000}), "data['x']", "(int)"),
    (Noted(text="x", data={"x": Path("/x")}), "data['x']", "PosixPath"),
    (Noted(text="x", data={"x": cycle()}), "data['x']", "(list)"),
    (Noted(text="x", data=nested(600)), "data", "in each other"),
    (Noted(text="x", data=[1]), "data", "[1] (list)"),
    (
        ModelRequested(
            request=ModelRequest(model="m", messages=(), tools=(ToolDefinition(name="t", description=5),))
        ),
        "request.tools[0].description",
        "5 (int)",
    ),
    (
        ModelRequested(
            request=ModelRequest(model="m", messages=(Message(role="user", parts=(Text(text=3),)),))
        ),
        "request.messages[0].parts[0].text",
        "3 (int)",
    ),
    (
        ModelRequested(request=ModelRequest(model="m", messages=(user("a"),), settings={"t": float("inf")})),
        "request.settings['t']",
        "inf",
    ),
]


@pytest.mark.parametrize(
    ("event", "place", "seen"), REFUSED, ids=lambda value: value if type(value) is str else ""
)
def test_what_could_not_be_read_back_is_refused_with_field_and_value(tmp_path, event, place, seen):
    for journal in journals(tmp_path):
        for append in (
            journal.append,
            lambda one, journal=journal: journal.extend([Noted(text="first"), one]),
        ):
            with pytest.raises(TypeError) as caught:
                append(event)
            assert type(event).__name__ in str(caught.value)
            assert f"expected: {place}" in str(caught.value)
            assert seen in str(caught.value)
        assert len(journal) == 0
        assert journal.append(Noted(text="after")) == 1
        journal.close()
    assert len(read_journal(tmp_path / "journal.jsonl")) == 1


@pytest.mark.parametrize(
    "event",
    [
        Odd(share=1, names=["a"], points=(Point(x=1),), by_number={1: "a"}),
        Odd(number=2**63, when=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        Noted(text="é😀", data={"x": [1, 2.5, None, True, "é", {"y": (1, 2)}, 2**64, -(10**30)]}),
        Noted(text="x", data=nested(90)),
    ],
)
def test_what_can_be_read_back_is_taken(tmp_path, event):
    for journal in journals(tmp_path):
        assert journal.append(event) == 1
        journal.close()
    [record] = read_journal(tmp_path / "journal.jsonl")
    assert msgspec.json.encode(record.event).replace(b"1.0", b"1") == msgspec.json.encode(event)


@pytest.mark.parametrize(
    "event",
    [
        MessageSent(text="é"),
        DaemonChanged(daemon="app", status=Status.RUNNING),
        Plain(seconds=1, point=Point(x=1), points=[Point(x=2)], data={"x": [1, "a"]}),
        NostrConnectionChanged(change="cut", connection=1),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_our_parts_append_is_known_to_be_fine_at_the_quick_look(event):
    assert check_of(type(event))(event), "this event is looked at slowly, at each append"


@pytest.mark.parametrize(
    ("envelope", "place"),
    [
        ({"source": 5}, "source"),
        ({"source": "\ud800"}, "source"),
        ({"cause": "1"}, "cause"),
        ({"at": float("nan")}, "at"),
    ],
)
def test_an_envelope_that_could_not_be_read_back_is_refused(tmp_path, envelope, place):
    for journal in journals(tmp_path):
        with pytest.raises(TypeError, match=place):
            journal.append(Noted(text="x"), **envelope)
        if "at" not in envelope:
            with pytest.raises(TypeError, match=place):
                journal.extend([Noted(text="x")], **envelope)
        assert len(journal) == 0
        journal.close()


def test_a_class_that_could_not_be_read_back_is_refused_by_its_name():
    class Placed(Event, frozen=True, kw_only=True):
        where: Nowhere  # noqa: F821

    with pytest.raises(TypeError, match=r"events of the class Placed[\s\S]*Nowhere"):
        Journal().append(Placed(where=5))


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.binary(max_size=3)
    | st.sampled_from([2**64, "\ud800", object(), {1}, Path("/x"), Point(x=1)]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.booleans(), inner, max_size=3)
    ),
    max_leaves=6,
)


@fixed
@given(values=st.dictionaries(st.sampled_from(Odd.__struct_fields__), ANYTHING, max_size=3))
def test_an_event_is_taken_if_and_only_if_it_comes_back_from_its_line(values):
    event = Odd(**values)
    journal = Journal()
    try:
        journal.append(event)
    except TypeError as error:
        assert any(f"expected: {name}" in str(error) or f" of {name}" in str(error) for name in values)
        if not values.keys() & {"data"}:
            with pytest.raises((TypeError, ValueError, OverflowError, AssertionError, msgspec.MsgspecError)):
                again = msgspec.json.decode(msgspec.json.encode(event), type=Odd)
                assert same(again, event)
        return
    [record] = journal.read()
    assert same(decode_record(encode_record(record)).event, event)


def same(one: Any, other: Any) -> bool:
    """Whether they are equal, a list and a tuple being the same; True is not 1."""
    return repr(flat(one)) == repr(flat(other))


def flat(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return {name: flat(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, list | tuple):
        return [flat(item) for item in value]
    if isinstance(value, dict):
        return {key: flat(item) for key, item in value.items()}
    return float(value) if type(value) is int and abs(value) < 2**53 else value


def test_a_fault_is_found_however_full_the_stack_is():
    def deeper(left):
        if left:
            return deeper(left - 1)
        with pytest.raises(TypeError, match="could not read this Noted back"):
            Journal().append(Noted(text="x", data=nested(300)))
        return None

    deeper(500)


def asked(*parts, **fields):
    return ModelRequested(
        request=ModelRequest(model="m", messages=(user("a"), Message(role="tool", parts=parts)), **fields)
    )


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        (
            asked(ToolResult(call_id="1", text="x", is_error=True)),
            asked(ToolResult(call_id="1", text="x", is_error=1)),
            "request.messages[1].parts[0].is_error",
        ),
        (
            asked(Text(text="x"), tools=(ToolDefinition(name="t", schema={"a": 1.0}),)),
            asked(Text(text="x"), tools=(ToolDefinition(name="t", schema={"a": Decimal(1)}),)),
            "request.tools[0].schema['a']",
        ),
        (
            asked(Text(text="x"), settings={"n": 1}),
            asked(Text(text="x"), settings={"n": Decimal(1)}),
            "request.settings['n']",
        ),
        (
            asked(Text(text="x"), settings={}),
            asked(Text(text="x"), settings=MappingProxyType({})),
            "request.settings",
        ),
    ],
    ids=["message", "tool", "settings", "no settings"],
)
def test_what_equals_the_request_before_and_is_of_another_type_is_refused(before, after, place):
    journal = Journal()
    journal.append(before)
    with pytest.raises(TypeError, match=re.escape(f"expected: {place}")):
        journal.append(after)
    assert len(journal) == 1


def test_what_equals_the_request_before_and_is_another_json_is_kept_as_it_is():
    journal = Journal()
    for number in (1, True, 1.0):
        arguments = {"n": number}
        journal.append(
            asked(
                ToolCall(id="1", name="t", arguments=arguments),
                tools=(ToolDefinition(name="t", schema=arguments),),
                settings=arguments,
            )
        )
    for record, number in zip(journal.read(), (1, True, 1.0), strict=True):
        request = decode_record(encode_record(record)).event.request
        found = [request.messages[1].parts[0].arguments, request.tools[0].schema, request.settings]
        assert [repr(one) for one in found] == [repr({"n": number})] * 3


def test_a_value_that_cannot_be_compared_is_refused_by_its_place():
    class Vector:
        def __eq__(self, other):
            raise ValueError("the truth of an array is ambiguous")

    journal = Journal()
    journal.append(asked(Text(text="x")))
    with pytest.raises(TypeError, match=r"request\.messages\[1\]\.parts\[0\]\.text"):
        journal.append(asked(Text(text=Vector())))


def test_what_has_been_put_into_a_default_that_structs_share_is_looked_at():
    event = ModelRequested(request=ModelRequest(model="m", messages=()))
    event.request.caller.headers["x"] = 5
    try:
        with pytest.raises(TypeError, match=r"request\.caller\.headers\['x'\]"):
            Journal().append(event)
    finally:
        event.request.caller.headers.clear()
