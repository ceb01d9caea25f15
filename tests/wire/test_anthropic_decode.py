"""The Anthropic codec, the way in: what is understood, refused and counted."""

from __future__ import annotations

import json
from typing import Any

import msgspec
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
)
from soundstage.wire._anthropic import AnthropicMessages

CODEC = AnthropicMessages()
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def asking(*messages: dict[str, Any], **fields: Any) -> bytes:
    given = messages or ({"role": "user", "content": "hi"},)
    return json.dumps({"model": "claude-test", "max_tokens": 64, "messages": list(given), **fields}).encode()


def decoded(*messages: dict[str, Any], **fields: Any) -> ModelRequest:
    return CODEC.decode(asking(*messages, **fields), {})


def refusal(body: bytes) -> str:
    with pytest.raises(RequestRejected) as caught:
        CODEC.decode(body, {})
    assert caught.value.status == 400
    return caught.value.message


def says(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def use(call_id: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": given}


def result(call_id: str, content: Any = "done", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


# What comes in


def test_a_request_keeps_model_stream_tools_and_all_settings():
    tool = {
        "name": "Read",
        "description": "reads",
        "input_schema": SCHEMA,
        "cache_control": {"type": "ephemeral"},
    }
    server_tool = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    toolset = {"type": "mcp_toolset", "mcp_server_name": "files"}
    request = decoded(
        stream=True,
        temperature=0.5,
        tools=[tool, server_tool, toolset, {**tool, "type": "custom", "name": "again"}],
    )
    assert (request.model, request.stream, request.format) == ("claude-test", True, "anthropic")
    assert request.settings == {"max_tokens": 64, "temperature": 0.5}
    read, search, files, again = request.tools
    assert (read.name, read.description, read.schema, read.type) == ("Read", "reads", SCHEMA, "function")
    assert (search.name, search.type, search.schema) == ("web_search", "web_search_20250305", server_tool)
    assert (files.name, files.type) == ("mcp_toolset", "mcp_toolset")
    assert again == msgspec.structs.replace(read, name="again")


def test_the_system_prompt_leads_the_messages_as_text_or_blocks():
    assert decoded(system="be brief").messages[0] == Message(role="system", parts=(Text(text="be brief"),))
    blocks = decoded(system=[text("one"), {**text("two"), "cache_control": {"type": "ephemeral"}}])
    assert blocks.messages[0] == Message(role="system", parts=(Text(text="one"), Text(text="two")))
    assert blocks.system_text == "one\ntwo"
    assert decoded(system="").messages == decoded().messages


def test_blocks_become_parts_in_order_and_unknown_ones_are_kept_as_they_are():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    request = decoded(
        says("user", text("look"), image),
        says(
            "assistant",
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            redacted,
            text("I read"),
            use("toolu_1", path="a"),
        ),
        says("user", result("toolu_1", "content", is_error=True), text("go on")),
    )
    assert request.messages == (
        Message(role="user", parts=(Text(text="look"), Opaque(type="image", data=image))),
        Message(
            role="assistant",
            parts=(
                Thinking(text="hm", signature="c2ln"),
                Opaque(type="redacted_thinking", data=redacted),
                Text(text="I read"),
                ToolCall(id="toolu_1", name="Read", arguments={"path": "a"}),
            ),
        ),
        Message(
            role="user",
            parts=(ToolResult(call_id="toolu_1", text="content", is_error=True), Text(text="go on")),
        ),
    )


def test_a_tool_result_of_blocks_keeps_its_text_and_the_rest_apart():
    image = {"type": "image", "source": {"type": "url", "url": "http://x"}}
    request = decoded(
        says("user", text("hi")),
        says("assistant", use("a"), use("b"), use("c")),
        says("user", result("a", [text("one"), image, text("two")]), result("b", None), result("c", "")),
    )
    assert request.tool_results == (
        ToolResult(call_id="a", text="one\ntwo", extra=(image,)),
        ToolResult(call_id="b", text=""),
        ToolResult(call_id="c", text=""),
    )


def test_a_conversation_as_claude_code_sends_it_is_accepted():
    """System messages between the others, as text or blocks, first or last; several users in a row."""
    reminder = {"role": "system", "content": "Today's date is Friday."}
    listed = says("system", text("skills"), text(""))
    request = decoded(
        reminder,
        says("user", text("<system-reminder>x</system-reminder>"), text("do it")),
        listed,
        says("assistant", text("ok")),
        says("assistant", use("a"), use("b")),
        reminder,
        says("user", result("a")),
        listed,
        says("user", result("b"), text("note")),
        {"role": "user", "content": "more"},
        {"role": "system", "content": ""},
        reminder,
        system=[text("billing"), text("You are"), text("prompt")],
        thinking={"type": "adaptive"},
        context_management={"edits": []},
        metadata={"user_id": "{}"},
    )
    assert [message.role for message in request.messages] == [
        *("system", "system", "user", "system", "assistant", "assistant"),
        *("system", "user", "system", "user", "user", "system", "system"),
    ]
    assert request.last_user_text == "more"
    assert [found.call_id for found in request.tool_results] == ["a", "b"]


def test_the_final_assistant_message_may_be_empty_or_begun():
    begun = decoded({"role": "user", "content": "hi"}, {"role": "assistant", "content": "The answer is ("})
    assert begun.messages[-1].text == "The answer is ("
    empty = decoded({"role": "user", "content": "hi"}, {"role": "assistant", "content": ""})
    assert empty.messages[-1] == Message(role="assistant")


# What is refused

USER = {"role": "user", "content": "hi"}
UNANSWERED = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. Each "
    "`tool_use` block must have a corresponding `tool_result` block in the next message."
)
UNEXPECTED = (
    "messages.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block must "
    "have a corresponding `tool_use` block in the previous message."
)
TWICE = (
    "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with "
    "id: a"
)
EMPTY = (
    "messages.{}: all messages must have non-empty content except for the optional final assistant message"
)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "messages: at least one message is required"),
        ("hi", "messages: Input should be a valid list"),
        (["hi"], "messages.0: Input should be a valid dictionary"),
        ([{"content": "hi"}], "messages.0.role: Field required"),
        (
            [{"role": "tool", "content": "x"}],
            "messages.0.role: Input should be 'user', 'assistant' or 'system'",
        ),
        ([{"role": 3, "content": "x"}], "messages.0.role: Input should be a valid string"),
        ([{"role": "user"}], "messages.0.content: Field required"),
        ([{"role": "user", "content": None}], "messages.0.content: Input should be a valid list"),
        ([{"role": "user", "content": ["x"]}], "messages.0.content.0: Input should be a valid dictionary"),
        ([says("user", {"text": "x"})], "messages.0.content.0.type: Field required"),
        ([says("user", {"type": "text"})], "messages.0.content.0.text.text: Field required"),
        (
            [says("user", {"type": "text", "text": 1})],
            "messages.0.content.0.text.text: Input should be a valid string",
        ),
        ([says("user", text(""))], "messages: text content blocks must be non-empty"),
        (
            [USER, says("assistant", text(" \n"))],
            "messages: text content blocks must contain non-whitespace text",
        ),
        ([{"role": "user", "content": ""}], EMPTY.format(0)),
        ([USER, says("assistant"), USER], EMPTY.format(1)),
        ([{"role": "assistant", "content": "hi"}], 'messages: first message must use the "user" role'),
        ([{"role": "system", "content": "hi"}], 'messages: first message must use the "user" role'),
        (
            [says("user", use("a"))],
            "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages",
        ),
        (
            [USER, says("assistant", text("x"), result("a"))],
            "messages.1.content.1: `tool_result` blocks can only be in `user` messages",
        ),
        (
            [USER, says("assistant", {"type": "tool_use", "id": "a", "name": "x"})],
            "messages.1.content.0.tool_use.input: Field required",
        ),
        (
            [USER, says("assistant", {**use("a"), "input": "{}"})],
            "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
        ),
        (
            [USER, says("assistant", {"type": "thinking", "thinking": "x"})],
            "messages.1.content.0.thinking.signature: Field required",
        ),
        (
            [USER, says("assistant", use("a")), says("user", {"type": "tool_result", "content": "x"})],
            "messages.2.content.0.tool_result.tool_use_id: Field required",
        ),
        ([USER, says("assistant", use("a")), USER], UNANSWERED),
        ([USER, says("assistant", use("a"))], UNANSWERED),
        ([USER, says("assistant", use("a")), says("user", text("x"), result("a"))], UNANSWERED),
        (
            [
                USER,
                says("assistant", use("b"), use("a")),
                says("user", result("b")),
                {**USER, "role": "system"},
            ],
            UNANSWERED,
        ),
        ([says("user", result("z"))], UNEXPECTED.format("0.content.0", "z")),
        (
            [USER, says("assistant", use("a")), says("user", result("a"), result("z"))],
            UNEXPECTED.format("2.content.1", "z"),
        ),
        (
            [
                *(USER, says("assistant", use("a")), says("user", result("a"))),
                *(says("assistant", text("so")), says("user", result("a"))),
            ],
            UNEXPECTED.format("4.content.0", "a"),
        ),
        (
            [USER, says("assistant", use("a")), says("user", result("a"), result("a"))],
            TWICE,
        ),
    ],
)
def test_a_conversation_that_the_provider_would_refuse_is_refused_in_its_words(messages, words):
    assert refusal(asking(messages=messages)) == words


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"max_tokens": "64"}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": True}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
        ({"model": 1}, "model: Input should be a valid string"),
        ({"model": ""}, "model: String should have at least 1 character"),
        ({"stream": "yes"}, "stream: Input should be a valid boolean"),
        ({"system": 5}, "system: Input should be a valid list"),
        ({"system": [text("")]}, "system: text content blocks must be non-empty"),
        ({"tools": {}}, "tools: Input should be a valid list"),
        ({"tools": ["x"]}, "tools.0: Input should be a valid dictionary"),
        ({"tools": [{"input_schema": SCHEMA}]}, "tools.0.custom.name: Field required"),
        ({"tools": [{"name": "x"}]}, "tools.0.custom.input_schema: Field required"),
        ({"tools": [{"name": "x", "input_schema": {}}]}, "tools.0.custom.input_schema.type: Field required"),
        (
            {"tools": [{"name": "x", "input_schema": {"type": "array"}}]},
            "tools.0.custom.input_schema.type: Input should be 'object'",
        ),
    ],
)
def test_a_field_of_the_wrong_kind_is_refused_by_its_path(fields, words):
    assert refusal(asking(**fields)) == words


