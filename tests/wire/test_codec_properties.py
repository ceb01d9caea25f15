"""Properties of all codecs, for any reply in any pieces.

Streams are read here by a small reader of its own, which knows server-sent events (WHATWG
HTML, section 9.2) and how each provider's clients put a message together, and nothing of the encoders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from soundstage.errors import RequestRejected
from soundstage.messages import (
    FinishChunk,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Text,
    Thinking,
    ToolCall,
    respond,
    user,
)
from soundstage.wire import AnswerStamp, Codec
from soundstage.wire._anthropic import AnthropicMessages
from soundstage.wire._gemini import Gemini
from soundstage.wire._openai_chat import OpenAIChat
from soundstage.wire._signatures import sign
from support.replies import ARGUMENTS, JSON, replies

STAMP = AnswerStamp("a" * 24, 1_700_000_000)
PARAMETERS = {"gemini": {"model": "m", "alt": "sse"}}  # format -> what its path and query say
Block = tuple[Any, ...]


class Read(NamedTuple):
    """A reply as a client sees it: blocks in order, the reason, the usage."""

    blocks: list[Block]
    finish: str
    usage: dict[str, int]


# A reader for every format


def server_sent(data: bytes) -> list[tuple[str, Any]]:
    """The events of a stream, by name; what is not closed by an empty line is none."""
    events, name, lines = [], "message", []
    for line in re.split(r"\r\n|\n|\r", data.decode("utf-8")):
        if not line:
            if lines:
                events.append((name, "\n".join(lines)))
            name, lines = "message", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            lines.append(value)
    return [(name, json.loads(text) if text != "[DONE]" else None) for name, text in events]


def arguments_of(text: str) -> Any:
    """The arguments that a client makes of what was streamed: an object, or the text if it is none."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def anthropic_block(block: dict[str, Any]) -> Block:
    if block["type"] == "text":
        return ("text", block["text"])
    if block["type"] == "thinking":
        return ("thinking", block["thinking"], block["signature"])
    return ("call", block["id"], block["name"], block["input"])


def anthropic_whole(body: bytes) -> Read:
    message = json.loads(body)
    blocks = [anthropic_block(block) for block in message["content"]]
    return Read(blocks, message["stop_reason"], message["usage"])


def anthropic_stream(data: bytes) -> Read:
    (start, message), *events = server_sent(data)
    assert start == "message_start"
    assert events.pop() == ("message_stop", {"type": "message_stop"})
    _, last = events.pop()
    blocks: list[dict[str, Any]] = []
    is_open = False
    for name, event in events:
        assert name == event["type"]
        if name == "content_block_start":
            assert (is_open, event["index"]) == (False, len(blocks))
            blocks.append({**event["content_block"], "pieces": []})
        elif name == "content_block_delta":
            assert (is_open, event["index"]) == (True, len(blocks) - 1)
            anthropic_delta(blocks[-1], event["delta"])
        is_open = (is_open or name == "content_block_start") and name != "content_block_stop"
    assert not is_open
    for block in blocks:
        if block["type"] == "tool_use":
            block["input"] = arguments_of("".join(block["pieces"]))
    usage = {**message["message"]["usage"], **last["usage"]}
    return Read([anthropic_block(block) for block in blocks], last["delta"]["stop_reason"], usage)


def anthropic_delta(block: dict[str, Any], delta: dict[str, Any]) -> None:
    """One delta, as the official client takes it: a signature replaces, all else is appended."""
    kind = delta["type"]
    assert kind.removesuffix("_delta") in {"text": ("text",), "tool_use": ("input_json",)}.get(
        block["type"], ("thinking", "signature")
    )
    if kind == "input_json_delta":
        block["pieces"].append(delta["partial_json"])
    elif kind == "signature_delta":
        block["signature"] = delta["signature"]
    else:
        field = kind.removesuffix("_delta")
        block[field] += delta[field]


