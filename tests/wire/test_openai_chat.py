from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AuthenticationError, OpenAI, RateLimitError
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel

from soundstage.errors import ProviderError, RequestRejected
from soundstage.messages import (
    FinishChunk,
    GarbledChunk,
    ModelChunk,
    ModelRequest,
    ModelResponse,
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
    user,
)
from soundstage.wire import AnswerStamp
from soundstage.wire._openai_chat import OpenAIChat
from support.cases import cases

CODEC = OpenAIChat()
STAMP = AnswerStamp("0123456789abcdefghijklmn", 1_700_000_000)
ASK = ModelRequest(model="gpt-4o", messages=(user("hi"),), format="openai-chat")
HI = {"role": "user", "content": "hi"}
CUSTOM = {"type": "custom", "custom": {"name": "patch"}}
CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}


def decode(*messages: Any, **body: Any) -> ModelRequest:
    given = {"model": "gpt-4o", "messages": list(messages) or [HI], **body}
    return CODEC.decode(json.dumps(given).encode(), {})


def strangers(value: Any, path: str = "") -> Iterator[str]:
    """The fields that the official types do not know."""
    if isinstance(value, BaseModel):
        yield from (f"{path}.{name}" for name in value.model_extra or {})
        for name in type(value).model_fields:
            yield from strangers(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, list):
        for element in value:
            yield from strangers(element, path)


def encoded(response: ModelResponse, request: ModelRequest = ASK) -> dict[str, Any]:
    """The body of a complete answer; the official type finds every required field in it, and no other."""
    body = json.loads(CODEC.encode(response, request, STAMP))
    unknown = set(strangers(ChatCompletion.model_validate(body)))
    assert unknown <= {".choices.message.reasoning_content"}
    return body


def message(response: ModelResponse, request: ModelRequest = ASK) -> dict[str, Any]:
    return encoded(response, request)["choices"][0]["message"]


def streamed(
    chunks: list[ModelChunk], request: ModelRequest = ASK, finish: FinishChunk | None = None
) -> list[dict[str, Any]]:
    """The events for chunks and a finish, each as the official type wants it, without the end mark."""
    encoder = CODEC.encoder(request, STAMP)
    pieces = [encoder.begin(), *map(encoder.chunk, chunks), encoder.finish(finish or FinishChunk())]
    *blocks, mark = b"".join(pieces).decode().removesuffix("\n\n").split("\n\n")
    assert mark == "data: [DONE]"
    found = [json.loads(block.removeprefix("data: ")) for block in blocks]
    for event in found:
        unknown = set(strangers(ChatCompletionChunk.model_validate(event)))
        assert unknown <= {".choices.delta.reasoning_content"}
    return found


def deltas(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["choices"][0]["delta"] for event in events if event["choices"]]


