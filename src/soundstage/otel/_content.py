"""Messages, tools and results in the JSON form of the GenAI conventions, and back. Pure.

A message is `{"role": .., "parts": [{"type": "text", "content": ..}, ..]}`; an attribute holds a list of them, as
JSON text or, where an SDK can, as structured values. What is not in this form is taken for what it most likely
is: older instrumentations write `content` where `parts` belongs. Nothing here raises for what an app has sent.

Source: the JSON schemas of `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.system_instructions` and
`gen_ai.tool.definitions` in the OpenTelemetry GenAI semantic conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from soundstage.messages import (
    FinishReason,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
    decode_arguments,
)

ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}
FINISHES: Final[dict[str, FinishReason]] = {
    "stop": "stop",
    "end_turn": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_call": "tool_calls",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
    "pause": "pause",
    "error": "error",
}
_decode: Final = msgspec.json.Decoder().decode


def value_of(attribute: Any) -> Any:
    """An attribute that holds JSON: decoded if it is such a text, else as it is."""
    if not isinstance(attribute, str):
        return attribute
    try:
        return _decode(attribute)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return attribute


def text_of(value: Any) -> str:
    """A value as a text: texts as they are, everything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_of(value)


def json_of(value: Any) -> str:
    """JSON text; what JSON has no form for is written as `str` gives it."""
    return msgspec.json.encode(value, enc_hook=lambda odd: str.__str__(str(odd))).decode()


def messages_of(attribute: Any, role: Role = "user") -> tuple[Message, ...]:
    """The messages in an attribute. `role` is that of messages that do not say it."""
    value = value_of(attribute)
    if isinstance(value, Mapping):
        value = value.get("messages", [value])
    if isinstance(value, str):
        return (Message(role=role, parts=(Text(text=value),)),) if value else ()
    if not isinstance(value, list | tuple):
        return ()
    return tuple(_message(item, role) for item in value)


def _message(item: Any, role: Role) -> Message:
    if not isinstance(item, Mapping):
        return Message(role=role, parts=tuple(parts_of(item)))
    said = ROLES.get(str(item.get("role", "")).lower(), role)
    parts = [*parts_of(item.get("parts", item.get("content")))]
    parts += [_chat_call(call) for call in item.get("tool_calls") or () if isinstance(call, Mapping)]
    if said == "tool" and "tool_call_id" in item:
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        parts = [ToolResult(call_id=str(item["tool_call_id"]), text=text, name=str(item.get("name") or ""))]
    return Message(role=said, parts=tuple(parts))


def _chat_call(call: Mapping[str, Any]) -> ToolCall:
    """A tool call as OpenAI's chat format writes it: instrumentations of an earlier time pass it on."""
    return _call({"id": call.get("id"), **cast("Mapping[str, Any]", call.get("function") or call)})


def parts_of(value: Any) -> Iterable[Part]:
    """The parts in a value: a list of parts, one part, or a text."""
    value = value_of(value) if not isinstance(value, str) else value
    if value is None or value == "":
        return ()
    return [_part(item) for item in (value if isinstance(value, list | tuple) else (value,))]


def _part(item: Any) -> Part:
    if not isinstance(item, Mapping):
        return Text(text=text_of(item))
    make = _PARTS.get(str(item.get("type")))
    return make(item) if make is not None else Opaque(type=str(item.get("type", "")), data=dict(item))


def _call(item: Mapping[str, Any]) -> ToolCall:
    arguments, raw = arguments_of(item.get("arguments"))
    return ToolCall(
        id=str(item.get("id") or ""), name=str(item.get("name") or ""), arguments=arguments, raw=raw
    )


def arguments_of(value: Any) -> tuple[dict[str, Any], str]:
    """The arguments of a call: (object, "") or ({}, the text) if they are none."""
    if isinstance(value, Mapping):
        return dict(value), ""
    return decode_arguments(text_of(value))


def _result(item: Mapping[str, Any]) -> ToolResult:
    response = item.get("response", item.get("result", item.get("content")))
    return ToolResult(
        call_id=str(item.get("id") or ""),
        text=text_of(response),
        is_error=item.get("is_error") is True,
        name=str(item.get("name") or ""),
    )


def _written(item: Mapping[str, Any]) -> Text:
    return Text(text=text_of(item.get("content", item.get("text"))))


_PARTS: Final[dict[str, Callable[[Mapping[str, Any]], Part]]] = {
    "text": _written,
    "input_text": _written,
    "output_text": _written,
    "reasoning": lambda item: Thinking(text=text_of(item.get("content"))),
    "thinking": lambda item: Thinking(text=text_of(item.get("content"))),
    "tool_call": _call,
    "tool_call_response": _result,
}


def definitions_of(attribute: Any) -> tuple[ToolDefinition, ...]:
    """The tools on offer."""
    value = value_of(attribute)
    items = value if isinstance(value, list | tuple) else ()
    return tuple(_definition(value_of(item)) for item in items if isinstance(value_of(item), Mapping))


def _definition(item: Mapping[str, Any]) -> ToolDefinition:
    inner = item.get("function")
    facts = inner if isinstance(inner, Mapping) else item
    schema = facts.get("parameters")
    return ToolDefinition(
        name=str(facts.get("name") or ""),
        description=str(facts.get("description") or ""),
        schema=dict(schema) if isinstance(schema, Mapping) else {},
        type=str(item.get("type") or "function"),
    )


def finish_of(reasons: Any, output: Any) -> FinishReason:
    """Why the model stopped, from the list of reasons or from the messages that it said."""
    value = value_of(output)
    last = value[-1] if isinstance(value, list) and value else None
    said = [last.get("finish_reason")] if isinstance(last, Mapping) else []
    given = list(reasons) if isinstance(reasons, list | tuple) else [reasons]
    texts = [reason for reason in (*given, *said) if isinstance(reason, str)]
    return next((FINISHES[reason] for reason in texts if reason in FINISHES), "stop")


def written_part(part: Part) -> dict[str, Any]:
    """A part in the form of the conventions."""
    if isinstance(part, Text):
        return {"type": "text", "content": part.text}
    if isinstance(part, Thinking):
        return {"type": "reasoning", "content": part.text}
    if isinstance(part, ToolCall):
        arguments = part.raw or part.arguments
        return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": arguments}
    if isinstance(part, ToolResult):
        error = {"is_error": True} if part.is_error else {}
        named = {"name": part.name} if part.name else {}
        return {"type": "tool_call_response", "id": part.call_id, "response": part.text, **named, **error}
    data = part.data if isinstance(part.data, Mapping) else {"content": part.data}
    return {**data, "type": part.type}


def written_messages(messages: Iterable[Message]) -> str:
    """Messages as the attribute of the conventions: JSON text."""
    return json_of(
        [
            {"role": message.role, "parts": [written_part(part) for part in message.parts]}
            for message in messages
        ]
    )


def written_answer(parts: Iterable[Part], finish: FinishReason) -> str:
    """A reply as `gen_ai.output.messages`."""
    reason = "tool_call" if finish == "tool_calls" else finish
    written = [written_part(part) for part in parts]
    return json_of([{"role": "assistant", "parts": written, "finish_reason": reason}])


def written_definitions(tools: Iterable[ToolDefinition]) -> str:
    """Tools on offer as `gen_ai.tool.definitions`."""
    return json_of(
        [
            {"type": tool.type, "name": tool.name, "description": tool.description, "parameters": tool.schema}
            for tool in tools
        ]
    )
