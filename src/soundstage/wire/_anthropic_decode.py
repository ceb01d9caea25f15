"""Anthropic Messages, the way in: what a body asks for, or the provider's refusal of it.

Source: the provider's API reference for messages, its guide to tool calls ("handle tool calls", formatting
requirements), and the words of its error answers. Consecutive messages of one role are one turn there, so
pairs of tool calls and results are checked by turn; messages of role `system`, which agents put between the
others, never part a pair. Content whose type we do not interpret is accepted as it is.

Tools may come and go within a conversation (`tool_addition`, `tool_removal`, and the `tool_changes` of a compaction
block). A request offers those that are left after its last message. Source: the types of the official SDK.

The messages before a compaction block may be sent or left out; so a conversation may begin with such a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from soundstage.errors import RequestRejected
from soundstage.messages import (
    Message,
    ModelRequest,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from soundstage.models import context, edited_context
from soundstage.wire._codec import TokenCount, parse_value
from soundstage.wire._fields import ANTHROPIC, check_context, check_limits
from soundstage.wire._parts import estimate
from soundstage.wire._values import ANTHROPIC as VALUES
from soundstage.wire._values import check_anthropic, check_values

T = TypeVar("T")
Block = dict[str, Any]

ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}
FIELD: Final = "context_management"
VERSION: Final = "anthropic_version"  # in the bodies that clients of Vertex send, elsewhere a header
ONLY_IN: Final[dict[str, Role]] = {"tool_use": "assistant", "tool_result": "user"}
CHANGES: Final = ("tool_addition", "tool_removal")
MOST_STOPS: Final = 8191
_WRONG_VALUE: Final = "{name}: Input should be {wanted}"
_KNOWN: Final = frozenset({"model", "messages", "system", "tools", "stream"})
_NAMES: Final[dict[type, str]] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    list: "list",
    dict: "dictionary",
}


def decode(body: bytes, format: str, model: str = "") -> ModelRequest:  # noqa: A002
    """The request in a body that was posted to be answered; clouds have its `model` in the path."""
    given = _object(body)
    if model:
        _field(given, VERSION, str)
        if "model" in given:
            _refuse("model: Extra inputs are not permitted")
        given = {name: value for name, value in given.items() if name != VERSION} | {"model": model}
    if _field(given, "max_tokens", int) < 0:  # zero fills the prompt cache
        _refuse("max_tokens: Input should be greater than or equal to 0")
    return _request(given, format)


def count(body: bytes, format: str) -> TokenCount:  # noqa: A002
    """The estimated tokens of a body that was posted to be counted. What is to be compacted is counted as it is."""
    given = _object(body)
    given.pop(VERSION, None)
    request = _request(given, format)
    tools = msgspec.json.encode(given["tools"]) if given.get("tools") else b""
    tokens = estimate(context(request.messages), tools)
    if not request.settings.get(FIELD):
        return TokenCount(tokens)
    cleared = sum(edit["cleared_input_tokens"] for edit in edited_context(request).applied)
    return TokenCount(tokens - cleared, tokens)


def _refuse(message: str) -> NoReturn:
    raise RequestRejected(message)


def _object(body: bytes) -> Block:
    value = parse_value(body, "The request body is not valid JSON:")
    return value if isinstance(value, dict) else _refuse("Input should be a valid dictionary")


def _field(given: Block, key: str, kind: type[T], where: str = "") -> T:
    """The required field `key`, which is a `kind`."""
    path = f"{where}.{key}" if where else key
    if key not in given:
        _refuse(f"{path}: Field required")
    return _checked(given[key], kind, path)


def _optional(given: Block, key: str, kind: type[T], where: str = "") -> T | None:
    """The field `key`; absent and null are the same."""
    if given.get(key) is None:
        return None
    return _checked(given[key], kind, f"{where}.{key}" if where else key)


def _checked(value: Any, kind: type[T], path: str) -> T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        _refuse(f"{path}: Input should be a valid {_NAMES[kind]}")
    return value


def _request(given: Block, format: str) -> ModelRequest:  # noqa: A002
    model = _field(given, "model", str)
    if not model:
        _refuse("model: String should have at least 1 character")
    messages = _messages(_field(given, "messages", list))
    _check_fields(given, format)
    declared = [
        _tool(tool, f"tools.{number}") for number, tool in enumerate(_optional(given, "tools", list) or ())
    ]
    offered = _offered(declared, messages)
    check_anthropic(given, declared, offered)
    return ModelRequest(
        model=model,
        messages=(*_system(given.get("system")), *messages),
        tools=offered,
        stream=_optional(given, "stream", bool) or False,
        format=format,
        settings={key: value for key, value in given.items() if key not in _KNOWN},
    )


def _check_fields(given: Block, format: str) -> None:  # noqa: A002
    if given.get("thread") is not None:
        raise RequestRejected(
            "thread: only POST /v1/messages takes one; send the full conversation without `thread`.",
            param="thread",
            code="thread_unsupported_request",
        )
    ANTHROPIC.check(given)
    check_context(format, given, "{path}: {problem}")
    _optional(given, "stop_sequences", list)
    check_limits(given, {}, "stop_sequences", MOST_STOPS, _WRONG_VALUE)
    check_values(VALUES, given, _WRONG_VALUE)


def _system(given: Any) -> tuple[Message, ...]:
    if not given:
        return ()
    parts = _content(given, "system")
    if any(isinstance(part, Text) and not part.text for part in parts):
        _refuse("system: text content blocks must be non-empty")
    _refuse_changes(parts, "system")
    return (Message(role="system", parts=parts),)


def _messages(given: list[Any]) -> tuple[Message, ...]:
    if not given:
        _refuse("messages: at least one message is required")
    messages = tuple(_message(message, f"messages.{number}") for number, message in enumerate(given))
    first = next((message.role for message in messages if message.role != "system"), "system")
    if first != "user" and not any(map(_is_summary, messages[0].parts)):
        _refuse('messages: first message must use the "user" role')
    for number, message in enumerate(messages):
        _check_content(number, message, last=number == len(messages) - 1)
    _check_pairs(messages)
    return messages


def _is_summary(part: Part) -> bool:
    return isinstance(part, Opaque) and part.type == "compaction"


def _message(given: Any, where: str) -> Message:
    message = _checked(given, dict, where)
    role = ROLES.get(_field(message, "role", str, where))
    if role is None:
        _refuse(f"{where}.role: Input should be 'user', 'assistant' or 'system'")
    if "content" not in message:
        _refuse(f"{where}.content: Field required")
    parts = _content(message["content"], f"{where}.content")
    for number, part in enumerate(parts):
        kind = "tool_use" if isinstance(part, ToolCall) else "tool_result"
        if isinstance(part, ToolCall | ToolResult) and ONLY_IN[kind] != role:
            _refuse(f"{where}.content.{number}: `{kind}` blocks can only be in `{ONLY_IN[kind]}` messages")
    return Message(role=role, parts=parts)


def _check_content(number: int, message: Message, *, last: bool) -> None:
    """Nothing is empty but, perhaps, what the model is asked to go on with."""
    if message.role == "system":
        return
    if not message.parts and not (last and message.role == "assistant"):
        _refuse(
            f"messages.{number}: all messages must have non-empty content except for the optional final "
            "assistant message"
        )
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    if not all(texts):
        _refuse("messages: text content blocks must be non-empty")
    if message.role == "assistant" and not all(text.strip() for text in texts):
        _refuse("messages: text content blocks must contain non-whitespace text")


def _content(given: Any, where: str) -> tuple[Part, ...]:
    """Content is text or a list of blocks; empty text is no block."""
    if isinstance(given, str):
        return (Text(text=given),) if given else ()
    blocks = _checked(given, list, where)
    return tuple(_part(block, f"{where}.{number}") for number, block in enumerate(blocks))


def _part(given: Any, where: str) -> Part:
    block = _checked(given, dict, where)
    kind = _field(block, "type", str, where)
    decode_block = _BLOCKS.get(kind)
    return Opaque(type=kind, data=block) if decode_block is None else decode_block(block, f"{where}.{kind}")


def _text(block: Block, where: str) -> Part:
    return Text(text=_field(block, "text", str, where))


def _thinking(block: Block, where: str) -> Part:
    return Thinking(
        text=_field(block, "thinking", str, where), signature=_field(block, "signature", str, where)
    )


def _tool_use(block: Block, where: str) -> Part:
    return ToolCall(
        id=_field(block, "id", str, where),
        name=_field(block, "name", str, where),
        arguments=_field(block, "input", dict, where),
    )


def _tool_result(block: Block, where: str) -> Part:
    given = block.get("content")
    content = () if given is None else _content(given, f"{where}.content")
    _refuse_changes(content, f"{where}.content")
    return ToolResult(
        call_id=_field(block, "tool_use_id", str, where),
        text="\n".join(part.text for part in content if isinstance(part, Text)),
        is_error=_optional(block, "is_error", bool, where) or False,
        extra=tuple(part.data for part in content if isinstance(part, Opaque)),
    )


def _compaction(block: Block, where: str) -> Part:
    if _optional(block, "content", str, where) == "":
        _refuse(f"{where}.content: String should have at least 1 character")
    return Opaque(type="compaction", data=block)


_BLOCKS: Final[dict[str, Callable[[Block, str], Part]]] = {
    "compaction": _compaction,
    "text": _text,
    "thinking": _thinking,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
}


def _tool(given: Any, where: str) -> ToolDefinition:
    tool = _checked(given, dict, where)
    kind = _optional(tool, "type", str, where) or "custom"
    if kind != "custom":
        return ToolDefinition(name=_optional(tool, "name", str, where) or kind, type=kind, schema=tool)
    where += ".custom"
    schema = _field(tool, "input_schema", dict, where)
    if _field(schema, "type", str, f"{where}.input_schema") != "object":
        _refuse(f"{where}.input_schema.type: Input should be 'object'")
    return ToolDefinition(
        name=_field(tool, "name", str, where),
        description=_optional(tool, "description", str, where) or "",
        schema=schema,
    )


def _offered(tools: list[ToolDefinition], messages: Sequence[Message]) -> tuple[ToolDefinition, ...]:
    """The declared tools, with the changes that the conversation makes, in its order."""
    known = {tool.name: tool for tool in tools}
    changes = list(_changes(messages))
    if not changes:
        return tuple(tools)
    offered = dict(known)
    for kind, block, where in changes:
        tool = _changed(block, where, known, defines=kind == "tool_addition")
        if kind == "tool_addition":
            offered[tool.name] = known[tool.name] = tool
        else:
            offered.pop(tool.name, None)
    return tuple(offered.values())


def _changes(messages: Sequence[Message]) -> Iterator[tuple[str, Block, str]]:
    """Type, block and place of each change of the tools."""
    for number, message in enumerate(messages):
        for position, part in enumerate(message.parts):
            where = f"messages.{number}.content.{position}"
            if not isinstance(part, Opaque):
                continue
            if part.type in CHANGES:
                yield part.type, part.data, f"{where}.{part.type}"
            elif part.type == "compaction":
                where += ".compaction"
                for place, change in enumerate(_optional(part.data, "tool_changes", list, where) or ()):
                    yield _change(change, f"{where}.tool_changes.{place}")


def _change(given: Any, where: str) -> tuple[str, Block, str]:
    kind = _field(_checked(given, dict, where), "type", str, where)
    if kind not in CHANGES:
        _refuse(f"{where}.type: Input should be 'tool_addition' or 'tool_removal'")
    return kind, given, f"{where}.{kind}"


def _changed(block: Block, where: str, known: dict[str, ToolDefinition], *, defines: bool) -> ToolDefinition:
    """The tool that a change is about: one that is known by its name, or one that it defines."""
    tool = _field(block, "tool", dict, where)
    where += ".tool"
    kind = _field(tool, "type", str, where)
    if kind == "tool_definition" and defines:
        where += f".{kind}.definition"
        return _tool(_field(tool, "definition", dict, where.rpartition(".")[0]), where)
    if kind != "tool_reference":
        wanted = "'tool_reference' or 'tool_definition'" if defines else "'tool_reference'"
        _refuse(f"{where}.type: Input should be {wanted}; Soundstage serves no tools of MCP servers here")
    name = _field(tool, "name", str, f"{where}.{kind}")
    if name not in known:
        _refuse(
            f"{where}.{kind}.name: there is no tool {name!r} in `tools`, and none is defined earlier in `messages`"
        )
    return known[name]


def _refuse_changes(parts: Sequence[Part], where: str) -> None:
    """Tools change in the content of messages alone."""
    for number, part in enumerate(parts):
        if isinstance(part, Opaque) and part.type in CHANGES:
            _refuse(f"{where}.{number}: `{part.type}` blocks can only be in the content of a message")


def _check_pairs(messages: Sequence[Message]) -> None:
    """Every result answers a call of the turn before it, and every call is answered by the turn after it."""
    talk = [(number, message) for number, message in enumerate(messages) if message.role != "system"]
    asked: dict[str, int] = {}  # id of a call -> number of its message
    for role, turn in groupby(talk, key=lambda numbered: numbered[1].role):
        if role == "user":
            _check_answered(asked, _answered(list(turn), asked))
            asked = {}
        else:
            asked = {
                part.id: number
                for number, message in turn
                for part in message.parts
                if isinstance(part, ToolCall)
            }
    _check_answered(asked, set())


def _answered(turn: list[tuple[int, Message]], asked: dict[str, int]) -> set[str]:
    """The ids of the calls that `turn` answers. Results after other content do not count."""
    seen: set[str] = set()
    counted: set[str] = set()
    leading = True
    for number, message in turn:
        for position, part in enumerate(message.parts):
            if not isinstance(part, ToolResult):
                leading = False
                continue
            _check_result(part.call_id, f"messages.{number}.content.{position}", asked, seen)
            seen.add(part.call_id)
            if leading:
                counted.add(part.call_id)
    return counted


def _check_result(call_id: str, where: str, asked: dict[str, int], seen: set[str]) -> None:
    if call_id not in asked:
        _refuse(
            f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` "
            "block must have a corresponding `tool_use` block in the previous message."
        )
    if call_id in seen:
        _refuse(
            f"{where}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
            f"{call_id}"
        )


def _check_answered(asked: dict[str, int], answered: set[str]) -> None:
    missing = [call_id for call_id in asked if call_id not in answered]
    if missing:
        _refuse(
            f"messages.{asked[missing[0]]}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a corresponding "
            "`tool_result` block in the next message."
        )
