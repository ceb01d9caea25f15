"""Messages, requests, and the fold of a stream."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import HarnessError
from soundstage.messages import (
    FinishChunk,
    GarbledChunk,
    Message,
    ModelRequest,
    ModelResponse,
    Opaque,
    OpaqueChunk,
    StartChunk,
    Text,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolCall,
    ToolCallChunk,
    ToolResult,
    Usage,
    assistant,
    call,
    decode_arguments,
    respond,
    system,
    tool,
    user,
)
from support.cases import cases

fixed = cases(100)  # the same examples in every run

IMAGE = Opaque(type="image", data={"url": "x"})


def request(*messages, **fields):
    return ModelRequest(model="m", messages=messages, **fields)


def test_the_text_of_a_message_is_its_plain_text():
    message = Message(role="user", parts=(Text(text="a"), IMAGE, Thinking(text="hidden"), Text(text="b")))
    assert message.text == "a\nb"


@pytest.mark.parametrize(
    ("data", "readable"),
    [
        ({"type": "web_search_result", "title": "Tea", "url": "https://tea.test"}, "Tea\nhttps://tea.test"),
        ({"type": "x", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}, "words"),
        ({"type": "x", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}, ""),
        ({"image_url": "data:image/png;base64,AAAA"}, ""),
        (
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "AAAA", "content": [{"text": "a"}, "b"]},
            "a\nb",
        ),
        (None, ""),
    ],
)
def test_the_texts_of_a_part_that_we_do_not_interpret_can_be_read_and_nothing_encoded(data, readable):
    assert Message(role="user", parts=(Opaque(type="x", data=data),)).everything == readable
    result = ToolResult(call_id="c", text="out", extra=(data,))
    assert result.readable == "\n".join(filter(None, ["out", readable]))
    assert Message(role="user", parts=(result,)).everything == result.readable


def test_everything_readable_of_a_message_includes_thinking_results_and_arguments():
    parts = (Thinking(text="hmm"), call("f", {"x": 1}), ToolResult(call_id="1", text="out"), IMAGE)
    assert Message(role="assistant", parts=parts).everything == 'hmm\nf {"x":1}\nout\nx'


def test_the_last_user_text_skips_messages_without_text():
    assert request(user("a"), assistant("b"), Message(role="user", parts=(IMAGE,))).last_user_text == "a"
    assert request(user("a"), user("b")).last_user_text == "b"
    assert request(assistant("b")).last_user_text is None
    assert request().last_user_text is None


def test_a_turn_is_a_user_message_with_text():
    asked = request(system("s"), user("a"), assistant("b"), Message(role="user", parts=(IMAGE,)), user("c"))
    assert asked.turn == 2
    assert request().turn == 0


def test_system_messages_are_joined():
    assert request(system("a"), user("x"), system("b")).system_text == "a\nb"


def test_tool_results_are_those_after_the_models_last_message_in_order():
    asked = request(
        user("go"),
        assistant("", call("f", id="0")),
        tool("0", "old"),
        assistant("", call("f", id="1"), call("g", id="2")),
        tool("1", "one"),
        tool("2", "two", is_error=True, name="g"),
        user("and?"),
    )
    assert [result.text for result in asked.tool_results] == ["one", "two"]
    assert asked.tool_results[1] == ToolResult(call_id="2", text="two", is_error=True, name="g")
    assert request(user("a"), assistant("b")).tool_results == ()


def test_an_assistant_message_has_text_then_calls():
    assert assistant("a", call("f")).parts == (Text(text="a"), ToolCall(id="", name="f"))
    assert assistant("", call("f")).parts == (ToolCall(id="", name="f"),)
    assert assistant().parts == ()


def test_usage_adds_up():
    usage = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4)
    assert usage.total_tokens == 10
    assert usage + usage == Usage(input_tokens=2, output_tokens=4, cache_read_tokens=6, cache_write_tokens=8)


def test_arguments_go_over_the_wire_as_they_are_or_as_they_came():
    assert call("f", {"x": 1}).arguments_json == '{"x":1}'
    assert ToolCall(id="1", name="f", raw="{x").arguments_json == "{x"


def test_a_call_keeps_its_own_copy_of_the_arguments():
    arguments = {"x": 1}
    made = call("f", arguments)
    arguments["x"] = 2
    assert made.arguments == {"x": 1}


@pytest.mark.parametrize(
    "text", ["[1]", "5", '"x"', "null", "{", " ", "{'a': 1}", '{"a": 1e999}', "[" * 100_000]
)
def test_arguments_that_are_no_json_object_stay_readable(text):
    assert decode_arguments(text) == ({}, text)


def test_arguments_with_half_a_surrogate_pair_stay_readable():
    assert decode_arguments('{"a": "\ud800"}') == ({}, '{"a": "\ud800"}')


def test_no_arguments_are_an_empty_object():
    assert decode_arguments("") == ({}, "")
    assert decode_arguments("{}") == ({}, "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@fixed
@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_arguments_survive_the_wire(arguments):
    made = call("f", arguments)
    assert decode_arguments(made.arguments_json) == (arguments, "")


PARTS = st.one_of(
    st.text(min_size=1).map(lambda text: Text(text=text)),
    st.builds(Thinking, text=st.text(), signature=st.text()),
    st.builds(
        ToolCall,
        id=st.text(),
        name=st.text(),
        arguments=st.dictionaries(st.text(), st.integers(0, 9), min_size=1),
    ),
    st.builds(Opaque, type=st.text(), data=JSON),
)


@st.composite
def streams(draw):
    """A reply and its chunks: every block cut anywhere, blocks interleaved in any way."""
    parts = draw(st.lists(PARTS, max_size=4))
    queues = [unfold(index, part, draw) for index, part in enumerate(parts)]
    chunks = []
    while any(queues):
        queue = draw(st.sampled_from([queue for queue in queues if queue]))
        chunks.append(queue.pop(0))
        if draw(st.booleans()):
            chunks.append(GarbledChunk(data=b"\xff"))
    return tuple(parts), chunks


def cut(text, draw):
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def unfold(index, part, draw):
    if isinstance(part, Text):
        return [TextChunk(index=index, text=piece) for piece in cut(part.text, draw)]
    if isinstance(part, Thinking):
        pieces = [ThinkingChunk(index=index, text=piece) for piece in cut(part.text, draw)]
        return [*pieces, ThinkingChunk(index=index, signature=part.signature)]
    if isinstance(part, ToolCall):
        first, *rest = cut(part.arguments_json, draw)
        head = ToolCallChunk(index=index, id=part.id, name=part.name, arguments=first)
        return [head, *(ToolCallChunk(index=index, arguments=piece) for piece in rest)]
    return [OpaqueChunk(index=index, type=part.type, data=part.data)]


@fixed
@given(streams(), st.builds(Usage, input_tokens=st.integers(0, 9)))
def test_a_reply_is_the_fold_of_its_stream(stream, usage):
    parts, chunks = stream
    start = StartChunk(headers={"a": "b"})
    finish = FinishChunk(finish="length", usage=usage, model="m", served_by="rule 1")
    assert respond([start, *chunks, finish]) == ModelResponse(
        parts=parts, finish="length", usage=usage, model="m", headers={"a": "b"}, served_by="rule 1"
    )
    assert respond(chunks) == ModelResponse(parts=parts, finish="error")


def test_the_name_of_the_model_may_come_first():
    start = StartChunk(model="m-1")
    assert respond([start, FinishChunk()]).model == "m-1"
    assert respond([start, FinishChunk(model="m-2")]).model == "m-2"
    assert respond([start]).model == "m-1"


def test_a_reply_gives_its_text_calls_and_message():
    reply = ModelResponse(parts=(Text(text="a"), call("f", id="1"), Text(text="b")))
    assert reply.text == "ab"
    assert reply.tool_calls == (call("f", id="1"),)
    assert reply.message() == Message(role="assistant", parts=reply.parts)


@pytest.mark.parametrize(
    "pieces",
    [
        [TextChunk(index=0, text="a"), ThinkingChunk(index=0, text="b")],
        [ToolCallChunk(index=0, id="1", name="f"), TextChunk(index=0, text="b")],
        [OpaqueChunk(index=0, type="x"), OpaqueChunk(index=0, type="x")],
    ],
)
def test_pieces_that_do_not_belong_together_are_an_error_of_the_model(pieces):
    with pytest.raises(HarnessError, match="block 0 that do not belong together"):
        respond([*pieces, FinishChunk()])


@fixed
@given(
    st.lists(
        st.builds(Message, role=st.sampled_from(["user", "assistant"]), parts=st.tuples(PARTS)), max_size=3
    )
)
def test_a_request_survives_json(messages):
    asked = request(*messages, settings={"temperature": 1})
    assert msgspec.json.decode(msgspec.json.encode(asked), type=ModelRequest) == asked
