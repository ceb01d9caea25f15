"""Any reply that the codecs write is read back as it was: streamed or whole, however it was cut."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from soundstage.errors import ConnectionCut, ModelError, ProviderError
from soundstage.live import AnswerReader
from soundstage.messages import (
    FinishChunk,
    FinishReason,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Opaque,
    OpaqueChunk,
    Part,
    Text,
    TextChunk,
    Thinking,
    ToolCall,
    ToolCallChunk,
    Usage,
    respond,
    user,
)
from soundstage.wire import CODECS, AnswerStamp
from soundstage.wire._signatures import sign
from support.answers import in_pieces, read
from support.replies import replies

STAMP = AnswerStamp("a" * 24, 1_700_000_000)
CUTS = st.lists(st.integers(0, 3000), max_size=30)
QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def asked(**more: Any) -> ModelRequest:
    return ModelRequest(
        model="m",
        messages=(user("hi"),),
        stream=True,
        settings={"stream_options": {"include_usage": True}, **more},
    )


def streamed(format_name: str, request: ModelRequest, chunks: list[ModelChunk]) -> bytes:
    encoder = CODECS[format_name].encoder(request, STAMP)
    *pieces, finish = chunks
    assert isinstance(finish, FinishChunk)
    return encoder.begin() + b"".join(map(encoder.chunk, pieces)) + encoder.finish(finish)


# What each format can say of a reply


def said(response: ModelResponse) -> list[Part]:
    """The parts of a reply without those that say nothing: no format has a sign for them."""
    return [
        part
        for part in response.parts
        if not (isinstance(part, Text | Thinking) and not part.text and not getattr(part, "signature", ""))
    ]


def joined(parts: list[Part]) -> Iterator[Part]:
    """Neighbours that are text are one text, and thinking is one up to its signature."""
    open_thinking = ""
    for kind, group in groupby(parts, type):
        run: list[Any] = list(group)
        if kind is Text:
            yield Text(text="".join(part.text for part in run))
        elif kind is Thinking:
            open_thinking = ""
            for part in run:
                open_thinking += part.text
                if part.signature:
                    yield Thinking(text=open_thinking, signature=part.signature)
                    open_thinking = ""
            if open_thinking:
                yield Thinking(text=open_thinking)
        else:
            yield from run


def fields(response: ModelResponse, *, join: bool) -> Iterator[Part]:
    """The fields that opaque parts add to a chat message. Pieces are joined; in a whole message the last one counts."""
    found: dict[str, Any] = {}
    for part in response.parts:
        if isinstance(part, Opaque):
            for name, value in part.data.items():
                found[name] = found[name] + value if join and name in found else value
    yield from (Opaque(type=name, data={name: value}) for name, value in found.items())


def chat_stream(response: ModelResponse) -> list[Part]:
    parts = [
        Thinking(text=part.text) if isinstance(part, Thinking) else part
        for part in response.parts
        if not isinstance(part, Opaque) and getattr(part, "text", "x")
    ]
    return [*joined(parts), *fields(response, join=True)]


def chat_whole(response: ModelResponse) -> list[Part]:
    thinking = "".join(part.text for part in response.parts if isinstance(part, Thinking))
    parts = [Thinking(text=thinking), Text(text=response.text)]
    return [
        *(part for part in parts if part.text),
        *response.tool_calls,
        *fields(response, join=False),
    ]


def anthropic(response: ModelResponse) -> list[Part]:
    """Thinking is always sealed, and a block has its type in it."""
    found: list[Part] = []
    for part in response.parts:
        if isinstance(part, Thinking):
            found.append(Thinking(text=part.text, signature=part.signature or sign(part.text)))
        elif not isinstance(part, Text) or part.text:
            found.append(typed(part))
    return found


def typed(part: Part) -> Part:
    if isinstance(part, Opaque):
        return Opaque(type=part.type, data={"type": part.type, **part.data})
    return part


def responses(response: ModelResponse) -> list[Part]:
    return [typed(part) for part in said(response)]


def gemini(response: ModelResponse) -> list[Part]:
    """Calls without an object as arguments cannot be sent; a message says so, unless the reply ends otherwise."""
    raw = [call for call in response.tool_calls if call.raw]
    parts = list(joined([part for part in said(response) if part not in raw]))
    if raw and response.finish in ("stop", "tool_calls", "pause"):
        message = f"Malformed function call: {raw[0].name}({raw[0].raw})"
        parts.append(Opaque(type="finishMessage", data={"finishMessage": message}))
    return parts


def chat_finish(response: ModelResponse) -> FinishReason:
    return "stop" if response.finish in ("pause", "error") else response.finish


def anthropic_finish(response: ModelResponse) -> FinishReason:
    return "stop" if response.finish == "error" else response.finish


def responses_finish(response: ModelResponse) -> FinishReason:
    """`failed` is an error, and not a finish."""
    if response.finish in ("stop", "tool_calls", "pause"):
        return "tool_calls" if response.tool_calls else "stop"
    return response.finish


def gemini_finish(response: ModelResponse) -> FinishReason:
    if response.finish not in ("stop", "tool_calls", "pause"):
        return response.finish
    if any(call.raw for call in response.tool_calls):
        return "error"
    return "tool_calls" if response.tool_calls else "stop"


class Form(NamedTuple):
    """A format, and the reply as it can say it."""

    stream: Callable[[ModelResponse], list[Part]]
    whole: Callable[[ModelResponse], list[Part]]
    finish: Callable[[ModelResponse], FinishReason]
    opaque: tuple[str, ...]


FORMS = {
    "openai-chat": Form(chat_stream, chat_whole, chat_finish, ("annotations",)),
    "openai-responses": Form(
        responses, responses, responses_finish, ("web_search_call", "image_generation_call")
    ),
    "anthropic": Form(anthropic, anthropic, anthropic_finish, ("redacted_thinking", "server_tool_use")),
    "gemini": Form(gemini, gemini, gemini_finish, ("inlineData",)),
}
EVERY_FORMAT = pytest.mark.parametrize("format_name", sorted(FORMS))


def drawn(data: st.DataObject, format_name: str) -> list[ModelChunk]:
    """A reply; an opaque part of Gemini's has its content below its type."""
    return [
        msgspec.structs.replace(chunk, data={chunk.type: chunk.data})
        if isinstance(chunk, OpaqueChunk) and format_name == "gemini"
        else chunk
        for chunk in data.draw(replies(opaque=FORMS[format_name].opaque))
    ]


