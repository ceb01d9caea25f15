from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import APIError, BadRequestError, OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel

from soundstage.errors import InvalidStateError, ProviderError, RequestRejected
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
from soundstage.wire._openai_responses import OpenAIResponses
from support.cases import cases

CODEC = OpenAIResponses()
STAMP = AnswerStamp("0123456789abcdefghijklmn", 1_700_000_000)
ASK = ModelRequest(model="gpt-5", messages=(user("hi"),), format="openai-responses")
EVENTS = {  # name -> the official type
    get_args(kind.model_fields["type"].annotation)[0]: kind
    for kind in get_args(get_args(ResponseStreamEvent)[0])
}
FUNCTION = {"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"}}
CUSTOM = {"type": "custom", "name": "patch"}
SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}
STRANGERS = {  # what the provider's servers send and the official types do not have
    ".error",
    ".item.status",  # of custom tool calls
    ".name",
    ".output.status",
    ".response.output.status",
    ".response.store",
    ".store",
}


def decode(**body: Any) -> ModelRequest:
    return CODEC.decode(json.dumps({"model": "gpt-5", "input": "hi", **body}).encode(), {})


def strangers(value: Any, path: str = "") -> Iterator[str]:
    """The fields that the official types do not know."""
    if isinstance(value, BaseModel):
        yield from {f"{path}.{name}" for name in value.model_extra or {}} - STRANGERS
        for name in type(value).model_fields:
            yield from strangers(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, list):
        for element in value:
            yield from strangers(element, path)


def encoded(response: ModelResponse, request: ModelRequest = ASK) -> dict[str, Any]:
    """The body of a complete answer; the official type finds every required field in it, and no other."""
    body = json.loads(CODEC.encode(response, request, STAMP))
    assert list(strangers(Response.model_validate(body))) == []
    return body


def events(stream: bytes) -> list[dict[str, Any]]:
    """The events of a stream; each has its name twice, its number, and the fields of its official type."""
    found = []
    for number, block in enumerate(stream.decode().removesuffix("\n\n").split("\n\n")):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        assert event["sequence_number"] == number
        assert list(strangers(EVENTS[event["type"]].model_validate(event))) == []
        found.append(event)
    return found


def streamed(
    chunks: list[ModelChunk], request: ModelRequest = ASK, finish: FinishChunk | None = None
) -> list[dict[str, Any]]:
    """The events for chunks and a finish."""
    encoder = CODEC.encoder(request, STAMP)
    pieces = [encoder.begin(), *(encoder.chunk(chunk) for chunk in chunks)]
    return events(b"".join([*pieces, encoder.finish(finish or FinishChunk())]))


