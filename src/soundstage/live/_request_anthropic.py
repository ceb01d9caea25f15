"""Anthropic Messages, asked for real: the request out. Pure.

Source: the provider's API reference for messages. Thinking is sent back only with its signature, because the provider
refuses it without.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Final

from soundstage.live._request_format import LiveFormat, content
from soundstage.messages import (
    Message,
    ModelRequest,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
)

CHANGES: Final = ("tool_addition", "tool_removal")  # the tools of a request are those after all changes
MAX_TOKENS: Final = 4096  # the format insists on a limit; this one is for requests that name none


def encode(request: ModelRequest, model: str) -> dict[str, Any]:
    """The body that asks `model` for a stream."""
    system = list(takewhile(lambda message: message.role == "system", request.messages))
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": MAX_TOKENS,
        **request.settings,
        "messages": _messages(request.messages[len(system) :]),
        "stream": True,
    }
    prompt = [part for message in system for part in message.parts]
    if prompt:
        body["system"] = content(prompt)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def _messages(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Turns: what follows each other in one role is one message, and tool results are the user's."""
    found: list[dict[str, Any]] = []
    for message in messages:
        role = "user" if message.role == "tool" else message.role
        blocks = [block for part in message.parts for block in _block(part)]
        if not blocks:
            continue
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        else:
            found.append({"role": role, "content": blocks})
    return found


def _block(part: Part) -> Iterator[dict[str, Any]]:
    if isinstance(part, Text):
        yield {"type": "text", "text": part.text}
    elif isinstance(part, Thinking):
        if part.signature:
            yield {"type": "thinking", "thinking": part.text, "signature": part.signature}
    elif isinstance(part, ToolCall):
        yield {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
    elif isinstance(part, ToolResult):
        yield _result(part)
    elif part.type not in CHANGES:
        yield part.data


def _result(result: ToolResult) -> dict[str, Any]:
    text = ({"type": "text", "text": result.text},) if result.text else ()
    found = {"type": "tool_result", "tool_use_id": result.call_id, "content": [*text, *result.extra]}
    return found | {"is_error": True} if result.is_error else found


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    if tool.type != "function":
        return tool.schema
    found: dict[str, Any] = {"name": tool.name, "input_schema": tool.schema or {"type": "object"}}
    return found | {"description": tool.description} if tool.description else found


ANTHROPIC: Final = LiveFormat(
    name="anthropic",
    base_url="https://api.anthropic.com",
    path="/v1/messages",
    key_variables=("ANTHROPIC_API_KEY",),
    headers=lambda key: {"x-api-key": key, "anthropic-version": "2023-06-01"},
    forwarded=frozenset({"anthropic-version", "anthropic-beta"}),
    encode=encode,
)
