"""Requests that a journal keeps: checked like other events, and their messages shared.

Mostly, a request brings the messages of the one before and a few more. In process these are the same objects; what
comes over the wire has been decoded anew. A journal keeps one object for equal messages, so that a conversation takes
the memory of what is new in it, and looks at each once. Equal means the same JSON: 1 is not True.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from itertools import compress
from operator import is_not
from typing import Any, Final

import msgspec

from soundstage.journal._checked import check_of, made_check, struct_check
from soundstage.journal._events import Event, ModelRequested
from soundstage.journal._faults import refuse_event
from soundstage.messages import Message, ModelRequest, ToolDefinition

_rest_of_event: Final = made_check(ModelRequested, without=("request",))
_rest_of_request: Final = made_check(ModelRequest, without=("messages", "tools"))
_check_message: Final = struct_check(Message)
_check_tool: Final = struct_check(ToolDefinition)
_encode: Final = msgspec.json.Encoder().encode


class Checks(dict[type, Callable[[Any], "bool | Event"]]):
    """For each event class, a function that tells whether a journal may keep an event as it is.

    False is no verdict: such an event is looked at slowly. Another event is to be kept instead, an equal one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[
            int, Any
        ] = {}  # what has been looked at, by id; kept, so that no other gets the same id
        self._kept: dict[bytes, Any] = {}  # by a hash of its JSON
        self._last: tuple[Any, ...] = ()  # messages of the request before: comparing with them costs least
        self._instead: dict[
            int, tuple[Any, Any]
        ] = {}  # those of them that an equal one stands for, by id, with that
        self[ModelRequested] = self._request

    def __missing__(self, kind: type) -> Callable[[Any], bool | Event]:
        self[kind] = check = check_of(kind)
        return check

    def forget(self) -> None:
        """Keep nothing alive that the journal itself does not keep any more."""
        self._known, self._kept, self._last, self._instead = {}, {}, (), {}

    def checked(self, event: Event) -> Event:
        """The event to keep.

        Raises:
            TypeError: if it could not be read back, with the field and its value.
        """
        try:
            found = self[type(event)](event)
        except RecursionError:
            found = False
        return event if found is True else settled(event, found)

    def _request(self, event: ModelRequested) -> bool | Event:
        request = event.request
        if not (type(request) is ModelRequest and _rest_of_event(event) and _rest_of_request(request)):
            return False
        messages, tools = self._messages(request.messages), self._tools(request.tools)
        if messages is None or tools is None:
            return False
        if messages is request.messages and tools is request.tools:
            return True
        request = msgspec.structs.replace(request, messages=messages, tools=tools)
        return ModelRequested(request=request, model_kind=event.model_kind)

    def _messages(self, values: Any) -> Any:
        if type(values) is not tuple:
            return None
        known, instead = self._known, self._instead
        others = [*compress(values, map(is_not, values, self._last)), *values[len(self._last) :]]
        new = [value for value in others if id(value) not in known and id(value) not in instead]
        if not all(map(_check_message, new)):
            return None
        if len(new) == 1 and not instead:
            known[id(new[0])] = new[0]
        elif new or instead:
            values = self._shared(values, new)
        self._last = values
        return values

    def _shared(self, values: tuple[Any, ...], new: list[Any]) -> tuple[Any, ...]:
        """The messages, each the one that is kept of its equals."""
        found = self._instead | {id(value): (value, self._one(value)) for value in new}
        pairs = [found.get(id(value), (value, value)) for value in values]
        self._instead = {id(value): (value, kept) for value, kept in pairs if kept is not value}
        return tuple([kept for _, kept in pairs])

    def _tools(self, tools: Any) -> Any:
        if tools == () or id(tools) in self._known:
            return tools
        if type(tools) is not tuple or not all(map(_check_tool, tools)):
            return None
        return self._one(tools)

    def _one(self, value: Any) -> Any:
        """The one that is kept of equal values."""
        kept = self._kept.setdefault(blake2b(_encode(value), digest_size=16).digest(), value)
        self._known[id(kept)] = kept
        return kept


def settled(event: Event, found: Any) -> Event:
    """Bring a quick check to its end: the event to keep.

    Raises:
        TypeError: if it could not be read back.
    """
    if isinstance(found, Event):
        return found
    refuse_event(event)
    return event
