from __future__ import annotations

import json
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from openai.types.responses import ResponseTextConfigParam
from openai.types.responses.response_create_params import ResponseCreateParamsBase
from openai.types.shared_params import Reasoning

from soundstage.errors import RequestRejected
from soundstage.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
    system,
    user,
)
from soundstage.wire import _values
from soundstage.wire._openai_responses import OpenAIResponses, check_calls, continue_from

CODEC = OpenAIResponses()
FUNCTION = {"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"}}
CUSTOM = {"type": "custom", "name": "patch", "description": "Patches."}
CALL = {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"}
PATCH = {"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "x"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "one"}


def decode(**body: Any) -> ModelRequest:
    return CODEC.decode(json.dumps({"model": "gpt-5", "input": "hi", **body}).encode(), {})


def refusal(body: dict[str, Any] | bytes) -> RequestRejected:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(RequestRejected) as caught:
        CODEC.decode(raw, {})
    return caught.value


def test_a_plain_input_is_one_user_message():
    request = decode(input="hello", stream=True, temperature=0.5)

    assert request.messages == (user("hello"),)
    assert (request.model, request.stream, request.format) == ("gpt-5", True, "openai-responses")
    assert request.settings == {"temperature": 0.5}


def test_instructions_are_the_first_message_and_stay_in_the_settings():
    request = decode(instructions="Be brief.")

    assert request.messages == (system("Be brief."), user("hi"))
    assert request.settings["instructions"] == "Be brief."


def test_settings_keep_whatever_else_was_asked():
    asked = {
        "metadata": {"a": "b"},
        "previous_response_id": None,
        "text": {"format": {"type": "text"}},
        "truncation": "auto",
    }

    assert decode(**asked).settings == asked


def test_items_of_one_reply_are_one_assistant_message():
    request = decode(
        input=[
            {"role": "user", "content": "look"},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
            },
            {"type": "function_call", "call_id": "a", "name": "look", "arguments": '{"at":1}'},
            {"type": "function_call", "call_id": "b", "name": "look", "arguments": "not json"},
            {"type": "function_call_output", "call_id": "a", "output": "one"},
            {"type": "function_call_output", "call_id": "b", "output": "two"},
            {"role": "assistant", "content": "Done."},
        ]
    )

    assert [message.role for message in request.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert request.messages[1].parts == (
        Thinking(text="Hm."),
        Text(text="I look."),
        ToolCall(id="a", name="look", arguments={"at": 1}),
        ToolCall(id="b", name="look", raw="not json"),
    )
    assert request.messages[3].parts == (ToolResult(call_id="b", text="two"),)
    assert request.messages[4].text == "Done."


def test_content_parts_become_text_and_the_rest_is_kept():
    image = {"type": "input_image", "image_url": "data:,"}
    request = decode(
        input=[
            {"role": "developer", "content": [{"type": "input_text", "text": "Rules."}]},
            {"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, image]},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "I will not say."}]},
            {"role": "user", "content": [{"type": "input_smell", "smell": "rose"}]},
        ]
    )

    assert request.system_text == "Rules."
    assert request.messages[1].parts == (Text(text="What is it?"), Opaque(type="input_image", data=image))
    assert request.messages[2].text == "I will not say."
    assert request.messages[3].parts[0] == Opaque(
        type="input_smell", data={"type": "input_smell", "smell": "rose"}
    )


def test_an_output_that_is_not_only_text_keeps_the_rest():
    image = {"type": "input_image", "image_url": "data:,"}
    request = decode(
        input=[
            {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "a",
                "output": [{"type": "input_text", "text": "see"}, image],
            },
        ]
    )

    assert request.tool_results == (ToolResult(call_id="a", text="see", extra=(image,)),)


def test_reasoning_keeps_its_seal_and_its_parts():
    summary = [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]
    open_text = [{"type": "reasoning_text", "text": "In the open."}]
    request = decode(
        input=[
            {"type": "reasoning", "summary": summary, "content": open_text, "encrypted_content": "gAAA"},
            {"type": "reasoning", "summary": [], "content": open_text, "encrypted_content": None},
        ]
    )

    assert request.messages[0].parts == (
        Thinking(text="One.\n\nTwo.", signature="gAAA"),
        Thinking(text="In the open."),
    )


def test_a_custom_call_keeps_its_free_text_even_if_it_is_json():
    request = decode(
        input=[
            {"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": '{"x": 1}'},
            {"type": "custom_tool_call_output", "call_id": "a", "output": "ok"},
        ]
    )

    assert request.messages[0].parts == (ToolCall(id="a", name="patch", raw='{"x": 1}'),)
    assert request.tool_results[0].text == "ok"


@pytest.mark.parametrize(
    ("item", "role"),
    [
        ({"type": "web_search_call", "id": "ws_1", "status": "completed"}, "assistant"),
        ({"type": "program_output", "id": "x", "call_id": "c", "result": "{}"}, "tool"),
        ({"type": "mcp_approval_response", "approval_request_id": "x", "approve": True}, "tool"),
        ({"type": "additional_tools", "role": "developer", "tools": []}, "system"),
        ({"type": "item_reference", "id": "msg_1"}, "assistant"),
        ({"type": "from_next_year", "data": [1]}, "assistant"),
    ],
)
def test_items_of_other_types_are_kept_whole(item, role):
    assert decode(input=[item]).messages == (
        Message(role=role, parts=(Opaque(type=item["type"], data=item),)),
    )


def test_an_item_with_nothing_but_an_id_refers_to_another():
    assert decode(input=[{"id": "msg_1"}]).messages[0].parts == (
        Opaque(type="item_reference", data={"id": "msg_1"}),
    )


def test_tools_of_every_type_are_on_offer():
    search = {"type": "web_search", "search_context_size": "low"}
    request = decode(tools=[FUNCTION, search, CUSTOM])

    assert request.tools == (
        ToolDefinition(name="look", description="Looks.", schema={"type": "object"}),
        ToolDefinition(name="web_search", type="web_search", schema=search),
        ToolDefinition(name="patch", description="Patches.", type="custom", schema=CUSTOM),
    )


# Refusals

ROLES = "Supported values are: 'assistant', 'system', 'developer', and 'user'."
PARTS = (
    "Supported values are: 'input_text', 'input_image', 'input_file', 'scoped_content', and 'input_audio'."
)
NOTHING = "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided."
MOVED = (
    "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. Try again "
    "with the new parameter. See the API documentation for more information: "
    "https://platform.openai.com/docs/api-reference/responses/create."
)
WITHOUT_MODEL = {"input": "x"}
WITHOUT_INPUT = {"model": "m"}
NAMELESS = {"format": {"type": "json_schema", "schema": {}}}


def asked(**body: Any) -> dict[str, Any]:
    return {"model": "m", "input": "x", **body}


def said(role: Any, *parts: Any) -> dict[str, Any]:
    return {"model": "m", "input": [{"role": role, "content": list(parts)}]}


def items(*given: Any) -> dict[str, Any]:
    return {"model": "m", "input": list(given)}


def text(kind: str) -> dict[str, Any]:
    return {"type": kind, "text": "x"}


MISSING = [
    (WITHOUT_MODEL, "model"),
    (WITHOUT_INPUT, "input"),
    ({"model": "m", "previous_response_id": "resp_1"}, "input"),
    (items({"role": "user"}), "input[0].content"),
    (said("user", {"type": "input_text"}), "input[0].content[0].text"),
    (said("user", {"text": "x"}), "input[0].content[0].type"),
    (items({**CALL, "arguments": None}), "input[0].arguments"),
    (items({**CALL, "call_id": None}), "input[0].call_id"),
    (items(CALL, {"type": "function_call_output", "call_id": "a"}), "input[1].output"),
    (items(CALL, {"type": "function_call_output", "output": "x"}), "input[1].call_id"),
    (items({"type": "reasoning", "id": "rs_1"}), "input[0].summary"),
    (asked(tools=[{}]), "tools[0].type"),
    (asked(tools=[{"type": "function", "function": {"name": "look"}}]), "tools[0].name"),
    (asked(text=NAMELESS), "text.format.name"),
]
OF_WRONG_TYPE = [
    ({"model": None, "input": "x"}, "model", "a string", "an object"),
    ({"model": 7, "input": "x"}, "model", "a string", "an integer"),
    ({"model": "m", "input": None}, "input", "a string", "an object"),
    ({"model": "m", "input": {}}, "input", "one of a string or array of input items", "an object"),
    (items(7), "input[0]", "an input item", "an integer"),
    (items(None), "input[0]", "an input item", "null"),
    (items({"type": True}), "input[0].type", "a string", "a boolean"),
    (
        items({"role": "user", "content": 0.5}),
        "input[0].content",
        "one of a string or array of objects",
        "a decimal",
    ),
    (said("user", "x"), "input[0].content[0]", "an object", "a string"),
    (items({**CALL, "arguments": {}}), "input[0].arguments", "a string", "an object"),
    (asked(tools={}), "tools", "an array of tools", "an object"),
    (asked(tools=["look"]), "tools[0]", "an object", "a string"),
    (asked(instructions=[]), "instructions", "a string", "an array"),
]
OTHERWISE_WRONG = [
    (asked(model=""), "The requested model '' does not exist.", "model", "model_not_found"),
    (asked(input=[]), NOTHING, "", "missing_required_parameter"),
    (asked(input=""), NOTHING, "", "missing_required_parameter"),
    (said("tool"), f"Invalid value: 'tool'. {ROLES}", "input[0]", "invalid_value"),
    (said(["user"]), f"Invalid value: ''. {ROLES}", "input[0]", "invalid_value"),
    (items({}), f"Invalid value: ''. {ROLES}", "input[0]", "invalid_value"),
    (
        said("assistant", text("input_text")),
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        "input[0].content[0]",
        "invalid_value",
    ),
    (
        said("user", text("output_text")),
        f"Invalid value: 'output_text'. {PARTS}",
        "input[0].content[0]",
        "invalid_value",
    ),
    (said("user", text("text")), f"Invalid value: 'text'. {PARTS}", "input[0].content[0]", "invalid_value"),
    (items(OUTPUT), "No tool call found for function call output with call_id a.", "input", ""),
    (items(OUTPUT, CALL), "No tool call found for function call output with call_id a.", "input", ""),
    (items(CALL, {"role": "user", "content": "x"}), "No tool output found for function call a.", "input", ""),
    ({**items(PATCH), "tools": [CUSTOM]}, "No tool output found for custom tool call a.", "input", ""),
    (asked(max_tokens=9), "Unknown parameter: 'max_tokens'.", "max_tokens", "unknown_parameter"),
    (asked(messages=[]), MOVED, "", "unsupported_parameter"),
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


@pytest.mark.parametrize(("body", "message", "param", "code"), OTHERWISE_WRONG)
def test_a_faulty_request_is_refused_in_the_words_of_the_provider(body, message, param, code):
    error = refusal(body)

    assert (error.message, error.param, error.code, error.status) == (message, param, code, 400)


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[]", b'"text"'])
def test_a_body_that_is_no_json_object_is_refused(raw):
    assert "JSON" in refusal(raw).message


def test_an_empty_input_is_fine_when_something_earlier_goes_on():
    assert decode(input=[], previous_response_id="resp_1").messages == ()


def test_a_stored_prompt_is_refused_by_its_name_whether_or_not_it_stands_for_model_and_input():
    for more in (b"", b',"model":"m","input":"x"'):
        error = refusal(b'{"prompt":{"id":"pmpt_1"}' + more + b"}")
        assert (error.param, error.code) == ("prompt", "unsupported_parameter")
        assert error.message.endswith("send the model, `instructions` and `input`.")


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"include": ["reasoning.encrypted_content", "soon"]}, "include[1]"),
        ({"include": [5]}, "include[0]"),
        ({"reasoning": {"effort": "soon"}}, "reasoning.effort"),
        ({"reasoning": {"summary": {}}}, "reasoning.summary"),
        ({"text": {"verbosity": "soon"}}, "text.verbosity"),
        ({"service_tier": "soon"}, "service_tier"),
        ({"prompt_cache_retention": "soon"}, "prompt_cache_retention"),
    ],
)
def test_a_value_that_the_provider_does_not_list_is_refused_with_the_list(more, param):
    error = refusal(json.dumps({"model": "m", "input": "x", **more}).encode())
    assert (error.param, error.code) == (param, "invalid_value")
    assert "Supported values are: '" in error.message


