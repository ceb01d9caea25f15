"""OpenAI chat, asked for real: bodies that the provider takes."""

from __future__ import annotations

import pytest

from soundstage.live._request_openai import encode
from soundstage.messages import (
    Message,
    ModelRequest,
    Opaque,
    Text,
    Thinking,
    ToolCall,
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
        model="gpt-4o",
        messages=(
            system("Be brief."),
            user("weather?"),
            assistant("let me see", call("look", {"city": "SF"}, id="c1")),
            tool("c1", "72"),
        ),
        tools=(ToolDefinition(name="look", description="Looks.", schema={"type": "object"}),),
        settings={"temperature": 0, "stream_options": {"x": 1}},
    )
    assert encode(request, "gpt-4o") == {
        "model": "gpt-4o",
        "temperature": 0,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "weather?"},
            {
                "role": "assistant",
                "content": "let me see",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"city":"SF"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "72"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "look", "parameters": {"type": "object"}, "description": "Looks."},
            }
        ],
        "stream": True,
        "stream_options": {"x": 1, "include_usage": True},
    }


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            Message(
                role="user", parts=(Text(text="a"), Opaque(type="image_url", data={"type": "image_url"}))
            ),
            [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}],
        ),
        (
            assistant("", ToolCall(id="c", name="x", raw="no json")),
            [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c", "type": "function", "function": {"name": "x", "arguments": "no json"}}
                    ],
                }
            ],
        ),
        (
            Message(role="assistant", parts=(Thinking(text="hm"), Text(text="a"))),
            [{"role": "assistant", "content": "a"}],
        ),
        (
            Message(
                role="user",
                parts=(ToolResult(call_id="1", text="x"), ToolResult(call_id="2", text="y"), Text(text="z")),
            ),
            [
                {"role": "tool", "tool_call_id": "1", "content": "x"},
                {"role": "tool", "tool_call_id": "2", "content": "y"},
                {"role": "user", "content": "z"},
            ],
        ),
        (
            Message(role="tool", parts=(ToolResult(call_id="1", text="x", extra=({"type": "image_url"},)),)),
            [
                {
                    "role": "tool",
                    "tool_call_id": "1",
                    "content": [{"type": "text", "text": "x"}, {"type": "image_url"}],
                }
            ],
        ),
    ],
)
def test_parts_find_their_places(message, expected):
    assert encode(ModelRequest(model="m", messages=(message,)), "m")["messages"] == expected


def test_a_tool_of_another_type_is_passed_as_it_is():
    given = ToolDefinition(
        name="grammar", type="custom", schema={"type": "custom", "custom": {"name": "grammar"}}
    )
    assert encode(ModelRequest(model="m", messages=(), tools=(given,)), "m")["tools"] == [given.schema]
