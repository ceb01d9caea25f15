from __future__ import annotations

import json
from typing import Any

import pytest

from soundstage.errors import RequestRejected
from soundstage.messages import (
    ModelRequest,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
    user,
)
from soundstage.wire._openai_chat import OpenAIChat

CODEC = OpenAIChat()
HI = {"role": "user", "content": "hi"}
CUSTOM = {"type": "custom", "custom": {"name": "patch"}}
CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}


def decode(*messages: Any, **body: Any) -> ModelRequest:
    given = {"model": "gpt-4o", "messages": list(messages) or [HI], **body}
    return CODEC.decode(json.dumps(given).encode(), {})


def refusal(body: dict[str, Any]) -> RequestRejected:
    with pytest.raises(RequestRejected) as caught:
        CODEC.decode(json.dumps(body).encode(), {})
    return caught.value


def test_a_request_is_read_with_its_settings():
    request = decode(stream=True, temperature=0.5, response_format={"type": "text"})

    assert request.messages == (user("hi"),)
    assert (request.model, request.stream, request.format) == ("gpt-4o", True, "openai-chat")
    assert request.settings == {"temperature": 0.5, "response_format": {"type": "text"}}


def test_the_path_may_name_the_model():
    body = b'{"messages":[{"role":"user","content":"hi"}]}'

    assert CODEC.decode(body, {"model": "deployed"}).model == "deployed"


def test_developers_speak_as_the_system():
    request = decode({"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"})

    assert request.system_text == "Be brief."


def test_content_parts_become_text_and_the_rest_is_kept():
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    request = decode({"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]})

    assert request.messages[0].parts == (Text(text="What is it?"), Opaque(type="image_url", data=image))


def test_calls_and_results_are_read():
    other = {"id": "b", "type": "function", "function": {"name": "look", "arguments": "not json"}}
    request = decode(
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL, other]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "two"}]},
    )

    assert request.messages[1].parts == (
        Text(text="I look."),
        ToolCall(id="a", name="look", arguments={"at": 1}),
        ToolCall(id="b", name="look", raw="not json"),
    )
    assert request.tool_results == (ToolResult(call_id="a", text="one"), ToolResult(call_id="b", text="two"))


def test_the_old_form_of_calls_is_read():
    request = decode(
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "one"},
    )

    assert request.messages[0].parts == (ToolCall(id="look", name="look"),)
    assert request.tool_results == (ToolResult(call_id="look", text="one", name="look"),)


def test_a_custom_call_keeps_its_free_text():
    call = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    request = decode(
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        tools=[CUSTOM],
    )

    assert request.messages[0].parts == (ToolCall(id="a", name="patch", raw="*** Begin"),)
    assert request.tools == (ToolDefinition(name="patch", type="custom", schema=CUSTOM),)


def test_what_an_assistant_says_beside_its_content_is_kept():
    request = decode(
        {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."},
        {"role": "assistant", "refusal": "I will not."},
        {"role": "assistant", "audio": {"id": "audio_1"}},
        {"role": "user", "content": ""},
    )

    assert request.messages[0].parts == (Thinking(text="Hm."), Text(text="Yes."))
    assert request.messages[1].text == "I will not."
    assert request.messages[2].parts == (Opaque(type="audio", data={"id": "audio_1"}),)


@pytest.mark.parametrize("content", ["", []])
def test_content_may_be_empty_but_not_missing(content):
    assert decode({"role": "user", "content": content}).messages[0].text == ""


def test_functions_are_on_offer():
    request = decode(tools=[{"type": "function", "function": {"name": "look", "description": "Looks."}}])

    assert request.tools == (ToolDefinition(name="look", description="Looks."),)


# Refusals

ROLES = "Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
EMPTY = "empty array. Expected an array with minimum length 1, but got an empty array instead."
NULL = "Invalid value for 'content': expected a string, got null."
UNASKED = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'."
)
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: a"
)
NAMELESS = {"function": {"parameters": {}}}


def asked(*messages: Any, **body: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **body}


def called(call: Any) -> dict[str, Any]:
    return asked({"role": "assistant", "tool_calls": [call]})


CALLS = "messages[0].tool_calls"

