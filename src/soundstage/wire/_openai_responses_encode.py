"""OpenAI Responses, the way out: the items of a reply and the response object.

Source: the provider's API reference for the response object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.messages import (
    FinishChunk,
    FinishReason,
    ModelRequest,
    ModelResponse,
    Opaque,
    OpaqueChunk,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
    decode_arguments,
)
from soundstage.models.response_calls import CALLS, CallForm, built_in_item, calls_of, joined
from soundstage.wire import _openai
from soundstage.wire._codec import AnswerStamp
from soundstage.wire._parts import SEAL, is_field
from soundstage.wire._sse import encode_json

OF_TEXT: Final = ("annotations", "logprobs")  # fields of a text in an item; others are the item's
STATUS: Final[dict[FinishReason, str]] = {
    "stop": "completed",
    "tool_calls": "completed",
    "pause": "completed",
    "length": "incomplete",
    "content_filter": "incomplete",
    "error": "failed",
}
REASONS: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
FAILED: Final = {"code": "server_error", "message": "The model stopped with an error."}
TIERS: Final = {"fast": "priority", "priority": "priority", "flex": "flex"}  # asked -> served
SEALED: Final = "reasoning.encrypted_content"
ECHOED: Final[dict[str, Any]] = {  # what the response repeats of the request, and its default
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "tool_choice": "auto",
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


class ItemEventNames(NamedTuple):
    """The names of the events of one kind of item."""

    prefix: str  # of the item's id
    text: str  # the events for its text
    field: str  # of the done event that repeats the whole text
    part: str = ""  # the events for the part that the text is in, if it is in one
    numbered: str = ""  # the field with the number of that part
    empty: str = ""  # the text of an item that never got any


GRAMMAR: Final = {
    "message": ItemEventNames("msg", "output_text", "text", "content_part", "content_index"),
    "reasoning": ItemEventNames(
        "rs", "reasoning_summary_text", "text", "reasoning_summary_part", "summary_index"
    ),
    "function_call": ItemEventNames("fc", "function_call_arguments", "arguments", empty="{}"),
    "custom_tool_call": ItemEventNames("ctc", "custom_tool_call_input", "input"),
    **{shape.kind: ItemEventNames(shape.prefix, "", "", empty="{}") for shape in CALLS.values()},
}


class OutputItem:
    """One item that text is added to: the `number`th of the response.

    It builds the finished item of a streamed reply and of a complete one, so these cannot differ. `place` is
    where events say their text belongs, `marks` what they say about each piece of it.
    """

    __slots__ = (
        "call_id",
        "called",
        "fields",
        "grammar",
        "id",
        "kind",
        "marks",
        "number",
        "pieces",
        "place",
        "signature",
    )

    def __init__(self, called: str | CallForm, number: int, stamp: AnswerStamp, call_id: str = "") -> None:
        self.called = called if isinstance(called, CallForm) else CallForm(called, "")
        kind = self.kind = self.called.kind
        self.grammar = GRAMMAR[kind]
        self.number = number
        self.id = f"{self.grammar.prefix}_{stamp.id}_{number}"
        self.place: dict[str, Any] = {"item_id": self.id, "output_index": number}
        if self.grammar.numbered:
            self.place[self.grammar.numbered] = 0
        self.marks: dict[str, Any] = {"logprobs": []} if kind == "message" else {}
        self.call_id = call_id
        self.pieces: list[str] = []
        self.signature = ""
        self.fields: dict[str, Any] = {}  # that stand beside its text

    @property
    def text(self) -> str:
        """All text so far."""
        return "".join(self.pieces) or self.grammar.empty

    def part(self, text: str) -> dict[str, Any]:
        """The part that holds the text."""
        if self.kind == "reasoning":
            return {"type": "summary_text", "text": text}
        beside = {name: self.fields.get(name, []) for name in OF_TEXT}
        return {"type": "output_text", **beside, "text": text}

    def announced(self) -> dict[str, Any]:
        """The item before it has any text."""
        return self._item([], "", "in_progress")

    def finished(self, status: str) -> dict[str, Any]:
        """The item with all its text."""
        text = self.text
        parts = [self.part(text)] if text or self.kind == "message" else []
        own = {name: value for name, value in self.fields.items() if name not in OF_TEXT}
        return self._item(parts, text, status) | own

    def _item(self, parts: list[dict[str, Any]], text: str, status: str) -> dict[str, Any]:
        head = {"id": self.id, "type": self.kind}
        if self.kind == "message":
            return {**head, "status": status, "role": "assistant", "content": parts}
        if self.kind == "reasoning":
            sealed = {"encrypted_content": self.signature} if self.signature else {}
            return {**head, "summary": parts, **sealed}
        if self.called.tool:
            return self._built_in(text, status)
        call = {"call_id": self.call_id, "name": self.called.name, self.grammar.field: text}
        if self.called.namespace:
            call["namespace"] = self.called.namespace
        return {**head, "status": status, **call}

    def _built_in(self, text: str, status: str) -> dict[str, Any]:
        """A call of a built-in tool. Its items have no place for what is no object: that stays a function's call."""
        arguments, raw = decode_arguments(text)
        if not raw:
            return built_in_item(self.called.tool, self.id, self.call_id, arguments, status)
        call = {"call_id": self.call_id, "name": self.called.name, "arguments": raw}
        return {"id": self.id, "type": "function_call", "status": status, **call}


