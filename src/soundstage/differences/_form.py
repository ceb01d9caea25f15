"""Requests in the form in which they are compared: without ids, texts normalised.

A result is joined to the call that it answers by what was called, not by the id of the call, so that results which have
changed places are known from results which have other texts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.differences._types import Normaliser
from soundstage.messages import Message, ModelRequest, Opaque, Part, Text, Thinking, ToolCall, ToolResult

SENDER: Final = frozenset(
    ("metadata", "previous_response_id", "prompt_cache_key", "safety_identifier", "user")
)
"""Settings that name who asks, or an earlier answer; they do not change what is said."""
SAID_IN_MESSAGES: Final = frozenset(("instructions",))

_encode: Final = msgspec.json.Encoder(order="sorted").encode


class PartForm(NamedTuple):
    """A part of a message.

    Args:
        kind: `text`, `thinking`, `tool call`, `tool result`, or the type of a part that we do not interpret.
        name: the tool of a call.
        text: what is compared line by line.
        value: what is compared path by path.
        is_error: of a result.
        answers: print of the call that a result belongs to; empty if no message has it.
    """

    kind: str
    name: str = ""
    text: str = ""
    value: Any = None
    is_error: bool = False
    answers: str = ""

    @property
    def words(self) -> str:
        """The part as a text, for messages to people and for likeness."""
        told = self.text if self.value is None else f"{self.text}{json_text(self.value)}"
        return f"{self.name}({told})" if self.kind == "tool call" else told


class MessageForm(NamedTuple):
    """A message: its place in the request, its role, its parts."""

    place: int
    role: str
    parts: tuple[PartForm, ...]

    @property
    def print(self) -> str:
        return print_of((self.role, self.parts))

    @property
    def words(self) -> str:
        return " | ".join(part.words for part in self.parts)


class RequestForm(NamedTuple):
    """A request. `facts` are model, format and stream; `tools` are by name, the second of one name as `name#2`."""

    facts: dict[str, Any]
    settings: dict[str, Any]
    tools: dict[str, dict[str, Any]]
    messages: tuple[MessageForm, ...]

    @property
    def digest(self) -> str:
        """Equal for requests that do not differ."""
        return print_of(self)


def form_of(request: ModelRequest, normalise: Normaliser | None = None) -> RequestForm:
    """A request as it is compared."""
    plain = normalise or str
    settings = {
        key: canonical(value, plain)
        for key, value in request.settings.items()
        if key not in SENDER and key not in SAID_IN_MESSAGES
    }
    facts = {"model": request.model, "format": request.format, "stream": request.stream}
    return RequestForm(facts, settings, _tools(request, plain), tuple(_messages(request, plain)))


def digest_of(request: ModelRequest, *, normalise: Normaliser | None = None) -> str:
    """A short text that two requests share exactly if `differences` finds nothing between them.

    Args:
        request: the request.
        normalise: takes out of every text what changes from run to run.

    Example:
        >>> from soundstage.messages import user
        >>> one, other = (ModelRequest(model="m", messages=(user(text),)) for text in ("at 10:04", "at 10:05"))
        >>> digest_of(one) == digest_of(other)
        False
        >>> masked = lambda text: text[:5]
        >>> digest_of(one, normalise=masked) == digest_of(other, normalise=masked)
        True
    """
    return form_of(request, normalise).digest


def message_prints(request: ModelRequest, *, normalise: Normaliser | None = None) -> tuple[str, ...]:
    """A short text for each message of a request, equal for messages that do not differ.

    Args:
        request: the request.
        normalise: takes out of every text what changes from run to run.

    Example:
        >>> from soundstage.messages import user
        >>> one, other = message_prints(ModelRequest(model="m", messages=(user("go on"), user("go on"))))
        >>> one == other
        True
    """
    return tuple(message.print for message in form_of(request, normalise).messages)


def print_of(value: Any) -> str:
    """A hash of a JSON value. Equal values have equal prints."""
    return blake2b(json_bytes(value), digest_size=16).hexdigest()


def json_text(value: Any) -> str:
    return json_bytes(value).decode()


def json_bytes(value: Any) -> bytes:
    try:
        return _encode(value)
    except (
        UnicodeEncodeError,
        OverflowError,
        TypeError,
    ):  # half a surrogate pair, a long integer, another class
        return json.dumps(value, sort_keys=True, default=repr).encode()


def canonical(value: Any, normalise: Normaliser) -> Any:
    """A JSON value with its texts normalised; 1.0 is 1, as JSON has it."""
    if type(value) is str:
        return normalise(value)
    if isinstance(value, dict):
        return {str(key): canonical(part, normalise) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(part, normalise) for part in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _schema(value: Any) -> Any:
    """A JSON Schema in which the order of required parameters does not matter."""
    if isinstance(value, dict):
        found = {key: _schema(part) for key, part in value.items()}
        required = found.get("required")
        if isinstance(required, list) and all(isinstance(name, str) for name in required):
            found["required"] = sorted(required)
        return found
    return [_schema(part) for part in value] if isinstance(value, list) else value


def _tools(request: ModelRequest, normalise: Normaliser) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    count: Counter[str] = Counter()
    for tool in request.tools:
        count[tool.name] += 1
        name = tool.name if count[tool.name] == 1 else f"{tool.name}#{count[tool.name]}"
        found[name] = {
            "description": normalise(tool.description),
            "parameters": _schema(canonical(tool.schema, normalise)),
            "type": tool.type,
            "namespace": tool.namespace,
        }
    return found


def _messages(request: ModelRequest, normalise: Normaliser) -> Iterator[MessageForm]:
    calls = _calls(request.messages, normalise)
    for place, message in enumerate(request.messages):
        parts = tuple(_part(part, normalise, calls) for part in message.parts)
        yield MessageForm(place, message.role, parts)


def _calls(messages: tuple[Message, ...], normalise: Normaliser) -> dict[str, str]:
    """The print of each call, by its id. Results of equal calls are told apart by their order alone."""
    return {
        part.id: print_of(_part(part, normalise, {}))
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCall) and part.id
    }


def _part(part: Part, normalise: Normaliser, calls: Mapping[str, str]) -> PartForm:
    if isinstance(part, Text):
        return PartForm("text", text=normalise(part.text))
    if isinstance(part, Thinking):
        return PartForm("thinking", text=normalise(part.text))
    if isinstance(part, ToolCall):
        if part.raw:
            return PartForm("tool call", part.name, text=normalise(part.raw))
        return PartForm("tool call", part.name, value=canonical(part.arguments, normalise))
    if isinstance(part, ToolResult):
        extra = canonical(part.extra, normalise) if part.extra else None
        answers = calls.get(part.call_id, "")
        return PartForm("tool result", "", normalise(part.text), extra, part.is_error, answers)
    assert isinstance(part, Opaque)
    return PartForm(part.type, value=canonical(part.data, normalise))
