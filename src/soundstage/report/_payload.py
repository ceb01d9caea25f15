"""The journal as the page carries it: small, exact, and safe inside a <script> element. Pure.

Every request repeats its whole conversation, so the page would grow with the square of the run's length if it
held the records as they are. It holds each message and each tool definition once instead (`pieces`), and a
request as the text around them: joining text and pieces gives back the line of the journal, byte for byte.
The texts stay JSON texts until somebody opens them, because a browser's numbers are not ours (an id of a
Discord message does not fit into one).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.journal import (
    EgressTried,
    Event,
    FactMissed,
    HookFired,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Record,
    RequestServed,
    RunAborted,
    ToolReturned,
    UnknownEvent,
    one_line,
)
from soundstage.messages import ModelRequest
from soundstage.trace import Trace

Raw = str | list[str | list[int]]
"""A record's JSON: the text, or texts and lists of piece numbers (to be joined by commas) in turn."""

_MESSAGES: Final = '"messages":['
_UNSAFE: Final = "<>&\u2028\u2029"

_encode = msgspec.json.Encoder().encode


def json_text(value: Any) -> str:
    """`value` as JSON. Halves of surrogate pairs, which UTF-8 cannot hold, come out as escapes."""
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value))


def script_json(value: Any) -> str:
    """`value` as JSON that may stand in a <script> element: no `</script>`, no `<!--`, no line separators."""
    text = json_text(value)
    for char in _UNSAFE:
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


class EventRow(NamedTuple):
    """One event on the page. Names and order are those of `EventRow` in data.js."""

    position: int
    time: float
    source: int
    type: int
    cause: int
    tone: int
    """2 for a failure or an attempt to leave the set, 1 for what is worth a look, 0 for the rest."""
    end: int
    """Position of the event that ends what this one began; 0 for none."""
    earlier: int
    """Messages of a request that an earlier request of its conversation had already brought."""
    line: str
    raw: Raw


class EventRows(NamedTuple):
    """All events of a section."""

    sources: list[str]
    types: list[str]
    pieces: list[str]
    rows: list[EventRow]


def rows_of(trace: Trace, ends: Mapping[int, int]) -> EventRows:
    """The events of a journal, ready to be embedded.

    Args:
        trace: the trace over the journal.
        ends: position of an event that takes time -> position of the event that ends it.
    """
    sources, types, pieces, history = TextTable(), TextTable(), TextTable(), MessageTree()
    failed = {failure.position for failure in trace.failures}
    failed |= {record.position for record in trace.records if isinstance(record.event, EgressTried)}
    rows: list[EventRow] = []
    for record in trace.records:
        event = record.event
        raw: Raw = record_text(record)
        earlier = 0
        if isinstance(event, ModelRequested):
            messages = [pieces.number(json_text(message)) for message in event.request.messages]
            tools = [pieces.number(json_text(tool)) for tool in event.request.tools]
            earlier = history.earlier(event.request, messages)
            raw = _split(record, messages, tools)
        rows.append(
            EventRow(
                position=record.position,
                time=record.time,
                source=sources.number(record.source),
                type=types.number(type_name(record)),
                cause=record.cause or 0,
                tone=2 if record.position in failed else int(concerns(event)),
                end=ends.get(record.position, 0),
                earlier=earlier,
                line=line(event),
                raw=raw,
            )
        )
    return EventRows(sources.names, types.names, pieces.names, rows)


def record_text(record: Record) -> str:
    """The record's line in a journal file."""
    event = record.event
    return event.line.decode("utf-8", "replace") if isinstance(event, UnknownEvent) else json_text(record)


def type_name(record: Record) -> str:
    """The type of a record's event, as files name it."""
    event = record.event
    return event.event_type if isinstance(event, UnknownEvent) else type(event).__name__


class TextTable:
    """Gives each text a number, in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        """The texts by number."""
        return list(self._numbers)

    def number(self, name: str) -> int:
        """The number of `name`."""
        return self._numbers.setdefault(name, len(self._numbers))


class MessageTree:
    """The histories of all conversations: a tree of messages, one path for every request."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[Any, ...], int] = {}

    def earlier(self, request: ModelRequest, messages: Sequence[int]) -> int:
        """The number of first `messages` that an earlier request of the same conversation began with."""
        caller = request.caller
        node: Any = (caller.conversation, caller.agent)
        known = 0
        for number, message in enumerate(messages, start=1):
            step = (node, message)
            if step in self._nodes:
                known = number
            node = self._nodes.setdefault(step, len(self._nodes))
        return known


def _split(record: Record, messages: list[int], tools: list[int]) -> Raw:
    """The record's JSON with its messages and tools cut out.

    The first unescaped `"messages":[` is the request's own: only numbers and strings come before it.
    """
    event = record.event
    assert isinstance(event, ModelRequested)
    bare = msgspec.structs.replace(event.request, messages=(), tools=())
    shell = msgspec.structs.replace(record, event=msgspec.structs.replace(event, request=bare))
    head, _, tail = json_text(shell).partition(_MESSAGES)
    between = '],"tools":[' if tools else ""
    parts: list[str | list[int]] = [head + _MESSAGES, messages]
    return [*parts, between, tools, tail] if tools else [*parts, tail]


# One line for every event. What is a failure the trace says; `CONCERNS` adds what is worth a look without being one.

_SAID, _BY = 115, 80  # characters of an answer, and of the rule that gave it


def line(event: Event) -> str:
    """The words of `event`, in one line; of an answer of a model also which rule gave it."""
    served_by = _served_by(event)
    if not served_by:
        return one_line(str(event))
    return f"{one_line(str(event), _SAID)} · by {one_line(served_by, _BY)}"


def _served_by(event: Event) -> str:
    if isinstance(event, ModelResponded):
        return event.response.served_by
    return event.served_by if isinstance(event, ModelFailed) else ""


def concerns(event: Event) -> bool:
    """Whether `event` is worth a look, although it is no failure."""
    concern = CONCERNS.get(type(event))
    return concern is not None and concern(event)


CONCERNS: Final[dict[type[Event], Callable[[Any], bool]]] = {
    ModelResponded: lambda e: any(call.raw for call in e.response.tool_calls),
    ToolReturned: lambda e: e.is_error,
    RequestServed: lambda e: e.status >= 400,
    HookFired: lambda e: bool(e.exit_code),
    FactMissed: lambda _: True,
    RunAborted: lambda _: True,
}
