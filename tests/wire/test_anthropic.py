"""The Anthropic codec, the way out, and both ways with the provider's own Python client.

Bodies and events are checked against that client; it runs here on a transport without sockets.
"""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types import Message as SdkMessage
from anthropic.types import RawMessageStreamEvent
from pydantic import TypeAdapter

from soundstage.errors import InvalidStateError, ProviderError, RequestRejected
from soundstage.messages import (
    FinishChunk,
    GarbledChunk,
    ModelRequest,
    ModelResponse,
    OpaqueChunk,
    StartChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    Usage,
    respond,
    user,
)
from soundstage.wire import AnswerStamp
from soundstage.wire._anthropic import AnthropicMessages
from soundstage.wire._codec import TokenCount
from soundstage.wire._signatures import sign

CODEC = AnthropicMessages()
STAMP = AnswerStamp("a" * 24, 1_700_000_000)
REQUEST = ModelRequest(model="claude-test", messages=(user("hi"),))
USAGE = Usage(input_tokens=11, output_tokens=7, cache_read_tokens=5, cache_write_tokens=3)
CHUNKS = (
    ThinkingChunk(index=0, text="let me "),
    ThinkingChunk(index=0, text="see", signature="c2Vhb"),
    ThinkingChunk(index=0, signature="A=="),
    TextChunk(index=1, text="Look"),
    TextChunk(index=1, text="ing"),
    ToolCallChunk(index=2, id="toolu_1", name="Read", arguments='{"path"'),
    ToolCallChunk(index=2, arguments=':"a.txt"}'),
    TextChunk(index=3, text="and"),
    ToolCallChunk(index=5, id="toolu_2", name="List"),
    FinishChunk(finish="tool_calls", usage=USAGE),
)


