"""Differences between a request and a recorded one, part by part. Pure.

Compared are roles, texts, tool calls, tool results and the names of the tools on offer. Not compared are the
name of the model, settings and the ids of calls: they do not change what is said. Messages are aligned before
they are compared, so that one that was put in or left out is reported as that, and not as a difference of all
that follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

import msgspec

from soundstage.match import preview
from soundstage.messages import Message, ModelRequest, Opaque, Part, Text, Thinking, ToolCall, ToolResult

Cause = Literal["prompt", "tools", "history", "order", "already played"]
_LONG: Final = 70  # characters; longer texts are shown around the place where they differ
_CONTEXT: Final = 25
_LINES: Final = 20


class Difference(NamedTuple):
    """One part that differs: what kind of part, where it is, and both sides in words."""

    cause: Cause
    where: str
    expected: str
    seen: str

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, seen {self.seen}"


def differences(expected: ModelRequest, seen: ModelRequest) -> list[Difference]:
    """All that differs between a recorded request and one that is made now."""
    return [*_prompt(expected, seen), *_tools(expected, seen), *_history(expected, seen)]


def same(expected: ModelRequest, seen: ModelRequest) -> bool:
    """Whether nothing differs."""
    return not differences(expected, seen)


def summary(request: ModelRequest) -> str:
    """A request in one line."""
    tools = ", ".join(tool.name for tool in request.tools)
    roles = [message.role for message in request.messages if message.role != "system"]
    return f"user {preview(request.last_user_text or '')}, {len(roles)} message(s), tools: {tools or 'none'}"


def _prompt(expected: ModelRequest, seen: ModelRequest) -> Iterator[Difference]:
    if expected.system_text != seen.system_text:
        yield Difference("prompt", "system prompt", *_texts(expected.system_text, seen.system_text))


def _tools(expected: ModelRequest, seen: ModelRequest) -> Iterator[Difference]:
    before, now = ({tool.name for tool in request.tools} for request in (expected, seen))
    if before != now:
        yield Difference(
            "tools",
            "tools on offer",
            f"also {', '.join(sorted(before - now))}" if before - now else "no more than that",
            f"also {', '.join(sorted(now - before))}" if now - before else "less than that",
        )


def _history(expected: ModelRequest, seen: ModelRequest) -> Iterator[Difference]:
    before, now = _talk(expected), _talk(seen)
    if [_print(message) for _, message in before] == [_print(message) for _, message in now]:
        return
    from difflib import SequenceMatcher

    aligned = SequenceMatcher(
        None,
        [_print(message) for _, message in before],
        [_print(message) for _, message in now],
        autojunk=False,
    )
    for operation, start, end, other_start, other_end in aligned.get_opcodes():
        if operation != "equal":
            yield from _block(before[start:end], now[other_start:other_end])


def _talk(request: ModelRequest) -> list[tuple[int, Message]]:
    """The messages with their places, without the system prompt, which is compared as a whole."""
    return [(place, message) for place, message in enumerate(request.messages) if message.role != "system"]


def _block(before: list[tuple[int, Message]], now: list[tuple[int, Message]]) -> Iterator[Difference]:
    """Messages that stand in the place of others: compared in pairs; what is left over is new or missing."""
    for (_, message), (place, other) in zip(before, now, strict=False):
        yield from _message(f"messages[{place}]", message, other)
    for place, message in before[len(now) :]:
        yield Difference("history", f"messages[{place}] of the tape", _shown(message), "no such message")
    for place, message in now[len(before) :]:
        yield Difference("history", f"messages[{place}]", "no such message", _shown(message))


def _message(where: str, expected: Message, seen: Message) -> Iterator[Difference]:
    if expected.role != seen.role:
        yield Difference("history", where, _shown(expected), _shown(seen))
        return
    where = f"{where} ({seen.role})"
    for number in range(max(len(expected.parts), len(seen.parts))):
        sides = [side.parts[number] if number < len(side.parts) else None for side in (expected, seen)]
        if _part_print(sides[0]) != _part_print(sides[1]):
            yield Difference("history", f"{where} part {number + 1}", *_parts(sides[0], sides[1]))


def _parts(expected: Part | None, seen: Part | None) -> tuple[str, str]:
    if expected is not None and seen is not None and type(expected) is type(seen):
        return _texts(_text_of(expected), _text_of(seen))
    return _named(expected), _named(seen)


def _named(part: Part | None) -> str:
    return f"{_kind(part)} {preview(_text_of(part))}" if part is not None else "no such part"


def _kind(part: Part) -> str:
    return part.type if isinstance(part, Opaque) else type(part).__struct_config__.tag.replace("_", " ")  # type: ignore[union-attr]


def _shown(message: Message) -> str:
    return f"{message.role} {preview(' | '.join(_text_of(part) for part in message.parts))}"


def _print(message: Message) -> tuple[str, ...]:
    """The words of a message that are compared."""
    return (message.role, *(word for part in message.parts for word in _part_print(part)))


def _part_print(part: Part | None) -> tuple[str, str]:
    return (_kind(part), _text_of(part)) if part is not None else ("", "")


def _text_of(part: Part) -> str:
    if isinstance(part, Text | Thinking | ToolResult):
        return part.text
    if isinstance(part, ToolCall):
        return f"{part.name}({part.raw or msgspec.json.encode(part.arguments, order='sorted').decode()})"
    return msgspec.json.encode(part.data, order="sorted").decode()


def _texts(expected: str, seen: str) -> tuple[str, str]:
    """Two texts as a message shows them: whole if short, as lines that changed, or around the difference."""
    if "\n" in expected and "\n" in seen:
        from difflib import unified_diff

        changed = [
            line
            for line in unified_diff(expected.splitlines(), seen.splitlines(), n=0, lineterm="")
            if not line.startswith(("---", "+++", "@@"))
        ]
        if 0 < len(changed) <= _LINES:
            sides = ["\n".join(line[1:] for line in changed if line[0] == sign) for sign in "-+"]
            return repr(sides[0]), repr(sides[1])
    if len(expected) <= _LONG and len(seen) <= _LONG:
        return repr(expected), repr(seen)
    start = max(_common(expected, seen) - _CONTEXT, 0)
    return _around(expected, start), _around(seen, start)


def _common(one: str, other: str) -> int:
    """The number of characters that both begin with."""
    pairs = zip(one, other, strict=False)
    return next(
        (place for place, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other))
    )


def _around(text: str, start: int) -> str:
    piece = text[start : start + _LONG]
    return f"{'...' if start else ''}{piece!r}{'...' if start + _LONG < len(text) else ''} (at {start})"