def gemini_blocks(parts: list[dict[str, Any]]) -> list[Block]:
    """Pieces of text are joined to a block, and pieces of thinking up to their signature."""
    blocks: list[Block] = []
    for part in parts:
        last = blocks[-1] if blocks else ("",)
        if "functionCall" in part:
            call = part["functionCall"]
            blocks.append(("call", call["id"], call["name"], call["args"]))
            continue
        text, seal = part["text"], part.get("thoughtSignature", "")
        kind: Block = ("thinking", seal) if part.get("thought") else ("text",)
        if not text and not seal:
            continue
        if last[0] == kind[0] and last[2:] in ((), ("",)):
            text = last[1] + text
            blocks.pop()
        blocks.append((kind[0], text, *kind[1:]))
    return blocks


def gemini_read(found: list[dict[str, Any]]) -> Read:
    parts = [part for response in found for part in response["candidates"][0]["content"].get("parts", [])]
    reasons = [response["candidates"][0].get("finishReason") for response in found]
    assert not any(reasons[:-1])
    return Read(gemini_blocks(parts), reasons[-1], found[-1]["usageMetadata"])


def gemini_stream(data: bytes) -> Read:
    return gemini_read([event for _, event in server_sent(data)])


def gemini_whole(body: bytes) -> Read:
    return gemini_read([json.loads(body)])


def chat_blocks(text: str, thinking: str, calls: list[dict[str, Any]]) -> list[Block]:
    """This format keeps text, thinking and calls apart."""
    return [
        ("text", text),
        ("thinking", thinking),
        *(
            ("call", call["id"], call["function"]["name"], arguments_of(call["function"]["arguments"]))
            for call in calls
        ),
    ]


def chat_whole(body: bytes) -> Read:
    answer = json.loads(body)
    (choice,) = answer["choices"]
    message = choice["message"]
    blocks = chat_blocks(
        message["content"] or "", message.get("reasoning_content", ""), message.get("tool_calls", [])
    )
    return Read(blocks, choice["finish_reason"], answer["usage"])


def chat_stream(data: bytes) -> Read:
    events = [event for _, event in server_sent(data)]
    assert events.pop() is None
    usage = events.pop()
    assert usage["choices"] == []
    choices = [event["choices"][0] for event in events]
    text = "".join(choice["delta"].get("content") or "" for choice in choices)
    thinking = "".join(choice["delta"].get("reasoning_content") or "" for choice in choices)
    calls: list[dict[str, Any]] = []
    for choice in choices:
        for piece in choice["delta"].get("tool_calls", []):
            if piece["index"] == len(calls):
                calls.append(piece)
            else:
                calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    return Read(chat_blocks(text, thinking, calls), choices[-1]["finish_reason"], usage["usage"])


class Format(NamedTuple):
    """A codec, how its answers are read, and what they should say."""

    codec: Codec
    stream: Callable[[bytes], Read]
    whole: Callable[[bytes], Read]
    blocks: Callable[[ModelResponse], list[Block]]

    def streamed(self, chunks: list[ModelChunk]) -> bytes:
        """All that the encoder writes for a reply."""
        encoder = self.codec.encoder(REQUEST, STAMP)
        *pieces, finish = chunks
        assert isinstance(finish, FinishChunk)
        return encoder.begin() + b"".join(map(encoder.chunk, pieces)) + encoder.finish(finish)


def said(part: Any) -> Block:
    if isinstance(part, Text):
        return ("text", part.text)
    if isinstance(part, Thinking):
        return ("thinking", part.text, part.signature)
    assert isinstance(part, ToolCall)
    return ("call", part.id, part.name, part.raw or part.arguments)


def anthropic_expected(response: ModelResponse) -> list[Block]:
    return [said(part) for part in response.parts]


def gemini_expected(response: ModelResponse) -> list[Block]:
    """Neighbours of one kind are one block here; calls without an object as arguments are left out."""
    parts: list[dict[str, Any]] = []
    for kind, *values in (said(part) for part in response.parts):
        if kind == "call" and isinstance(values[2], dict):
            parts.append({"functionCall": dict(zip(("id", "name", "args"), values, strict=True))})
        elif kind == "thinking":
            parts.append({"text": values[0], "thought": True, "thoughtSignature": values[1]})
        elif kind == "text":
            parts.append({"text": values[0]})
    return gemini_blocks(parts)


