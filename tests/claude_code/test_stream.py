"""Every line of the CLI becomes a record, whatever is in it, and nothing raises."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.claude_code import (
    ApiRetry,
    AssistantMessage,
    ClaudeToolUse,
    ClaudeTurn,
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
    decode_line,
)
from soundstage.claude_code._stream import encode_control, encode_prompt
from soundstage.claude_code._turn import describe
from soundstage.messages import Opaque, Text, Thinking, ToolCall, ToolResult, Usage

RESULT = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s", "result": "done"}

LINES: list[tuple[dict[str, Any], type[StreamMessage], dict[str, Any]]] = [
    (
        {
            "type": "system",
            "subtype": "init",
            "session_id": "s",
            "permissionMode": "plan",
            "tools": ["Bash", 1],
        },
        Init,
        {"session_id": "s", "permission_mode": "plan", "tools": ("Bash",)},
    ),
    (
        {
            "type": "assistant",
            "parent_tool_use_id": "toolu_1",
            "message": {
                "model": "m",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "hi"},
                    {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}},
                    {"type": "image", "source": {}},
                ],
            },
        },
        AssistantMessage,
        {
            "model": "m",
            "parent": "toolu_1",
            "parts": (
                Thinking(text="hm", signature="s"),
                Text(text="hi"),
                ToolCall(id="t", name="Bash", arguments={"command": "ls"}),
                Opaque(type="image", data={"type": "image", "source": {}}),
            ),
        },
    ),
    (
        {
            "type": "user",
            "message": {
                "content": [
                    {"type": "tool_result", "tool_use_id": "t", "content": "out", "is_error": True},
                    {
                        "type": "tool_result",
                        "tool_use_id": "u",
                        "content": [{"type": "text", "text": "a"}, {"type": "image"}],
                    },
                ]
            },
            "tool_result_meta": [{"id": "t"}],
        },
        UserMessage,
        {
            "parts": (
                ToolResult(call_id="t", text="out", is_error=True),
                ToolResult(call_id="u", text="a"),
            ),
            "decisions": ({"id": "t"},),
        },
    ),
    ({"type": "user", "message": {"content": "plain"}}, UserMessage, {"parts": (Text(text="plain"),)}),
    (
        {
            **RESULT,
            "is_error": True,
            "num_turns": 3,
            "duration_ms": 1500,
            "total_cost_usd": 1,
            "usage": {
                "input_tokens": 1,
                "output_tokens": 2,
                "cache_read_input_tokens": 3,
                "cache_creation_input_tokens": 4,
            },
            "permission_denials": [{"tool_name": "Write", "tool_use_id": "t", "tool_input": {"a": 1}}],
            "api_error_status": 529,
            "origin": {"kind": "task-notification"},
        },
        TurnResult,
        {
            "is_error": True,
            "duration_ms": 1500.0,
            "total_cost_usd": 1.0,
            "usage": Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4),
            "denials": (Denial(tool="Write", call_id="t", arguments={"a": 1}),),
            "api_error_status": 529,
            "origin": "task-notification",
        },
    ),
    (
        {
            "type": "system",
            "subtype": "hook_started",
            "hook_id": "h",
            "hook_name": "Stop",
            "hook_event": "Stop",
        },
        HookStarted,
        {"hook_id": "h", "hook": "Stop", "event": "Stop"},
    ),
    (
        {
            "type": "system",
            "subtype": "hook_response",
            "hook_id": "h",
            "outcome": "cancelled",
            "exit_code": None,
        },
        HookResponse,
        {"outcome": "cancelled", "exit_code": None},
    ),
    (
        {
            "type": "system",
            "subtype": "task_started",
            "task_id": "a",
            "tool_use_id": "t",
            "subagent_type": "x",
        },
        TaskChanged,
        {"change": "started", "task_id": "a", "call_id": "t", "agent": "x"},
    ),
    (
        {"type": "system", "subtype": "permission_denied", "tool_name": "Write", "message": "no"},
        PermissionDenied,
        {"tool": "Write", "reason": "no"},
    ),
    (
        {
            "type": "system",
            "subtype": "api_retry",
            "attempt": 2,
            "error_status": 503,
            "retry_delay_ms": 550.5,
        },
        ApiRetry,
        {"attempt": 2, "status": 503, "delay_ms": 550.5},
    ),
    ({"type": "system", "subtype": "brand_new"}, SystemMessage, {"subtype": "brand_new"}),
    (
        {"type": "control_response", "response": {"subtype": "error", "request_id": "1", "error": "no"}},
        ControlResponse,
        {"request_id": "1", "error": "no"},
    ),
    (
        {
            "type": "control_response",
            "response": {"subtype": "success", "request_id": "1", "response": {"a": 1}},
        },
        ControlResponse,
        {"request_id": "1", "error": "", "response": {"a": 1}},
    ),
    ({"type": "stream_event", "event": {}}, UnknownMessage, {"type": "stream_event", "problem": ""}),
    (
        {"type": "result", "subtype": "success"},
        UnknownMessage,
        {"type": "result", "problem": "no bool 'is_error'"},
    ),
    ({"type": "assistant"}, UnknownMessage, {"type": "assistant", "problem": "no dict 'message'"}),
    ({}, UnknownMessage, {"type": ""}),
]


@pytest.mark.parametrize(("line", "kind", "fields"), LINES)
def test_a_line_becomes_its_record_and_keeps_everything(
    line: dict[str, Any], kind: type[StreamMessage], fields: dict[str, Any]
) -> None:
    found = decode_line(msgspec.json.encode({**line, "new_field": [1]}))
    assert type(found) is kind
    assert {name: getattr(found, name) for name in fields} == fields
    assert found.data == {**line, "new_field": [1]}
    assert "new_field" not in repr(found)
    assert describe(found)


@pytest.mark.parametrize("line", ["", "null", "[1]", "Segmentation fault", '{"type": ', "\x00"])
def test_a_line_that_is_no_object_is_kept(line: str) -> None:
    assert decode_line(line) == UnknownMessage(data={"line": line}, type="", problem="not a JSON object")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_no_field_of_another_type_breaks_a_record(data: st.DataObject) -> None:
    line, _, _ = data.draw(st.sampled_from(LINES))
    broken = {
        key: data.draw(json_values) if data.draw(st.booleans()) else value for key, value in line.items()
    }
    assert isinstance(decode_line(msgspec.json.encode(broken)), StreamMessage)


@given(st.text())
def test_prompts_and_controls_are_one_line_each(text: str) -> None:
    for line in (encode_prompt(text), encode_control("1", "interrupt", {"note": text})):
        assert line.endswith(b"\n")
        assert b"\n" not in line[:-1]
    assert msgspec.json.decode(encode_prompt(text))["message"]["content"] == text


def test_a_turn_pairs_tool_calls_with_their_results() -> None:
    messages = tuple(
        decode_line(msgspec.json.encode(line))
        for line in (
            {
                "type": "assistant",
                "message": {"content": [{"type": "tool_use", "id": "1", "name": "A", "input": {}}]},
            },
            {
                "type": "assistant",
                "message": {"content": [{"type": "tool_use", "id": "2", "name": "B", "input": {}}]},
            },
            {
                "type": "user",
                "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "content": "x"}]},
            },
        )
    )
    result = decode_line(msgspec.json.encode(RESULT))
    assert isinstance(result, TurnResult)
    turn = ClaudeTurn(prompt="p", messages=messages, result=result)
    assert turn.tool_uses == (
        ClaudeToolUse("1", "A", {}, "x", is_error=False, parent=""),
        ClaudeToolUse("2", "B", {}, None, is_error=False, parent=""),
    )
    assert turn.init is None
