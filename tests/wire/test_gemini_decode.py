"""The Gemini codec, the way in: what is understood, refused and counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from soundstage.errors import RequestRejected
from soundstage.messages import (
    Message,
    ModelRequest,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    user,
)
from soundstage.wire import AnswerStamp
from soundstage.wire._gemini import Gemini

CODEC = Gemini()
STAMP = AnswerStamp("a" * 24, 1_700_000_000)
MODEL = {"model": "gemini-test"}
SCHEMA = {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}}
HI = {"role": "user", "parts": [{"text": "hi"}]}


def asking(*contents: Any, **fields: Any) -> bytes:
    return json.dumps({"contents": list(contents) or [HI], **fields}).encode()


def decoded(*contents: Any, **fields: Any) -> ModelRequest:
    return CODEC.decode(asking(*contents, **fields), MODEL)


def refusal(body: bytes, parameters: dict[str, str] | None = None) -> str:
    with pytest.raises(RequestRejected) as caught:
        CODEC.decode(body, MODEL if parameters is None else parameters)
    fault = CODEC.fault(caught.value, STAMP)
    assert json.loads(fault.body)["error"] == {
        "code": 400,
        "message": caught.value.message,
        "status": "INVALID_ARGUMENT",
    }
    return caught.value.message


def says(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def calls(name: str, **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **fields}}


def returns(name: str, response: Any, **fields: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": response, **fields}}


# What comes in


def test_model_and_stream_come_from_the_path_and_all_else_is_a_setting():
    given = asking(generation_config={"temperature": 0.5}, safetySettings=[])
    request = CODEC.decode(given, {**MODEL, "stream": "true", "alt": "sse", "key": "secret"})
    assert (request.model, request.stream, request.format) == ("gemini-test", True, "gemini")
    assert request.settings == {"generationConfig": {"temperature": 0.5}, "safetySettings": [], "alt": "sse"}
    plain = decoded()
    assert not plain.stream
    assert plain.messages == (user("hi"),)


@pytest.mark.parametrize("key", ["systemInstruction", "system_instruction"])
def test_the_system_instruction_leads_the_messages(key):
    request = decoded(**{key: {"parts": [{"text": "be"}, {"text": "brief"}]}})
    assert request.messages[0] == Message(role="system", parts=(Text(text="be"), Text(text="brief")))
    assert decoded(**{key: None}).messages == decoded().messages


def test_one_object_stands_for_a_list_of_one():
    body = json.dumps({"contents": {"parts": {"text": "hi"}}, "tools": {"googleSearch": {}}}).encode()
    request = CODEC.decode(body, MODEL)
    assert request.messages == (user("hi"),)
    assert [tool.name for tool in request.tools] == ["googleSearch"]


def test_tools_are_declarations_in_either_spelling_and_the_providers_own():
    request = decoded(
        tools=[
            {"functionDeclarations": [{"name": "read", "description": "reads", "parameters": SCHEMA}]},
            {"function_declarations": [{"name": "list", "parameters_json_schema": {"type": "object"}}]},
            {"google_search": {"exclude_domains": ["x"]}, "functionDeclarations": [{"name": "now"}]},
        ]
    )
    assert [(tool.name, tool.description, tool.schema, tool.type) for tool in request.tools] == [
        ("read", "reads", SCHEMA, "function"),
        ("list", "", {"type": "object"}, "function"),
        ("now", "", {}, "function"),
        ("googleSearch", "", {"googleSearch": {"exclude_domains": ["x"]}}, "googleSearch"),
    ]


def test_parts_keep_their_order_and_unknown_ones_are_kept_as_they_are():
    blob = {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "videoMetadata": {"fps": 1}}
    file = {"file_data": {"fileUri": "gs://x"}}
    thought = {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}
    request = decoded(
        says("user", {"text": "look", "thought": False}, blob, file),
        says("model", thought, {"text": "so", "thoughtSignature": "c2ln"}, {"executableCode": {"code": "1"}}),
        says("user", {"text": ""}),
    )
    assert [message.parts for message in request.messages] == [
        (
            Text(text="look"),
            Opaque(type="inlineData", data=blob),
            Opaque(type="fileData", data={"fileData": {"fileUri": "gs://x"}}),
        ),
        (
            Thinking(text="hm", signature="c2ln"),
            Text(text="so"),
            Opaque(type="thoughtSignature", data={"thoughtSignature": "c2ln"}),
            Opaque(type="executableCode", data={"executableCode": {"code": "1"}}),
        ),
        (Text(text=""),),
    ]


def test_calls_and_results_without_ids_are_bound_by_name_and_position():
    request = decoded(
        HI,
        says("model", {"text": "so"}, calls("read", args={"path": "a"}), calls("list"), calls("read")),
        says(
            "function",
            returns("list", {"output": "l"}),
            returns("read", {"output": "1"}),
            returns("read", {"output": "2"}),
        ),
    )
    assert request.messages[1].parts[1:] == (
        ToolCall(id="call_1_1", name="read", arguments={"path": "a"}),
        ToolCall(id="call_1_2", name="list"),
        ToolCall(id="call_1_3", name="read"),
    )
    assert request.messages[2] == Message(
        role="tool",
        parts=(
            ToolResult(call_id="call_1_2", name="list", text="l"),
            ToolResult(call_id="call_1_1", name="read", text="1"),
            ToolResult(call_id="call_1_3", name="read", text="2"),
        ),
    )


def test_ids_win_over_names_and_a_lost_id_is_found_by_name():
    request = decoded(
        HI,
        says("model", calls("read", id="a"), calls("read", id="b"), calls("read")),
        says("user", returns("read", {}), returns("read", {}, id="a"), returns("read", {}, id="gone")),
    )
    assert [result.call_id for result in request.tool_results] == ["b", "a", "call_1_2"]


def test_a_result_for_a_function_that_was_not_called_keeps_its_own_name():
    request = decoded(HI, says("model", calls("read")), says("user", returns("write", {"output": "x"})))
    assert request.tool_results == (ToolResult(call_id="write", name="write", text="x"),)


@pytest.mark.parametrize(
    ("response", "text", "is_error"),
    [
        ({"output": "fine"}, "fine", False),
        ({"output": {"a": 1}}, '{"a":1}', False),
        ({"result": "fine"}, "fine", False),
        ({"result": "fine", "more": 1}, '{"result":"fine","more":1}', False),
        ({"error": "broken"}, "broken", True),
        ({"error": {"code": 1}}, '{"code":1}', True),
        ({"error": "", "output": "fine"}, "fine", False),
        ({}, "{}", False),
    ],
)
def test_the_text_of_a_result_is_what_the_function_put_out(response, text, is_error):
    request = decoded(HI, says("model", calls("read")), says("user", returns("read", response)))
    (result,) = request.tool_results
    assert (result.text, result.is_error) == (text, is_error)


def test_content_of_a_result_that_is_not_text_is_kept():
    blob = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    request = decoded(HI, says("model", calls("read")), says("user", returns("read", {}, parts=[blob])))
    assert request.tool_results[0].extra == (blob,)


def test_an_answer_that_comes_back_piece_by_piece_is_one_turn():
    request = decoded(
        HI,
        says("model", {"text": "Loo"}),
        says("model", {"text": "king"}),
        says("model", calls("read")),
        says("model", calls("list")),
        says("model", {"text": ""}),
        says("user", returns("read", {})),
        says("user", returns("list", {}), {"text": "go on"}),
    )
    assert [result.call_id for result in request.tool_results] == ["call_3_0", "call_4_0"]


def test_a_conversation_may_end_with_a_call():
    assert decoded(HI, says("model", calls("read"))).messages[-1].parts[0].name == "read"


# What is refused

UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts "
    "of the function call turn."
)
MISPLACED = "Please ensure that function response turn comes immediately after a function call turn."
FIRST = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response "
    "turn."
)
STRUCT = "type.googleapis.com/google.protobuf.Struct"
NO_CONTENTS = "* GenerateContentRequest.contents: contents is not specified\n"
KIND = "type.googleapis.com/google.ai.generativelanguage.v1beta."
NO_DATA = (
    "* GenerateContentRequest.contents[0].parts[1].data: required oneof field 'data' must have one "
    "initialized field\n"
)


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ([], NO_CONTENTS),
        (None, NO_CONTENTS),
        ("hi", f"Invalid value at 'contents' ({KIND}Content), \"hi\""),
        (["hi"], f"Invalid value at 'contents[0]' ({KIND}Content), \"hi\""),
        ([says("assistant", {"text": "x"})], "Please use a valid role: user, model."),
        ([says("system", {"text": "x"})], "Please use a valid role: user, model."),
        ([{"role": 3, "parts": [{"text": "x"}]}], "Invalid value at 'contents[0].role' (TYPE_STRING), 3"),
        (
            [{"role": "user"}],
            "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n",
        ),
        ([says("user", "x")], f"Invalid value at 'contents[0].parts[0]' ({KIND}Part), \"x\""),
        ([says("user", {"text": 1})], "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 1"),
        ([says("user", {"text": "x"}, {"thought": True, "thoughtSignature": "c2ln"})], NO_DATA),
        (
            [HI, says("model", {"functionCall": {}})],
            "* GenerateContentRequest.contents[1].parts[0].function_call.name: Name cannot be empty.\n",
        ),
        (
            [HI, says("model", calls("read", args=[1]))],
            f"Invalid value at 'contents[1].parts[0].function_call.args' ({STRUCT}), [1]",
        ),
        (
            [HI, says("model", calls("read")), says("user", returns("", {}))],
            "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.\n",
        ),
        ([HI, says("model", calls("read")), HI], UNEQUAL),
        ([HI, says("model", calls("read")), says("user", returns("read", {}), returns("read", {}))], UNEQUAL),
        ([HI, says("model", calls("a"), calls("b")), says("function", returns("a", {}))], UNEQUAL),
        ([says("user", returns("read", {}))], MISPLACED),
        ([HI, says("model", {"text": "x"}), says("user", returns("read", {}))], MISPLACED),
        ([says("model", calls("read")), says("user", returns("read", {}))], FIRST),
    ],
)
def test_contents_that_the_provider_would_refuse_are_refused_in_its_words(contents, words):
    assert refusal(json.dumps({"contents": contents}).encode()) == words


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"systemInstruction": "x"}, f"Invalid value at 'system_instruction' ({KIND}Content), \"x\""),
        (
            {"systemInstruction": {"parts": [{}]}},
            NO_DATA.replace("contents[0].parts[1]", "system_instruction.parts[0]"),
        ),
        ({"tools": "x"}, f"Invalid value at 'tools' ({KIND}Tool), \"x\""),
        (
            {"tools": [{"functionDeclarations": [{"name": "x", "description": 1}]}]},
            "Invalid value at 'tools[0].function_declarations[0].description' (TYPE_STRING), 1",
        ),
    ],
)
def test_a_field_of_the_wrong_kind_is_refused_by_its_path(fields, words):
    assert refusal(asking(**fields)) == words


def test_a_tool_without_a_name_is_refused():
    words = refusal(asking(tools=[{"functionDeclarations": [{"description": "x"}]}]))
    assert words.startswith(
        "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function"
    )


def test_a_path_without_a_model_is_refused():
    assert refusal(asking(), {}) == "* GenerateContentRequest.model: unexpected model name format\n"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_refused(body):
    assert refusal(body).startswith("Invalid JSON payload received. ")


# Counting


def test_counting_is_four_characters_a_token_over_text_and_tools():
    tools = [{"functionDeclarations": [{"name": "read", "parameters": SCHEMA}]}]
    assert CODEC.count_tokens(asking(systemInstruction={"parts": [{"text": "123456"}]})).tokens == 2
    with_tools = -(-(2 + len(json.dumps(tools, separators=(",", ":")))) // 4)
    assert CODEC.count_tokens(asking(tools=tools)).tokens == with_tools
    inside = json.dumps({"generateContentRequest": json.loads(asking(tools=tools))}).encode()
    assert CODEC.count_tokens(inside).tokens == with_tools


def test_a_count_is_refused_as_a_request_is():
    with pytest.raises(RequestRejected, match="contents is not specified"):
        CODEC.count_tokens(b"{}")
    with pytest.raises(RequestRejected, match="generate_content_request"):
        CODEC.count_tokens(b'{"generateContentRequest": 1}')
