"""A live model asks our server: any conversation survives the way out through its format, and in through the codec."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from soundstage.live._model import FORMATS
from soundstage.messages import (
    Message,
    ModelRequest,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
    system,
    user,
)
from soundstage.wire import CODECS

WORDS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8).map(
    lambda text: f"a{text}"
)
ARGUMENTS = st.dictionaries(st.sampled_from(["city", "days"]), st.integers() | WORDS, max_size=2)
TOOLS = (
    ToolDefinition(name="look", description="Looks.", schema={"type": "object", "properties": {}}),
    ToolDefinition(name="ring", schema={"type": "object"}),
)
SIGNATURES = st.binary(min_size=1, max_size=6).map(lambda seal: base64.b64encode(seal).decode())
QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
PARAMETERS = {
    "gemini": {"model": "m", "alt": "sse", "stream": "true"}
}  # format -> what its path and query say
SETTINGS: dict[str, dict[str, Any]] = {
    "openai": {"temperature": 0.5, "max_tokens": 90},
    "openai-responses": {"temperature": 0.5, "max_output_tokens": 90, "store": False},
    "anthropic": {"temperature": 0.5, "max_tokens": 90},
    "gemini": {"generationConfig": {"temperature": 0.5}, "alt": "sse"},
}
EVERY_FORMAT = pytest.mark.parametrize("kind", sorted(FORMATS))


@st.composite
def rounds(draw: st.DrawFn, number: int) -> list[Message]:
    """The user asks; the model thinks, speaks and calls; the tools answer."""
    said: list[Part] = []
    if draw(st.booleans()):
        said.append(Thinking(text=draw(WORDS), signature=draw(SIGNATURES)))
    said.append(Text(text=draw(WORDS)))
    calls = [
        ToolCall(
            id=f"c{number}_{place}", name=draw(st.sampled_from(["look", "ring"])), arguments=draw(ARGUMENTS)
        )
        for place in range(draw(st.integers(0, 2)))
    ]
    results = [
        Message(
            role="tool",
            parts=(ToolResult(call_id=call.id, name=call.name, text=draw(WORDS), is_error=False),),
        )
        for call in calls
    ]
    return [user(draw(WORDS)), Message(role="assistant", parts=(*said, *calls)), *results]


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    head = [system(draw(WORDS))] if draw(st.booleans()) else []
    middle = [message for number in range(draw(st.integers(0, 3))) for message in draw(rounds(number))]
    return (*head, *middle, user(draw(WORDS)))


def again(request: ModelRequest, kind: str) -> ModelRequest:
    """The request as our server understands what the live model posts."""
    body = json.dumps(FORMATS[kind].encode(request, request.model)).encode()
    name = FORMATS[kind].name
    return CODECS[name].decode(body, PARAMETERS.get(name, {}))


def told(messages: tuple[Message, ...], kind: str) -> list[tuple[str, Part]]:
    """Who says what. Formats differ in how parts are grouped to messages, and in the names of results."""
    found: list[tuple[str, Part]] = []
    for message in messages:
        for part in message.parts:
            if kind == "openai" and isinstance(part, Thinking):
                continue
            if isinstance(part, ToolResult):
                found.append(("tool", msgspec.structs.replace(part, name="")))
            else:
                found.append((message.role, part))
    return found


@EVERY_FORMAT
@QUICK
@given(messages=conversations())
def test_a_conversation_is_understood_as_it_was_meant(kind, messages):
    request = ModelRequest(model="m", messages=messages, tools=TOOLS, settings=SETTINGS[kind], stream=True)
    found = again(msgspec.structs.replace(request, format=FORMATS[kind].name), kind)
    assert told(found.messages, kind) == told(messages, kind)
    assert found.tools == TOOLS
    assert (found.model, found.stream) == ("m", True)
    about = {name: value for name, value in found.settings.items() if name != "stream_options"}
    assert about == SETTINGS[kind]


@EVERY_FORMAT
@QUICK
@given(messages=conversations())
def test_what_was_understood_is_asked_again_in_the_same_words(kind, messages):
    """A request that comes over the wire is passed on as it came."""
    request = ModelRequest(model="m", messages=messages, tools=TOOLS, settings=SETTINGS[kind], stream=True)
    first = again(msgspec.structs.replace(request, format=FORMATS[kind].name), kind)
    assert again(first, kind) == first


SHELL = {"type": "shell"}
CUSTOM = {"type": "custom", "name": "sql", "description": "Asks."}
NAMESPACE = {
    "type": "namespace",
    "name": "mcp__calc",
    "description": "mcp__calc",
    "tools": [{"type": "function", "name": "add", "parameters": {"type": "object"}, "description": "Adds."}],
}
RESPONSES_ITEMS: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "data:x"}],
    },
    {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "sealed"},
    {
        "type": "web_search_call",
        "id": "ws",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    },
    {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"},
    {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
    {
        "type": "shell_call",
        "id": "sh",
        "call_id": "c2",
        "status": "completed",
        "action": {"commands": ["ls"]},
    },
    {
        "type": "shell_call_output",
        "call_id": "c2",
        "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 1}}],
    },
    {
        "type": "function_call",
        "call_id": "c3",
        "namespace": "mcp__calc",
        "name": "add",
        "arguments": '{"a":1}',
    },
    {
        "type": "function_call_output",
        "call_id": "c3",
        "output": [{"type": "input_text", "text": "2"}, {"type": "input_image", "image_url": "data:y"}],
    },
    {
        "type": "apply_patch_call",
        "id": "ap",
        "call_id": "c4",
        "status": "completed",
        "operation": {"type": "x"},
    },
    {"type": "apply_patch_call_output", "call_id": "c4", "status": "failed", "output": "no"},
    {
        "type": "local_shell_call",
        "id": "l",
        "call_id": "c5",
        "status": "completed",
        "action": {"command": ["ls"]},
    },
    {"type": "local_shell_call_output", "id": "c5", "output": "a"},
    {
        "type": "computer_call",
        "id": "k",
        "call_id": "c6",
        "status": "completed",
        "actions": [{"type": "wait"}],
    },
    {
        "type": "computer_call_output",
        "call_id": "c6",
        "output": {"type": "computer_screenshot", "file_id": "f"},
    },
    {
        "type": "tool_search_call",
        "call_id": "c7",
        "execution": "client",
        "status": "completed",
        "arguments": {"q": 1},
    },
    {
        "type": "tool_search_output",
        "call_id": "c7",
        "execution": "client",
        "status": "completed",
        "tools": [],
    },
]
RESPONSES_TOOLS = [
    SHELL,
    CUSTOM,
    NAMESPACE,
    {"type": "apply_patch"},
    {"type": "local_shell"},
    {"type": "computer"},
    {"type": "tool_search", "execution": "client"},
]


def test_all_items_of_the_responses_format_are_passed_on():
    body = {
        "model": "m",
        "instructions": "Be brief.",
        "input": RESPONSES_ITEMS,
        "tools": RESPONSES_TOOLS,
        "stream": True,
    }
    first = CODECS["openai-responses"].decode(json.dumps(body).encode(), {})
    assert again(first, "openai-responses") == first


def test_the_id_of_an_earlier_answer_is_ours_and_not_passed_on():
    settings = {"previous_response_id": "resp_1", "instructions": "Be brief."}
    asked = ModelRequest(
        model="m", messages=(system("Be brief."), user("hi")), settings=settings, format="openai-responses"
    )
    body = FORMATS["openai-responses"].encode(asked, "m")
    assert "previous_response_id" not in body
    assert body["instructions"] == "Be brief."
    assert body["input"] == [{"role": "user", "content": "hi"}]


def test_signatures_of_gemini_go_back_where_they_were():
    sealed = Opaque(type="thoughtSignature", data={"thoughtSignature": "c2Vh"})
    said = Message(
        role="assistant",
        parts=(ToolCall(id="c1", name="look"), sealed, Text(text="a"), sealed, Thinking(text="b")),
    )
    body = FORMATS["gemini"].encode(ModelRequest(model="m", messages=(said,)), "m")
    assert body["contents"] == [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"id": "c1", "name": "look", "args": {}}, "thoughtSignature": "c2Vh"},
                {"text": "a", "thoughtSignature": "c2Vh"},
            ],
        }
    ]


def test_a_signature_that_a_client_sends_is_passed_on_with_its_call():
    said = {
        "role": "model",
        "parts": [
            {"functionCall": {"id": "c1", "name": "look", "args": {}}, "thoughtSignature": "c2Vh"},
            {"text": "a", "thoughtSignature": "bA=="},
        ],
    }
    answered = {"functionResponse": {"id": "c1", "name": "look", "response": {"output": "ok"}}}
    contents = [
        {"role": "user", "parts": [{"text": "hi"}]},
        said,
        {"role": "user", "parts": [answered]},
    ]
    request = CODECS["gemini"].decode(json.dumps({"contents": contents}).encode(), PARAMETERS["gemini"])
    assert FORMATS["gemini"].encode(request, "m")["contents"] == contents


def test_gemini_settings_made_in_process_are_translated():
    made = {
        "max_tokens": 9,
        "top_p": 0.5,
        "stop": "END",
        "generationConfig": {"topP": 0.7},
        "safetySettings": [],
    }
    body = FORMATS["gemini"].encode(ModelRequest(model="m", messages=(user("a"),), settings=made), "m")
    assert body["generationConfig"] == {"maxOutputTokens": 9, "topP": 0.7, "stopSequences": ["END"]}
    assert body["safetySettings"] == []


@pytest.mark.parametrize(
    ("schema", "field"),
    [({"type": "OBJECT"}, "parameters"), ({"type": "object"}, "parametersJsonSchema")],
    ids=["its own words", "JSON Schema"],
)
def test_a_gemini_schema_goes_where_its_words_are_understood(schema, field):
    tool = ToolDefinition(name="look", schema=schema)
    search = ToolDefinition(name="googleSearch", type="googleSearch", schema={"googleSearch": {}})
    body = FORMATS["gemini"].encode(ModelRequest(model="m", messages=(), tools=(tool, search)), "m")
    assert body["tools"] == [
        {"functionDeclarations": [{"name": "look", field: schema}]},
        {"googleSearch": {}},
    ]


def test_an_error_of_a_tool_is_one_for_gemini_and_its_result_has_the_name_of_the_call():
    talk = (
        Message(role="assistant", parts=(ToolCall(id="c1", name="look"),)),
        Message(
            role="tool",
            parts=(ToolResult(call_id="c1", text="no", is_error=True, extra=({"inlineData": {}},)),),
        ),
    )
    result = FORMATS["gemini"].encode(ModelRequest(model="m", messages=talk), "m")["contents"][1]["parts"][0]
    assert result == {
        "functionResponse": {
            "id": "c1",
            "name": "look",
            "response": {"error": "no"},
            "parts": [{"inlineData": {}}],
        }
    }