@pytest.mark.parametrize("missing", ["model", "max_tokens", "messages"])
def test_a_missing_field_is_named(missing):
    given = json.loads(asking())
    del given[missing]
    assert refusal(json.dumps(given).encode()) == f"{missing}: Field required"


@pytest.mark.parametrize("body", [b"", b"{", b'{"model": "\\ud800"}', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_is_refused(body):
    assert refusal(body).startswith("The request body is not valid JSON: ")


def test_a_body_that_is_no_object_is_refused():
    assert refusal(b"[]") == "Input should be a valid dictionary"


# Counting


def test_counting_is_four_characters_a_token_over_text_and_tools():
    tools = [{"name": "Read", "input_schema": SCHEMA}]
    talk = json.dumps({"model": "m", "messages": [USER], "system": "123456"}).encode()
    assert CODEC.count_tokens(talk).tokens == 2
    with_tools = json.dumps({"model": "m", "messages": [USER], "tools": tools}).encode()
    assert CODEC.count_tokens(with_tools).tokens == -(
        -(2 + len(json.dumps(tools, separators=(",", ":")))) // 4
    )


def test_a_count_is_refused_as_a_request_is_but_needs_no_limit():
    with pytest.raises(RequestRejected, match="at least one message is required"):
        CODEC.count_tokens(b'{"model": "m", "messages": []}')
