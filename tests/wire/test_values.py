"""A program that a provider would refuse is refused here: values out of range, and what does not go together."""

from __future__ import annotations

import pytest

from soundstage.journal import ModelRequested, RequestRefused
from soundstage.models import Script
from support.wires import WIRES, error_of, run, serving

CHAT, RESPONSES, ANTHROPIC, GEMINI = "openai-chat", "openai-responses", "anthropic", "gemini"


def chat_tool(name):
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


def tool(name):
    return {"name": name, "input_schema": {"type": "object"}}


def declared(*names):
    return [{"functionDeclarations": [{"name": name} for name in names]}]


F = {"tools": [chat_tool("f")]}
G = {"tools": [{"type": "function", "name": "f", "parameters": {}}]}
H = {"tools": [tool("f")]}
THINKING = {"type": "enabled", "budget_tokens": 1024}
REFUSED = [  # format, what is asked for, words of the refusal
    (CHAT, {"temperature": "hot"}, "'temperature'"),
    (CHAT, {"temperature": 2.1}, "'temperature'"),
    (CHAT, {"temperature": True}, "'temperature'"),
    (CHAT, {"top_p": -1}, "'top_p'"),
    (CHAT, {"presence_penalty": 3}, "'presence_penalty'"),
    (CHAT, {"frequency_penalty": "x"}, "'frequency_penalty'"),
    (CHAT, {"seed": "x"}, "'seed'"),
    (CHAT, {"user": 5}, "'user'"),
    (CHAT, {"metadata": {"a": 1}}, "'metadata'"),
    (CHAT, {"response_format": {"type": "xml"}}, "'response_format'"),
    (CHAT, {"response_format": {"type": "json_object"}}, "must contain the word 'json'"),
    (CHAT, {"max_tokens": 5, "max_completion_tokens": 5}, "at the same time"),
    (CHAT, {"stream_options": {"include_usage": True}}, "only allowed when 'stream' is enabled"),
    (CHAT, {"tools": []}, "Invalid 'tools': empty array"),
    (CHAT, {"tools": [chat_tool("bad name")]}, "Invalid 'tools[0].function.name'"),
    (CHAT, {"parallel_tool_calls": True}, "only allowed when 'tools' are specified"),
    (CHAT, {"tool_choice": "required"}, "only allowed when 'tools' are specified"),
    (CHAT, {"tool_choice": "sometimes", **F}, "'tool_choice'"),
    (CHAT, {"tool_choice": {"type": "function", "function": {"name": "g"}}, **F}, "Tool choice 'g' not found"),
    (RESPONSES, {"temperature": 5}, "'temperature'"),
    (RESPONSES, {"truncation": "x"}, "'truncation'"),
    (RESPONSES, {"store": "x"}, "'store'"),
    (RESPONSES, {"text": {"format": {"type": "xml"}}}, "'text'"),
    (RESPONSES, {"text": {"format": {"type": "json_object"}}}, "must contain the word 'json'"),
    (RESPONSES, {"tools": [{"type": "function", "name": "bad name"}]}, "Invalid 'tools[0].name'"),
    (RESPONSES, {"tool_choice": "required"}, "must be specified with 'tools'"),
    (RESPONSES, {"tool_choice": {"type": "function", "name": "g"}, **G}, "Tool choice 'g' not found"),
    (ANTHROPIC, {"temperature": 1.5}, "temperature: "),
    (ANTHROPIC, {"top_p": 2}, "top_p: "),
    (ANTHROPIC, {"top_k": -3}, "top_k: "),
    (ANTHROPIC, {"metadata": 5}, "metadata: "),
    (ANTHROPIC, {"thinking": {"type": "maybe"}}, "thinking: Input tag 'maybe'"),
    (ANTHROPIC, {"thinking": {"type": "enabled"}}, "thinking.enabled.budget_tokens: Field required"),
    (ANTHROPIC, {"thinking": {"type": "enabled", "budget_tokens": 1023}}, "greater than or equal to 1024"),
    (ANTHROPIC, {"thinking": THINKING, "max_tokens": 1024}, "`max_tokens` must be greater than"),
    (ANTHROPIC, {"thinking": THINKING, "max_tokens": 2000, "temperature": 0}, "`temperature` may only be set to 1"),
    (
        ANTHROPIC,
        {"thinking": THINKING, "max_tokens": 2000, "tool_choice": {"type": "any"}, **H},
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
    (ANTHROPIC, {"tools": [tool("bad name")]}, "tools.0.custom.name: String should match pattern"),
    (ANTHROPIC, {"tools": [tool("f"), tool("f")]}, "Tool names must be unique"),
    (ANTHROPIC, {"tool_choice": {"type": "sometimes"}}, "tool_choice: Input tag 'sometimes'"),
    (ANTHROPIC, {"tool_choice": {"type": "any"}}, "only be specified while providing tools"),
    (ANTHROPIC, {"tool_choice": {"type": "tool", "name": "g"}, **H}, "Tool 'g' not found"),
    (GEMINI, {"generationConfig": {"temperature": 2.5}}, "generation_config.temperature"),
    (GEMINI, {"generation_config": {"top_p": "x"}}, "generation_config.topP"),
    (GEMINI, {"generationConfig": {"seed": 1.5}}, "generation_config.seed"),
    (GEMINI, {"tools": declared("bad name")}, "Invalid function name"),
    (GEMINI, {"tools": declared("f", "f")}, "Duplicate function declaration found: f"),
    (GEMINI, {"toolConfig": {"functionCallingConfig": {"mode": "SOMETIMES"}}}, "function_calling_config.mode"),
    (
        GEMINI,
        {"tools": declared("f"), "toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["g"]}}},
        "'g' is not the name of a function declaration",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "more", "words"), REFUSED)
def test_a_value_that_the_provider_refuses_is_refused_with_its_words(name, more, words):
    wire = WIRES[name]
    script = Script()
    script.on().reply("green by accident")

    async def main():
        async with serving(script) as served:
            refused = await served.ask(wire, json={**wire.body("hello", ""), **more})
            assert (refused.status_code, error_of(wire, refused)[0]) == (400, wire.kinds[400])
            assert words in error_of(wire, refused)[1]
            assert len(served.events(RequestRefused)) == 1
            assert served.events(ModelRequested) == []

    run(main())


ACCEPTED = [
    (CHAT, {"temperature": 2, "top_p": 0, "seed": 7, "metadata": {"a": "b"}, "parallel_tool_calls": None}),
    (CHAT, {"tool_choice": "none", "response_format": {"type": "text"}, "stream_options": None}),
    (CHAT, {"response_format": {"type": "json_object"}, "messages": [{"role": "user", "content": "hello, JSON"}]}),
    (CHAT, {"tool_choice": {"type": "function", "function": {"name": "f"}}, "parallel_tool_calls": False, **F}),
    (RESPONSES, {"tool_choice": {"type": "function", "name": "f"}, "parallel_tool_calls": True, **G}),
    (RESPONSES, {"tool_choice": "auto", "text": {"format": {"type": "json_object"}}, "input": "hello, JSON"}),
    (RESPONSES, {"tool_choice": {"type": "web_search"}, "tools": [{"type": "web_search"}]}),
    (ANTHROPIC, {"temperature": 1, "top_k": 0, "thinking": {"type": "disabled"}, "tool_choice": {"type": "auto"}}),
    (ANTHROPIC, {"thinking": THINKING, "max_tokens": 1025, "temperature": 1.0}),
    (ANTHROPIC, {"thinking": THINKING, "max_tokens": 10, **H}),  # thinking may go on between the calls
    (ANTHROPIC, {"tool_choice": {"type": "tool", "name": "f"}, **H}),
    (ANTHROPIC, {"tools": [{"type": "mcp_toolset", "mcp_server_name": name} for name in "ab"]}),
    (GEMINI, {"generationConfig": {"temperature": 2, "topK": 40.0, "seed": 1}}),
    (
        GEMINI,
        {
            "tools": declared("a.b:c-d"),
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowed_function_names": ["a.b:c-d"]}},
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "more"), ACCEPTED)
def test_a_value_that_the_provider_takes_is_taken(name, more):
    wire = WIRES[name]
    script = Script()
    script.on(user="hello").reply("hi")

    async def main():
        async with serving(script) as served:
            assert await served.text(wire, json={**wire.body("hello", ""), **more}) == "hi"

    run(main())