def test_the_lists_of_values_are_those_of_the_sdk():
    hints = get_type_hints(ResponseCreateParamsBase)
    assert set(_literals(hints["include"])) == set(_values.INCLUDE)
    for path, allowed in _values.RESPONSES_CHOICES.items():
        holder, _, name = path.rpartition(".")
        inside = {
            "": hints,
            "reasoning": get_type_hints(Reasoning),
            "text": get_type_hints(ResponseTextConfigParam),
        }
        assert set(_literals(inside[holder][name])) == set(allowed), path


def _literals(hint):
    if get_origin(hint) is Literal:
        return get_args(hint)
    return [one for part in get_args(hint) for one in _literals(part)]


def test_calls_that_are_not_in_the_request_are_not_missed():
    assert decode(input=[OUTPUT], previous_response_id="resp_1").tool_results[0].text == "one"
    assert decode(input=[{"type": "item_reference", "id": "fc_1"}, OUTPUT]).tool_results[0].text == "one"
    assert decode(input=[{**OUTPUT, "call_id": None, "name": "look"}]).tool_results[0].name == "look"


# Continuing

FIRST = decode(input="look", instructions="Be brief.", tools=[FUNCTION])
CALLED = ModelResponse(parts=(Text(text="I look."), ToolCall(id="a", name="look")), finish="tool_calls")


