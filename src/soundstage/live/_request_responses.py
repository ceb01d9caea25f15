"""OpenAI Responses, asked for real: the request out. Pure.

Source: the provider's API reference for creating a response. Reasoning is sent back only with its encrypted content:
without it the provider knows it by an id alone, which it may not keep. A request that came over our wire brings the
history that `previous_response_id` stands for, so that id, which is ours, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from soundstage.live._request_format import LiveFormat
from soundstage.messages import (
    Message,
    ModelRequest,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from soundstage.models.response_calls import (
    CallForm,
    built_in_item,
    built_in_output,
    calls_of,
    joined,
)

LIMIT: Final = ("max_tokens", "max_output_tokens")  # in process, and here
SAID: Final = ("output_text", "refusal")  # opaque parts that belong into a message


def encode(request: ModelRequest, model: str) -> dict[str, Any]:
    """The body that asks `model` for a stream."""
    settings = dict(request.settings)
    if request.format:
        settings.pop("previous_response_id", None)
    elif LIMIT[0] in settings:
        settings[LIMIT[1]] = settings.pop(LIMIT[0])
    instructions = request.messages[:1] if settings.get("instructions") and request.format else ()
    forms = _forms(request)
    items = [item for message in request.messages[len(instructions) :] for item in _items(message, forms)]
    body: dict[str, Any] = {"model": model, "input": items, **settings, "stream": True}
    return body | {"tools": list(_tools(request.tools))} if request.tools else body


def _forms(request: ModelRequest) -> Callable[[ToolCall | ToolResult], CallForm]:
    """The forms of calls, and those of the calls that results answer."""
    of_name = calls_of(request.tools)
    called = {
        part.id: of_name(part.name)
        for message in request.messages
        for part in message.parts
        if isinstance(part, ToolCall)
    }

    def form(part: ToolCall | ToolResult) -> CallForm:
        if isinstance(part, ToolCall):
            return of_name(part.name)
        return called.get(part.call_id) or CallForm("function_call", part.name)

    return form


def _items(message: Message, form: Callable[[ToolCall | ToolResult], CallForm]) -> Iterator[dict[str, Any]]:
    """The items for a message. What an app says in one message stays together; the model's parts are items each."""
    if message.role == "assistant":
        for part in message.parts:
            yield from _said(part, form)
        return
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield _result(part, form(part))
    said = [part for part in message.parts if isinstance(part, Text | Opaque)]
    if message.role == "tool":
        yield from (part.data for part in said if isinstance(part, Opaque))
    elif len(said) == 1 and isinstance(said[0], Text):
        yield {"role": message.role, "content": said[0].text}
    elif said:
        content = [_given(part.text) if isinstance(part, Text) else part.data for part in said]
        yield {"role": message.role, "content": content}


def _given(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _said(part: Part, form: Callable[[ToolCall | ToolResult], CallForm]) -> Iterator[dict[str, Any]]:
    if isinstance(part, Text):
        yield {"role": "assistant", "content": part.text}
    elif isinstance(part, Thinking):
        if part.signature:
            summary = [{"type": "summary_text", "text": part.text}] if part.text else []
            yield {"type": "reasoning", "summary": summary, "encrypted_content": part.signature}
    elif isinstance(part, ToolCall):
        yield _call(part, form(part))
    elif isinstance(part, ToolResult):
        yield _result(part, form(part))
    elif part.type in SAID:
        yield {"role": "assistant", "content": [part.data]}
    elif isinstance(part.data, dict) and "type" in part.data:  # an item, not a field of one
        yield part.data


def _call(call: ToolCall, form: CallForm) -> dict[str, Any]:
    if form.tool and not call.raw:
        return built_in_item(form.tool, call.id, call.id, call.arguments, "completed")
    named = {"namespace": form.namespace} if form.namespace else {}
    if form.kind == "custom_tool_call":
        taken = {"input": call.raw if call.raw or not call.arguments else call.arguments_json}
    else:
        taken = {"arguments": call.arguments_json}
    kind = "function_call" if form.tool else form.kind
    return {"type": kind, "call_id": call.id, "name": form.name, **taken, **named}


def _result(result: ToolResult, form: CallForm) -> dict[str, Any]:
    if form.tool:
        return built_in_output(form.tool, result)
    output: Any = result.text
    if result.extra:
        output = [*([_given(result.text)] if result.text else []), *result.extra]
    return {"type": f"{form.kind}_output", "call_id": result.call_id, "output": output}


def _tools(tools: Sequence[ToolDefinition]) -> Iterator[dict[str, Any]]:
    """The tools; those of a namespace are inside of it."""
    for namespace, group in groupby(tools, key=attrgetter("namespace")):
        shown = [_tool(tool) for tool in group]
        if namespace:
            yield {"type": "namespace", "name": namespace, "description": namespace, "tools": shown}
        else:
            yield from shown


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    """A tool. Not strict: the provider would otherwise refuse schemas that do not fit its own rules."""
    if tool.type != "function":
        return tool.schema
    name = tool.name.removeprefix(joined(tool.namespace, ""))
    found = {"type": "function", "name": name, "parameters": tool.schema, "strict": False}
    return found | {"description": tool.description} if tool.description else found


RESPONSES: Final = LiveFormat(
    name="openai-responses",
    base_url="https://api.openai.com/v1",
    path="/responses",
    key_variables=("OPENAI_API_KEY",),
    headers=lambda key: {"authorization": f"Bearer {key}"},
    forwarded=frozenset({"openai-organization", "openai-project", "openai-beta"}),
    encode=encode,
)
