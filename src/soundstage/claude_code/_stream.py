"""The CLI's stream of JSON lines: text in, records out. Pure.

No line raises. Fields that we do not know are kept, fields of another type than expected get their default,
and a line without a field that it must have becomes an `UnknownMessage` that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from soundstage.claude_code._messages import (
    ApiRetry,
    AssistantMessage,
    ControlResponse,
    Denial,
    HookResponse,
    HookStarted,
    Init,
    PermissionDenied,
    StreamMessage,
    SystemMessage,
    TaskChanged,
    TurnResult,
    UnknownMessage,
    UserMessage,
)
from soundstage.messages import Opaque, Part, Text, Thinking, ToolCall, ToolResult, Usage

T = TypeVar("T")


class _MissingError(Exception):
    """A field that must be there is not."""


class _Object:
    """A JSON object whose fields have types."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def need(self, name: str, type_: type[T]) -> T:
        value = self.data.get(name)
        if not isinstance(value, type_):
            raise _MissingError(f"no {type_.__name__} {name!r}")
        return value

    def get(self, name: str, default: T) -> T:
        """The field if it has the type of `default`, else `default`. No number is a boolean."""
        value = self.data.get(name)
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            return float(value)  # type: ignore[return-value]
        return value if type(value) is type(default) else default

    def number(self, name: str) -> int | None:
        value = self.data.get(name)
        return value if type(value) is int else None

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(item for item in self._list(name) if isinstance(item, str))

    def objects(self, name: str) -> tuple[dict[str, Any], ...]:
        return tuple(item for item in self._list(name) if isinstance(item, dict))

    def _list(self, name: str) -> list[Any]:
        value = self.data.get(name)
        return value if isinstance(value, list) else []

    def object(self, name: str) -> _Object:
        return _Object(self.get(name, {}))


def decode_line(line: str | bytes) -> StreamMessage:
    """The record of one line.

    >>> decode_line('{"type": "system", "subtype": "status", "status": "compacting"}')
    SystemMessage(subtype='status')
    >>> decode_line("Segmentation fault")
    UnknownMessage(type='', problem='not a JSON object')
    """
    try:
        data = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError):
        data = None
    if not isinstance(data, dict):
        return UnknownMessage(data={"line": line}, type="", problem="not a JSON object")
    kind = str(data.get("type", ""))
    decode = _SYSTEM.get(str(data.get("subtype")), _system) if kind == "system" else _TYPES.get(kind)
    if decode is None:
        return UnknownMessage(data=data, type=kind)
    try:
        return decode(_Object(data))
    except _MissingError as missing:
        return UnknownMessage(data=data, type=kind, problem=str(missing))


def encode_prompt(text: str) -> bytes:
    """The line that asks something."""
    return _line({"type": "user", "message": {"role": "user", "content": text}})


def encode_control(request_id: str, subtype: str, fields: dict[str, Any]) -> bytes:
    """The line of a control request."""
    request = {"subtype": subtype, **fields}
    return _line({"type": "control_request", "request_id": request_id, "request": request})


