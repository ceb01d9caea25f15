"""Recorded replies as a script has them: the plainest form that says the same. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from soundstage.clock import IdSource
from soundstage.messages import (
    ModelRequest,
    ModelResponse,
    Opaque,
    Part,
    StartChunk,
    Text,
    Thinking,
    ToolCall,
)
from soundstage.models import BlockSpec, CallSpec, ErrorSpec, Reply, ReplyFault
from soundstage.tapes._exchange import RecordedExchange, RecordedFailure

_RETRY: Final = "retry-after"
_AGAIN: Final = "x-should-retry"


def reply_of(exchange: RecordedExchange, request: ModelRequest) -> tuple[Reply, list[str]]:
    """The reply of a rule that answers as recorded, and what of it a script cannot say."""
    failure, response = exchange.failure, exchange.response
    if failure is not None and failure.type == "error":
        lost = ["an error within the answer: what came before it is left out"] if _said(response) else []
        return Reply(error=_error(failure)), lost
    lost = []
    if response is not None and response.stopped_by:
        lost.append(f"the stop sequence {response.stopped_by!r} that ended it is left out")
    fields = _content(response) if response is not None else {}
    fields.update(_about(response, request, lost) if response is not None and failure is None else {})
    if failure is not None:
        fields["fault"] = _fault(failure, fields, request)
    elif not _has_content(fields):
        fields = {
            **fields,
            "fault": ReplyFault(type="empty"),
            "finish": response.finish if response else None,
        }
        fields.pop("blocks", None)
    return Reply(**fields), lost


def _said(response: ModelResponse | None) -> bool:
    return response is not None and bool(response.parts)


def _has_content(fields: Mapping[str, Any]) -> bool:
    return any(fields.get(name) for name in ("text", "blocks", "tool_calls"))


def _error(failure: RecordedFailure) -> ErrorSpec:
    headers = dict(failure.headers)
    after = _seconds(headers.get(_RETRY, ""))
    if after is not None:
        del headers[_RETRY]
    again = {"true": True, "false": False}.get(headers.get(_AGAIN, ""))
    if again is not None:
        del headers[_AGAIN]
    return ErrorSpec(
        status=failure.status if 400 <= failure.status <= 599 else 500,
        type=failure.kind,
        message=failure.message,
        code=failure.code,
        retry_after=after,
        should_retry=again,
        headers=headers,
    )


def _seconds(text: str) -> float | None:
    """Seconds, if a script writes them in the same words."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if found >= 0 and f"{found:g}" == text else None


def _content(response: ModelResponse) -> dict[str, Any]:
    """Text and calls where that is all, in this order; else blocks."""
    parts = response.parts
    text = parts[0].text if parts and isinstance(parts[0], Text) else ""
    calls = parts[1:] if text else parts
    if all(isinstance(part, ToolCall) and _is_plain(part) for part in calls):
        found: dict[str, Any] = {"text": text} if text else {}
        if calls:
            found["tool_calls"] = tuple(_call(part) for part in calls if isinstance(part, ToolCall))
        return found
    return {"blocks": tuple(_blocks(parts))}


def _is_plain(call: ToolCall) -> bool:
    return bool(call.name)


def _blocks(parts: tuple[Part, ...]) -> Iterator[BlockSpec]:
    for part in parts:
        if isinstance(part, Text):
            yield BlockSpec(text=part.text)
        elif isinstance(part, Thinking):
            yield BlockSpec(thinking=part.text, signature=part.signature)
        elif isinstance(part, ToolCall):
            yield BlockSpec(tool_call=_call(part))
        elif isinstance(part, Opaque):
            yield BlockSpec(opaque=part.data if isinstance(part.data, dict) else {"type": part.type})


def _call(call: ToolCall) -> CallSpec:
    return CallSpec(name=call.name or "unnamed", id=call.id, arguments=call.arguments, raw=call.raw)


def _about(response: ModelResponse, request: ModelRequest, lost: list[str]) -> dict[str, Any]:
    """Usage, finish, model and headers, where a script would not say the same anyway."""
    calls = bool(response.tool_calls)
    found: dict[str, Any] = {}
    if response.finish == "error":
        lost.append("it ended without a finish")
    elif response.finish != ("tool_calls" if calls else "stop"):
        found["finish"] = response.finish
    if response.model and response.model != request.model:
        found["model"] = response.model
    if response.headers:
        found["headers"] = response.headers
    found["usage"] = response.usage
    return found


def _fault(failure: RecordedFailure, fields: dict[str, Any], request: ModelRequest) -> ReplyFault:
    """Where it broke off: behind all that came. An app that left waits for ever again."""
    if not _has_content(fields):
        fields.clear()
        return ReplyFault(type="cut" if failure.type == "cut" else "stall")
    pieces = Reply(**fields).chunks_for(IdSource(), pieces=request.stream)
    after = sum(not isinstance(chunk, StartChunk) for chunk in pieces)
    return ReplyFault(type="cut" if failure.type == "cut" else "stall", after=after)