def expected(response: ModelResponse, format_name: str, parts: list[Part]) -> ModelResponse:
    usage = response.usage
    if format_name == "gemini":  # it does not say what was written to a cache
        usage = Usage(
            input_tokens=usage.input_tokens + usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
        )
    finish = FORMS[format_name].finish(response)
    return ModelResponse(parts=tuple(parts), finish=finish, usage=usage, model="m")


def check(format_name: str, data: bytes, cuts: list[int], wanted: ModelResponse) -> None:
    """The answer says what is wanted; one of the Responses format that has failed is an error."""
    if format_name == "openai-responses" and wanted.finish == "error":
        with pytest.raises(ProviderError, match="The model stopped with an error") as caught:
            read(format_name, data, cuts)
        assert caught.value.status == 500
    else:
        assert respond(read(format_name, data, cuts)) == wanted


@EVERY_FORMAT
@QUICK
@given(data=st.data(), cuts=CUTS)
def test_a_streamed_reply_is_read_as_it_was_written(format_name, data, cuts):
    form = FORMS[format_name]
    chunks = drawn(data, format_name)
    response = respond(chunks)
    wanted = expected(response, format_name, form.stream(response))
    check(format_name, streamed(format_name, asked(alt="sse"), chunks), cuts, wanted)


@EVERY_FORMAT
@QUICK
@given(data=st.data(), cuts=CUTS)
def test_a_whole_reply_is_read_as_it_was_written(format_name, data, cuts):
    form = FORMS[format_name]
    response = respond(drawn(data, format_name))
    wanted = expected(response, format_name, form.whole(response))
    check(format_name, CODECS[format_name].encode(response, asked(), STAMP), cuts, wanted)


@QUICK
@given(data=st.data(), cuts=CUTS)
def test_a_gemini_array_says_the_same_as_the_events(data, cuts):
    chunks = drawn(data, "gemini")
    array, events = streamed("gemini", asked(), chunks), streamed("gemini", asked(alt="sse"), chunks)
    assert read("gemini", array, cuts) == read("gemini", events)


@EVERY_FORMAT
@QUICK
@given(chunks=replies(), cuts=CUTS)
def test_the_chunks_of_a_reply_can_be_streamed_again(format_name, chunks, cuts):
    """A replay makes its frames of what was read: the second reading must not differ from the first."""
    finish = msgspec.structs.replace(chunks[-1], finish="stop")
    once = read(format_name, streamed(format_name, asked(alt="sse"), [*chunks[:-1], finish]), cuts)
    again = read(format_name, streamed(format_name, asked(alt="sse"), once))
    assert respond(again).parts == respond(once).parts