def _line(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _init(line: _Object) -> Init:
    return Init(
        data=line.data,
        session_id=line.need("session_id", str),
        version=line.get("claude_code_version", ""),
        model=line.get("model", ""),
        permission_mode=line.get("permissionMode", ""),
        tools=line.texts("tools"),
        commands=line.texts("slash_commands"),
        agents=line.texts("agents"),
        skills=line.texts("skills"),
        mcp_servers=line.objects("mcp_servers"),
        plugins=line.objects("plugins"),
        plugin_errors=line.objects("plugin_errors"),
    )


def _assistant_message(line: _Object) -> AssistantMessage:
    message = _Object(line.need("message", dict))
    return AssistantMessage(
        data=line.data,
        parts=_parts(message),
        model=message.get("model", ""),
        parent=line.get("parent_tool_use_id", ""),
        error=line.get("error", ""),
    )


def _user_message(line: _Object) -> UserMessage:
    return UserMessage(
        data=line.data,
        parts=_parts(_Object(line.need("message", dict))),
        parent=line.get("parent_tool_use_id", ""),
        decisions=line.objects("tool_result_meta"),
    )


def _parts(message: _Object) -> tuple[Part, ...]:
    content = message.data.get("content")
    if isinstance(content, str):
        return (Text(text=content),)
    return tuple(_part(_Object(block)) for block in message.objects("content"))


def _part(block: _Object) -> Part:
    kind = block.get("type", "")
    decode = _PARTS.get(kind)
    return decode(block) if decode is not None else Opaque(type=kind, data=block.data)


def _tool_result(block: _Object) -> ToolResult:
    content = block.data.get("content")
    text = content if isinstance(content, str) else _joined(block.objects("content"))
    return ToolResult(
        call_id=block.get("tool_use_id", ""),
        text=text,
        is_error=block.get("is_error", False),
    )


def _joined(blocks: tuple[dict[str, Any], ...]) -> str:
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


_PARTS: Final[dict[str, Callable[[_Object], Part]]] = {
    "text": lambda block: Text(text=block.get("text", "")),
    "thinking": lambda block: Thinking(text=block.get("thinking", ""), signature=block.get("signature", "")),
    "tool_use": lambda block: ToolCall(
        id=block.get("id", ""), name=block.get("name", ""), arguments=block.get("input", {})
    ),
    "tool_result": _tool_result,
}


def _result(line: _Object) -> TurnResult:
    return TurnResult(
        data=line.data,
        is_error=line.need("is_error", bool),
        subtype=line.need("subtype", str),
        session_id=line.need("session_id", str),
        text=line.get("result", ""),
        num_turns=line.get("num_turns", 0),
        duration_ms=line.get("duration_ms", 0.0),
        total_cost_usd=line.get("total_cost_usd", 0.0),
        usage=_usage(line.object("usage")),
        denials=tuple(_denial(_Object(item)) for item in line.objects("permission_denials")),
        terminal_reason=line.get("terminal_reason", ""),
        api_error_status=line.number("api_error_status"),
        origin=line.object("origin").get("kind", ""),
    )


def _usage(counts: _Object) -> Usage:
    return Usage(
        input_tokens=counts.get("input_tokens", 0),
        output_tokens=counts.get("output_tokens", 0),
        cache_read_tokens=counts.get("cache_read_input_tokens", 0),
        cache_write_tokens=counts.get("cache_creation_input_tokens", 0),
    )


def _denial(item: _Object) -> Denial:
    return Denial(
        tool=item.get("tool_name", ""),
        call_id=item.get("tool_use_id", ""),
        arguments=item.get("tool_input", {}),
    )


def _hook_started(line: _Object) -> HookStarted:
    return HookStarted(
        data=line.data,
        hook_id=line.need("hook_id", str),
        hook=line.get("hook_name", ""),
        event=line.get("hook_event", ""),
    )


def _hook_response(line: _Object) -> HookResponse:
    return HookResponse(
        data=line.data,
        hook_id=line.need("hook_id", str),
        hook=line.get("hook_name", ""),
        event=line.get("hook_event", ""),
        outcome=line.need("outcome", str),
        exit_code=line.number("exit_code"),
        stdout=line.get("stdout", ""),
        stderr=line.get("stderr", ""),
        output=line.get("output", ""),
    )


def _task(line: _Object) -> TaskChanged:
    return TaskChanged(
        data=line.data,
        change=line.need("subtype", str).removeprefix("task_"),
        task_id=line.need("task_id", str),
        call_id=line.get("tool_use_id", ""),
        agent=line.get("subagent_type", ""),
        status=line.get("status", ""),
    )


def _denied(line: _Object) -> PermissionDenied:
    return PermissionDenied(
        data=line.data,
        tool=line.need("tool_name", str),
        call_id=line.get("tool_use_id", ""),
        reason=line.get("message", ""),
        decided_by=line.get("decision_reason_type", ""),
    )


def _retry(line: _Object) -> ApiRetry:
    return ApiRetry(
        data=line.data,
        attempt=line.get("attempt", 0),
        status=line.number("error_status"),
        delay_ms=line.get("retry_delay_ms", 0.0),
    )


def _system(line: _Object) -> SystemMessage:
    return SystemMessage(data=line.data, subtype=line.get("subtype", ""))


def _control_response(line: _Object) -> ControlResponse:
    answer = _Object(line.need("response", dict))
    failed = answer.get("subtype", "") == "error"
    return ControlResponse(
        data=line.data,
        request_id=answer.need("request_id", str),
        error=answer.get("error", "") or ("an error without words" if failed else ""),
        response=answer.get("response", {}),
    )


_TYPES: Final[dict[str, Callable[[_Object], StreamMessage]]] = {
    "assistant": _assistant_message,
    "user": _user_message,
    "result": _result,
    "control_response": _control_response,
}
_SYSTEM: Final[dict[str, Callable[[_Object], StreamMessage]]] = {
    "init": _init,
    "hook_started": _hook_started,
    "hook_response": _hook_response,
    "task_started": _task,
    "task_progress": _task,
    "task_updated": _task,
    "task_notification": _task,
    "permission_denied": _denied,
    "api_retry": _retry,
}
