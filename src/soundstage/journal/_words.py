"""Words for events: how a request, a reply, a tool call and an event of an app read in one line. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from soundstage.messages import Message, ModelRequest, ModelResponse, Text, Thinking, ToolCall, ToolResult

LINE: Final = 200  # characters of a line; the page cuts it at the window's width
_VALUE: Final = 60  # characters of a value among others

_WHO: Final = ("sender", "user", "agent", "by")
_TEXT: Final = ("text", "message", "content")


def one_line(text: str, length: int = LINE) -> str:
    """The beginning of `text`, its white space squeezed, on one line.

    Args:
        text: any text.
        length: characters at most.

    Example:
        >>> one_line("hello\\n  you")
        'hello you'
    """
    squeezed = " ".join(text[: 4 * length].split())
    return squeezed if len(squeezed) <= length else squeezed[: length - 1] + "…"


def call_text(name: str, arguments: dict[str, Any], raw: str = "") -> str:
    """A tool call as a programmer would write it: `read(path="a.txt")`."""
    inside = raw or ", ".join(f"{key}={_json(value)}" for key, value in arguments.items())
    return f"{name}({inside})"


def _json(value: Any) -> str:
    return one_line(msgspec.json.encode(value).decode(), _VALUE)


def _part(part: Any) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Thinking):
        return f"(thinking) {one_line(part.text, _VALUE)}"
    if isinstance(part, ToolCall):
        return "→ " + call_text(part.name, part.arguments, part.raw)
    if isinstance(part, ToolResult):
        what = "error" if part.is_error else "result"
        return f"{what} of {part.name}: {part.text}" if part.name else f"{what}: {part.text}"
    return f"[{part.type}]"


def _parts(parts: Iterable[Any]) -> str:
    """The parts in a row; the arrow of a call is its separator."""
    return " · ".join(one_line(_part(part)) for part in parts).replace(" · → ", " → ")


def request_words(request: ModelRequest) -> str:
    """Who asks which model, and the last message of the conversation."""
    who = request.caller.agent
    purpose = "" if request.purpose == "main" else f" ({request.purpose})"
    last: Message | None = request.messages[-1] if request.messages else None
    asked = f"{last.role}: {_parts(last.parts)}" if last is not None else "no messages"
    return f"{who + ' → ' if who else ''}{request.model}{purpose} · {asked}"


def response_words(response: ModelResponse) -> str:
    """The parts of a reply, after its finish reason if that is unusual."""
    words = _parts(response.parts) or "(empty reply)"
    return words if response.finish in ("stop", "tool_calls") else f"[{response.finish}] {words}"


def chunk_words(chunk: Any) -> str:
    """The content of a chunk, quoted; else its name."""
    for name in ("text", "arguments", "signature", "data", "type"):
        value = getattr(chunk, name, "")
        if value:
            return repr(value)
    return getattr(chunk, "name", "") or type(chunk).__name__


def joined_facts(*facts: str) -> str:
    """The facts of an event in one line; empty ones are left out.

    >>> joined_facts("cut", "", "timeout")
    'cut · timeout'
    """
    return " · ".join(fact for fact in facts if fact)


def patch_size(patch: str) -> str:
    """The lines that a unified diff adds and takes away.

    >>> patch_size("--- a\\n+++ b\\n@@ -1 +1,2 @@\\n-old\\n+new\\n+more\\n")
    '+2 -1'
    """
    lines = patch.split("\n")[2:]  # after the names of the files
    counts = [sum(line.startswith(sign) for line in lines) for sign in "+-"]
    return f"+{counts[0]} -{counts[1]}" if any(counts) else ""


def said(text: str, *, sender: str = "", channel: str = "") -> str:
    """A text with who said it, or where; an empty text with neither is an empty line."""
    who = sender or channel
    return f"{who}: {text}" if who else text


def field_words(event: msgspec.Struct) -> str:
    """An event by its fields: who, where, the text, and then what differs from the defaults."""
    found = ((name, getattr(event, name), default) for name, default in _defaults(type(event)))
    facts = {name: value for name, value, default in found if not _nothing(value) and value != default}
    who = _taken(facts, _WHO)
    channel = _taken(facts, ("channel",))
    text = _taken(facts, _TEXT)
    head = " in ".join(part for part in (who, channel) if part)
    rest = ", ".join(f"{name}={one_line(str(value), _VALUE)}" for name, value in facts.items())
    return joined_facts(said(text, sender=head) if text else head, rest)


def _nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str | tuple | list | dict) and not value)


def _taken(facts: dict[str, Any], names: tuple[str, ...]) -> str:
    """The first of these facts that is a text; it is taken out."""
    name = next((name for name in names if isinstance(facts.get(name), str)), None)
    return str(facts.pop(name)) if name is not None else ""


@functools.cache
def _defaults(kind: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    """The fields of a class with their defaults; a field without one has `UNSET`, which nothing equals."""
    return tuple((field.name, _default(field)) for field in msgspec.structs.fields(kind))


def _default(field: Any) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return msgspec.UNSET if field.default is msgspec.NODEFAULT else field.default


def readable(text: str) -> str:
    """A text that a journal can keep: halves of surrogate pairs, which UTF-8 cannot hold, become visible escapes.

    >>> readable("caf\\u00e9 \\udce9")
    'café \\\\udce9'
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