def put_together(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message of a stream, as a client adds it up."""
    found: dict[str, Any] = {"role": "assistant", "content": "", "refusal": None}
    calls: list[dict[str, Any]] = []
    for delta in deltas(events):
        for name in ("content", "reasoning_content"):
            if delta.get(name):
                found[name] = found.get(name, "") + delta[name]
        for call in delta.get("tool_calls", ()):
            if call["index"] == len(calls):
                calls.append({key: value for key, value in call.items() if key != "index"})
            else:
                calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    if calls:
        found |= {"tool_calls": calls, "content": found["content"] or None}
    return found


# Answers


def test_an_answer_has_text_calls_and_thinking():
    call = ToolCall(id="a", name="look", arguments={"at": 1})
    body = encoded(
        ModelResponse(parts=(Thinking(text="Hm."), Text(text="Yes."), call), finish="tool_calls", model="m-1")
    )

    assert (body["id"], body["created"], body["model"]) == (f"chatcmpl-{STAMP.id}", STAMP.created, "m-1")
    assert body["choices"] == [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Yes.",
                "refusal": None,
                "tool_calls": [CALL],
                "reasoning_content": "Hm.",
            },
            "logprobs": None,
            "finish_reason": "tool_calls",
        }
    ]


def test_content_is_null_only_beside_calls():
    assert message(ModelResponse())["content"] == ""
    assert message(ModelResponse(parts=(ToolCall(id="a", name="look"),)))["content"] is None


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("pause", "stop"),
        ("error", "stop"),
    ],
)
def test_an_answer_says_why_it_ends(finish, reason):
    assert encoded(ModelResponse(finish=finish))["choices"][0]["finish_reason"] == reason
    assert streamed([], ASK, FinishChunk(finish=finish))[-1]["choices"][0]["finish_reason"] == reason


def test_usage_counts_cached_tokens_as_prompt():
    usage = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=100, cache_write_tokens=3)
    body = encoded(ModelResponse(usage=usage))["usage"]

    assert (body["prompt_tokens"], body["completion_tokens"], body["total_tokens"]) == (113, 5, 118)
    assert body["prompt_tokens_details"] == {"cached_tokens": 100, "cache_write_tokens": 3, "audio_tokens": 0}


def test_a_refusal_is_an_opaque_block():
    refusal = {"type": "refusal", "refusal": "I will not."}

    assert message(ModelResponse(parts=(Opaque(type="refusal", data=refusal),)))["refusal"] == "I will not."
    found = streamed([OpaqueChunk(index=0, type="refusal", data=refusal)])
    assert deltas(found)[1] == {"refusal": "I will not."}


def test_a_call_of_a_custom_tool_has_free_text():
    request = decode(tools=[CUSTOM])
    chunks = [
        ToolCallChunk(index=0, id="a", name="patch", arguments="*** Begin"),
        ToolCallChunk(index=0, arguments=" Patch"),
    ]
    encoder = CODEC.encoder(request, STAMP)
    sent = [json.loads(encoder.chunk(chunk).removeprefix(b"data: ")) for chunk in chunks]

    assert message(respond([*chunks, FinishChunk()]), request)["tool_calls"] == [
        {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "*** Begin Patch"}}
    ]
    assert [delta["tool_calls"][0] for delta in deltas(sent)] == [
        {"index": 0, "id": "a", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
        {"index": 0, "custom": {"input": " Patch"}},
    ]


# Streams


def test_a_stream_begins_with_the_role_and_ends_with_the_reason():
    found = streamed([TextChunk(index=0, text="Hel"), TextChunk(index=0, text="lo")])

    assert deltas(found) == [
        {"role": "assistant", "content": "", "refusal": None},
        {"content": "Hel"},
        {"content": "lo"},
        {},
    ]
    assert [event["choices"][0]["finish_reason"] for event in found] == [None, None, None, "stop"]
    assert {event["id"] for event in found} == {f"chatcmpl-{STAMP.id}"}


def test_usage_comes_last_and_only_if_asked_for():
    finish = FinishChunk(usage=Usage(input_tokens=3, output_tokens=2))
    asking = decode(stream=True, stream_options={"include_usage": True})
    *earlier, last = streamed([TextChunk(index=0, text="x")], asking, finish)

    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 5)
    assert [event["usage"] for event in earlier] == [None] * len(earlier)
    assert all("usage" not in event for event in streamed([TextChunk(index=0, text="x")], ASK, finish))


def test_calls_may_be_streamed_in_turns():
    found = streamed(
        [
            ToolCallChunk(index=3, id="a", name="look", arguments='{"at"'),
            ToolCallChunk(index=4, id="b", name="look", arguments="{"),
            ToolCallChunk(index=3, arguments=":1}"),
            ToolCallChunk(index=4, arguments="}"),
        ]
    )

    other = {"id": "b", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    assert put_together(found)["tool_calls"] == [CALL, other]


def test_garbage_is_sent_as_it_is():
    assert CODEC.encoder(ASK, STAMP).chunk(GarbledChunk(data=b"\xff\xfe")) == b"\xff\xfe"


def test_an_error_in_mid_stream_is_an_event():
    sent = CODEC.encoder(ASK, STAMP).error(ProviderError("Broken.", status=500))

    assert json.loads(sent.removeprefix(b"data: ")) == {
        "error": {"message": "Broken.", "type": "server_error", "param": None, "code": None}
    }


# Errors


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (ProviderError("x", status=401), "invalid_request_error", "invalid_api_key"),
        (ProviderError("x", status=404), "invalid_request_error", "model_not_found"),
        (ProviderError("x", status=429), "rate_limit_error", "rate_limit_exceeded"),
        (
            ProviderError("x", status=429, kind="insufficient_quota"),
            "insufficient_quota",
            "insufficient_quota",
        ),
        (ProviderError("x", status=502), "server_error", None),
        (ProviderError("x", status=418), "invalid_request_error", None),
        (RequestRejected("x", code="empty_array"), "invalid_request_error", "empty_array"),
    ],
)
def test_an_error_has_the_type_and_the_code_of_the_provider(error, kind, code):
    fault = CODEC.fault(error, STAMP)
    shown = json.loads(fault.body)["error"]

    assert (fault.status, shown["type"], shown["code"]) == (error.status, kind, code)


# The official client reads what the codec writes


def client(body: bytes, content_type: str = "application/json", status: int = 200, **headers: str) -> OpenAI:
    """The official client, strict, with a transport that answers `body`."""
    answer = httpx2.Response(status, headers={"content-type": content_type, **headers}, content=body)
    transport = httpx2.MockTransport(lambda _: answer)
    return OpenAI(
        api_key="none",
        max_retries=0,
        http_client=httpx2.Client(transport=transport),
        _strict_response_validation=True,
    )


def test_the_official_client_reads_an_answer():
    body = CODEC.encode(ModelResponse(parts=(Text(text="Hello"),)), ASK, STAMP)
    answer = client(body).chat.completions.create(model="gpt-4o", messages=[HI])

    assert answer.choices[0].message.content == "Hello"


def test_the_official_client_puts_a_stream_together():
    encoder = CODEC.encoder(ASK, STAMP)
    chunks = [TextChunk(index=0, text="Hel"), TextChunk(index=0, text="lo")]
    call = ToolCallChunk(index=1, id="a", name="look", arguments='{"at":1}')
    finish = FinishChunk(finish="tool_calls")
    body = b"".join([encoder.begin(), *map(encoder.chunk, [*chunks, call]), encoder.finish(finish)])

    with client(body, CODEC.stream_type).chat.completions.stream(model="gpt-4o", messages=[HI]) as stream:
        answer = stream.get_final_completion()

    assert answer.choices[0].message.content == "Hello"
    assert answer.choices[0].message.tool_calls[0].function.arguments == '{"at":1}'


@pytest.mark.parametrize(("status", "kind"), [(401, AuthenticationError), (429, RateLimitError)])
def test_the_official_client_raises_the_error_of_the_status(status, kind):
    fault = CODEC.fault(ProviderError("No.", status=status, headers={"x-should-retry": "false"}), STAMP)

    with pytest.raises(kind, match=r"No\."):
        client(fault.body, status=fault.status).chat.completions.create(model="gpt-4o", messages=[HI])


# Any reply

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def replies(draw: st.DrawFn) -> list[ModelChunk]:
    """The chunks of a reply: blocks of any kinds in any order, each in two pieces."""
    chunks: list[ModelChunk] = []
    for index, kind in enumerate(draw(st.lists(st.sampled_from(["text", "thinking", "call"]), max_size=5))):
        text = draw(TEXTS)
        if kind == "call":
            text = json.dumps({"text": text}, separators=(",", ":"), ensure_ascii=False)
        middle = draw(st.integers(0, len(text)))
        first, second = text[:middle], text[middle:]
        if kind == "call":
            chunks.append(ToolCallChunk(index=index, id=f"call_{index}", name="look", arguments=first))
            chunks.append(ToolCallChunk(index=index, arguments=second))
        else:
            piece = TextChunk if kind == "text" else ThinkingChunk
            chunks += [piece(index=index, text=first), piece(index=index, text=second)]
    return chunks


@given(replies())
@cases(60)
def test_any_stream_adds_up_to_the_complete_answer(chunks):
    assert put_together(streamed(chunks)) == message(respond([*chunks, FinishChunk()]))


@given(replies())
@cases(60)
def test_a_reply_that_an_app_sends_back_is_the_reply_apart_from_order(chunks):
    response = respond([*chunks, FinishChunk()])
    reply = message(response)
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in reply.get("tool_calls", ())
    ]
    back = decode(reply, *results).messages[0]

    assert back.text == response.text
    assert tuple(part for part in back.parts if isinstance(part, ToolCall)) == response.tool_calls
    assert "".join(part.text for part in back.parts if isinstance(part, Thinking)) == "".join(
        part.text for part in response.parts if isinstance(part, Thinking)
    )