def test_a_continued_request_has_the_earlier_one_and_its_reply_in_front():
    asked = decode(input=[OUTPUT], previous_response_id="resp_1", instructions="Be rude.")
    continued = continue_from(asked, FIRST, CALLED)

    check_calls(continued)
    assert continued.messages == (system("Be rude."), user("look"), CALLED.message(), *asked.messages[1:])
    assert continued.settings == asked.settings


def test_a_continued_request_can_be_continued():
    second = continue_from(decode(input=[OUTPUT], previous_response_id="resp_1"), FIRST, CALLED)
    reply = ModelResponse(parts=(Text(text="Seen."),))
    third = continue_from(decode(input="And now?", previous_response_id="resp_2"), second, reply)

    check_calls(third)
    assert [message.role for message in third.messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert (third.system_text, third.turn) == ("", 2)


def test_a_continued_request_that_leaves_a_call_open_is_refused():
    continued = continue_from(decode(input="Never mind.", previous_response_id="resp_1"), FIRST, CALLED)

    with pytest.raises(RequestRejected, match=r"No tool output found for function call a\."):
        check_calls(continued)


def test_continuing_after_an_empty_reply_adds_no_message():
    continued = continue_from(decode(previous_response_id="resp_1"), FIRST, ModelResponse())

    assert continued.messages == (user("look"), user("hi"))