def says(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def result(call_id: str, content: Any = "done", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def stream(*chunks: Any, request: ModelRequest = REQUEST) -> bytes:
    encoder = CODEC.encoder(request, STAMP)
    pieces = (
        encoder.finish(chunk) if isinstance(chunk, FinishChunk) else encoder.chunk(chunk) for chunk in chunks
    )
    return encoder.begin() + b"".join(pieces)


def events(data: bytes) -> list[dict[str, Any]]:
    found = []
    for block in data.decode().split("\n\n")[:-1]:
        name, payload = block.split("\n")
        event = json.loads(payload.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


def client(answer: httpx2.Response, seen: list[bytes] | None = None) -> anthropic.Anthropic:
    def respond_once(request: httpx2.Request) -> httpx2.Response:
        if seen is not None:
            seen.append(request.content)
        return answer

    transport = httpx2.MockTransport(respond_once)
    http = anthropic.DefaultHttpxClient(transport=transport)
    return anthropic.Anthropic(api_key="test", max_retries=0, http_client=http)


# What goes out


def test_a_message_is_one_that_the_official_client_knows():
    response = respond(CHUNKS)
    encoded = json.loads(CODEC.encode(response, REQUEST, STAMP))
    message = SdkMessage.model_validate(encoded)
    assert (message.id, message.model, message.stop_reason) == ("msg_" + "a" * 24, "claude-test", "tool_use")
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "text", "tool_use"]
    assert encoded["content"][0] == {"type": "thinking", "thinking": "let me see", "signature": "c2VhbA=="}
    assert encoded["content"][2]["input"] == {"path": "a.txt"}
    assert encoded["usage"] == {
        "input_tokens": 11,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 5,
        "output_tokens": 7,
    }


def test_a_reply_may_name_another_model():
    encoded = json.loads(CODEC.encode(ModelResponse(model="claude-other"), REQUEST, STAMP))
    assert encoded["model"] == "claude-other"


def test_the_events_of_a_stream_follow_the_grammar():
    found = events(stream(*CHUNKS))
    adapter = TypeAdapter(RawMessageStreamEvent)
    for event in found:
        if event["type"] != "ping":
            adapter.validate_python(event)
    blocks = [
        ("thinking", "thinking_delta", "thinking_delta", "signature_delta"),
        ("text", "text_delta", "text_delta"),
        ("tool_use", "input_json_delta", "input_json_delta"),
        ("text", "text_delta"),
        ("tool_use",),
    ]
    expected: list[tuple[str, int | None, str]] = [("message_start", None, ""), ("ping", None, "")]
    for index, (kind, *deltas) in enumerate(blocks):
        expected.append(("content_block_start", index, kind))
        expected.extend(("content_block_delta", index, delta) for delta in deltas)
        expected.append(("content_block_stop", index, ""))
    expected += [("message_delta", None, ""), ("message_stop", None, "")]
    kinds = [
        (
            event["type"],
            event.get("index"),
            event.get("content_block", event.get("delta", {})).get("type", ""),
        )
        for event in found
    ]
    assert kinds == expected


def test_a_stream_begins_with_an_estimate_of_the_input_and_ends_with_all_of_the_usage():
    found = events(stream(*CHUNKS))
    usage = found[0]["message"]["usage"]
    assert (usage["input_tokens"] > 0, usage["output_tokens"]) == (True, 0)
    assert found[0]["message"]["stop_reason"] is None
    assert found[-2] == {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {
            "input_tokens": 11,
            "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 5,
            "output_tokens": 7,
        },
    }


def test_thinking_without_a_seal_gets_ours_since_clients_must_send_one_back():
    found = events(stream(ThinkingChunk(index=0, text="hm"), FinishChunk()))
    assert found[2]["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    assert [event.get("delta", {}).get("type") for event in found[3:6]] == [
        "thinking_delta",
        "signature_delta",
        None,
    ]
    assert found[4]["delta"]["signature"] == sign("hm")


def test_blocks_that_we_do_not_interpret_go_out_whole():
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    chunks = (
        OpaqueChunk(index=0, type="redacted_thinking", data=redacted),
        OpaqueChunk(index=1, type="odd", data=[1]),
        FinishChunk(),
    )
    found = events(stream(*chunks))
    starts = [event["content_block"] for event in found if event["type"] == "content_block_start"]
    assert starts == [redacted, {"type": "odd", "data": [1]}]
    assert json.loads(CODEC.encode(respond(chunks), REQUEST, STAMP))["content"] == starts


def test_arguments_that_are_no_json_object_reach_the_app_as_text():
    chunks = (ToolCallChunk(index=0, id="a", name="Read", arguments='{"path": oops'), FinishChunk())
    assert events(stream(*chunks))[3]["delta"]["partial_json"] == '{"path": oops'
    assert json.loads(CODEC.encode(respond(chunks), REQUEST, STAMP))["content"][0]["input"] == '{"path": oops'


def test_garbage_passes_as_it_is_and_the_first_chunk_has_no_event():
    encoder = CODEC.encoder(REQUEST, STAMP)
    assert encoder.chunk(GarbledChunk(data=b"\xff\xfe")) == b"\xff\xfe"
    assert encoder.chunk(StartChunk(model="other")) == b""


@pytest.mark.parametrize(
    "chunk",
    [TextChunk(index=0, text="late"), ToolCallChunk(index=2, arguments="}")],
    ids=["late", "nameless"],
)
def test_pieces_that_belong_to_no_open_block_are_a_fault_of_the_model(chunk):
    encoder = CODEC.encoder(REQUEST, STAMP)
    encoder.chunk(TextChunk(index=0, text="one"))
    encoder.chunk(TextChunk(index=1, text="two"))
    with pytest.raises(InvalidStateError, match="all pieces of a block in a row"):
        encoder.chunk(chunk)


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("content_filter", "refusal"),
        ("pause", "pause_turn"),
        ("error", "end_turn"),
    ],
)
def test_every_finish_has_a_stop_reason(finish, reason):
    encoded = CODEC.encode(ModelResponse(finish=finish), REQUEST, STAMP)
    assert SdkMessage.model_validate_json(encoded).stop_reason == reason
    assert events(stream(FinishChunk(finish=finish)))[2]["delta"]["stop_reason"] == reason


# Errors


