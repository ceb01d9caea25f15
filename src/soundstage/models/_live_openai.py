"""OpenAI Chat Completions, asked for real: the request out, the stream in. Pure.

Source: the provider's API reference for chat completions and their chunks. Thinking that an app sends back is
left out, because the format has no place for it; `reasoning_content` of compatible servers is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from soundstage.messages import (
    FinishChunk,
    FinishReason,
    Message,
    ModelChunk,
    ModelRequest,
    Opaque,
    Text,
    TextChunk,
    ThinkingChunk,
    ToolCall,
    ToolCallChunk,
    ToolDefinition,
    ToolResult,
    Usage,
)
from soundstage.models._live_format import LiveFormat, content, provider_error, read_json
from soundstage.models._live_sse import SseEvent

FINISH: Final[dict[str, FinishReason]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "server_error": 500,
}


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


class ChatDecoder:
    """Chunks of the first choice. Blocks are numbered as they appear: thinking, text, each tool call."""

    def __init__(self) -> None:
        self.model = ""
        self.done = False
        self._blocks: dict[object, int] = {}
        self._finish: FinishReason | None = None
        self._usage = Usage()

    def feed(self, event: SseEvent) -> Iterator[ModelChunk]:
        """See `Decoder.feed`."""
        if event.data.strip() == "[DONE]":
            self.done = True
            return
        given = read_json(event)
        if given.get("error"):
            raise provider_error(given["error"], STATUSES)
        self.model = self.model or str(given.get("model") or "")
        if isinstance(given.get("usage"), dict):
            self._usage = _usage(given["usage"])
        for choice in given.get("choices") or ():
            if choice.get("index", 0) == 0:
                yield from self._delta(choice.get("delta") or {})
                reason = choice.get("finish_reason")
                if reason:
                    self._finish = FINISH.get(reason, "stop")

    def _delta(self, delta: dict[str, Any]) -> Iterator[ModelChunk]:
        if delta.get("reasoning_content"):
            yield ThinkingChunk(index=self._block("thinking"), text=delta["reasoning_content"])
        text = delta.get("content") or delta.get("refusal")
        if text:
            yield TextChunk(index=self._block("text"), text=text)
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            yield ToolCallChunk(
                index=self._block(call.get("index", 0)),
                id=call.get("id") or "",
                name=function.get("name") or "",
                arguments=function.get("arguments") or "",
            )

    def _block(self, key: object) -> int:
        return self._blocks.setdefault(key, len(self._blocks))

    def finish(self) -> FinishChunk | None:
        """See `Decoder.finish`."""
        if self._finish is None:
            return None
        return FinishChunk(finish=self._finish, usage=self._usage, model=self.model)


def _usage(given: dict[str, Any]) -> Usage:
    asked, said = given.get("prompt_tokens") or 0, given.get("completion_tokens") or 0
    cached = (given.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Usage(input_tokens=max(asked - cached, 0), output_tokens=said, cache_read_tokens=cached)


OPENAI: Final = LiveFormat(
    name="openai-chat",
    base_url="https://api.openai.com/v1",
    path="/chat/completions",
    key_variable="OPENAI_API_KEY",
    headers=lambda key: {"authorization": f"Bearer {key}"},
    forwarded=frozenset({"openai-organization", "openai-project", "openai-beta"}),
    encode=encode,
    decoder=ChatDecoder,
)
