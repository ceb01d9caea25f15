"""Answers of Gemini, read: what the provider sends becomes chunks, and nothing is dropped."""

from __future__ import annotations

import json

import pytest

from soundstage.errors import ConnectionCut, ProviderError
from soundstage.messages import (
    FinishChunk,
    Opaque,
    OpaqueChunk,
    StartChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
    respond,
)
from support.answers import read, sse


def piece(*parts, **about):
    return {"modelVersion": "gemini-x", "candidates": [{"content": {"parts": list(parts)}, **about}]}


def finish_of(*pieces):
    return read("gemini", sse(*pieces))[-1]


def test_parts_become_blocks_and_nothing_is_dropped():
    chunks = read(
        "gemini",
        sse(
            piece({"text": "Let me", "thought": True}),
            piece({"text": " see", "thought": True, "thoughtSignature": "c2Vh"}),
            piece({"text": "again", "thought": True}),
            piece({"text": "Hel"}),
            piece({"text": "lo"}, groundingMetadata={"webSearchQueries": ["x"]}),
            piece(
                {"functionCall": {"name": "look", "args": {"a": 1}, "id": "c1"}, "thoughtSignature": "bA=="}
            ),
            piece({"inlineData": {"mimeType": "image/png", "data": "AA=="}}),
            piece({"text": "", "thoughtSignature": "ZQ=="}, finishReason="STOP"),
        ),
    )
    assert chunks == [
        StartChunk(model="gemini-x"),
        ThinkingChunk(index=0, text="Let me"),
        ThinkingChunk(index=0, text=" see", signature="c2Vh"),
        ThinkingChunk(index=1, text="again"),
        TextChunk(index=2, text="Hel"),
        TextChunk(index=2, text="lo"),
        ToolCallChunk(index=3, id="c1", name="look", arguments='{"a":1}'),
        OpaqueChunk(index=4, type="thoughtSignature", data={"thoughtSignature": "bA=="}),
        OpaqueChunk(
            index=5, type="inlineData", data={"inlineData": {"mimeType": "image/png", "data": "AA=="}}
        ),
        OpaqueChunk(index=6, type="thoughtSignature", data={"thoughtSignature": "ZQ=="}),
        OpaqueChunk(
            index=7, type="groundingMetadata", data={"groundingMetadata": {"webSearchQueries": ["x"]}}
        ),
        FinishChunk(finish="tool_calls", model="gemini-x"),
    ]


def test_thinking_and_cached_tokens_are_counted():
    usage = {
        "promptTokenCount": 10,
        "cachedContentTokenCount": 4,
        "toolUsePromptTokenCount": 2,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 5,
    }
    assert finish_of(piece(finishReason="STOP") | {"usageMetadata": usage}).usage == Usage(
        input_tokens=8, output_tokens=8, cache_read_tokens=4
    )


def test_a_second_candidate_is_an_opaque_part():
    second = {"index": 1, "content": {"parts": [{"text": "other"}]}}
    answer = piece({"text": "first"}, finishReason="STOP")
    answer["candidates"].append(second)
    *parts, other = respond(read("gemini", json.dumps(answer).encode())).parts
    assert [part.text for part in parts] == ["first"]
    assert other == Opaque(type="candidate", data=second)


def test_a_prompt_that_is_blocked_ends_with_that():
    feedback = {"blockReason": "SAFETY"}
    answer = respond(read("gemini", json.dumps({"promptFeedback": feedback}).encode()))
    assert answer.finish == "content_filter"
    assert answer.parts == (Opaque(type="promptFeedback", data={"promptFeedback": feedback}),)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("SOMETHING_NEW", "stop"),
    ],
)
def test_finish_reasons_are_translated(reason, finish):
    assert finish_of(piece({"text": "a"}, finishReason=reason)).finish == finish


ERROR = {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize(
    "data",
    [
        sse(piece({"text": "a"}), ERROR),
        sse(piece({"text": "a"})) + json.dumps(ERROR, indent=2).encode(),
        sse(piece({"text": "a"})) + json.dumps(ERROR, indent=2).encode() + b"\n\n",
        json.dumps([piece({"text": "a"}), ERROR]).encode(),
        json.dumps(ERROR).encode(),
    ],
    ids=["event", "bare", "bare and closed", "array", "whole"],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_error_is_the_providers_however_it_comes(data, size):
    with pytest.raises(ProviderError) as caught:
        read("gemini", data, range(0, len(data), size))
    assert (caught.value.status, caught.value.kind, caught.value.code) == (503, "UNAVAILABLE", "")


def test_an_error_answer_to_a_stream_is_an_array():
    with pytest.raises(ProviderError, match="busy") as caught:
        read("gemini", json.dumps([ERROR]).encode(), status=503)
    assert caught.value.kind == "UNAVAILABLE"


@pytest.mark.parametrize(
    "data",
    [
        sse(piece({"text": "a"})),
        b"[" + json.dumps(piece({"text": "a"}, finishReason="STOP")).encode(),
        b"[]",
    ],
    ids=["no reason", "open array", "empty array"],
)
def test_an_answer_that_breaks_off_is_a_cut(data):
    with pytest.raises(ConnectionCut, match="broke off"):
        read("gemini", data)


def test_what_stands_between_the_items_of_an_array_garbles_it():
    one = json.dumps(piece({"text": "a"}, finishReason="STOP")).encode()
    with pytest.raises(ConnectionCut, match="garbled"):
        read("gemini", b"[" + one + b"\x00\x01" + one + b"]")