@pytest.mark.parametrize(
    ("status", "kind", "raised"),
    [
        (400, "invalid_request_error", anthropic.BadRequestError),
        (401, "authentication_error", anthropic.AuthenticationError),
        (402, "billing_error", anthropic.APIStatusError),
        (403, "permission_error", anthropic.PermissionDeniedError),
        (404, "not_found_error", anthropic.NotFoundError),
        (413, "request_too_large", anthropic.APIStatusError),
        (418, "invalid_request_error", anthropic.APIStatusError),
        (429, "rate_limit_error", anthropic.RateLimitError),
        (500, "api_error", anthropic.InternalServerError),
        (503, "api_error", anthropic.InternalServerError),
        (504, "timeout_error", anthropic.InternalServerError),
        (529, "overloaded_error", anthropic.InternalServerError),
    ],
)
def test_an_error_raises_the_official_clients_exception(status, kind, raised):
    fault = CODEC.fault(ProviderError("scripted", status=status, headers={"retry-after": "1"}), STAMP)
    answer = httpx2.Response(fault.status, headers=fault.headers, content=fault.body)
    with client(answer) as sdk, pytest.raises(raised) as caught:
        sdk.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}])
    assert caught.value.status_code == status
    assert caught.value.request_id == "req_" + "a" * 24
    assert caught.value.response.headers["retry-after"] == "1"
    assert caught.value.body == {
        "type": "error",
        "error": {"type": kind, "message": "scripted"},
        "request_id": "req_" + "a" * 24,
    }


def test_a_refusal_is_an_error_answer_and_may_name_its_type():
    fault = CODEC.fault(RequestRejected("no", status=404, kind="special_error"), STAMP)
    assert (fault.status, fault.headers["content-type"]) == (404, "application/json")
    assert json.loads(fault.body)["error"] == {"type": "special_error", "message": "no"}


def test_an_error_in_mid_stream_raises_in_the_official_client():
    encoder = CODEC.encoder(REQUEST, STAMP)
    data = encoder.begin() + encoder.chunk(TextChunk(index=0, text="Hel"))
    data += encoder.error(ProviderError("Overloaded", status=529))
    answer = httpx2.Response(200, headers={"content-type": CODEC.stream_type}, content=data)
    with (
        client(answer) as sdk,
        pytest.raises(anthropic.APIStatusError, match="Overloaded"),
        sdk.messages.stream(model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}]) as streamed,
    ):
        streamed.until_done()


# Both ways, with the official client


def test_the_official_client_reads_the_stream_and_sends_it_back_as_history():
    seen: list[bytes] = []
    answer = httpx2.Response(200, headers={"content-type": CODEC.stream_type}, content=stream(*CHUNKS))
    asked: dict[str, Any] = {
        "model": "claude-test",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "x"}],
    }
    with client(answer, seen) as sdk, sdk.messages.stream(**asked) as streamed:
        message = streamed.get_final_message()
    assert message.usage.input_tokens == 11
    assert message.usage.cache_read_input_tokens == 5
    asked["messages"] += [
        message.to_param(),
        says("user", result("toolu_1"), result("toolu_2")),
    ]
    whole = httpx2.Response(200, json=json.loads(CODEC.encode(respond(CHUNKS), REQUEST, STAMP)))
    with client(whole, seen) as sdk:
        again = sdk.messages.create(**asked)
    assert [block.model_dump(exclude_none=True) for block in again.content] == [
        block.model_dump(exclude_none=True) for block in message.content
    ]
    first, second = (CODEC.decode(body, {}) for body in seen)
    assert first.stream
    assert not second.stream
    assert second.messages[1] == respond(CHUNKS).message()


def test_the_official_client_reads_a_count():
    seen: list[bytes] = []
    with client(httpx2.Response(200, content=CODEC.encode_count(TokenCount(42))), seen) as sdk:
        counted = sdk.messages.count_tokens(model="m", messages=[{"role": "user", "content": "12345678"}])
    assert counted.input_tokens == 42
    assert CODEC.count_tokens(seen[0]).tokens == 2