# Answers that are not whole


@EVERY_FORMAT
@pytest.mark.parametrize("framing", ["whole", "streamed", "array"])
@QUICK
@given(data=st.data())
def test_an_answer_that_breaks_off_anywhere_is_a_cut_after_what_was_said(format_name, framing, data):
    """Only what follows the end of the model's words may be missing."""
    chunks = [*data.draw(replies())[:-1], FinishChunk(finish="length")]
    request = asked(alt="" if framing == "array" else "sse")
    whole = (
        CODECS[format_name].encode(respond(chunks), request, STAMP)
        if framing == "whole"
        else streamed(format_name, request, chunks)
    )
    stop = data.draw(st.integers(0, len(whole) - 1))
    reader = AnswerReader(format_name)
    heard = reader.feed(whole[:stop])
    expected_chunks = read(format_name, whole)
    assert heard == expected_chunks[: len(heard)]
    try:
        ended = respond([*heard, *reader.end()])
    except ConnectionCut:
        return
    assert ended.parts == respond(expected_chunks).parts


@EVERY_FORMAT
@QUICK
@given(data=st.data(), cuts=CUTS)
def test_bytes_that_are_no_answer_never_raise_anything_but_errors_of_a_model(format_name, data, cuts):
    """Some bytes of an answer are replaced: it is read, or it is an error that an app knows."""
    whole = data.draw(st.booleans())
    chunks = data.draw(replies())
    written = (
        CODECS[format_name].encode(respond(chunks), asked(), STAMP)
        if whole
        else streamed(format_name, asked(alt=data.draw(st.sampled_from(["sse", ""]))), chunks)
    )
    spoilt = bytearray(written)
    for place in data.draw(st.lists(st.integers(0, len(written) - 1), min_size=1, max_size=8)):
        spoilt[place] = data.draw(st.sampled_from(b'"{}[]:,0a\\n\n\xff'))
    with contextlib.suppress(ModelError):
        respond(read(format_name, bytes(spoilt), cuts))


# What stands beside parts goes back where it was


def field(name: str, value: Any) -> Opaque:
    return Opaque(type=name, data={name: value})


CITATION = {"type": "char_location", "cited_text": "x"}
CHOICE = {"index": 1, "message": {"role": "assistant", "content": "b"}, "finish_reason": "stop"}
CANDIDATE = {"index": 1, "content": {"parts": [{"text": "b"}], "role": "model"}}
REFUSAL = {"type": "refusal", "refusal": "No."}
FIELDED: dict[str, tuple[Part, ...]] = {
    "openai-chat": (
        Text(text="a"),
        field("logprobs", {"content": [{"token": "a"}]}),
        field("refusal", "No."),
        field("annotations", [{"type": "url_citation"}]),
        Opaque(type="choice", data=CHOICE),
    ),
    "openai-responses": (
        Text(text="a"),
        field("annotations", [{"type": "url_citation"}, {"type": "file_citation"}]),
        field("logprobs", [{"token": "a"}]),
        field("phase", "commentary"),
        ToolCall(id="c1", name="look", arguments={"a": 1}),
        field("mode", "x"),
        Opaque(type="web_search_call", data={"type": "web_search_call", "id": "ws"}),
        Opaque(type="refusal", data=REFUSAL),
    ),
    "anthropic": (
        Text(text="a"),
        field("citations", [CITATION, CITATION]),
        Text(text="b"),
        field("container", {"id": "c"}),
        field("context_management", {"applied_edits": [1]}),
    ),
    "gemini": (
        ToolCall(id="c1", name="look", arguments={"a": 1}),
        field("thoughtSignature", "c2Vh"),
        Text(text="a"),
        field("thoughtSignature", "bA=="),
        field("inlineData", {"mimeType": "image/png"}),
        field("groundingMetadata", {"webSearchQueries": ["x"]}),
        field("promptFeedback", {"safetyRatings": [{"blocked": False}]}),
        Opaque(type="candidate", data=CANDIDATE),
    ),
}


