"""The Gemini codec, the way out, and both ways with the provider's own Python client.

Bodies and events are checked against that client; it runs here on a transport without sockets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from google import genai
from google.genai import errors as sdk_errors
from google.genai import types

from soundstage.errors import InvalidStateError, ProviderError
from soundstage.messages import (
    FinishChunk,
    GarbledChunk,
    ModelRequest,
    ModelResponse,
    OpaqueChunk,
    StartChunk,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolCallChunk,
    ToolResult,
    Usage,
    respond,
    user,
)
from soundstage.wire import AnswerStamp
from soundstage.wire._codec import TokenCount
from soundstage.wire._gemini import Gemini

CODEC = Gemini()
STAMP = AnswerStamp("a" * 24, 1_700_000_000)
MODEL = {"model": "gemini-test"}
EVENTS = ModelRequest(model="gemini-test", messages=(user("hi"),), stream=True, settings={"alt": "sse"})
ARRAY = ModelRequest(model="gemini-test", messages=(user("hi"),), stream=True)
CHUNKS = (
    ThinkingChunk(index=0, text="let me "),
    ThinkingChunk(index=0, text="see", signature="c2Vhb"),
    ThinkingChunk(index=0, signature="A=="),
    TextChunk(index=1, text="Look"),
    TextChunk(index=1, text="ing"),
    ToolCallChunk(index=2, id="call_x", name="read", arguments='{"path"'),
    ToolCallChunk(index=2, arguments=':"a.txt"}'),
    ToolCallChunk(index=3, id="call_y", name="list"),
    FinishChunk(finish="tool_calls", usage=Usage(input_tokens=11, output_tokens=7, cache_read_tokens=5)),
)


def stream(*chunks: Any, request: ModelRequest = EVENTS) -> bytes:
    encoder = CODEC.encoder(request, STAMP)
    pieces = (
        encoder.finish(chunk) if isinstance(chunk, FinishChunk) else encoder.chunk(chunk) for chunk in chunks
    )
    return encoder.begin() + b"".join(pieces)


def responses(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(block.removeprefix(b"data: ")) for block in data.split(b"\n\n")[:-1]]


def parts_of(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [part for response in found for part in response["candidates"][0]["content"].get("parts", [])]


@contextmanager
def client(*answers: httpx.Response, seen: list[httpx.Request] | None = None) -> Iterator[genai.Client]:
    waiting = iter(answers)

    def respond_next(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        return next(waiting)

    with httpx.Client(transport=httpx.MockTransport(respond_next)) as http:
        yield genai.Client(api_key="test", http_options=types.HttpOptions(httpx_client=http))


# What goes out


def test_a_response_is_one_that_the_official_client_knows():
    encoded = json.loads(CODEC.encode(respond(CHUNKS), EVENTS, STAMP))
    response = types.GenerateContentResponse.model_validate(encoded)
    assert response.text == "Looking"
    assert [call.name for call in response.function_calls or ()] == ["read", "list"]
    assert (response.model_version, response.response_id) == ("gemini-test", "a" * 24)
    assert encoded["candidates"] == [
        {
            "content": {
                "parts": [
                    {"text": "let me see", "thought": True, "thoughtSignature": "c2VhbA=="},
                    {"text": "Looking"},
                    {"functionCall": {"id": "call_x", "name": "read", "args": {"path": "a.txt"}}},
                    {"functionCall": {"id": "call_y", "name": "list", "args": {}}},
                ],
                "role": "model",
            },
            "finishReason": "STOP",
            "index": 0,
        }
    ]
    assert encoded["usageMetadata"] == {
        "promptTokenCount": 16,
        "candidatesTokenCount": 7,
        "totalTokenCount": 23,
        "cachedContentTokenCount": 5,
    }


def test_an_empty_reply_has_no_parts_and_may_name_another_model():
    encoded = json.loads(CODEC.encode(ModelResponse(model="gemini-other"), EVENTS, STAMP))
    assert encoded["candidates"][0]["content"] == {"role": "model"}
    assert encoded["modelVersion"] == "gemini-other"
    assert "cachedContentTokenCount" not in encoded["usageMetadata"]


def test_a_stream_sends_text_as_it_comes_and_calls_whole():
    found = responses(stream(*CHUNKS))
    for response in found:
        types.GenerateContentResponse.model_validate(response)
        assert (response["modelVersion"], response["responseId"]) == ("gemini-test", "a" * 24)
    assert parts_of(found) == [
        {"text": "let me ", "thought": True},
        {"text": "see", "thought": True},
        {"text": "", "thought": True, "thoughtSignature": "c2VhbA=="},
        {"text": "Look"},
        {"text": "ing"},
        {"functionCall": {"id": "call_x", "name": "read", "args": {"path": "a.txt"}}},
        {"functionCall": {"id": "call_y", "name": "list", "args": {}}},
    ]
    assert [response["candidates"][0].get("finishReason") for response in found] == [None] * 6 + ["STOP"]
    assert [response.get("usageMetadata", {}).get("totalTokenCount") for response in found] == [None] * 6 + [
        23
    ]


def test_without_alt_sse_a_stream_is_a_json_array_of_the_same_responses():
    array = stream(*CHUNKS, request=ARRAY)
    assert json.loads(array) == responses(stream(*CHUNKS))
    assert CODEC.encoder(ARRAY, STAMP).stream_type == "application/json; charset=UTF-8"
    assert CODEC.encoder(EVENTS, STAMP).stream_type == CODEC.stream_type


def test_every_response_of_a_stream_has_a_part():
    """The official client's chat forgets an answer that has a response without one."""
    assert parts_of(responses(stream(TextChunk(index=0, text="hi"), FinishChunk())))[-1] == {"text": ""}
    assert parts_of(responses(stream(FinishChunk()))) == [{"text": ""}]