def items_of(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of a stream, put together from its small events alone."""
    items: list[dict[str, Any]] = []
    for event in found:
        kind = event["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert event["output_index"] == len(items)
            items.append(event["item"])
            continue
        if kind == "output_item.done" and "status" in event["item"]:
            items[event["output_index"]]["status"] = event["item"]["status"]
        if kind == "output_item.done" and "encrypted_content" in event["item"]:
            items[event["output_index"]]["encrypted_content"] = event["item"]["encrypted_content"]
        if "item_id" not in event:
            continue
        item = items[event["output_index"]]
        assert event["item_id"] == item["id"]
        if kind == "content_part.added":
            item["content"].append(event["part"])
        elif kind == "reasoning_summary_part.added":
            item["summary"].append(event["part"])
        elif kind == "output_text.delta":
            item["content"][event["content_index"]]["text"] += event["delta"]
        elif kind == "reasoning_summary_text.delta":
            item["summary"][event["summary_index"]]["text"] += event["delta"]
        elif kind == "function_call_arguments.delta":
            item["arguments"] += event["delta"]
        elif kind == "custom_tool_call_input.delta":
            item["input"] += event["delta"]
    return items


def client(body: bytes, content_type: str = "application/json", status: int = 200) -> OpenAI:
    """The official client, strict, with a transport that answers `body`."""
    answer = httpx2.Response(status, headers={"content-type": content_type}, content=body)
    transport = httpx2.MockTransport(lambda _: answer)
    return OpenAI(
        api_key="none",
        max_retries=0,
        http_client=httpx2.Client(transport=transport),
        _strict_response_validation=True,
    )


# Answers


def test_an_answer_has_its_items_in_the_order_of_the_blocks():
    call = ToolCall(id="call_1", name="look", arguments={"at": 1})
    parts = (Thinking(text="Hm.", signature="gAAA"), Text(text="One."), call, Text(text="Two."))
    body = encoded(ModelResponse(parts=parts, finish="tool_calls", model="gpt-5-2025-08-07"))

    assert (body["id"], body["model"], body["status"]) == (
        f"resp_{STAMP.id}",
        "gpt-5-2025-08-07",
        "completed",
    )
    assert body["output"] == [
        {
            "id": f"rs_{STAMP.id}_0",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "gAAA",
        },
        {
            "id": f"msg_{STAMP.id}_1",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": "One."}],
        },
        {
            "id": f"fc_{STAMP.id}_2",
            "type": "function_call",
            "status": "completed",
            "call_id": "call_1",
            "name": "look",
            "arguments": '{"at":1}',
        },
        {
            "id": f"msg_{STAMP.id}_3",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": "Two."}],
        },
    ]


@pytest.mark.parametrize(
    ("finish", "status", "reason", "last"),
    [
        ("stop", "completed", None, "completed"),
        ("pause", "completed", None, "completed"),
        ("length", "incomplete", "max_output_tokens", "incomplete"),
        ("content_filter", "incomplete", "content_filter", "incomplete"),
    ],
)
def test_an_answer_says_why_it_ends(finish, status, reason, last):
    body = encoded(ModelResponse(parts=(Text(text="a"), Text(text="b")), finish=finish))
    final = streamed(
        [TextChunk(index=0, text="a"), TextChunk(index=1, text="b")], ASK, FinishChunk(finish=finish)
    )

    assert (body["status"], body["incomplete_details"]) == (status, reason and {"reason": reason})
    assert [item["status"] for item in body["output"]] == ["completed", last]
    assert final[-1]["type"] == f"response.{status}"
    assert final[-1]["response"] == body


def test_a_reply_that_ends_with_an_error_has_failed():
    body = encoded(ModelResponse(finish="error"))

    assert (body["status"], body["error"]["code"]) == ("failed", "server_error")
    assert streamed([], ASK, FinishChunk(finish="error"))[-1]["type"] == "response.failed"


def test_usage_counts_cached_tokens_as_input():
    usage = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=100, cache_write_tokens=3)

    assert encoded(ModelResponse(usage=usage))["usage"] == {
        "input_tokens": 113,
        "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 3},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 118,
    }


def test_an_answer_repeats_what_the_request_said():
    search = {"type": "web_search"}
    asked = {
        "instructions": "Be brief.",
        "temperature": 0.2,
        "metadata": {"run": "7"},
        "tool_choice": "required",
        "previous_response_id": "resp_0",
        "parallel_tool_calls": False,
        "max_output_tokens": 99,
        "store": False,
    }
    request = decode(
        **asked,
        tools=[FUNCTION, search],
        reasoning={"effort": "low"},
        text={"verbosity": "low"},
        service_tier="fast",
        top_p=None,
    )
    body = encoded(ModelResponse(), request)

    assert {name: body[name] for name in asked} == asked
    assert body["tools"] == [{**FUNCTION, "strict": None}, search]
    assert body["reasoning"] == {"effort": "low", "summary": None}
    assert body["text"] == {"format": {"type": "text"}, "verbosity": "low"}
    assert (body["service_tier"], body["top_p"]) == ("priority", 1.0)


def test_an_opaque_block_is_an_item_as_it_is():
    body = encoded(ModelResponse(parts=(Opaque(type="web_search_call", data=SEARCH), Text(text="Found."))))

    assert body["output"][0] == SEARCH
    assert body["output"][1]["id"] == f"msg_{STAMP.id}_1"


def test_a_call_of_a_custom_tool_is_an_item_of_its_own_kind():
    request = decode(tools=[CUSTOM])
    chunks = [
        ToolCallChunk(index=0, id="call_1", name="patch", arguments="*** Begin"),
        ToolCallChunk(index=0, arguments=" Patch"),
    ]
    found = streamed(chunks, request)

    assert encoded(respond([*chunks, FinishChunk()]), request)["output"] == [
        {
            "id": f"ctc_{STAMP.id}_0",
            "type": "custom_tool_call",
            "status": "completed",
            "call_id": "call_1",
            "name": "patch",
            "input": "*** Begin Patch",
        }
    ]
    assert items_of(found) == found[-1]["response"]["output"]
    assert "response.custom_tool_call_input.done" in [event["type"] for event in found]


# Streams


def test_a_stream_has_the_events_of_the_provider_in_its_order():
    chunks = [
        ThinkingChunk(index=0, text="Hm."),
        ThinkingChunk(index=0, signature="gAAA"),
        TextChunk(index=1, text="Hel"),
        TextChunk(index=1, text="lo"),
        ToolCallChunk(index=2, id="call_1", name="look", arguments='{"at"'),
        ToolCallChunk(index=2, arguments=":1}"),
    ]

    assert [event["type"].removeprefix("response.") for event in streamed(chunks)] == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]


def test_a_stream_opens_with_a_response_in_progress_and_closes_with_usage():
    finish = FinishChunk(usage=Usage(input_tokens=3, output_tokens=2), model="gpt-5-2025-08-07")
    first, second, *_, last = streamed([TextChunk(index=0, text="Hello")], ASK, finish)

    assert first["response"] == second["response"]
    assert (first["response"]["status"], first["response"]["output"]) == ("in_progress", [])
    assert first["response"]["usage"] is None
    assert (last["response"]["usage"]["total_tokens"], last["response"]["model"]) == (5, "gpt-5-2025-08-07")


def test_a_call_without_arguments_has_an_empty_object():
    found = streamed([ToolCallChunk(index=0, id="call_1", name="look")])

    assert found[-1]["response"]["output"][0]["arguments"] == "{}"
    assert found[-1]["response"] == encoded(ModelResponse(parts=(ToolCall(id="call_1", name="look"),)))


def test_an_opaque_block_is_announced_and_done_at_once():
    found = streamed(
        [TextChunk(index=0, text="a"), OpaqueChunk(index=1, type="web_search_call", data=SEARCH)]
    )

    assert [event["item"] for event in found if event.get("output_index") == 1] == [SEARCH, SEARCH]
    assert found[-1]["response"]["output"][1] == SEARCH


def test_garbage_is_sent_as_it_is_and_not_counted():
    encoder = CODEC.encoder(ASK, STAMP)
    encoder.begin()

    assert encoder.chunk(GarbledChunk(data=b"\xff\xfe")) == b"\xff\xfe"
    assert b'"sequence_number":2,' in encoder.chunk(TextChunk(index=0, text="x"))


def test_an_error_in_mid_stream_is_an_event_and_fails_the_response():
    encoder = CODEC.encoder(ASK, STAMP)
    stream = encoder.begin() + encoder.chunk(TextChunk(index=0, text="Hel"))
    stream += encoder.error(ProviderError("Slow down.", status=429))
    blocks = stream.decode().split("\n\n")
    error, failed = (json.loads(block.split("data: ")[1]) for block in blocks[-3:-1])

    assert list(strangers(EVENTS["error"].model_validate(error))) == []
    assert (error["code"], error["message"], error["param"]) == ("rate_limit_exceeded", "Slow down.", None)
    assert error["error"] == {
        "message": "Slow down.",
        "type": "rate_limit_error",
        "param": None,
        "code": "rate_limit_exceeded",
    }
    assert list(strangers(EVENTS["response.failed"].model_validate(failed))) == []
    assert (failed["type"], failed["response"]["status"]) == ("response.failed", "failed")
    assert failed["response"]["error"] == {"code": "rate_limit_exceeded", "message": "Slow down."}


def test_blocks_cannot_be_streamed_in_turns():
    encoder = CODEC.encoder(ASK, STAMP)
    encoder.chunk(TextChunk(index=0, text="a"))
    encoder.chunk(TextChunk(index=1, text="b"))

    with pytest.raises(InvalidStateError, match="block 0"):
        encoder.chunk(TextChunk(index=0, text="c"))


# The official client reads what the codec writes


def test_the_official_client_reads_an_answer():
    call = ToolCall(id="call_1", name="look", arguments={"at": 1})
    body = CODEC.encode(ModelResponse(parts=(Text(text="Hello"), call)), ASK, STAMP)
    response = client(body).responses.create(model="gpt-5", input="hi")

    assert response.output_text == "Hello"
    assert response.output[1].type == "function_call"


def test_the_official_client_puts_a_stream_together():
    chunks = [
        ThinkingChunk(index=0, text="Hm."),
        TextChunk(index=1, text="Hel"),
        TextChunk(index=1, text="lo"),
        ToolCallChunk(index=2, id="call_1", name="look", arguments='{"at":1}'),
    ]
    encoder = CODEC.encoder(ASK, STAMP)
    body = b"".join([encoder.begin(), *map(encoder.chunk, chunks), encoder.finish(FinishChunk())])

    with client(body, CODEC.stream_type).responses.stream(model="gpt-5", input="hi") as stream:
        response = stream.get_final_response()

    assert response.output_text == "Hello"
    assert response.output[0].summary[0].text == "Hm."
    assert response.output[2].arguments == '{"at":1}'


def test_the_official_client_raises_an_error_in_mid_stream():
    encoder = CODEC.encoder(ASK, STAMP)
    body = encoder.begin() + encoder.error(ProviderError("Slow down.", status=429))
    stream = client(body, CODEC.stream_type).responses.create(model="gpt-5", input="hi", stream=True)

    with pytest.raises(APIError, match="Slow down") as caught:
        list(stream)
    assert caught.value.code == "rate_limit_exceeded"


def test_the_official_client_names_a_refusal():
    with pytest.raises(RequestRejected) as refused:
        CODEC.decode(b'{"model":"m"}', {})
    fault = CODEC.fault(refused.value, STAMP)

    with pytest.raises(BadRequestError) as caught:
        client(fault.body, status=fault.status).responses.create(model="m", input="hi")
    assert (caught.value.param, caught.value.code) == ("input", "missing_required_parameter")
    assert caught.value.type == "invalid_request_error"


# Any reply

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ARGUMENTS = st.dictionaries(TEXTS, st.one_of(st.integers(-9, 9), TEXTS, st.none()), max_size=3)


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """A text in any pieces."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@st.composite
def blocks(draw: st.DrawFn, *, opaque: bool = True) -> list[ModelChunk]:
    """The chunks of a reply: blocks of any kinds in any order, each in any pieces."""
    chunks: list[ModelChunk] = []
    kinds = ["text", "thinking", "call", "custom", *(["opaque"] if opaque else [])]
    for index, kind in enumerate(draw(st.lists(st.sampled_from(kinds), max_size=5))):
        if kind == "text":
            chunks += [TextChunk(index=index, text=piece) for piece in draw(cut(draw(TEXTS)))]
        elif kind == "thinking":
            chunks += [ThinkingChunk(index=index, text=piece) for piece in draw(cut(draw(TEXTS)))]
            chunks.append(ThinkingChunk(index=index, signature=draw(TEXTS)))
        elif kind == "opaque":
            data = {**SEARCH, "id": f"ws_{index}"}
            chunks.append(OpaqueChunk(index=index, type="web_search_call", data=data))
        else:
            arguments = json.dumps(draw(ARGUMENTS), separators=(",", ":"), ensure_ascii=False)
            text = draw(TEXTS) if kind == "custom" else arguments
            first, *rest = draw(cut(text))
            name = "patch" if kind == "custom" else "look"
            chunks.append(ToolCallChunk(index=index, id=f"call_{index}", name=name, arguments=first))
            chunks += [ToolCallChunk(index=index, arguments=piece) for piece in rest]
    return chunks


FINISHES = st.sampled_from(["stop", "tool_calls", "length", "content_filter", "pause"])
WITH_TOOLS = decode(tools=[FUNCTION, CUSTOM])


@given(blocks(), FINISHES)
@cases(60)
def test_any_stream_puts_together_the_items_of_the_complete_answer(chunks, reason):
    finish = FinishChunk(finish=reason, usage=Usage(input_tokens=1, output_tokens=2))
    found = streamed(chunks, WITH_TOOLS, finish)
    body = encoded(respond([*chunks, finish]), WITH_TOOLS)
    done = [event["item"] for event in found if event["type"] == "response.output_item.done"]

    assert found[-1]["response"] == body
    assert done == body["output"]
    assert completed_texts(found) == {
        index: text for index, item in enumerate(done) if (text := item_text(item)) is not None
    }
    announced = [name for name, end in pairs(found) if end == "added"]
    assert announced == [name for name, end in pairs(found) if end == "done"]
    assert [without_defaults(item) for item in items_of(found)] == [without_defaults(item) for item in done]


TEXT_EVENTS = {  # item type -> the event that completes its text, and the field with it
    "message": ("response.output_text.done", "text"),
    "reasoning": ("response.reasoning_summary_text.done", "text"),
    "function_call": ("response.function_call_arguments.done", "arguments"),
    "custom_tool_call": ("response.custom_tool_call_input.done", "input"),
}


def completed_texts(found: list[dict[str, Any]]) -> dict[int, str]:
    """The texts that the events of a stream complete, by the index of their item."""
    fields = dict(TEXT_EVENTS.values())
    return {event["output_index"]: event[fields[event["type"]]] for event in found if event["type"] in fields}


def pairs(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The items that the events of a stream announce and complete, by name."""
    ends = [
        (event["type"].rpartition("."), event["output_index"])
        for event in found
        if event["type"].endswith(("added", "part.done", "item.done"))
    ]
    return sorted((f"{name} {index}", end) for (name, _, end), index in ends)


def item_text(item: dict[str, Any]) -> str | None:
    """The text of an item, None if none has to be completed."""
    parts = item.get("content", item.get("summary"))
    if parts is not None:
        return parts[0]["text"] if parts else None
    return item[TEXT_EVENTS[item["type"]][1]] if item["type"] in TEXT_EVENTS else None


def without_defaults(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if (key, value) != ("arguments", "{}")}


@given(blocks(opaque=False))
@cases(60)
def test_a_reply_that_an_app_sends_back_is_the_reply(chunks):
    response = respond([*chunks, FinishChunk()])
    items = encoded(response, WITH_TOOLS)["output"]
    kind = {"look": "function_call_output", "patch": "custom_tool_call_output"}
    outputs = [
        {"type": kind[item["name"]], "call_id": item["call_id"], "output": "done"}
        for item in items
        if "call_id" in item
    ]
    tools = [FUNCTION, CUSTOM]
    request = decode(input=[{"role": "user", "content": "hi"}, *items, *outputs], tools=tools)

    expected = tuple(
        ToolCall(id=part.id, name=part.name, raw=part.raw or (part.arguments_json if part.arguments else ""))
        if isinstance(part, ToolCall) and part.name == "patch"
        else part
        for part in response.parts
    )
    replied = request.messages[1].parts if expected else ()
    assert replied == expected
    assert len(request.tool_results) == len(outputs)
