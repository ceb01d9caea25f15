"""Answers as the types of the official SDKs have them: every event and every part is read, and no reason is unknown."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

import anthropic.types as anthropic_types
import anthropic.types.beta as anthropic_beta
import openai.types.chat as chat_types
import openai.types.responses as responses_types
import pytest
from google.genai import types as gemini_types
from pydantic import BaseModel

from soundstage.errors import ProviderError
from soundstage.live import AnswerReader
from soundstage.live import _answer_anthropic as messages
from soundstage.live import _answer_chat as chat
from soundstage.live import _answer_gemini as gemini
from soundstage.live import _answer_responses as responses
from soundstage.messages import OpaqueChunk, respond
from soundstage.models.response_calls import is_call
from support.answers import read, sse

SIMPLE: dict[Any, Any] = {str: "x", int: 0, float: 0.5, bool: True, bytes: "eA==", type(None): None}


def sample(kind: Any, depth: int = 0) -> Any:
    """A value of an SDK's type, with every field that it has; of a union the first that is not None."""
    origin = get_origin(kind)
    if origin is Literal:
        return get_args(kind)[0]
    if origin in (Union, types.UnionType):
        return sample(next(option for option in get_args(kind) if option is not type(None)), depth)
    if origin is list:
        return [sample(get_args(kind)[0], depth + 1)] if depth < 6 else []
    if origin is dict:
        return {"x": sample(get_args(kind)[1], depth + 1)} if depth < 6 else {}
    if hasattr(kind, "__metadata__"):  # Annotated
        return sample(get_args(kind)[0], depth)
    if hasattr(kind, "__value__"):  # a type alias
        return sample(kind.__value__, depth)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return fields(kind, depth) if depth < 6 else {}
    return SIMPLE.get(kind, {})


def fields(kind: type[BaseModel], depth: int = 0) -> dict[str, Any]:
    return {
        field.serialization_alias or field.alias or name: sample(field.annotation, depth + 1)
        for name, field in kind.model_fields.items()
    }


def variants(kind: Any) -> list[type[BaseModel]]:
    """The models in a union, also one that is annotated."""
    if hasattr(kind, "__value__"):
        return variants(kind.__value__)
    if get_origin(kind) in (Union, types.UnionType):
        return [model for option in get_args(kind) for model in variants(option)]
    if hasattr(kind, "__metadata__"):
        return variants(get_args(kind)[0])
    return [kind] if isinstance(kind, type) and issubclass(kind, BaseModel) else []


def named(kinds: list[type[BaseModel]]) -> Any:
    return pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.__name__) for kind in kinds])


# OpenAI Responses

EVENTS = variants(responses_types.ResponseStreamEvent)
ITEMS = variants(responses_types.ResponseOutputItem)
ITEM_OF = {"function_call_arguments": "function_call", "custom_tool_call_input": "custom_tool_call"}
TELLING = {  # events that bring something; what others say comes whole with the `done` of their item
    "response.audio.delta",
    "response.audio.transcript.delta",
    "response.completed",
    "response.custom_tool_call_input.delta",
    "response.function_call_arguments.delta",
    "response.incomplete",
    "response.output_item.done",
    "response.output_text.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
}
COMPLETED = {"type": "response.completed", "response": {"model": "m", "status": "completed", "output": []}}


def test_the_sdk_of_openai_has_events_and_items():
    assert len(EVENTS) > 40, "the walk below has lost its way into the SDK's union of events"
    assert len(ITEMS) > 15


@named(EVENTS)
def test_every_event_of_the_responses_format_is_read(kind):
    event = sample(kind)
    about = event["type"].removeprefix("response.").partition(".")[0]
    item = {"type": ITEM_OF.get(about, "message"), "id": "i", "call_id": "c", "name": "n", "content": []}
    if isinstance(event.get("response"), dict) and event["type"] != "response.failed":
        event["response"]["error"] = None
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    stream = sse(added, event, COMPLETED)
    if event["type"] in ("error", "response.failed"):
        with pytest.raises(ProviderError, match="x"):
            read("openai-responses", stream)
        return
    told = read("openai-responses", stream)
    without = read("openai-responses", sse(added, COMPLETED))
    assert (told != without) is (event["type"] in TELLING)
    if "delta" in event and event["type"] in TELLING:
        assert event["delta"] in str(told)
        assert len(told) > len(without)


@named(ITEMS)
def test_every_item_of_the_responses_format_is_read_alike_streamed_and_whole(kind):
    item = sample(kind)
    whole = {"model": "m", "status": "completed", "output": [item]}
    (part,) = respond(read("openai-responses", sse({"type": "response.completed", "response": whole}))).parts[
        :1
    ]
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    streamed = read("openai-responses", sse(done, {"type": "response.completed", "response": whole}))
    assert respond(streamed).parts[0] == part
    if is_call(item):
        assert part.id == item["call_id"]
    elif item["type"] not in ("message", "reasoning", "function_call", "custom_tool_call"):
        assert part.data == item


# OpenAI chat