def whole(part: Opaque | OpaqueChunk | ToolResult) -> dict[str, Any]:
    """The item for a block that has no grammar."""
    if isinstance(part, ToolResult):
        return {"type": "function_call_output", "call_id": part.call_id, "output": part.text}
    data = part.data if isinstance(part.data, dict) else {"data": part.data}
    item = {"type": part.type, **data}
    if part.type == "refusal":
        return {"type": "message", "status": "completed", "role": "assistant", "content": [item]}
    return item


def _with_fields(parts: Sequence[Part]) -> list[tuple[Part, dict[str, Any]]]:
    """The parts that are items, each with the opaque parts behind it that are fields."""
    found: list[tuple[Part, dict[str, Any]]] = []
    for part in parts:
        if found and isinstance(part, Opaque) and is_field(part) and not isinstance(found[-1][0], Opaque):
            found[-1][1].update(part.data)
        else:
            found.append((part, {}))
    return found


def _encode_part(
    part: Part,
    fields: dict[str, Any],
    number: int,
    stamp: AnswerStamp,
    calls: Callable[[str], CallForm],
    status: str,
    seal: str,
) -> bytes:
    """The item for one part of a complete reply."""
    if isinstance(part, Opaque | ToolResult):
        return encode_json(whole(part))
    if isinstance(part, ToolCall):
        item = OutputItem(calls(part.name), number, stamp, part.id)
        item.pieces.append(part.arguments_json if part.arguments else part.raw)
    else:
        item = OutputItem("message" if isinstance(part, Text) else "reasoning", number, stamp)
        item.pieces.append(part.text)
        item.signature = part.signature or seal if isinstance(part, Thinking) else ""
    item.fields = fields
    return encode_json(item.finished(status))


def seal_of(request: ModelRequest) -> str:
    """A stand-in signature for reasoning without one, if the request asks for it."""
    return SEAL if SEALED in (request.settings.get("include") or ()) else ""


def last_status(status: str) -> str:
    """The status of the last item of a reply; earlier items are always complete."""
    return "completed" if status == "completed" else "incomplete"


class ResponseObject:
    """The response object. What never changes in it is encoded once."""

    __slots__ = ("_constant", "_request", "_stamp")

    def __init__(self, request: ModelRequest, stamp: AnswerStamp) -> None:
        self._request = request
        self._stamp = stamp
        constant = {"id": f"resp_{stamp.id}", "object": "response", "created_at": stamp.created}
        self._constant = encode_json(constant | _echo(request))[:-1]

    def started(self) -> bytes:
        """The response before it has any item."""
        return self._encode({"status": "in_progress", "model": self._request.model})

    def failed(self, items: list[bytes], error: dict[str, Any]) -> bytes:
        """The response that broke off with `error`."""
        return self._encode({"status": "failed", "model": self._request.model, "error": error}, items)

    def finished(self, finish: FinishChunk | ModelResponse, items: list[bytes]) -> bytes:
        """The whole response."""
        status = STATUS[finish.finish]
        reason = REASONS.get(finish.finish)
        return self._encode(
            {
                "status": status,
                "model": finish.model or self._request.model,
                "completed_at": self._stamp.created if status == "completed" else None,
                "error": FAILED if status == "failed" else None,
                "incomplete_details": {"reason": reason} if reason else None,
                "usage": _usage(finish.usage),
            },
            items,
        )

    def _encode(self, fields: dict[str, Any], items: list[bytes] | None = None) -> bytes:
        changing = {
            "completed_at": None,
            "error": None,
            "incomplete_details": None,
            "usage": None,
            "output": [msgspec.Raw(item) for item in items or ()],
            **fields,
        }
        return self._constant + b"," + encode_json(changing)[1:]


def encode(response: ModelResponse, request: ModelRequest, stamp: AnswerStamp) -> bytes:
    """See `Codec.encode`."""
    calls = calls_of(request.tools)
    seal = seal_of(request)
    parts = _with_fields(response.parts)
    last = len(parts) - 1
    ending = last_status(STATUS[response.finish])
    items = [
        _encode_part(part, fields, number, stamp, calls, ending if number == last else "completed", seal)
        for number, (part, fields) in enumerate(parts)
    ]
    return ResponseObject(request, stamp).finished(response, items)


def _echo(request: ModelRequest) -> dict[str, Any]:
    settings = request.settings
    echo = {
        name: default if settings.get(name) is None else settings[name] for name, default in ECHOED.items()
    }
    echo["tools"] = _offered(request.tools)
    echo["text"] = {"format": {"type": "text"}, "verbosity": "medium"} | _given(settings, "text")
    echo["reasoning"] = {"effort": None, "summary": None} | _given(settings, "reasoning")
    echo["service_tier"] = TIERS.get(str(settings.get("service_tier")), "default")
    return echo


def _given(settings: dict[str, Any], name: str) -> dict[str, Any]:
    value = settings.get(name)
    return value if isinstance(value, dict) else {}


def _offered(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """The tools as they were offered; the description of a namespace is not kept."""
    found: list[dict[str, Any]] = []
    for namespace, group in groupby(tools, key=attrgetter("namespace")):
        shown = [_tool(tool) for tool in group]
        if namespace:
            found.append({"type": "namespace", "name": namespace, "description": "", "tools": shown})
        else:
            found.extend(shown)
    return found


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    """The tool as it was offered; whether a function is strict is not kept."""
    if tool.type != "function":
        return tool.schema
    name = tool.name.removeprefix(joined(tool.namespace, ""))
    described = {"name": name, "description": tool.description or None}
    return {"type": "function", **described, "parameters": tool.schema, "strict": None}


def _usage(usage: Usage) -> dict[str, Any]:
    given = _openai.input_tokens(usage)
    cached = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens}
    return {
        "input_tokens": given,
        "input_tokens_details": cached,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + usage.output_tokens,
    }