def test_a_signature_that_is_no_base64_is_encoded_for_clients_that_decode_it():
    reply = ModelResponse(parts=(Thinking(text="hm", signature="my seal!"),))
    encoded = CODEC.encode(reply, EVENTS, STAMP)
    (candidate,) = types.GenerateContentResponse.model_validate_json(encoded).candidates or ()
    assert candidate.content is not None
    assert candidate.content.parts is not None
    assert candidate.content.parts[0].thought_signature == b"my seal!"


def test_parts_that_we_do_not_interpret_go_out_whole():
    blob = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    chunks = (
        OpaqueChunk(index=0, type="inlineData", data=blob),
        OpaqueChunk(index=1, type="odd", data=[1]),
        TextChunk(index=2, text="x"),
        FinishChunk(),
    )
    assert parts_of(responses(stream(*chunks)))[:2] == [blob, {"odd": [1]}]
    assert parts_of([json.loads(CODEC.encode(respond(chunks), EVENTS, STAMP))])[:2] == [blob, {"odd": [1]}]


@pytest.mark.parametrize(
    ("finish", "reason"), [("tool_calls", "MALFORMED_FUNCTION_CALL"), ("length", "MAX_TOKENS")]
)
def test_a_call_whose_arguments_are_no_object_is_left_out_with_the_providers_reason(finish, reason):
    chunks = (
        ToolCallChunk(index=0, id="a", name="read", arguments='{"path": oops'),
        FinishChunk(finish=finish),
    )
    streamed = responses(stream(*chunks))[-1]["candidates"][0]
    whole = json.loads(CODEC.encode(respond(chunks), EVENTS, STAMP))["candidates"][0]
    assert (streamed["finishReason"], whole["finishReason"]) == (reason, reason)
    assert streamed.get("finishMessage") == whole.get("finishMessage")
    assert ('read({"path": oops)' in whole.get("finishMessage", "")) is (finish == "tool_calls")
    assert "parts" not in whole["content"]
    assert streamed["content"]["parts"] == [{"text": ""}]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "STOP"),
        ("length", "MAX_TOKENS"),
        ("tool_calls", "STOP"),
        ("content_filter", "SAFETY"),
        ("pause", "STOP"),
        ("error", "OTHER"),
    ],
)
def test_every_finish_has_a_reason(finish, reason):
    whole = json.loads(CODEC.encode(ModelResponse(finish=finish), EVENTS, STAMP))
    streamed = responses(stream(FinishChunk(finish=finish)))[-1]
    for found in (whole, streamed):
        assert found["candidates"][0]["finishReason"] == types.FinishReason(reason).value


def test_garbage_passes_as_it_is_and_the_first_chunk_has_no_event():
    encoder = CODEC.encoder(EVENTS, STAMP)
    assert encoder.chunk(GarbledChunk(data=b"\xff\xfe")) == b"\xff\xfe"
    assert encoder.chunk(StartChunk(model="other")) == b""


