"""Edits of requests: what is made of a body is what is made of the request, and nothing else in the body changes."""

from __future__ import annotations

import json

import pytest

from soundstage.errors import RequestRejected
from soundstage.tapes._rewrite import ResultEdit, SystemEdit, edited, edited_body, leading, results_of
from soundstage.wire import CODECS

PARAMETERS = {"gemini": {"model": "gemini-2.5-flash"}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "get", "arguments": '{"at":"here"}'}}
HISTORIES = {
    "openai-chat": {
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [CALL, {**CALL, "id": "call_2"}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "old"},
            {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "old"}]},
            {"role": "system", "content": "a word between"},
            {"role": "user", "content": "Be kind."},
        ]
    },
    "openai-responses": {
        "input": [
            {"role": "user", "content": "go"},
            {"type": "function_call", "call_id": "call_1", "name": "get", "arguments": '{"at":"here"}'},
            {"type": "custom_tool_call", "call_id": "call_2", "name": "run", "input": "ls"},
            {"type": "function_call_output", "call_id": "call_1", "output": "old"},
            {
                "type": "custom_tool_call_output",
                "call_id": "call_2",
                "output": [{"type": "input_text", "text": "o"}],
            },
            {"role": "developer", "content": "a word between"},
            {"role": "user", "content": "Be kind."},
        ]
    },
    "anthropic": {
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "call_1", "name": "get", "input": {}},
                    {"type": "tool_use", "id": "call_2", "name": "get", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": "old", "is_error": True},
                    {
                        "type": "tool_result",
                        "tool_use_id": "call_2",
                        "content": [
                            {"type": "text", "text": "old"},
                            {"type": "image", "source": {"type": "ephemeral"}},
                        ],
                        "cache_control": {"type": "ephemeral"},
                    },
                    {"type": "text", "text": "Be kind."},
                ],
            },
        ],
    },
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "get"}},
                    {"function_call": {"name": "get", "args": {"n": 1}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "get", "response": {"result": "old"}}},
                    {
                        "function_response": {
                            "name": "get",
                            "response": {"error": "bad"},
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}],
                        }
                    },
                ],
            },
        ]
    },
}
PROMPTS = {
    "openai-chat": [
        [],
        [{"role": "system", "content": "Be kind."}],
        [
            {
                "role": "system",
                "content": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
            },
            {"role": "developer", "content": "Be fair."},
        ],
    ],
    "openai-responses": [
        (None, []),
        ("Be kind.", []),
        (None, [{"role": "system", "content": [{"type": "input_text", "text": "Be kind."}]}]),
        ("Be kind.", [{"type": "message", "role": "developer", "content": "Be fair."}]),
    ],
    "anthropic": [
        None,
        "Be kind.",
        [
            {"type": "text", "text": "Be kind."},
            {"type": "text", "text": "Be fair.", "cache_control": {"type": "e"}},
        ],
    ],
    "gemini": [
        {},
        {"systemInstruction": {"parts": [{"text": "Be kind."}]}},
        {"system_instruction": {"role": "user", "parts": {"text": "Be kind."}}},
    ],
}


KEPT = {
    "openai-chat": "metadata",
    "openai-responses": "metadata",
    "anthropic": "metadata",
    "gemini": "labels",
}


def body_with(name, prompt):
    """A body of a format with a form of a system prompt, and with a field that no codec reads."""
    body = {**HISTORIES[name], KEPT[name]: {"user_id": "kept"}}
    if name == "openai-chat":
        return {**body, "model": "m", "messages": [*prompt, *body["messages"]]}
    if name == "openai-responses":
        instructions, items = prompt
        named = {"instructions": instructions} if instructions is not None else {}
        return {**body, "model": "m", **named, "input": [*items, *body["input"]]}
    if name == "anthropic":
        return {**body, "model": "m", **({"system": prompt} if prompt is not None else {})}
    return {**body, **prompt}


WAYS = [
    pytest.param(name, body_with(name, prompt), id=f"{name}-{number}")
    for name, prompts in PROMPTS.items()
    for number, prompt in enumerate(prompts)
]


def decoded(name, body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return CODECS[name].decode(data, PARAMETERS.get(name, {}))


EDITS = [
    SystemEdit(" Be brief.", add=True),
    SystemEdit("Be brief."),
    SystemEdit(""),
    ResultEdit(0, "new"),
    ResultEdit(1, '{"new":[1]}'),
]


@pytest.mark.parametrize(("name", "body"), WAYS)
@pytest.mark.parametrize("edit", EDITS, ids=["add", "replace", "remove", "first", "second"])
def test_an_edited_body_is_read_as_the_edited_request(name, body, edit):
    before = decoded(name, body)
    after = decoded(name, edited_body(name, json.dumps(body).encode(), edit))
    assert after == edited(before, edit)
    assert after != before or (edit == SystemEdit("") and not leading(before))


@pytest.mark.parametrize(("name", "body"), WAYS)
def test_a_system_prompt_is_added_to_its_end_and_nothing_else_of_the_body_changes(name, body):
    data = json.loads(edited_body(name, json.dumps(body).encode(), SystemEdit(" Be brief.", add=True)))
    before, after = (json.dumps(one, sort_keys=True) for one in (body, data))
    texts = [message.text for message in leading(decoded(name, body))]
    if not texts:
        (added,) = leading(decoded(name, json.dumps(data).encode()))
        assert added.text == " Be brief."
        return
    last = texts[-1].splitlines()[-1]
    assert after in [
        before[:place] + f'{last} Be brief."' + before[place + len(last) + 1 :]
        for place in range(len(before))
        if before.startswith(f'{last}"', place)
    ]
    assert decoded(name, json.dumps(data).encode()).messages[-1] == decoded(name, body).messages[-1]


@pytest.mark.parametrize(("name", "body"), WAYS)
def test_one_result_is_another_and_keeps_its_call_and_whether_it_is_an_error(name, body):
    before = results_of(decoded(name, body))
    after = results_of(decoded(name, edited_body(name, json.dumps(body).encode(), ResultEdit(1, "new"))))
    assert after[0] == before[0]
    assert (after[1].text, after[1].extra) == ("new", ())
    assert (after[1].call_id, after[1].is_error) == (before[1].call_id, before[1].is_error)


def test_an_object_that_is_a_result_stays_an_object_on_the_wire_of_gemini():
    body = json.loads(json.dumps(HISTORIES["gemini"]).replace('{"result": "old"}', '{"degrees": 7}'))
    data = json.loads(edited_body("gemini", json.dumps(body).encode(), ResultEdit(0, '{"degrees":30}')))
    assert data["contents"][2]["parts"][0]["functionResponse"]["response"] == {"degrees": 30}


def test_what_cannot_be_edited_is_refused_by_name():
    body = json.dumps(HISTORIES["openai-chat"]).encode()
    with pytest.raises(RequestRejected, match="2 results of tools, none is at 2"):
        edited_body("openai-chat", body, ResultEdit(2, "new"))
    shell = {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "x"}]}
    with pytest.raises(RequestRejected, match="a shell_call_output is no text"):
        edited_body("openai-responses", json.dumps({"input": [shell]}).encode(), ResultEdit(0, "new"))