def chat_expected(response: ModelResponse) -> list[Block]:
    thinking = "".join(part.text for part in response.parts if isinstance(part, Thinking))
    return [("text", response.text), ("thinking", thinking), *(said(call) for call in response.tool_calls)]


REQUEST = ModelRequest(
    model="m",
    messages=(user("hi"),),
    stream=True,
    settings={"alt": "sse", "stream_options": {"include_usage": True}},
)
FORMATS = {
    "anthropic": Format(AnthropicMessages(), anthropic_stream, anthropic_whole, anthropic_expected),
    "gemini": Format(Gemini(), gemini_stream, gemini_whole, gemini_expected),
    "chat": Format(OpenAIChat(), chat_stream, chat_whole, chat_expected),
}
QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
EVERY_FORMAT = pytest.mark.parametrize("format_name", sorted(FORMATS))


def sealed(response: ModelResponse, format_name: str) -> ModelResponse:
    """The reply as this format sends it: Anthropic's has no thinking without a signature."""
    if format_name != "anthropic":
        return response
    parts = [
        Thinking(text=part.text, signature=part.signature or sign(part.text))
        if isinstance(part, Thinking)
        else part
        for part in response.parts
    ]
    return msgspec.structs.replace(response, parts=tuple(parts))


@EVERY_FORMAT
@QUICK
@given(chunks=replies())
def test_a_stream_says_the_same_as_the_whole_answer(format_name, chunks):
    wire = FORMATS[format_name]
    response = respond(chunks)
    streamed = wire.stream(wire.streamed(chunks))
    assert streamed == wire.whole(wire.codec.encode(response, REQUEST, STAMP))
    assert streamed.blocks == wire.blocks(sealed(response, format_name))


@QUICK
@given(chunks=replies())
def test_a_gemini_array_holds_the_same_responses_as_the_events(chunks):
    codec = FORMATS["gemini"].codec
    encoder = codec.encoder(ModelRequest(model="m", messages=()), STAMP)
    *pieces, finish = chunks
    array = encoder.begin() + b"".join(map(encoder.chunk, pieces)) + encoder.finish(finish)
    assert json.loads(array) == [event for _, event in server_sent(FORMATS["gemini"].streamed(chunks))]


# The reply comes back as history


def anthropic_history(blocks: list[Block]) -> dict[str, Any]:
    shapes = {"text": ("text",), "thinking": ("thinking", "signature"), "call": ("id", "name", "input")}
    content = [
        {"type": "tool_use" if kind == "call" else kind, **dict(zip(shapes[kind], values, strict=True))}
        for kind, *values in blocks
        if kind != "text" or values[0].strip()
    ]
    results = [
        {"type": "tool_result", "tool_use_id": block[1], "content": f"{block[2]} done"}
        for block in blocks
        if block[0] == "call"
    ]
    talk = [
        {"role": "user", "content": "hi"},
        *([{"role": "assistant", "content": content}] if content else []),
        {"role": "user", "content": [*results, {"type": "text", "text": "go on"}]},
    ]
    return {"model": "m", "max_tokens": 1, "messages": talk}


def gemini_history(blocks: list[Block]) -> dict[str, Any]:
    """Every block is a content of its own, and no call has an id, as some clients send it."""
    contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "hi"}]}]
    results = []
    for kind, *values in blocks:
        part: dict[str, Any] = {"text": values[0]}
        if kind == "thinking":
            part |= {"thought": True, "thoughtSignature": values[1]}
        elif kind == "call":
            part = {"functionCall": {"name": values[1], "args": values[2]}}
            answer = {"name": values[1], "response": {"output": f"{values[1]} done"}}
            results.append({"functionResponse": answer})
        contents.append({"role": "model", "parts": [part]})
    return {"contents": [*contents, {"role": "user", "parts": [*results, {"text": "go on"}]}]}