def chunks_of(response: ModelResponse) -> list[ModelChunk]:
    chunks: list[ModelChunk] = []
    for index, part in enumerate(response.parts):
        if isinstance(part, Text):
            chunks.append(TextChunk(index=index, text=part.text))
        elif isinstance(part, ToolCall):
            chunks.append(
                ToolCallChunk(index=index, id=part.id, name=part.name, arguments=part.arguments_json)
            )
        elif isinstance(part, Opaque):
            chunks.append(OpaqueChunk(index=index, type=part.type, data=part.data))
    return [*chunks, FinishChunk(finish=response.finish)]


@EVERY_FORMAT
@pytest.mark.parametrize("framing", ["whole", "streamed"])
def test_what_stands_beside_the_parts_is_written_where_it_is_read(format_name, framing):
    response = ModelResponse(parts=FIELDED[format_name])
    if framing == "whole":
        data = CODECS[format_name].encode(response, asked(), STAMP)
    else:
        data = streamed(format_name, asked(alt="sse"), chunks_of(response))
    assert sorted(respond(read(format_name, data)).parts, key=repr) == sorted(response.parts, key=repr)


def test_a_streamed_chat_answer_has_log_probabilities_beside_its_delta():
    response = ModelResponse(parts=FIELDED["openai-chat"])
    data = streamed("openai-chat", asked(), chunks_of(response))
    assert b'"delta":{},"logprobs":{"content":[{"token":"a"}]}' in data


def test_fields_are_where_the_providers_have_them():
    def written(format_name):
        response = ModelResponse(parts=FIELDED[format_name])
        return json.loads(CODECS[format_name].encode(response, asked(), STAMP))

    chat = written("openai-chat")["choices"]
    assert chat[0]["message"]["refusal"] == "No."
    assert chat[0]["logprobs"] == {"content": [{"token": "a"}]}
    assert chat[1] == CHOICE
    message, call, _, refusal = written("openai-responses")["output"]
    assert [annotation["type"] for annotation in message["content"][0]["annotations"]] == [
        "url_citation",
        "file_citation",
    ]
    assert (message["phase"], call["mode"]) == ("commentary", "x")
    assert (refusal["type"], refusal["content"]) == ("message", [REFUSAL])
    anthropic_message = written("anthropic")
    assert anthropic_message["content"][0]["citations"] == [CITATION, CITATION]
    assert anthropic_message["container"] == {"id": "c"}
    answer = written("gemini")
    first, second = answer["candidates"]
    assert [sorted(part) for part in first["content"]["parts"]] == [
        ["functionCall", "thoughtSignature"],
        ["text", "thoughtSignature"],
        ["inlineData"],
    ]
    assert first["groundingMetadata"] == {"webSearchQueries": ["x"]}
    assert second == CANDIDATE
    assert answer["promptFeedback"] == {"safetyRatings": [{"blocked": False}]}


# Errors

BUSY = ProviderError("slow down", status=429, headers={"retry-after": "7", "set-cookie": "x"})


@EVERY_FORMAT
def test_an_error_answer_is_raised_with_its_status_words_and_headers(format_name):
    fault = CODECS[format_name].fault(BUSY, STAMP)
    reader = AnswerReader(format_name, status=fault.status, headers=fault.headers)
    for piece in in_pieces(fault.body, range(0, 500, 7)):
        assert reader.feed(piece) == []
    with pytest.raises(ProviderError) as caught:
        reader.end()
    error = caught.value
    assert (error.status, error.message) == (429, "slow down")
    assert error.headers["retry-after"] == "7"
    assert "set-cookie" not in error.headers
    assert error.kind in ("rate_limit_error", "RESOURCE_EXHAUSTED")


@EVERY_FORMAT
@pytest.mark.parametrize("alt", ["sse", ""])
@pytest.mark.parametrize("size", [1, 13, 10_000])
def test_an_error_within_a_stream_comes_after_what_was_said(format_name, alt, size):
    encoder = CODECS[format_name].encoder(asked(alt=alt), STAMP)
    chunks = [
        msgspec.convert({"kind": "text", "index": 0, "text": text}, ModelChunk) for text in ("Hel", "lo")
    ]
    data = encoder.begin() + b"".join(map(encoder.chunk, chunks)) + encoder.error(BUSY)
    reader, heard, error = AnswerReader(format_name), [], None
    try:
        for piece in in_pieces(data, range(0, len(data), size)):
            heard += reader.feed(piece)
        reader.end()
    except ProviderError as raised:
        error = raised
    assert respond(heard).text == "Hello"
    assert error is not None, "the error of the provider was not raised"
    assert (error.status, error.message) == (429, "slow down")
    assert reader.done