def test_a_chat_answer_with_every_field_loses_none():
    whole = sample(chat_types.ChatCompletion)
    message = whole["choices"][0]["message"]
    found = respond(read("openai-chat", sse(whole, "[DONE]"))).parts
    kept = {name for part in found if hasattr(part, "data") for name in part.data}
    assert {"refusal", "annotations", "audio", "logprobs"} <= kept
    assert {type(part).__name__ for part in found} == {"Text", "ToolCall", "Opaque"}
    assert len([part for part in found if type(part).__name__ == "ToolCall"]) == 2, message


def test_every_field_of_a_chunk_of_chat_is_read():
    chunk = sample(chat_types.ChatCompletionChunk)
    chunk["choices"][0]["finish_reason"] = "stop"
    assert respond(read("openai-chat", sse(chunk, "[DONE]"))).text == "x"


# Anthropic

BLOCKS = [
    *variants(anthropic_types.ContentBlock),
    *variants(anthropic_beta.BetaContentBlock),
]
DELTAS = [
    *variants(anthropic_types.RawContentBlockDelta),
    *variants(anthropic_beta.BetaRawContentBlockDelta),
]
ENDING = ({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"})


def block_events(block: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
    ]


@named(BLOCKS)
def test_every_block_of_anthropic_is_read_alike_streamed_and_whole(kind):
    block = sample(kind)
    streamed = respond(read("anthropic", sse(*block_events(block), *ENDING))).parts
    whole = {"type": "message", "model": "m", "content": [block], "stop_reason": "end_turn"}
    reader = AnswerReader("anthropic")
    reader.feed(sse(whole)[len(b"data: ") :])
    assert respond(reader.end()).parts == streamed
    assert streamed
    if block["type"] not in ("text", "thinking", "tool_use"):
        assert streamed[0].data == block


@named(DELTAS)
def test_every_delta_of_anthropic_is_read_in_every_block(kind):
    """In blocks that have no input, JSON of an input means nothing."""
    delta = sample(kind)
    if "partial_json" in delta:
        delta["partial_json"] = '{"asked": "x"}'
    for block in map(sample, BLOCKS):
        told = read("anthropic", sse(*block_events(block, delta), *ENDING))
        without = read("anthropic", sse(*block_events(block), *ENDING))
        carries_nothing = "partial_json" in delta and block["type"] in ("text", "thinking")
        assert (told == without) is carries_nothing, block["type"]


@named(
    [
        *variants(anthropic_types.RawMessageStreamEvent),
        *variants(anthropic_beta.BetaRawMessageStreamEvent),
    ]
)
def test_every_event_of_anthropic_is_read(kind):
    event = sample(kind)
    inside = any(word in event["type"] for word in ("stop", "delta"))
    before = block_events({"type": "text", "text": ""})[:1] if inside else []
    told = read("anthropic", sse(*before, event, *ENDING))
    without = read("anthropic", sse(*before, *ENDING))
    assert (told == without) is event["type"].endswith("_stop")


# Gemini

PARTS = sorted(set(gemini_types.Part.model_fields) - {"thought", "thought_signature", "text"})


@pytest.mark.parametrize("field", PARTS)
def test_every_part_of_gemini_is_read(field):
    about = gemini_types.Part.model_fields[field]
    name = about.alias or field
    part = {name: sample(about.annotation)}
    response = {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}
    (found,) = respond(read("gemini", sse(response))).parts
    assert found.type == name
    assert found.data == part


def test_a_candidate_with_every_field_loses_none():
    candidate = sample(gemini_types.Candidate) | {
        "finishReason": "STOP",
        "content": {"parts": [{"text": "a"}]},
    }
    chunks = read("gemini", sse({"candidates": [candidate]}))
    kept = {chunk.type for chunk in chunks if isinstance(chunk, OpaqueChunk)}
    assert {"citationMetadata", "groundingMetadata", "safetyRatings", "urlContextMetadata"} <= kept


# Reasons


def reasons(kind: type[BaseModel], field: str) -> set[str]:
    options = get_args(kind.model_fields[field].annotation)
    return {
        reason
        for option in (*options, *(inner for option in options for inner in get_args(option)))
        if isinstance(option, str)
        for reason in [option]
    }


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (messages.FINISH, reasons(anthropic_types.Message, "stop_reason")),
        (messages.FINISH, reasons(anthropic_beta.BetaMessage, "stop_reason")),
        (
            chat.FINISH,
            set(get_args(chat_types.chat_completion.Choice.model_fields["finish_reason"].annotation)),
        ),
        (
            gemini.FINISH,
            {reason.value for reason in gemini_types.FinishReason} - {"FINISH_REASON_UNSPECIFIED"},
        ),
        (responses.FINISH, reasons(responses_types.response.IncompleteDetails, "reason")),
        (responses.FINISH, reasons(responses_types.Response, "status") - {"incomplete", "failed"}),
    ],
    ids=["anthropic", "anthropic beta", "chat", "gemini", "responses", "statuses of responses"],
)
def test_every_reason_of_the_sdk_is_known(known, expected):
    assert expected, "the SDK's type of the reason has moved"
    assert expected <= set(known), "a reason that is not in the table would be read as an ordinary end"
