"""Answers of Anthropic, read: what the provider sends becomes chunks, and nothing is dropped."""

from __future__ import annotations

import pytest

from soundstage.errors import ConnectionCut, ProviderError
from soundstage.live import AnswerReader
from soundstage.messages import (
    FinishChunk,
    OpaqueChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
)
from support.answers import sse


def decode(*events):
    """The chunks of a stream that has not ended, without the first one, and its reader."""
    reader = AnswerReader("anthropic")
    return reader.feed(sse(*events))[1:], reader


def finish_of(reader):
    return reader.end()[-1]


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
    chunks, reader = decode(
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
    assert reader.done
    usage = Usage(input_tokens=9, output_tokens=7, cache_read_tokens=5)
    assert finish_of(reader) == FinishChunk(finish="tool_calls", usage=usage, model="claude-x")


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
    _, reader = decode({"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"})
    assert finish_of(reader).finish == finish


def test_a_stream_without_its_last_event_has_broken_off():
    _, reader = decode(BEGIN, END[0])
    with pytest.raises(ConnectionCut, match="broke off"):
        reader.end()


def test_what_stands_beside_text_and_calls_is_opaque():
    citation = {"type": "char_location", "cited_text": "x"}
    caller = {"type": "code_execution", "tool_id": "s1"}
    chunks, _ = decode(
        start(0, type="text", text="", citations=None),
        delta(0, "text_delta", text="a"),
        delta(0, "citations_delta", citation=citation),
        delta(0, "citations_delta", citation=citation),
        stop(0),
        start(1, type="tool_use", id="c1", name="look", input={}, caller=caller),
        stop(1),
        start(2, type="tool_use", id="c2", name="look", input={}, caller={"type": "direct"}),
        stop(2),
        start(3, type="compaction", content=""),
        delta(3, "compaction_delta", content="so "),
        delta(3, "compaction_delta", content="far"),
        stop(3),
    )
    assert chunks == [
        TextChunk(index=0, text="a"),
        OpaqueChunk(index=1, type="citations", data={"citations": [citation, citation]}),
        ToolCallChunk(index=2, id="c1", name="look"),
        OpaqueChunk(index=3, type="caller", data={"caller": caller}),
        ToolCallChunk(index=4, id="c2", name="look"),
        OpaqueChunk(index=5, type="compaction", data={"type": "compaction", "content": "so far"}),
    ]


def test_the_stop_sequence_and_fields_beside_the_message_are_kept():
    ending = {"stop_reason": "stop_sequence", "stop_sequence": "END", "container": {"id": "c"}}
    _, reader = decode(
        BEGIN,
        {"type": "message_delta", "delta": ending, "context_management": {"applied_edits": [1]}},
        {"type": "message_stop"},
    )
    *beside, finish = reader.end()[1:]
    assert finish.stopped_by == "END"
    assert [chunk.data for chunk in beside] == [
        {"container": {"id": "c"}},
        {"context_management": {"applied_edits": [1]}},
    ]


@pytest.mark.parametrize(
    ("error", "status"),
    [({"type": "overloaded_error", "message": "m"}, 529), ({"type": "?", "message": "m"}, 500), ("m", 500)],
)
def test_an_error_within_the_stream_is_the_providers(error, status):
    with pytest.raises(ProviderError) as caught:
        decode({"type": "error", "error": error})
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