@pytest.mark.parametrize(
    "chunk",
    [TextChunk(index=0, text="late"), ToolCallChunk(index=2, arguments="}")],
    ids=["late", "nameless"],
)
def test_pieces_that_belong_to_no_open_block_are_a_fault_of_the_model(chunk):
    encoder = CODEC.encoder(EVENTS, STAMP)
    encoder.chunk(TextChunk(index=0, text="one"))
    encoder.chunk(TextChunk(index=1, text="two"))
    with pytest.raises(InvalidStateError, match="all pieces of a block in a row"):
        encoder.chunk(chunk)


# Errors


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (418, "INVALID_ARGUMENT"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (502, "INTERNAL"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
    ],
)
def test_an_error_raises_the_official_clients_exception(status, name):
    fault = CODEC.fault(ProviderError("scripted", status=status, headers={"retry-after": "1"}), STAMP)
    assert fault.headers["retry-after"] == "1"
    answer = httpx.Response(fault.status, headers=fault.headers, content=fault.body)
    with client(answer) as sdk, pytest.raises(sdk_errors.APIError) as caught:
        sdk.models.generate_content(model="gemini-test", contents="x")
    assert (caught.value.code, caught.value.status, caught.value.message) == (status, name, "scripted")


def test_an_error_may_name_its_status():
    fault = CODEC.fault(ProviderError("x", status=500, kind="DATA_LOSS"), STAMP)
    assert json.loads(fault.body)["error"]["status"] == "DATA_LOSS"


def test_an_error_in_mid_stream_is_a_bare_object_or_the_last_of_the_array():
    error = {"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}
    events, array = CODEC.encoder(EVENTS, STAMP), CODEC.encoder(ARRAY, STAMP)
    for encoder in (events, array):
        encoder.chunk(TextChunk(index=0, text="Hel"))
    failed = ProviderError("Overloaded", status=503)
    assert json.loads(events.error(failed)) == error
    assert json.loads(b"[0" + array.error(failed)) == [0, error]


# Both ways, with the official client


def test_the_official_clients_chat_reads_the_stream_and_sends_it_back_as_history():
    seen: list[httpx.Request] = []
    streamed = httpx.Response(200, headers={"content-type": CODEC.stream_type}, content=stream(*CHUNKS))
    done = respond([TextChunk(index=0, text="done"), FinishChunk()])
    whole = httpx.Response(200, content=CODEC.encode(done, EVENTS, STAMP))
    with client(streamed, whole, seen=seen) as sdk:
        chat = sdk.chats.create(model="gemini-test")
        pieces = list(chat.send_message_stream("hi"))
        answer = chat.send_message(
            [
                types.Part.from_function_response(name="list", response={"result": "l"}),
                types.Part.from_function_response(name="read", response={"error": "r"}),
            ]
        )
    assert answer.text == "done"
    assert pieces[-1].usage_metadata is not None
    assert pieces[-1].usage_metadata.total_token_count == 23
    assert str(seen[0].url).endswith("models/gemini-test:streamGenerateContent?alt=sse")
    asked = CODEC.decode(seen[1].content, MODEL)
    assert asked.tool_results == (
        ToolResult(call_id="call_y", name="list", text="l"),
        ToolResult(call_id="call_x", name="read", text="r", is_error=True),
    )


def test_functions_that_the_official_client_runs_by_itself_come_back_as_results():
    def read(path: str) -> str:
        """Read a file."""
        return f"content of {path}"

    seen: list[httpx.Request] = []
    asked_for = respond([ToolCallChunk(index=0, id="call_x", name="read", arguments='{"path":"a"}')])
    done = respond([TextChunk(index=0, text="done"), FinishChunk()])
    answers = [httpx.Response(200, content=CODEC.encode(reply, EVENTS, STAMP)) for reply in (asked_for, done)]
    with client(*answers, seen=seen) as sdk:
        config = types.GenerateContentConfig(tools=[read], system_instruction="be brief")
        answer = sdk.models.generate_content(model="gemini-test", contents="hi", config=config)
    assert answer.text == "done"
    asked = CODEC.decode(seen[1].content, MODEL)
    assert asked.system_text == "be brief"
    assert [tool.name for tool in asked.tools] == ["read"]
    assert asked.tool_results == (ToolResult(call_id="call_x", name="read", text="content of a"),)


def test_the_official_client_reads_a_count():
    seen: list[httpx.Request] = []
    with client(httpx.Response(200, content=CODEC.encode_count(TokenCount(42))), seen=seen) as sdk:
        counted = sdk.models.count_tokens(model="gemini-test", contents="12345678")
    assert counted.total_tokens == 42
    assert CODEC.count_tokens(seen[0].content).tokens == 2
