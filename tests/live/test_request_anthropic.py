"""Anthropic messages, asked for real: bodies that the provider takes."""

from __future__ import annotations

import pytest

from soundstage.live._request_anthropic import encode
from soundstage.messages import (
    Message,
    ModelRequest,
    Opaque,
    Text,
    Thinking,
    ToolDefinition,
    ToolResult,
    assistant,
    call,
    system,
    tool,
    user,
)


def test_a_conversation_with_tools_is_written_as_the_reference_has_it():
    request = ModelRequest(
        model="claude",
        messages=(
            system("Be brief."),
            user("weather?"),
            assistant("let me see", call("look", {"city": "SF"}, id="c1")),
            tool("c1", "72"),
            user("thanks"),
        ),
        tools=(ToolDefinition(name="look", description="Looks.", schema={"type": "object"}),),
        settings={"temperature": 0, "max_tokens": 99},
    )
    assert encode(request, "claude-x") == {
        "model": "claude-x",
        "max_tokens": 99,
        "temperature": 0,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "weather?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "let me see"},
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {"city": "SF"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "72"}]},
                    {"type": "text", "text": "thanks"},
                ],
            },
        ],
        "tools": [{"name": "look", "input_schema": {"type": "object"}, "description": "Looks."}],
        "stream": True,
    }


def test_a_limit_is_set_where_the_request_has_none():
    assert encode(ModelRequest(model="m", messages=(user("a"),)), "m")["max_tokens"] == 4096


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            (Thinking(text="hm", signature="s"), Text(text="a")),
            [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}],
        ),
        ((Thinking(text="hm"), Text(text="a")), [{"type": "text", "text": "a"}]),
        ((Opaque(type="image", data={"type": "image", "source": {}}),), [{"type": "image", "source": {}}]),
        (
            (ToolResult(call_id="1", text="", is_error=True, extra=({"type": "image"},)),),
            [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image"}], "is_error": True}],
        ),
    ],
)
def test_parts_find_their_places(parts, expected):
    body = encode(ModelRequest(model="m", messages=(Message(role="user", parts=parts),)), "m")
    assert body["messages"] == [{"role": "user", "content": expected}]


def test_only_leading_system_messages_are_the_prompt():
    both = (system("one"), system("two"), user("a"), system("three"), user("b"))
    body = encode(ModelRequest(model="m", messages=both), "m")
    assert body["system"] == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert [message["role"] for message in body["messages"]] == ["user", "system", "user"]


def test_a_message_that_has_nothing_to_send_is_left_out():
    messages = (user("a"), Message(role="assistant", parts=(Thinking(text="hm"),)), user("b"))
    body = encode(ModelRequest(model="m", messages=messages), "m")
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ]


def test_tools_without_a_schema_and_of_other_types():
    tools = (
        ToolDefinition(name="ring"),
        ToolDefinition(name="s", type="web_search_1", schema={"type": "web_search_1"}),
    )
    body = encode(ModelRequest(model="m", messages=(), tools=tools), "m")
    assert body["tools"] == [{"name": "ring", "input_schema": {"type": "object"}}, {"type": "web_search_1"}]
