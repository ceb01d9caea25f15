"""Answers of OpenAI's Responses, read: what the provider sends becomes chunks, and nothing is dropped."""

from __future__ import annotations

import json

import pytest

from soundstage.errors import ConnectionCut, ProviderError
from soundstage.live import AnswerReader
from soundstage.messages import (
    FinishChunk,
    Opaque,
    OpaqueChunk,
    Text,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
    respond,
)
from support.answers import read, sse

REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}],
    "encrypted_content": "sealed",
}
CITED = {"type": "output_text", "text": "Hello", "annotations": [{"type": "url_citation"}], "logprobs": []}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "content": [CITED]}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"a":1}'}
CUSTOM = {"type": "custom_tool_call", "id": "ct_1", "call_id": "c2", "name": "sql", "input": "select 1"}
REFUSAL = {"type": "message", "id": "msg_2", "content": [{"type": "refusal", "refusal": "No."}]}
ITEMS = [REASONING, MESSAGE, SEARCH, CALL, CUSTOM, REFUSAL]
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
    "output_tokens": 4,
}
WHOLE = {"id": "resp_1", "model": "gpt-x", "status": "completed", "output": ITEMS, "usage": USAGE}
PARTS = (
    Thinking(text="First.\n\nThen.", signature="sealed"),
    Text(text="Hello"),
    Opaque(type="annotations", data={"annotations": [{"type": "url_citation"}]}),
    Opaque(type="web_search_call", data=SEARCH),
    ToolCall(id="c1", name="look", arguments={"a": 1}),
    ToolCall(id="c2", name="sql", raw="select 1"),
    Opaque(type="refusal", data={"type": "refusal", "refusal": "No."}),
)


def said(number, kind, **fields):
    return {"type": f"response.{kind}.delta", "output_index": number, **fields}


def added(number, item):
    return {"type": "response.output_item.added", "output_index": number, "item": item}


def done(number, item):
    return {"type": "response.output_item.done", "output_index": number, "item": item}


CREATED = {"type": "response.created", "response": {"model": "gpt-x", "status": "in_progress"}}
COMPLETED = {"type": "response.completed", "response": WHOLE}


def test_a_stream_becomes_chunks_as_it_comes():
    reader = AnswerReader("openai-responses")
    stream = sse(
        CREATED,
        added(0, {"type": "reasoning", "summary": []}),
        said(0, "reasoning_summary_text", summary_index=0, delta="First."),
        said(0, "reasoning_summary_text", summary_index=1, delta="Then."),
        done(0, REASONING),
        added(1, {"type": "message", "content": []}),
        said(1, "output_text", content_index=0, delta="Hel"),
        said(1, "output_text", content_index=0, delta="lo"),
        done(1, MESSAGE),
        added(2, SEARCH),
        done(2, SEARCH),
        added(3, CALL | {"arguments": ""}),
        said(3, "function_call_arguments", delta='{"a"'),
        said(3, "function_call_arguments", delta=":1}"),
        done(3, CALL),
        COMPLETED,
    )
    assert reader.feed(stream)[1:] == [
        ThinkingChunk(index=0, text="First."),
        ThinkingChunk(index=0, text="\n\nThen."),
        ThinkingChunk(index=0, signature="sealed"),
        TextChunk(index=1, text="Hel"),
        TextChunk(index=1, text="lo"),
        OpaqueChunk(index=2, type="annotations", data={"annotations": [{"type": "url_citation"}]}),
        OpaqueChunk(index=3, type="web_search_call", data=SEARCH),
        ToolCallChunk(index=4, id="c1", name="look"),
        ToolCallChunk(index=4, arguments='{"a"'),
        ToolCallChunk(index=4, arguments=":1}"),
        ToolCallChunk(index=5, id="c2", name="sql"),  # no event has announced it
        ToolCallChunk(index=5, arguments="select 1"),
        OpaqueChunk(index=6, type="refusal", data={"type": "refusal", "refusal": "No."}),
    ]
    assert reader.done
    usage = Usage(input_tokens=5, output_tokens=4, cache_read_tokens=3, cache_write_tokens=2)
    assert reader.end() == [FinishChunk(finish="tool_calls", usage=usage, model="gpt-x")]


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(WHOLE).encode(),
        sse(COMPLETED),
        sse(CREATED, *(done(number, item) for number, item in enumerate(ITEMS)), COMPLETED),
    ],
    ids=["whole", "last event alone", "whole items"],
)
def test_however_an_answer_comes_it_says_the_same(data):
    assert respond(read("openai-responses", data)).parts == PARTS


def test_a_tool_of_a_namespace_has_one_name():
    item = CALL | {"namespace": "mcp__calc", "name": "add"}
    last = {"type": "response.completed", "response": {"status": "completed"}}
    (call,) = respond(read("openai-responses", sse(done(0, item), last))).parts
    assert call.name == "mcp__calc__add"


def test_sound_is_kept_although_it_belongs_to_no_item():
    stream = sse(
        {"type": "response.audio.delta", "delta": "AA"},
        {"type": "response.audio.transcript.delta", "delta": "Hel"},
        {"type": "response.audio.delta", "delta": "BB"},
        {"type": "response.completed", "response": {"status": "completed"}},
    )
    data = {"audio": {"data": "AABB", "transcript": "Hel"}}
    assert respond(read("openai-responses", stream)).parts == (Opaque(type="audio", data=data),)


@pytest.mark.parametrize(
    ("status", "details", "finish"),
    [
        ("completed", None, "stop"),
        ("incomplete", {"reason": "max_output_tokens"}, "length"),
        ("incomplete", {"reason": "content_filter"}, "content_filter"),
        ("incomplete", {"reason": "something new"}, "length"),
        ("cancelled", None, "error"),
        ("queued", None, "pause"),
    ],
)
def test_the_status_and_its_reason_are_translated(status, details, finish):
    whole = {"model": "m", "status": status, "incomplete_details": details, "output": []}
    assert respond(read("openai-responses", json.dumps(whole).encode())).finish == finish


@pytest.mark.parametrize(
    ("event", "status", "code"),
    [
        (
            {"type": "error", "code": "rate_limit_exceeded", "message": "m", "param": None},
            429,
            "rate_limit_exceeded",
        ),
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "m"}}, 400, ""),
        (
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "server_error", "message": "m"}},
            },
            500,
            "server_error",
        ),
    ],
    ids=["flat", "nested", "failed"],
)
def test_an_error_within_the_stream_is_the_providers(event, status, code):
    with pytest.raises(ProviderError) as caught:
        read("openai-responses", sse(event))
    assert (caught.value.status, caught.value.message, caught.value.code) == (status, "m", code)


def test_a_stream_without_its_last_event_has_broken_off():
    with pytest.raises(ConnectionCut, match="broke off"):
        read("openai-responses", sse(CREATED, done(0, MESSAGE)))
