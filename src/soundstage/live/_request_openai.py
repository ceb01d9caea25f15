"""OpenAI Chat Completions, asked for real: the request out. Pure.

Source: the provider's API reference for chat completions. Thinking that an app sends back is left out, because the
format has no place for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from soundstage.live._request_format import LiveFormat, content
from soundstage.messages import (
    Message,
    ModelRequest,
    Opaque,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
)


def encode(request: ModelRequest, model: str) -> dict[str, Any]:
    """The body that asks `model` for a stream."""
    options = request.settings.get("stream_options")
    body: dict[str, Any] = {
        "model": model,
        "messages": [entry for message in request.messages for entry in _messages(message)],
        **request.settings,
        "stream": True,
        "stream_options": {**(options if isinstance(options, dict) else {}), "include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def _messages(message: Message) -> Iterator[dict[str, Any]]:
    """The entries for a message: each tool result is one of its own."""
    for part in message.parts:
        if isinstance(part, ToolResult):
            given = content([Text(text=part.text)]) if not part.extra else _with_extra(part)
            yield {"role": "tool", "tool_call_id": part.call_id, "content": given}
    said = [part for part in message.parts if isinstance(part, Text | Opaque)]
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCall)]
    if message.role == "tool" or not (said or calls):
        return
    entry: dict[str, Any] = {"role": message.role, "content": content(said) if said else None}
    yield entry | {"tool_calls": calls} if calls else entry


def _with_extra(result: ToolResult) -> list[Any]:
    return [{"type": "text", "text": result.text}, *result.extra] if result.text else list(result.extra)


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments_json}
    return {"id": call.id, "type": "function", "function": function}


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    if tool.type != "function":
        return tool.schema
    function: dict[str, Any] = {"name": tool.name, "parameters": tool.schema}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


OPENAI: Final = LiveFormat(
    name="openai-chat",
    base_url="https://api.openai.com/v1",
    path="/chat/completions",
    key_variables=("OPENAI_API_KEY",),
    headers=lambda key: {"authorization": f"Bearer {key}"},
    forwarded=frozenset({"openai-organization", "openai-project", "openai-beta"}),
    encode=encode,
)