def chat_history(blocks: list[Block]) -> dict[str, Any]:
    (_, text), (_, thinking), *calls = blocks
    message: dict[str, Any] = {"role": "assistant", "content": text, "reasoning_content": thinking}
    if calls:
        message["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for _, call_id, name, arguments in calls
        ]
    results = [{"role": "tool", "tool_call_id": call[1], "content": f"{call[2]} done"} for call in calls]
    first = {"role": "user", "content": "hi"}
    return {"model": "m", "messages": [first, message, *results, {"role": "user", "content": "go on"}]}


HISTORIES = {"anthropic": anthropic_history, "gemini": gemini_history, "chat": chat_history}


@EVERY_FORMAT
@QUICK
@given(chunks=replies(arguments=ARGUMENTS))
def test_a_reply_that_comes_back_as_history_is_understood_as_it_was_said(format_name, chunks):
    wire = FORMATS[format_name]
    response = respond(chunks)
    history = HISTORIES[format_name](wire.stream(wire.streamed(chunks)).blocks)
    request = wire.codec.decode(json.dumps(history).encode(), PARAMETERS.get(wire.codec.name, {}))
    parts = [part for message in request.messages if message.role == "assistant" for part in message.parts]
    again = ModelResponse(parts=tuple(parts))
    calls = again.tool_calls
    assert [(call.name, call.arguments) for call in calls] == [
        (call.name, call.arguments) for call in response.tool_calls
    ]
    results = [(result.call_id, result.text) for result in request.tool_results]
    assert results == [(call.id, f"{call.name} done") for call in calls]
    assert len({call.id for call in calls}) == len(calls)
    if format_name == "anthropic":
        assert again.parts == tuple(
            part
            for part in sealed(response, format_name).parts
            if not isinstance(part, Text) or part.text.strip()
        )
    else:
        assert again.text == response.text


# Nothing but a refusal


VALID: dict[str, dict[str, Any]] = {
    "anthropic": {
        "model": "m",
        "max_tokens": 9,
        "stream": True,
        "system": [{"type": "text", "text": "s"}],
        "tools": [{"name": "t", "description": "d", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]},
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "a",
                        "is_error": True,
                        "content": [{"type": "text", "text": "x"}],
                    }
                ],
            },
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}]},
        ],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "tools": [{"functionDeclarations": [{"name": "t", "description": "d", "parameters": {}}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"text": "x", "thought": True, "thoughtSignature": "s"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "t", "args": {}}}]},
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "a", "name": "t", "response": {"output": "x"}, "parts": [{}]}}
                ],
            },
        ],
    },
    "chat": {
        "model": "m",
        "stream": True,
        "tools": [{"type": "function", "function": {"name": "t", "description": "d", "parameters": {}}}],
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "s"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "a", "content": "x"},
            {"role": "user", "content": "hi"},
        ],
    },
}


@st.composite
def spoilt(draw: st.DrawFn, value: Any) -> Any:
    """`value` with something inside it, or all of it, replaced by any JSON value or taken away."""
    if not isinstance(value, dict | list) or not value or not draw(st.integers(0, 9)):
        return draw(JSON)
    key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    changed = value.copy()
    if draw(st.integers(0, 9)):
        changed[key] = draw(spoilt(value[key]))
    else:
        del changed[key]
    return changed


@EVERY_FORMAT
@QUICK
@given(data=st.data())
def test_any_body_is_either_understood_or_refused(format_name, data):
    codec = FORMATS[format_name].codec
    codec.decode(json.dumps(VALID[format_name]).encode(), PARAMETERS.get(codec.name, {}))
    body = json.dumps(data.draw(spoilt(VALID[format_name]))).encode()
    refused: RequestRejected | None = None
    try:
        assert codec.decode(body, PARAMETERS.get(codec.name, {})).format == codec.name
    except RequestRejected as error:
        refused = error
    if refused is not None:
        fault = codec.fault(refused, STAMP)
        assert 400 <= fault.status < 500
        assert json.loads(fault.body)["error"]["message"] == refused.message
