"""Requests that no client sends on purpose: the provider's refusal, never a 500, and a journal that reads back."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.clock import SystemClock
from soundstage.errors import RequestRejected
from soundstage.journal import Journal
from soundstage.messages import ModelRequest
from soundstage.models import Script, ScriptedModel
from soundstage.net import HttpRequest
from soundstage.wire._app import CODECS, WireApp
from support.odd import SLOWEST, answer, assert_readable, no_longer_than, odd, posted
from support.wires import WIRES, error_of, run, serving

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
SEEDS = {  # a body of each format, with everything that we keep
    "openai-chat": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "x"}}],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [CALL],
                "reasoning_content": "hm",
                "refusal": None,
            },
            {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "sunny"},
            {"role": "user", "name": "Ann", "content": "thanks, and in JSON"},
        ],
        "tools": [
            {"type": "function", "function": {"name": "weather", "description": "d", "parameters": SCHEMA}}
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 20,
        "stop": ["END"],
        "response_format": {"type": "json_object"},
        "metadata": {"a": "b"},
        "n": 1,
    },
    "openai-responses": {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": "x",
            },
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "name": "weather", "output": "sunny"},
            {"type": "custom_tool_call", "call_id": "c2", "name": "grep", "input": "x"},
            {
                "type": "custom_tool_call_output",
                "call_id": "c2",
                "output": [{"type": "input_text", "text": "y"}],
            },
            {"type": "shell_call", "call_id": "c3", "action": {"commands": ["ls"], "timeout_ms": 5}},
            {
                "type": "shell_call_output",
                "call_id": "c3",
                "output": [{"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}],
            },
            {"type": "computer_call", "call_id": "c4", "action": {"type": "wait"}},
            {"type": "computer_call_output", "call_id": "c4", "output": {"type": "computer_screenshot"}},
            {"type": "tool_search_call", "execution": "client", "call_id": "c5", "arguments": {"a": 1}},
            {
                "type": "tool_search_output",
                "execution": "client",
                "call_id": "c5",
                "tools": [{"type": "function", "name": "found"}],
            },
        ],
        "tools": [
            {"type": "function", "name": "weather", "description": "d", "parameters": SCHEMA, "strict": True},
            {"type": "custom", "name": "grep", "description": "d"},
            {"type": "shell", "environment": {"type": "local"}},
            {"type": "namespace", "name": "mcp__a", "tools": [{"type": "function", "name": "add"}]},
        ],
        "stream": True,
        "max_output_tokens": 20,
        "include": ["reasoning.encrypted_content"],
        "text": {"format": {"type": "text"}},
        "reasoning": {"effort": "low"},
        "store": False,
    },
    "anthropic": {
        "model": "m",
        "max_tokens": 20,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Rome"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "x"}]}
                ],
            },
        ],
        "tools": [{"name": "weather", "description": "d", "input_schema": SCHEMA}],
        "stop_sequences": ["END"],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "tool_choice": {"type": "auto"},
        "metadata": {"user_id": "u"},
        "stream": True,
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {
                "role": "user",
                "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "eA=="}}],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True, "thoughtSignature": "eA=="},
                    {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Rome"}}},
                ],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c1", "name": "weather", "response": {"output": "x"}}}],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "weather", "description": "d", "parameters": SCHEMA}]}],
        "generationConfig": {"maxOutputTokens": 20, "stopSequences": ["END"], "temperature": 0.5},
    },
}
BESIDE = {  # paths that no model answers, and what is posted there
    "/v1/embeddings": {"model": "m", "input": ["a", [1, 2]], "dimensions": 8, "encoding_format": "base64"},
    "/v1/messages/count_tokens": SEEDS["anthropic"],
    "/v1beta/models/m:countTokens": {"generateContentRequest": SEEDS["gemini"]},
    "/v1beta/models/m:embedContent": {"content": {"parts": [{"text": "a"}]}, "outputDimensionality": 8},
    "/v1beta/models/m:batchEmbedContents": {"requests": [{"content": {"parts": [{"text": "a"}]}}]},
    "/_soundstage/rules": {"rules": [{"when": {"user": "hi"}, "reply": "ho"}]},
}
POSTED = (
    {wire.path: SEEDS[name] for name, wire in WIRES.items()}
    | {WIRES["gemini"].stream_path: SEEDS["gemini"]}
    | BESIDE
)
QUERIES = [
    "",
    "alt=sse",
    "key=%zz",
    "after=²",
    "after=-1",
    "within=nan",
    "after=999",
    "model=x&stream=1",
    "&&==",
    "\xff",
]
PATHS = [
    *POSTED,
    *(
        "/v1/models",
        "/v1/models/x",
        "/v1beta/models",
        "/v1beta/models/x",
        "/health",
        "/",
        "",
        "//",
        "/v1",
        "/\x00",
    ),
    *(
        "/_soundstage/journal",
        "/_soundstage/unused",
        "/_soundstage/reset",
        "/_soundstage/",
        "/v1beta/models/:generateContent",
    ),
    *(
        "/openai/deployments/d/chat/completions",
        "/v1/responses/resp_1",
        "/v1/messages/batches",
        "/v1beta/models/a:b",
    ),
]
HEADERS = [
    "authorization",
    "x-api-key",
    "anthropic-version",
    "x-goog-api-key",
    "x-soundstage-agent",
    "content-type",
    "session-id",
    "x-soundstage-purpose",
    "user-agent",
]
MODEL_IN_PATH = {"gemini": {"model": "m"}}
SCHEMAS = [  # of answers, which side requests are given
    {"type": "json_schema", "name": "a", "json_schema": {"name": "a", "schema": SCHEMA}, "schema": SCHEMA},
    {"type": "json_object"},
]


@pytest.mark.parametrize("name", SEEDS)
def test_the_seeds_are_requests_that_are_answered(name):
    """Otherwise the tests below would fuzz refusals alone."""
    assert isinstance(
        CODECS[name].decode(json.dumps(SEEDS[name]).encode(), MODEL_IN_PATH.get(name, {})), ModelRequest
    )


@pytest.mark.parametrize("name", SEEDS)
@given(data=st.data())
def test_an_odd_request_is_refused_or_can_be_read_back(name, data):
    body = json.dumps(data.draw(odd(SEEDS[name]))).encode()
    try:
        request = CODECS[name].decode(body, MODEL_IN_PATH.get(name, {}))
    except RequestRejected as refusal:
        assert refusal.message
        assert 400 <= refusal.status < 500
        return
    line = msgspec.json.encode(request)
    assert msgspec.json.encode(msgspec.json.decode(line, type=ModelRequest)) == line


def replies() -> Script:
    """A script that answers with text, with calls of whatever is offered, and slow."""
    script = Script()
    script.on(contains="call it").reply(
        tool_calls=[{"name": "weather", "arguments": {"city": "x"}}, {"name": "shell", "raw": "["}],
        check_calls=False,
    )
    script.on().reply(
        "an answer that is longer than twenty tokens would be, so that it is cut short at its END"
    )
    return script


@given(data=st.data())
def test_no_odd_request_makes_a_500_or_a_journal_that_cannot_be_read(data):
    path = data.draw(st.sampled_from(PATHS))
    body = data.draw(posted(POSTED[path])) if path in POSTED else data.draw(st.binary(max_size=20))
    if data.draw(st.integers(0, 5)) == 0:
        body = body.replace(b'"hi"', b'"call it"')
    base, _, query = path.partition("?")
    method = (
        "POST"
        if path in POSTED and data.draw(st.integers(0, 9))
        else data.draw(st.sampled_from(["GET", "POST", "PUT", "BREW"]))
    )
    headers = data.draw(
        st.dictionaries(st.sampled_from(HEADERS), st.text("aé \x00²:/,", max_size=5), max_size=3)
    )
    if data.draw(st.integers(0, 3)) == 0:
        headers |= {"user-agent": "GeminiCLI", "x-soundstage-purpose": "routing"}
    query = query or data.draw(st.sampled_from(QUERIES))

    async def main():
        journal = Journal(clock=SystemClock())
        app = WireApp(ScriptedModel(replies()), journal, control_token="known")
        given = headers | ({"x-soundstage-control": "known"} if base.startswith("/_soundstage/") else {})
        app.close()  # nobody waits for news here
        status, answered = await answer(app.handle, HttpRequest(method, base, query, given, body))
        assert status < 500, answered
        assert_readable(journal)

    with no_longer_than(SLOWEST):
        asyncio.run(main())


@pytest.mark.parametrize("name", SEEDS)
@given(data=st.data())
def test_no_odd_schema_of_a_side_request_makes_a_500(name, data):
    schema = data.draw(odd(data.draw(st.sampled_from(SCHEMAS))))
    places = {
        "openai-chat": {"response_format": schema},
        "openai-responses": {"text": {"format": schema}},
        "anthropic": {"output_config": {"format": schema}},
        "gemini": {"generationConfig": {"responseMimeType": "application/json", "responseSchema": schema}},
    }
    wire = WIRES[name]
    body = json.dumps({**wire.body("hi", ""), **places[name]}).encode()
    request = HttpRequest("POST", wire.path, "", {"x-soundstage-purpose": "routing"}, body)

    async def main():
        journal = Journal(clock=SystemClock())
        status, answered = await answer(WireApp(ScriptedModel(Script()), journal).handle, request)
        assert status < 500, answered
        assert_readable(journal)

    with no_longer_than(SLOWEST):
        asyncio.run(main())


ODD = {  # what is odd -> format -> the seed with it, and how the refusal names it
    "a description that is a number": {
        "openai-chat": (("tools", 0, "function", "description"), 5, "tools[0].function.description"),
        "openai-responses": (("tools", 0, "description"), 5, "tools[0].description"),
        "anthropic": (("tools", 0, "description"), 5, "tools.0.custom.description"),
        "gemini": (("tools", 0, "functionDeclarations", 0, "description"), 5, "description"),
    },
    "parameters that are a list": {
        "openai-chat": (("tools", 0, "function", "parameters"), ["x"], "tools[0].function.parameters"),
        "openai-responses": (("tools", 0, "parameters"), ["x"], "tools[0].parameters"),
        "anthropic": (("tools", 0, "input_schema"), ["x"], "tools.0.custom.input_schema"),
        "gemini": (("tools", 0, "functionDeclarations", 0, "parameters"), ["x"], "parameters"),
    },
    "parameters that are text": {
        "openai-chat": (("tools", 0, "function", "parameters"), "x", "tools[0].function.parameters"),
        "openai-responses": (("tools", 0, "parameters"), "x", "tools[0].parameters"),
    },
    "the name of a result that is no text": {
        "openai-chat": (("messages", 3, "name"), 5, "messages[3].name"),
        "openai-responses": (("input", 3, "name"), 5, "input[3].name"),
        "gemini": (("contents", 2, "parts", 0, "functionResponse", "name"), 5, "name"),
    },
    "a name that is no text": {
        "openai-responses": (("tools", 1, "name"), {"x": 1}, "tools[1].name"),
    },
    "a value that is nested 300 levels deep": {
        name: (
            ("metadata" if name != "gemini" else "labels",),
            json.loads("[" * 300 + "]" * 300),
            "256 levels",
        )
        for name in SEEDS
    },
}


@pytest.mark.parametrize(
    ("name", "path", "value", "named"),
    [
        pytest.param(name, *case, id=f"{name}: {what}")
        for what, cases in ODD.items()
        for name, case in cases.items()
    ],
)
def test_a_field_of_a_wrong_type_is_refused_by_name_and_the_journal_stays_readable(name, path, value, named):
    body = json.loads(json.dumps(SEEDS[name]))
    holder = body
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value

    async def main():
        async with serving(Script()) as served:
            answered = await served.ask(WIRES[name], json=body)
            assert answered.status_code == 400
            assert named in error_of(WIRES[name], answered)[1]
            assert_readable(served.journal)

    run(main())
