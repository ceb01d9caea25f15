"""OpenAI chat, asked for real: bodies that the provider takes, and its streams."""

from __future__ import annotations

import json

import pytest

from soundstage.errors import ConnectionCut, ProviderError
from soundstage.messages import (
    FinishChunk,
    Message,
    ModelRequest,
    Opaque,
    Text,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolCall,
    ToolCallChunk,
    ToolDefinition,
    ToolResult,
    Usage,
    assistant,
    call,
    system,
    tool,
    user,
)
from soundstage.models._live_format import read
from soundstage.models._live_openai import ChatDecoder, encode
from soundstage.models._live_sse import SseEvent


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


def decode(*events):
    decoder = ChatDecoder()
    chunks = []
    for event in events:
        chunks += read(decoder, SseEvent("message", event if isinstance(event, str) else json.dumps(event)))
    return chunks, decoder


def delta(finish=None, **fields):
    return {"model": "gpt-4o-2024", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def test_text_thinking_and_tool_calls_are_blocks_in_the_order_in_which_they_appear():
    chunks, decoder = decode(
        delta(role="assistant", content=""),
        delta(reasoning_content="hm"),
        delta(content="Hel"),
        delta(content="lo"),
        delta(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "look", "arguments": ""}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '{"a"'}}]),
        delta(tool_calls=[{"index": 1, "id": "c2", "function": {"name": "ring", "arguments": "{}"}}]),
        delta("tool_calls"),
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 3},
            },
        },
        "[DONE]",
    )
    assert chunks == [
        ThinkingChunk(index=0, text="hm"),
        TextChunk(index=1, text="Hel"),
        TextChunk(index=1, text="lo"),
        ToolCallChunk(index=2, id="c1", name="look"),
        ToolCallChunk(index=2, arguments='{"a"'),
        ToolCallChunk(index=3, id="c2", name="ring", arguments="{}"),
    ]
    assert decoder.done
    usage = Usage(input_tokens=7, output_tokens=4, cache_read_tokens=3)
    assert decoder.finish() == FinishChunk(finish="tool_calls", usage=usage, model="gpt-4o-2024")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("function_call", "tool_calls"),
        ("something new", "stop"),
    ],
)
def test_finish_reasons_are_translated(reason, finish):
    _, decoder = decode(delta(reason))
    assert decoder.finish().finish == finish


def test_a_refusal_is_text_and_other_choices_are_not_read():
    other = {"choices": [{"index": 1, "delta": {"content": "other"}}]}
    assert decode(delta(refusal="no"), other)[0] == [TextChunk(index=0, text="no")]


def test_a_stream_that_has_not_come_to_its_reason_has_no_finish():
    _, decoder = decode(delta(content="a"))
    assert decoder.finish() is None
    assert not decoder.done


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"message": "m", "type": "rate_limit_error", "code": "c"}, 429),
        ({"message": "m", "type": "?"}, 500),
        ("m", 500),
    ],
)
def test_an_error_within_the_stream_is_the_providers(error, status):
    with pytest.raises(ProviderError) as caught:
        decode(delta(content="a"), {"error": error})
    assert (caught.value.status, caught.value.message) == (status, "m")


@pytest.mark.parametrize(
    "event", ["{", "[]", '"x"', {"choices": [3]}, {"choices": [{"delta": {"tool_calls": [1]}}]}]
)
def test_what_is_not_the_format_is_a_broken_answer(event):
    with pytest.raises(ConnectionCut, match="garbled"):
        decode(event)
