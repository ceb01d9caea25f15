"""The limits of a request end an answer: so many tokens, or a text at which the model stops."""

from __future__ import annotations

import pytest

from soundstage.messages import Text, TextChunk, Thinking, ToolCall, ToolCallChunk
from soundstage.models import BlockSpec, CallSpec, Reply, Script, ScriptedModel, When
from soundstage.models._limits import limited
from soundstage.models._play import PreparedReply


def answer(ask, settings, **reply):
    script = Script()
    script.add(When(), Reply(**reply))
    return ask(ScriptedModel(script), settings=settings, tools=("x", "cut", "long"))


NAMES = ["max_tokens", "max_completion_tokens", "max_output_tokens"]


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_ends_at_the_number_of_tokens_and_says_so(ask, name):
    reply = answer(ask, {name: 2}, text="0123456789")
    assert (reply.text, reply.finish, reply.usage.output_tokens) == ("01234567", "length", 2)


@pytest.mark.parametrize(("tokens", "finish"), [(2, "length"), (3, "stop"), (4, "stop")])
def test_an_answer_that_just_fits_is_whole(ask, tokens, finish):
    reply = answer(ask, {"max_tokens": tokens}, text="0123456789")
    assert (reply.finish, reply.text == "0123456789") == (finish, finish == "stop")


def test_the_smallest_of_several_limits_counts(ask):
    settings = {"max_tokens": 3, "max_completion_tokens": 1, "max_output_tokens": 2}
    assert answer(ask, settings, text="0123456789").text == "0123"


@pytest.mark.parametrize("settings", [{"max_tokens": None}, {"max_tokens": "1"}, {"temperature": 1}, {}])
def test_what_is_no_limit_cuts_nothing(ask, settings):
    assert answer(ask, settings, text="0123456789").text == "0123456789"


def test_geminis_limits_stand_in_an_object_of_their_own(ask):
    inner = {"generationConfig": {"maxOutputTokens": 1}}
    assert answer(ask, inner, text="0123456789").text == "0123"
    stops = {"generationConfig": {"stopSequences": ["5"]}}
    assert answer(ask, stops, text="0123456789").text == "01234"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"stop": "5"}, "01234"),
        ({"stop": ["8", "5"]}, "01234"),
        ({"stop_sequences": ["56"]}, "01234"),
        ({"stop": "0"}, ""),
        ({"stop": "x"}, "0123456789"),
        ({"stop": ""}, "0123456789"),
        ({"stop": ["", None, 5, "7"]}, "0123456"),
        ({"stop": None}, "0123456789"),
    ],
)
def test_an_answer_ends_before_the_first_of_its_stop_sequences(ask, settings, text):
    reply = answer(ask, settings, text="0123456789")
    assert (reply.text, reply.finish) == (text, "stop")


def test_a_stop_sequence_may_begin_in_one_piece_and_end_in_another(ask):
    reply = answer(ask, {"stop": "cde"}, chunks=("ab", "cd", "ef"))
    assert reply.text == "ab"


def test_what_comes_behind_a_stop_sequence_is_not_answered_and_what_comes_before_is(ask):
    blocks = (
        BlockSpec(thinking="hm STOP"),
        BlockSpec(text="go STOP on"),
        BlockSpec(tool_call=CallSpec(name="x")),
    )
    reply = answer(ask, {"stop": "STOP"}, blocks=blocks)
    assert reply.parts == (Thinking(text="hm STOP"), Text(text="go "))
    assert reply.finish == "stop"


def test_a_stop_sequence_in_a_later_text_leaves_the_earlier_ones(ask):
    blocks = (BlockSpec(text="one"), BlockSpec(tool_call=CallSpec(name="x")), BlockSpec(text="two END"))
    reply = answer(ask, {"stop": "END"}, blocks=blocks)
    assert [getattr(part, "text", "a call") for part in reply.parts] == ["one", "a call", "two "]


def test_the_first_text_with_a_stop_sequence_ends_the_answer(ask):
    blocks = (BlockSpec(text="a END b"), BlockSpec(tool_call=CallSpec(name="x")), BlockSpec(text="c END d"))
    assert answer(ask, {"stop": "END"}, blocks=blocks).parts == (Text(text="a "),)


def test_thinking_counts_and_is_cut_too(ask):
    blocks = (BlockSpec(thinking="0123456789"), BlockSpec(text="never"))
    reply = answer(ask, {"max_tokens": 2}, blocks=blocks)
    assert reply.parts == (Thinking(text="01234567"),)
    reply = answer(ask, {"max_tokens": 3}, blocks=blocks)
    assert reply.parts == (Thinking(text="0123456789"), Text(text="ne"))


@pytest.mark.parametrize(("tokens", "raw"), [(1, '"'), (2, None), (3, None)])
def test_a_call_is_cut_in_its_arguments(ask, tokens, raw):
    reply = answer(ask, {"max_tokens": tokens}, tool_calls=(CallSpec(name="cut", raw='"abc"'),))
    (part,) = reply.parts
    assert isinstance(part, ToolCall)
    assert part.name == "cut"
    assert part.raw == (raw or '"abc"')
    assert reply.finish == ("length" if raw else "tool_calls")


def test_a_call_whose_name_does_not_fit_is_left_out(ask):
    reply = answer(ask, {"max_tokens": 1}, text="abc", tool_calls=(CallSpec(name="long"),))
    assert (reply.parts, reply.finish) == ((Text(text="abc"),), "length")


def test_a_stop_sequence_at_the_beginning_of_a_piece_leaves_no_empty_piece():
    chunks = [TextChunk(index=0, text="ab"), TextChunk(index=0, text="STOP"), TextChunk(index=0, text="cd")]
    made = PreparedReply(chunks, "stop", 2)
    assert limited(made, {"stop": "STOP"}).made.chunks == [TextChunk(index=0, text="ab")]


def test_the_arguments_of_a_call_count_for_what_comes_after_it():
    chunks = [ToolCallChunk(index=0, name="ab", arguments="cdef"), TextChunk(index=1, text="ghij")]
    made = PreparedReply(chunks, "stop", 3)
    assert limited(made, {"max_tokens": 2}).made.chunks == [chunks[0], TextChunk(index=1, text="gh")]
