"""Requests that a journal keeps: checked like other events, and their messages shared.

Mostly, a request brings the messages of the one before and a few more. In process these are the same objects; what
comes over the wire has been decoded anew. A journal keeps one object for equal messages, so that a conversation takes
the memory of what is new in it, and looks at each once. Equal means the same JSON: 1 is not True.

Two tuples are compared in one step, in C, which takes what is identical in them for equal without looking; so the
messages of the request before cost next to nothing. Where something in it could be 1 or True, each pair that is equal
and not identical is asked for its JSON. The request then gets the tuple that is kept, in place of its own equal one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from itertools import zip_longest
from operator import is_
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.journal._checked import check_of, made_check, struct_check
from soundstage.journal._events import Event, ModelRequested
from soundstage.journal._faults import refuse_event
from soundstage.messages import Message, ModelRequest, Text, Thinking, ToolDefinition

_APART: Final = frozenset((ModelRequest, name) for name in ("messages", "tools", "settings"))
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_keep_in: Final = msgspec.structs.force_setattr


class _RequestChecks(NamedTuple):
    """Checks of the parts of a request: each looked at once, and the rest."""

    message: Callable[[Any], bool]
    tool: Callable[[Any], bool]
    settings: Callable[[Any], bool]
    rest: Callable[[Any], bool]


@cache
def _checks() -> _RequestChecks:
    """Make them when the first request comes: it takes milliseconds, which an import would cost."""
    return _RequestChecks(
        struct_check(Message),
        struct_check(ToolDefinition),
        made_check(dict[str, Any]),
        made_check(ModelRequested, without=_APART),
    )


class Checks(dict[type, Callable[[Any], bool]]):
    """For each event class, a function that tells whether a journal may keep an event as it is.

    False is no verdict: such an event is looked at slowly.
    """

    def __init__(self) -> None:
        super().__init__()
        self.forget()
        self[ModelRequested] = self._request

    def __missing__(self, kind: type) -> Callable[[Any], bool]:
        self[kind] = check = check_of(kind)
        return check

    def forget(self) -> None:
        """Keep nothing alive that the journal itself does not keep any more."""
        self._known: dict[int, Any] = {}  # what has been looked at, by id; kept, so that no other gets the id
        self._kept: dict[bytes, Any] = {}  # by a hash of its JSON
        self._last: tuple[tuple[Any, ...], bool] = ((), True)  # messages of a request; no number in them
        self._tools: tuple[Any, ...] = ()  # of a request
        self._settings: tuple[dict[str, Any], bytes] = (
            {},
            b"{}",
        )  # a copy of those of a request, and its JSON

    def refuse_unreadable(self, event: Event) -> None:
        """Refuse an event that could not be read back.

        Raises:
            TypeError: with the field and its value.
        """
        if not self[type(event)](event):
            refuse_event(event)

    def _request(self, event: ModelRequested) -> bool:
        if not _checks().rest(event):
            return False
        request = event.request
        settings = request.settings
        try:
            none = type(settings) is dict and not settings
            if not none and (settings != self._settings[0] or _encode(settings) != self._settings[1]):
                if not _checks().settings(settings):
                    return False
                line = _encode(settings)
                self._settings = _decode(line), line
            messages = self._messages(request.messages)
            tools = request.tools if request.tools is self._tools else self._shared_tools(request.tools)
        except Exception:  # noqa: BLE001  (whatever a value of a class of the app raises when it is compared)
            return False
        if messages is None or tools is None:
            return False
        if messages is not request.messages:
            _keep_in(request, "messages", messages)
        if tools is not request.tools:
            _keep_in(request, "tools", tools)
        return True

    def _messages(self, values: Any) -> tuple[Any, ...] | None:
        """The messages, each the one that is kept of its equals; None if one of them is in doubt."""
        last, plain = self._last
        head = values[: len(last)]
        if head == last and (plain or _alike(head, last)):
            if len(values) == len(last):
                return last
            found = [*last, *map(self._known.get, map(id, values[len(last) :]))]
        elif type(values) is tuple:
            found = [self._found(*pair) for pair in zip_longest(values, last[: len(values)])]
        else:
            return None
        kept = self._completed(values, found)
        if kept is not None:
            self._last = kept, all(map(_is_plain, kept))
        return kept

    def _found(self, value: Any, last: Any) -> Any:
        """Return the kept form of a value, as far as it is known without its JSON."""
        if value is last or (value == last and _alike((value,), (last,))):
            return last
        return self._known.get(id(value))

    def _completed(self, values: tuple[Any, ...], found: list[Any]) -> tuple[Any, ...] | None:
        new = [value for value, kept in zip(values, found, strict=True) if kept is None]
        if not all(map(_checks().message, new)):
            return None
        kept = iter(self._ones(new))
        return tuple([next(kept) if one is None else one for one in found])

    def _shared_tools(self, tools: Any) -> tuple[Any, ...] | None:
        last = self._tools
        if tools == last and _alike(tools, last):
            return last
        if type(tools) is not tuple or not all(map(_checks().tool, tools)):
            return None
        [self._tools] = self._ones([tools])
        return self._tools

    def _ones(self, values: list[Any]) -> list[Any]:
        """For each, what an earlier request has brought and is equal to it, or itself."""
        keys = [blake2b(_encode(value), digest_size=16).digest() for value in values]
        ones = [self._kept.get(key, value) for key, value in zip(keys, values, strict=True)]
        self._kept.update(zip(keys, ones, strict=True))
        self._known.update(zip(map(id, ones), ones, strict=True))
        return ones


def _alike(values: tuple[Any, ...], kept: tuple[Any, ...]) -> bool:
    """Whether equal values have the same JSON."""
    return all(map(is_, values, kept)) or all(
        one is other or _is_plain(other) or _encode(one) == _encode(other)
        for one, other in zip(values, kept, strict=True)
    )


def _is_plain(value: Any) -> bool:
    """Whether it is a message of texts only: what equals it has the same JSON."""
    return type(value) is Message and all(type(part) in _PLAIN for part in value.parts)


_PLAIN: Final = frozenset({Text, Thinking})
