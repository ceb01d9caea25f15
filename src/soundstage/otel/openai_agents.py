"""Spans of the GenAI conventions for the OpenAI Agents SDK (`openai-agents`).

    from agents import set_trace_processors
    from soundstage.otel.openai_agents import AgentsTracing

    set_trace_processors([AgentsTracing(provider)])

`set_trace_processors` replaces the SDK's own processor, which sends traces to the provider's service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agents.tracing import Span, Trace, TracingProcessor
from opentelemetry.sdk.trace import TracerProvider

from soundstage.otel import _names as names
from soundstage.otel._content import arguments_of, json_of, text_of
from soundstage.otel._tracer import SpanMaker

__all__ = ["AgentsTracing"]


class AgentsTracing(TracingProcessor):
    """A tracing processor that makes OpenTelemetry spans.

    Args:
        provider: where the spans go.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self._spans = SpanMaker(provider, "openai_agents")
        self._conversations: dict[str, str] = {}

    def on_trace_start(self, trace: Trace) -> None:
        """A run of agents begins."""
        conversation = self._conversations[trace.trace_id] = str(getattr(trace, "group_id", None) or "")
        attributes = {names.WORKFLOW: trace.name, names.CONVERSATION: conversation}
        self._spans.begin(trace.trace_id, None, "invoke_workflow", trace.name, **attributes)

    def on_trace_end(self, trace: Trace) -> None:
        """A run of agents is over."""
        self._conversations.pop(trace.trace_id, None)
        self._spans.end(trace.trace_id, {})

    def on_span_start(self, span: Span[Any]) -> None:
        """Something begins."""
        data = span.span_data
        operation, name = _OPERATIONS.get(data.type, ("", data.type))
        named = str(getattr(data, "name", "") or "") if operation else name
        attributes = {names.CONVERSATION: self._conversations.get(span.trace_id)}
        if data.type == "agent":
            attributes[names.AGENT] = named
        self._spans.begin(
            span.span_id,
            span.parent_id or span.trace_id,
            operation or name,
            named if operation else "",
            **attributes,
        )

    def on_span_end(self, span: Span[Any]) -> None:
        """Something is over; now its data is complete."""
        read = _READ.get(span.span_data.type)
        attributes = read(span.span_data) if read is not None else {}
        error = span.error
        if error is None:
            self._spans.end(span.span_id, attributes)
            return
        message = f"{error['message']}: {json_of(error['data'])}" if error.get("data") else error["message"]
        self._spans.end(span.span_id, attributes | {names.ERROR: "error"}, error=message)

    def force_flush(self) -> None:
        """Have everything exported."""
        self._spans.flush()

    def shutdown(self) -> None:
        """The same, at the end."""
        self._spans.flush()


_OPERATIONS: Final = {
    "agent": ("invoke_agent", ""),
    "response": ("chat", ""),
    "generation": ("chat", ""),
    "function": ("execute_tool", ""),
    "handoff": ("handoff", ""),
}


def _function(data: Any) -> dict[str, Any]:
    return {
        names.TOOL: data.name,
        names.TOOL_TYPE: "function",
        names.CALL_ARGUMENTS: data.input,
        names.CALL_RESULT: None if data.output is None else text_of(data.output),
    }


def _handoff(data: Any) -> dict[str, Any]:
    return {names.HANDOFF_FROM: data.from_agent, names.HANDOFF_TO: data.to_agent}


def _response(data: Any) -> dict[str, Any]:
    """A call of the Responses API."""
    response = data.response
    asked = {names.PROVIDER: "openai", names.INPUT: json_of(_messages(data.input)), **_tokens(data.usage)}
    if response is None:
        return asked
    instructions = response.instructions
    return asked | {
        names.REQUEST_MODEL: response.model,
        names.RESPONSE_MODEL: response.model,
        names.RESPONSE_ID: response.id,
        names.INSTRUCTIONS: json_of([{"type": "text", "content": instructions}])
        if isinstance(instructions, str)
        else None,
        names.DEFINITIONS: json_of([tool.model_dump(exclude_none=True) for tool in response.tools]),
        names.OUTPUT: json_of(_messages([item.model_dump() for item in response.output], "assistant")),
    }


def _generation(data: Any) -> dict[str, Any]:
    """A call of the chat completions API, or of another provider through it."""
    output = [item for one in data.output or () for item in one.get("output", (one,))]
    return {
        names.REQUEST_MODEL: data.model,
        names.INPUT: json_of(_messages(data.input)),
        names.OUTPUT: json_of(_messages(output, "assistant")) if output else None,
        **_tokens(data.usage),
    }


def _tokens(usage: Mapping[str, Any] | None) -> dict[str, Any]:
    if not usage:
        return {}
    details = usage.get("input_tokens_details") or {}
    return {
        names.INPUT_TOKENS: usage.get("input_tokens"),
        names.OUTPUT_TOKENS: usage.get("output_tokens"),
        names.CACHE_READ: details.get("cached_tokens") or None,
    }


_READ: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "function": _function,
    "handoff": _handoff,
    "response": _response,
    "generation": _generation,
}


def _messages(items: Any, role: str = "user") -> list[dict[str, Any]]:
    """Items of the Responses API, and messages of the chat format, in the form of the conventions."""
    if isinstance(items, str):
        return [{"role": role, "parts": [{"type": "text", "content": items}]}]
    found: list[dict[str, Any]] = []
    for item in items or ():
        said, parts = _item(item, role)
        if found and found[-1]["role"] == said:
            found[-1]["parts"] += parts
        else:
            found.append({"role": said, "parts": parts})
    return found


def _item(item: Mapping[str, Any], role: str) -> tuple[str, list[dict[str, Any]]]:
    kind = item.get("type")
    if kind == "function_call":
        return "assistant", [_call(item.get("call_id"), item)]
    if kind == "function_call_output":
        return "tool", [_result(item.get("call_id"), item.get("output"))]
    if kind == "reasoning":
        texts = [part.get("text", "") for part in item.get("summary") or ()]
        return "assistant", [{"type": "reasoning", "content": "\n".join(texts)}]
    if item.get("role") == "tool":
        return "tool", [_result(item.get("tool_call_id"), item.get("content"))]
    parts = _texts(item.get("content"))
    parts += [_call(call.get("id"), call.get("function") or {}) for call in item.get("tool_calls") or ()]
    return str(item.get("role") or role), parts


def _call(identity: Any, call: Mapping[str, Any]) -> dict[str, Any]:
    arguments, raw = arguments_of(call.get("arguments"))
    return {"type": "tool_call", "id": identity, "name": call.get("name"), "arguments": raw or arguments}


def _result(identity: Any, output: Any) -> dict[str, Any]:
    parts = output if isinstance(output, Sequence) and not isinstance(output, str) else None
    text = "\n".join(str(part.get("text", "")) for part in parts) if parts is not None else text_of(output)
    return {"type": "tool_call_response", "id": identity, "response": text}


def _texts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "content": content}] if content else []
    return [
        {"type": "text", "content": part["text"]} if "text" in part else dict(part) for part in content or ()
    ]
