"""Messages in the JSON form of the conventions, and in the forms that came before it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.messages import (
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
    assistant,
    user,
)
from soundstage.otel._content import (
    definitions_of,
    finish_of,
    json_of,
    messages_of,
    text_of,
    written_answer,
    written_definitions,
    written_messages,
)

TEXT = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
PARTS = st.one_of(
    st.builds(Text, text=TEXT),
    st.builds(Thinking, text=TEXT),
    st.builds(ToolCall, id=TEXT, name=TEXT, arguments=st.dictionaries(TEXT, VALUES, max_size=3)),
    st.builds(ToolResult, call_id=TEXT, text=TEXT, is_error=st.booleans(), name=TEXT),
)
MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "tool"]),
        parts=st.lists(PARTS, max_size=3).map(tuple),
    ),
    max_size=4,
)


@given(MESSAGES)
def test_messages_survive_a_round_trip(messages):
    assert messages_of(written_messages(messages)) == tuple(messages)


@given(VALUES | TEXT)
def test_nothing_that_an_app_sends_raises(value):
    for attribute in (value, json_of(value), [{"role": "user", "parts": value}], [{"parts": [value]}]):
        messages_of(attribute)
        definitions_of(attribute)
        finish_of(attribute, attribute)


@pytest.mark.parametrize("attribute", ["[" * 100_000, '"\ud800"', "{", "not JSON", None, 7, True])
def test_odd_attributes_are_taken_as_text_or_not_at_all(attribute):
    messages = messages_of(attribute)
    assert len(messages) <= 1


def test_the_example_of_the_conventions_is_understood():
    attribute = json.dumps(
        [
            {"role": "user", "parts": [{"type": "text", "content": "Weather in Paris?"}]},
            {
                "role": "assistant",
                "parts": [
                    {
                        "type": "tool_call",
                        "id": "call_V",
                        "name": "get_weather",
                        "arguments": {"location": "Paris"},
                    }
                ],
            },
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_V", "response": "rainy"}]},
        ]
    )
    call = ToolCall(id="call_V", name="get_weather", arguments={"location": "Paris"})
    answered = Message(role="tool", parts=(ToolResult(call_id="call_V", text="rainy"),))
    assert messages_of(attribute) == (user("Weather in Paris?"), assistant("", call), answered)
    assert messages_of(json.loads(attribute)) == messages_of(attribute)


def test_messages_of_the_chat_format_are_understood():
    attribute = json.dumps(
        [
            {"role": "developer", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "function": {"name": "look", "arguments": '{"at": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "seen"},
        ]
    )
    system, asked, called, answered = messages_of(attribute)
    assert (system.role, system.text, asked.text) == ("system", "be brief", "hi")
    assert called.parts == (ToolCall(id="c", name="look", arguments={"at": 1}),)
    assert answered.parts == (ToolResult(call_id="c", text="seen"),)


def test_parts_that_we_do_not_know_are_carried():
    part = {"type": "blob", "mime_type": "image/png", "content": "aGk="}
    [message] = messages_of([{"role": "user", "parts": [part]}])
    assert message.parts == (Opaque(type="blob", data=part),)
    assert json.loads(written_messages([message]))[0]["parts"] == [part]


def test_arguments_that_are_no_object_stay_readable():
    [message] = messages_of([{"role": "assistant", "parts": [{"type": "tool_call", "arguments": "{bro"}]}])
    assert message.parts == (ToolCall(id="", name="", raw="{bro"),)


def test_why_a_model_stopped_comes_from_the_reasons_or_from_the_message():
    assert finish_of(["tool_calls"], None) == "tool_calls"
    assert finish_of(None, written_answer([], "tool_calls")) == "tool_calls"
    assert finish_of("length", None) == "length"
    assert finish_of(["whatever"], "no JSON") == "stop"


def test_tools_on_offer_survive_a_round_trip_and_come_in_the_chat_format_too():
    tools = (ToolDefinition(name="look", description="see", schema={"type": "object"}),)
    assert definitions_of(written_definitions(tools)) == tools
    chat = [
        {
            "type": "function",
            "function": {"name": "look", "description": "see", "parameters": {"type": "object"}},
        }
    ]
    assert definitions_of(chat) == tools


def test_texts_of_a_kind_of_their_own_are_texts():
    class Loud(str):
        __slots__ = ()

        def __repr__(self):
            return "loud"

    assert json_of([Loud("hi")]) == '["hi"]'
    assert text_of({"a": 1}) == '{"a":1}'
