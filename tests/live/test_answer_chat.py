"""Answers of OpenAI chat, read: what the provider sends becomes chunks, and nothing is dropped."""

from __future__ import annotations

import pytest

from soundstage.errors import ConnectionCut, ProviderError
from soundstage.live import AnswerReader
from soundstage.messages import (
    FinishChunk,
    OpaqueChunk,
    StartChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
)
from support.answers import sse


def decode(*events):
    """The chunks of a stream that has not ended, without the first one, and its reader."""
    reader = AnswerReader("openai-chat")
    return reader.feed(sse(*events))[1:], reader


def finish_of(reader):
    return reader.end()[-1]


def delta(finish=None, **fields):
    return {"model": "gpt-4o-2024", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def test_text_thinking_and_tool_calls_are_blocks_in_the_order_in_which_they_appear():
    chunks, reader = decode(
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
    assert reader.done
    usage = Usage(input_tokens=7, output_tokens=4, cache_read_tokens=3)
    assert finish_of(reader) == FinishChunk(finish="tool_calls", usage=usage, model="gpt-4o-2024")


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
    _, reader = decode(delta(reason))
    assert finish_of(reader).finish == finish


def test_a_refusal_and_other_fields_are_opaque_and_their_pieces_are_joined():
    _, reader = decode(
        delta(role="assistant", refusal="I can"),
        delta(role="assistant", refusal="not."),
        delta(annotations=[{"type": "url_citation"}]),
        delta("stop", audio={"id": "a1", "data": "AA"}),
        delta(audio={"id": "a1", "data": "BB"}),
    )
    assert reader.end()[:-1] == [
        StartChunk(model="gpt-4o-2024"),
        OpaqueChunk(index=0, type="refusal", data={"refusal": "I cannot."}),
        OpaqueChunk(index=1, type="annotations", data={"annotations": [{"type": "url_citation"}]}),
        OpaqueChunk(index=2, type="audio", data={"audio": {"id": "a1", "data": "AABB"}}),
    ]


def test_the_first_choice_is_the_answer_and_each_other_one_is_an_opaque_part():
    def choice(number, finish=None, **said):
        return {"choices": [{"index": number, "delta": said, "finish_reason": finish}]}

    chunks, reader = decode(
        choice(1, content="Good"),
        choice(0, content="Hi"),
        choice(1, "stop", content="bye"),
        choice(0, "stop"),
        "[DONE]",
    )
    other = {"index": 1, "finish_reason": "stop", "message": {"content": "Goodbye"}}
    assert [*chunks, *reader.end()] == [
        TextChunk(index=0, text="Hi"),
        OpaqueChunk(index=1, type="choice", data=other),
        FinishChunk(),
    ]


def test_text_that_goes_on_after_thinking_is_a_block_of_its_own():
    chunks, _ = decode(delta(content="a"), delta(reasoning="b"), delta(content="c"))
    assert [chunk.index for chunk in chunks] == [0, 1, 2]


def test_a_custom_tool_gets_free_text_and_the_old_function_call_is_a_call():
    custom = [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]
    chunks, _ = decode(delta(tool_calls=custom), delta(function_call={"name": "look", "arguments": "{}"}))
    assert chunks == [
        ToolCallChunk(index=0, id="c", name="sql", arguments="select 1"),
        ToolCallChunk(index=1, id="look", name="look", arguments="{}"),
    ]


def test_content_that_is_a_list_has_its_text_and_keeps_the_rest():
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}]
    assert decode(delta(content=parts))[0] == [
        OpaqueChunk(index=0, type="thinking", data=parts[0]),
        TextChunk(index=1, text="a"),
    ]


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
        decode({"error": error})
    assert (caught.value.status, caught.value.message) == (status, "m")


@pytest.mark.parametrize(
    "event", ["{", "[]", '"x"', {"choices": [3]}, {"choices": [{"delta": {"tool_calls": [1]}}]}]
)
def test_what_is_not_the_format_is_a_broken_answer(event):
    with pytest.raises(ConnectionCut, match="garbled"):
        decode(event)
