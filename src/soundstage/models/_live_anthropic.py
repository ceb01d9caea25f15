"""Anthropic Messages, asked for real: the request out, the stream in. Pure.

Source: the provider's API reference for messages and for streamed messages. Thinking is sent back only with
its signature, because the provider refuses it without. Blocks of types that we do not know come as one opaque
chunk when they are complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, Final

from soundstage.messages import (
    FinishChunk,
    FinishReason,
    Message,
    ModelChunk,
    ModelRequest,
    OpaqueChunk,
    Part,
    Text,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolCall,
    ToolCallChunk,
    ToolDefinition,
    ToolResult,
    Usage,
    decode_arguments,
)
from soundstage.models._live_format import LiveFormat, content, provider_error, read_json
from soundstage.models._live_sse import SseEvent

MAX_TOKENS: Final = 4096  # the format insists on a limit; this one is for requests that name none
FINISH: Final[dict[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "refusal": "content_filter",
}
STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


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
    else:
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


class MessageDecoder:
    """Blocks as they are streamed."""

    def __init__(self) -> None:
        self.model = ""
        self.done = False
        self._finish: FinishReason | None = None
        self._usage: dict[str, int] = {}
        self._opaque: dict[int, tuple[dict[str, Any], list[str]]] = {}  # open blocks of unknown types
        self._events: Final[dict[str, Callable[[dict[str, Any]], Iterator[ModelChunk]]]] = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
        }

    def feed(self, event: SseEvent) -> Iterator[ModelChunk]:
        """See `Decoder.feed`."""
        given = read_json(event)
        kind = given.get("type")
        if kind == "error":
            raise provider_error(given.get("error"), STATUSES)
        self.done = self.done or kind == "message_stop"
        handle = self._events.get(str(kind))
        if handle is not None:
            yield from handle(given)

    def _message_start(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        message = given.get("message") or {}
        self.model = str(message.get("model") or "")
        self._count(message.get("usage"))
        yield from ()

    def _block_start(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        index, block = given["index"], given.get("content_block") or {}
        kind = block.get("type")
        if kind == "text":
            if block.get("text"):
                yield TextChunk(index=index, text=block["text"])
        elif kind == "thinking":
            if block.get("thinking"):
                yield ThinkingChunk(index=index, text=block["thinking"])
        elif kind == "tool_use":
            yield ToolCallChunk(index=index, id=block.get("id") or "", name=block.get("name") or "")
        else:
            self._opaque[index] = (block, [])

    def _delta(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        index, delta = given["index"], given.get("delta") or {}
        kind = delta.get("type")
        if index in self._opaque:
            self._opaque[index][1].append(str(delta.get("partial_json") or ""))
        elif kind == "text_delta":
            yield TextChunk(index=index, text=delta["text"])
        elif kind == "thinking_delta":
            yield ThinkingChunk(index=index, text=delta["thinking"])
        elif kind == "signature_delta":
            yield ThinkingChunk(index=index, signature=delta["signature"])
        elif kind == "input_json_delta":
            yield ToolCallChunk(index=index, arguments=delta["partial_json"])

    def _block_stop(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        block, pieces = self._opaque.pop(given["index"], ({}, []))
        if block:
            arguments, _ = decode_arguments("".join(pieces))
            data = block | {"input": arguments} if arguments else block
            yield OpaqueChunk(index=given["index"], type=str(block.get("type")), data=data)

    def _message_delta(self, given: dict[str, Any]) -> Iterator[ModelChunk]:
        reason = (given.get("delta") or {}).get("stop_reason")
        if reason:
            self._finish = FINISH.get(reason, "stop")
        self._count(given.get("usage"))
        yield from ()

    def _count(self, usage: Any) -> None:
        """Later counts replace earlier ones; what is not counted again stays."""
        if isinstance(usage, dict):
            self._usage |= {key: value for key, value in usage.items() if isinstance(value, int)}

    def finish(self) -> FinishChunk | None:
        """See `Decoder.finish`."""
        if self._finish is None or not self.done:
            return None
        usage = Usage(
            input_tokens=self._usage.get("input_tokens", 0),
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=self._usage.get("cache_read_input_tokens", 0),
            cache_write_tokens=self._usage.get("cache_creation_input_tokens", 0),
        )
        return FinishChunk(finish=self._finish, usage=usage, model=self.model)


ANTHROPIC: Final = LiveFormat(
    name="anthropic",
    base_url="https://api.anthropic.com",
    path="/v1/messages",
    key_variable="ANTHROPIC_API_KEY",
    headers=lambda key: {"x-api-key": key, "anthropic-version": "2023-06-01"},
    forwarded=frozenset({"anthropic-version", "anthropic-beta"}),
    encode=encode,
    decoder=MessageDecoder,
)
