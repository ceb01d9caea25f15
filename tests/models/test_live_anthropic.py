"""Anthropic messages, asked for real: bodies that the provider takes, and its streams."""

from __future__ import annotations

import json

import pytest

from soundstage.errors import ConnectionCut, ProviderError
from soundstage.messages import (
    FinishChunk,
    Message,
    ModelRequest,
    Opaque,
    OpaqueChunk,
    Text,
    TextChunk,
    Thinking,
    ThinkingChunk,
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
from soundstage.models._live_anthropic import MessageDecoder, encode
from soundstage.models._live_format import read
from soundstage.models._live_sse import SseEvent


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


def decode(*events):
    decoder = MessageDecoder()
    chunks = []
    for event in events:
        chunks += read(decoder, SseEvent("message", event if isinstance(event, str) else json.dumps(event)))
    return chunks, decoder


def start(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index, kind, **fields):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index):
    return {"type": "content_block_stop", "index": index}


BEGIN = {
    "type": "message_start",
    "message": {
        "model": "claude-x",
        "usage": {
            "input_tokens": 9,
            "output_tokens": 1,
            "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": None,
        },
    },
}
END = (
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
    {"type": "message_stop"},
)


def test_blocks_come_in_their_order_and_unknown_ones_whole():
    chunks, decoder = decode(
        BEGIN,
        {"type": "ping"},
        start(0, type="thinking", thinking=""),
        delta(0, "thinking_delta", thinking="hm"),
        delta(0, "signature_delta", signature="seal"),
        stop(0),
        start(1, type="text", text=""),
        delta(1, "text_delta", text="Hel"),
        delta(1, "text_delta", text="lo"),
        stop(1),
        start(2, type="tool_use", id="c1", name="look", input={}),
        delta(2, "input_json_delta", partial_json='{"a"'),
        delta(2, "input_json_delta", partial_json=": 1}"),
        stop(2),
        start(3, type="server_tool_use", id="s1", name="web_search", input={}),
        delta(3, "input_json_delta", partial_json='{"query": "x"}'),
        stop(3),
        start(4, type="redacted_thinking", data="xyz"),
        stop(4),
        {"type": "something_new"},
        *END,
    )
    assert chunks == [
        ThinkingChunk(index=0, text="hm"),
        ThinkingChunk(index=0, signature="seal"),
        TextChunk(index=1, text="Hel"),
        TextChunk(index=1, text="lo"),
        ToolCallChunk(index=2, id="c1", name="look"),
        ToolCallChunk(index=2, arguments='{"a"'),
        ToolCallChunk(index=2, arguments=": 1}"),
        OpaqueChunk(
            index=3,
            type="server_tool_use",
            data={"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        ),
        OpaqueChunk(index=4, type="redacted_thinking", data={"type": "redacted_thinking", "data": "xyz"}),
    ]
    assert decoder.done
    usage = Usage(input_tokens=9, output_tokens=7, cache_read_tokens=5)
    assert decoder.finish() == FinishChunk(finish="tool_calls", usage=usage, model="claude-x")


def test_text_that_comes_with_the_start_of_a_block_is_not_lost():
    assert decode(start(0, type="text", text="a"), start(1, type="thinking", thinking="b"))[0] == [
        TextChunk(index=0, text="a"),
        ThinkingChunk(index=1, text="b"),
    ]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("pause_turn", "pause"),
        ("refusal", "content_filter"),
        ("something new", "stop"),
    ],
)
def test_finish_reasons_are_translated(reason, finish):
    _, decoder = decode({"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"})
    assert decoder.finish().finish == finish


def test_a_stream_without_its_last_event_has_no_finish():
    _, decoder = decode(BEGIN, END[0])
    assert decoder.finish() is None


@pytest.mark.parametrize(
    ("error", "status"),
    [({"type": "overloaded_error", "message": "m"}, 529), ({"type": "?", "message": "m"}, 500), ("m", 500)],
)
def test_an_error_within_the_stream_is_the_providers(error, status):
    with pytest.raises(ProviderError) as caught:
        decode(BEGIN, {"type": "error", "error": error})
    assert (caught.value.status, caught.value.message) == (status, "m")


@pytest.mark.parametrize(
    "event",
    [
        "{",
        "[]",
        {"type": "content_block_delta"},
        delta(0, "text_delta"),
        {"type": "message_start", "message": 3},
    ],
)
def test_what_is_not_the_format_is_a_broken_answer(event):
    with pytest.raises(ConnectionCut, match="garbled"):
        decode(event)