MISSING = [
    ({"model": "m"}, "messages"),
    (asked({"content": "x"}), "messages[0].role"),
    (asked({"role": "user", "content": [{"type": "text"}]}), "messages[0].content[0].text"),
    (called({"id": "a", "type": "function"}), f"{CALLS}[0].function"),
    (called({"id": "a", "type": "custom"}), f"{CALLS}[0].custom"),
    (called({"id": "a", "type": "custom", "custom": {"name": "x"}}), f"{CALLS}[0].custom.input"),
    (called({"function": {"name": "look", "arguments": ""}}), f"{CALLS}[0].id"),
    (asked({"role": "tool", "content": "x"}), "messages[0].tool_call_id"),
    (asked({"role": "function", "content": "x"}), "messages[0].name"),
    (asked(HI, tools=[{"type": "function"}]), "tools[0].function"),
    (asked(HI, tools=[NAMELESS]), "tools[0].function.name"),
]
OF_WRONG_TYPE = [
    ({"model": "m", "messages": None}, "messages", "an array of objects", "null"),
    (asked(7), "messages[0]", "an object", "an integer"),
    (
        asked({"role": "user", "content": 0.5}),
        "messages[0].content",
        "one of a string or array of objects",
        "a decimal",
    ),
    (asked({"role": "user", "content": ["x"]}), "messages[0].content[0]", "an object", "a string"),
    (
        asked({"role": "assistant", "content": "x", "tool_calls": {}}),
        CALLS,
        "an array of objects",
        "an object",
    ),
    (called(7), f"{CALLS}[0]", "an object", "an integer"),
    (
        called({"id": "a", "function": {"name": "look", "arguments": {}}}),
        f"{CALLS}[0].function.arguments",
        "a string",
        "an object",
    ),
    (asked(HI, tools={}), "tools", "an array of objects", "an object"),
    (asked(HI, tools=[None]), "tools[0]", "an object", "null"),
]
OTHERWISE_WRONG = [
    ({"messages": [HI]}, "you must provide a model parameter", "", ""),
    ({"model": "", "messages": [HI]}, "you must provide a model parameter", "", ""),
    (asked(), f"Invalid 'messages': {EMPTY}", "messages", "empty_array"),
    (
        asked({"role": "assistant", "content": "x", "tool_calls": []}),
        f"Invalid '{CALLS}': {EMPTY}",
        CALLS,
        "empty_array",
    ),
    (asked({"role": "bot"}), f"Invalid value: 'bot'. {ROLES}", "messages[0].role", "invalid_value"),
    (asked({"role": ["user"]}), f"Invalid value: ''. {ROLES}", "messages[0].role", "invalid_value"),
    (asked({"role": "user"}), NULL, "messages.[0].content", ""),
    (asked(HI, {"role": "assistant", "content": None}), NULL, "messages.[1].content", ""),
    (asked(HI, {"role": "tool", "tool_call_id": "a", "content": "x"}), UNASKED, "messages.[1].role", ""),
    (called(CALL), UNANSWERED, "messages.[1].role", ""),
    (asked({"role": "assistant", "tool_calls": [CALL]}, HI), UNANSWERED, "messages.[1].role", ""),
]


@pytest.mark.parametrize(("body", "param"), MISSING)
def test_a_request_that_lacks_something_is_refused_in_the_words_of_the_provider(body, param):
    error = refusal(body)

    assert error.message == f"Missing required parameter: '{param}'."
    assert (error.param, error.code, error.status) == (param, "missing_required_parameter", 400)


@pytest.mark.parametrize(("body", "param", "expected", "seen"), OF_WRONG_TYPE)
def test_a_value_of_a_wrong_type_is_refused_in_the_words_of_the_provider(body, param, expected, seen):
    error = refusal(body)

    assert error.message == f"Invalid type for '{param}': expected {expected}, but got {seen} instead."
    assert (error.param, error.code, error.status) == (param, "invalid_type", 400)


@pytest.mark.parametrize(("body", "text", "param", "code"), OTHERWISE_WRONG)
def test_a_faulty_request_is_refused_in_the_words_of_the_provider(body, text, param, code):
    error = refusal(body)

    assert (error.message, error.param, error.code, error.status) == (text, param, code, 400)


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[]"])
def test_a_body_that_is_no_json_object_is_refused(raw):
    with pytest.raises(RequestRejected, match="JSON"):
        CODEC.decode(raw, {})
