"""A prompt, messages or a whole request as text that a person can read and a diff can show. Pure.

Texts are indented by two spaces, so that nothing in a prompt looks like a heading of ours. Ids of tool calls are
random and mean nothing but which result belongs to which call: they become #1, #2 in the order in which they come.
Who asks, headers and whether a stream was asked for are not shown; they are not what the model reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from soundstage.errors import ScriptError
from soundstage.messages import Message, ModelRequest, Opaque, Part, Text, Thinking, ToolCall, ToolDefinition

Shown = str | ModelRequest | Message | Sequence[Message]
Replacements = Mapping["str | PathLike[str] | re.Pattern[str]", str]


def snapshot_text(shown: Shown, *, replace: Replacements | None = None) -> str:
    """The text of a snapshot of `shown`.

    Args:
        shown: a text, which is taken as it is; a request, a message or messages, which are laid out.
        replace: what changes from run to run -> what to write instead. A text or a path is looked for as it
            is, a compiled pattern as a pattern; longer texts first, patterns last.

    Raises:
        ScriptError: for something that has no such text.

    Example:
        >>> from soundstage.messages import system, user
        >>> print(snapshot_text([system("Be terse."), user("Hello")]))
        === system
          Be terse.
        === user
          Hello
    """
    return _replaced(_text(shown), replace or {})


def _text(shown: Shown) -> str:
    if isinstance(shown, str):
        return shown
    if isinstance(shown, ModelRequest):
        return "\n".join([*_head(shown), *_messages(shown.messages)])
    given: list[Any] = list(shown) if isinstance(shown, Sequence) else [shown]
    strange = [thing for thing in given if not isinstance(thing, Message)]
    if strange:
        raise ScriptError(
            "this cannot be a snapshot",
            expected="a text, a ModelRequest, a Message or a list of messages",
            seen=type(strange[0]).__name__,
        )
    return "\n".join(_messages(given))


def _replaced(text: str, replace: Replacements) -> str:
    literal = {fspath(key): value for key, value in replace.items() if not isinstance(key, re.Pattern)}
    if "" in literal:
        raise ScriptError("an empty text cannot be replaced", hint="name what changes from run to run")
    if literal:
        longest_first = sorted(literal, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, longest_first)), lambda found: literal[found[0]], text)
    for key, value in replace.items():
        if isinstance(key, re.Pattern):
            text = key.sub(value, text)
    return text


def _head(request: ModelRequest) -> Iterator[str]:
    yield f"model: {request.model}"
    for name in sorted(request.settings):
        yield from _value(f"{name}: ", request.settings[name])
    for tool in request.tools:
        yield from _tool(tool)


def _tool(tool: ToolDefinition) -> Iterator[str]:
    yield f"=== tool {tool.name}" + ("" if tool.type == "function" else f" ({tool.type})")
    yield from _indented(tool.description)
    if tool.schema:
        yield from _indented(_json(tool.schema))


def _messages(messages: Iterable[Message]) -> Iterator[str]:
    numbers: dict[str, int] = {}
    for message in messages:
        yield f"=== {message.role}"
        for part in message.parts:
            yield from _part(part, numbers)


def _part(part: Part, numbers: dict[str, int]) -> Iterator[str]:
    if isinstance(part, Text):
        yield from _indented(part.text)
    elif isinstance(part, Thinking):
        yield "--- thinking"
        yield from _indented(part.text)
    elif isinstance(part, ToolCall):
        numbers[part.id] = max(numbers.values(), default=0) + 1
        yield f"--- call #{numbers[part.id]}: {part.name}"
        yield from _indented(part.raw or _json(part.arguments))
    elif isinstance(part, Opaque):
        yield f"--- {part.type}"
        yield from _indented(_json(part.data))
    else:
        number = numbers.get(part.call_id)
        name = f": {part.name}" if part.name else ""
        yield f"--- result of {f'#{number}' if number else 'no call'}{name}{' (error)' if part.is_error else ''}"
        yield from _indented(part.text)
        if part.extra:
            yield from _indented(_json(part.extra))


def _value(name: str, value: Any) -> Iterator[str]:
    text = (
        _json(value) if isinstance(value, Mapping | list | tuple) else json.dumps(value, ensure_ascii=False)
    )
    lines = text.split("\n")
    yield name + lines[0]
    yield from lines[1:]


def _indented(text: str) -> Iterator[str]:
    """Lines with two spaces before each; only a line feed ends a line, so that nothing is lost."""
    if text:
        yield from (f"  {line}" if line else "" for line in text.split("\n"))


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
