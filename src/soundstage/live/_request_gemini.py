"""Gemini, asked for real: the request out. Pure.

Source: the provider's API reference for streamGenerateContent. Thinking is sent back only with its signature. A
signature of a part that is no thinking comes as an opaque part behind it, and goes back where it was: newer models
refuse a call without its own. A result needs the name of its function, which is that of its call.

A request made in process may say `max_tokens`, `temperature`, `top_p`, `top_k` and `stop`; they are translated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from soundstage.live._answer_gemini import SIGNATURE
from soundstage.live._request_format import LiveFormat
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

GENERATION: Final = {  # in process, and here
    "max_tokens": "maxOutputTokens",
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "stop": "stopSequences",
}


def encode(request: ModelRequest, _: str) -> dict[str, Any]:
    """The body that asks for a stream; the model is in the path."""
    system = list(takewhile(lambda message: message.role == "system", request.messages))
    body = {name: value for name, value in request.settings.items() if name != "alt"}
    if not request.format:
        body = _generation(body)
    names = {
        part.id: part.name
        for message in request.messages
        for part in message.parts
        if isinstance(part, ToolCall)
    }
    body["contents"] = _contents(request.messages[len(system) :], names)
    prompt = _parts([part for message in system for part in message.parts], names)
    if prompt:
        body["systemInstruction"] = {"parts": prompt}
    if request.tools:
        body["tools"] = list(_tools(request.tools))
    return body


def _generation(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that are not in this format's words, where it has them."""
    found = {name: value for name, value in settings.items() if name not in GENERATION}
    said = {GENERATION[name]: value for name, value in settings.items() if name in GENERATION}
    if isinstance(said.get("stopSequences"), str):
        said["stopSequences"] = [said["stopSequences"]]
    return found | {"generationConfig": {**said, **found.get("generationConfig", {})}} if said else found


def _contents(messages: Sequence[Message], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Turns: messages that follow each other in one role are one, and all but the model's are the user's."""
    found: list[dict[str, Any]] = []
    for message in messages:
        role = "model" if message.role == "assistant" else "user"
        parts = _parts(message.parts, names)
        if parts and found and found[-1]["role"] == role:
            found[-1]["parts"] += parts
        elif parts:
            found.append({"role": role, "parts": parts})
    return found


def _parts(parts: Iterable[Part], names: Mapping[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for part in parts:
        for made in _part(part, names):
            if found and made.keys() == {SIGNATURE}:
                found[-1] |= made
            else:
                found.append(made)
    return found


def _part(part: Part, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    if isinstance(part, Text):
        yield {"text": part.text}
    elif isinstance(part, Thinking):
        if part.signature:
            yield {"text": part.text, "thought": True, SIGNATURE: part.signature}
    elif isinstance(part, ToolCall):
        call = {"name": part.name, "args": part.arguments}
        yield {"functionCall": {"id": part.id, **call} if part.id else call}
    elif isinstance(part, ToolResult):
        yield {"functionResponse": _result(part, names)}
    elif isinstance(part.data, dict):
        yield part.data


def _result(result: ToolResult, names: Mapping[str, str]) -> dict[str, Any]:
    name = result.name or names.get(result.call_id) or result.call_id
    found: dict[str, Any] = {
        "name": name,
        "response": {"error" if result.is_error else "output": result.text},
    }
    if result.call_id:
        found["id"] = result.call_id
    return found | {"parts": list(result.extra)} if result.extra else found


def _tools(tools: Sequence[ToolDefinition]) -> Iterator[dict[str, Any]]:
    declared = [_declared(tool) for tool in tools if tool.type == "function"]
    if declared:
        yield {"functionDeclarations": declared}
    yield from (tool.schema for tool in tools if tool.type != "function")


def _declared(tool: ToolDefinition) -> dict[str, Any]:
    """A function. A schema in the provider's own words has its types in capitals."""
    found: dict[str, Any] = {"name": tool.name}
    if tool.description:
        found["description"] = tool.description
    own = str(tool.schema.get("type") or "").isupper()
    return found | {"parameters" if own else "parametersJsonSchema": tool.schema} if tool.schema else found


GEMINI: Final = LiveFormat(
    name="gemini",
    base_url="https://generativelanguage.googleapis.com",
    path="/v1beta/models/{model}:streamGenerateContent?alt=sse",
    key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    headers=lambda key: {"x-goog-api-key": key},
    forwarded=frozenset({"x-goog-user-project"}),
    encode=encode,
)
