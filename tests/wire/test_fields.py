"""Each field of a request is served, changes nothing, or is refused by name. None is accepted and then ignored."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import anthropic
import openai
import pytest

from soundstage.errors import RequestRejected
from soundstage.journal import ModelRequested, RequestRefused
from soundstage.messages import Usage
from soundstage.models import Script
from soundstage.models._reply import BlockSpec, Reply
from soundstage.wire import _fields
from soundstage.wire._parts import SEAL
from soundstage.wire._signatures import sign
from support.wires import WIRES, error_of, run, serving

CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hello"}}
REFUSED = [  # format, what is asked for, how the refusal names it
    ("openai-chat", {"n": 2}, "n"),
    ("openai-chat", {"n": True}, "n"),
    ("openai-chat", {"logprobs": True}, "logprobs"),
    ("openai-chat", {"top_logprobs": 3}, "top_logprobs"),
    ("openai-chat", {"modalities": ["text", "audio"]}, "modalities"),
    ("openai-chat", {"functions": [{"name": "f"}]}, "functions"),
    ("openai-chat", {"web_search_options": {"search_context_size": "low"}}, "web_search_options"),
    ("openai-responses", {"background": True}, "background"),
    ("openai-responses", {"conversation": "conv_1"}, "conversation"),
    ("openai-responses", {"top_logprobs": 1}, "top_logprobs"),
    ("openai-responses", {"include": ["message.output_text.logprobs"]}, "include"),
    ("anthropic", {"container": "c1"}, "container"),
    ("anthropic", {"mcp_servers": [{"type": "url", "url": "x", "name": "y"}]}, "mcp_servers"),
    ("gemini", {"generationConfig": {"candidateCount": 2}}, "candidateCount"),
    ("gemini", {"generation_config": {"candidate_count": 2}}, "candidateCount"),
    ("gemini", {"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}}, "responseModalities"),
    ("gemini", {"generationConfig": {"responseLogprobs": True}}, "responseLogprobs"),
    ("gemini", {"cachedContent": "cachedContents/1"}, "cachedContent"),
    (
        "openai-chat",
        {"stream_options": {"continuous_usage_stats": True}},
        "stream_options.continuous_usage_stats",
    ),
    # deeper
    ("openai-responses", {"prompt_cache_options": {"prewarm": True}}, "prompt_cache_options.prewarm"),
    (
        "openai-responses",
        {"input": [{"role": "user", "content": "hello"}, {"type": "compaction_trigger"}]},
        "input[1].type",
    ),
    (
        "anthropic",
        {
            "messages": [
                {"role": "user", "content": "hello"},
                {"role": "system", "content": "Be brief.", "clear_at": "next_user_message"},
            ]
        },
        "messages.1.clear_at",
    ),
    (
        "anthropic",
        {
            "messages": [
                {"role": "user", "content": "hello"},
                {
                    "role": "system",
                    "content": [
                        {
                            "type": "tool_addition",
                            "tool": {"type": "mcp_tool_reference", "server_name": "s", "name": "t"},
                        }
                    ],
                },
            ]
        },
        "messages.1.content.0.tool_addition.tool.mcp_tool_reference.server_name",
    ),
    ("openai-chat", {"stream_options": {"include_obfuscation": True}}, "stream_options.include_obfuscation"),
    (
        "openai-responses",
        {"stream_options": {"include_obfuscation": True}},
        "stream_options.include_obfuscation",
    ),
    (
        "openai-responses",
        {"input": [{"type": "configuration_update", "text": {"format": {"type": "text"}}}]},
        "input[0].text",
    ),
    (
        "gemini",
        {"toolConfig": {"functionCallingConfig": {"streamFunctionCallArguments": True}}},
        "toolConfig.functionCallingConfig.streamFunctionCallArguments",
    ),
    ("gemini", {"tools": [{"google_maps": {"enable_widget": True}}]}, "tools[0].google_maps.enable_widget"),
    (
        "gemini",
        {"tools": [{"functionDeclarations": [{"name": "f", "behavior": "NON_BLOCKING"}]}]},
        "tools[0].functionDeclarations[0].behavior",
    ),
    (
        "gemini",
        {"generationConfig": {"responseFormat": {"image": {"aspectRatio": "1:1"}}}},
        "generationConfig.responseFormat.image",
    ),
]
UNKNOWN = [
    ("openai-chat", {"soon": 1}, "Unrecognized request argument supplied: soon"),
    ("openai-responses", {"soon": 1}, "Unknown parameter: 'soon'."),
    ("anthropic", {"soon": 1}, "soon: Extra inputs are not permitted"),
    (
        "openai-chat",
        {"stream_options": {"soon": 1}},
        "Unrecognized request argument supplied: stream_options.soon",
    ),
    ("openai-responses", {"text": {"soon": 1}}, "Unknown parameter: 'text.soon'."),
    ("openai-responses", {"reasoning": {"soon": 1}}, "Unknown parameter: 'reasoning.soon'."),
    (
        "anthropic",
        {"thinking": {"type": "adaptive", "soon": 1}},
        "thinking.adaptive.soon: Extra inputs are not permitted",
    ),
    ("anthropic", {"tool_choice": {"type": "auto", "soon": 1}}, "tool_choice.auto.soon: Extra inputs"),
    ("gemini", {"toolConfig": {"soon": 1}}, "Unknown name \"soon\" at 'toolConfig': Cannot find field."),
    ("gemini", {"generationConfig": {"thinkingConfig": {"soon": 1}}}, "'generationConfig.thinkingConfig'"),
    ("gemini", {"soon": 1}, 'Unknown name "soon": Cannot find field.'),
    (
        "gemini",
        {"generationConfig": {"soon": 1}},
        "Unknown name \"soon\" at 'generationConfig': Cannot find field.",
    ),
]
UNKNOWN += [  # deeper: each of these was seen as the provider's answer to a real client, or is of its kind
    (
        "openai-responses",
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "hello", "soon": 1}]}]},
        "Unknown parameter: 'input[0].content[0].soon'.",
    ),
    (
        "openai-responses",
        {"input": [{"role": "user", "content": "hello"}, CALL | {"parsed_arguments": None}]},
        "Unknown parameter: 'input[1].parsed_arguments'.",
    ),
    (
        "openai-responses",
        {
            "tools": [
                {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f", "soon": 1}]}
            ]
        },
        "Unknown parameter: 'tools[0].tools[0].soon'.",
    ),
    (
        "openai-chat",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "soon": 1}}},
        "Unrecognized request argument supplied: response_format.json_schema.soon",
    ),
    (
        "anthropic",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "hello", "index": 0}]}]},
        "messages.0.content.0.text.index: Extra inputs are not permitted",
    ),
    (
        "anthropic",
        {"tools": [{"name": "f", "input_schema": {"type": "object"}, "parameters": {}}]},
        "tools.0.custom.parameters: Extra inputs are not permitted",
    ),
    (
        "anthropic",
        {
            "messages": [
                {
                    "role": "user",
                    "content": [DOCUMENT | {"cache_control": {"type": "ephemeral", "tll": "1h"}}],
                }
            ]
        },
        "messages.0.content.0.document.cache_control.ephemeral.tll: Extra inputs",
    ),
    (
        "gemini",
        {"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "bytes": "eA=="}}]}]},
        "Unknown name \"bytes\" at 'contents[0].parts[0].inlineData': Cannot find field.",
    ),
]
WRONG = [
    ("openai-chat", {"max_tokens": "many"}, "max_tokens"),
    ("openai-chat", {"max_completion_tokens": 0}, "max_completion_tokens"),
    ("openai-chat", {"stop": ["a"] * 5}, "stop"),
    ("openai-responses", {"max_output_tokens": 15}, "max_output_tokens"),
    ("anthropic", {"stop_sequences": [5]}, "stop_sequences"),
    ("gemini", {"generationConfig": {"maxOutputTokens": 0}}, "maxOutputTokens"),
    ("gemini", {"generationConfig": {"stopSequences": 5}}, "stopSequences"),
]


def _cases() -> Iterator[tuple[str, dict, str]]:
    for name, more, field in REFUSED:
        yield name, more, f"{field}'"
        yield name, more, "Soundstage does not serve it"
    yield from UNKNOWN
    yield from WRONG


@pytest.mark.parametrize(("name", "more", "words"), list(_cases()))
def test_what_is_not_served_is_refused_by_name_in_the_providers_shape(name, more, words):
    wire = WIRES[name]
    script = Script()
    script.on().reply("hi")

    async def main():
        async with serving(script) as served:
            refused = await served.ask(wire, json={**wire.body("hello", ""), **more})
            assert (refused.status_code, error_of(wire, refused)[0]) == (400, wire.kinds[400])
            assert words in error_of(wire, refused)[1]
            assert len(served.events(RequestRefused)) == 1
            assert served.events(ModelRequested) == []

    run(main())


ACCEPTED = {
    "openai-chat": {
        "n": 1, "logprobs": False, "top_logprobs": None, "modalities": ["text"], "functions": [], "temperature": 0.2,
        "metadata": {"a": "b"}, "user": "u", "seed": 7, "logit_bias": {}, "provider": {"order": ["x"]},
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"x-own": 1}}},
    },
    "openai-responses": {
        "background": False, "conversation": None, "top_logprobs": 0, "client_metadata": {"a": "b"},
        "prompt_cache_options": {"mode": "explicit", "prewarm": False},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"x-own": 1}}},
    },
    "anthropic": {
        "thread": None, "mcp_servers": [], "metadata": {"user_id": "{}"}, "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    },
    "gemini": {
        "generationConfig": {"candidateCount": 1, "responseModalities": ["TEXT"], "temperature": 0},
        "safetySettings": [], "labels": {"a": "b"},
        "toolConfig": {"function_calling_config": {"mode": "AUTO", "stream_function_call_arguments": False}},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_cannot_change_a_scripted_answer_is_accepted_and_kept(name):
    wire = WIRES[name]
    script = Script()
    script.on(user="hello").reply("hi")

    async def main():
        async with serving(script) as served:
            assert await served.text(wire, json={**wire.body("hello", ""), **ACCEPTED[name]}) == "hi"
            [asked] = served.events(ModelRequested)
            assert asked.request.settings.items() >= ACCEPTED[name].items()

    run(main())


# Limits on the answer

LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen."
LIMITS = {  # format -> at most 16 tokens; end at a text; why it ended, both times
    "openai-chat": ({"max_tokens": 16}, {"stop": "eight"}),
    "openai-responses": ({"max_output_tokens": 16}, None),
    "anthropic": ({"max_tokens": 16}, {"stop_sequences": ["never", "eight"]}),
    "gemini": (
        {"generationConfig": {"maxOutputTokens": 16}},
        {"generationConfig": {"stopSequences": ["eight"]}},
    ),
}
ENDS = {
    "openai-chat": ('"finish_reason":"length"', '"finish_reason":"stop"'),
    "openai-responses": ('"reason":"max_output_tokens"', ""),
    "anthropic": ('"stop_reason":"max_tokens"', '"stop_reason":"stop_sequence","stop_sequence":"eight"'),
    "gemini": ('"finishReason":"MAX_TOKENS"', '"finishReason":"STOP"'),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", LIMITS)
def test_an_answer_ends_at_the_limits_that_the_request_sets(name, stream):
    wire = WIRES[name]
    script = Script()
    script.on(user="hello").reply(LONG)
    most, stop = LIMITS[name]

    async def ask(served, more):
        body = {**wire.body("hello", ""), **more, **({"stream": True} if stream and name != "gemini" else {})}
        answer = await served.ask(wire, stream=stream, json=body)
        return answer, await served.text(wire, stream=stream, json=body)

    async def main():
        async with serving(script) as served:
            answer, text = await ask(served, most)
            assert text == LONG[:64]  # 16 tokens of four characters, as usage counts them
            assert ENDS[name][0] in answer.text
            if stop is not None:
                answer, text = await ask(served, stop)
                assert text == LONG[: LONG.index("eight")]
                assert ENDS[name][1] in answer.text
            enough = {"max_tokens": 99} if name == "anthropic" else {}
            assert (await ask(served, enough))[1] == LONG

    run(main())


# Official clients


def anthropic_client(url: str) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=url, api_key="test", max_retries=0)


def test_thinking_goes_back_with_the_signature_that_came_with_it():
    """An agent with tools sends the thinking of the last turn back, and the provider refuses it without signature."""
    script = Script()
    script.on(user="hello").reply(Reply(blocks=(BlockSpec(thinking="hm"), BlockSpec(text="I look."))))
    script.on(user="go on").reply("done")

    async def main():
        async with serving(script) as served, anthropic_client(served.server.anthropic_url) as client:
            history = [{"role": "user", "content": "hello"}]
            async with client.messages.stream(model="m", max_tokens=99, messages=history) as stream:
                first = await stream.get_final_message()
            assert first.content[0].signature == sign("hm")
            back = [block.model_dump(exclude_none=True) for block in first.content]
            history += [{"role": "assistant", "content": back}, {"role": "user", "content": "go on"}]
            second = await client.messages.create(model="m", max_tokens=99, messages=history)
            assert second.content[0].text == "done"

    run(main())


@pytest.mark.parametrize(("display", "shown"), [("omitted", ""), ("summarized", "hm")])
def test_thinking_is_shown_or_left_out_as_the_client_wants_it(display, shown):
    script = Script()
    script.on(user="hello").reply(Reply(blocks=(BlockSpec(thinking="hm"), BlockSpec(text="I look."))))

    async def main():
        async with serving(script) as served, anthropic_client(served.server.anthropic_url) as client:
            asked = {
                "model": "m",
                "max_tokens": 99,
                "messages": [{"role": "user", "content": "hello"}],
                "thinking": {"type": "adaptive", "display": display},
            }
            async with client.messages.stream(**asked) as stream:
                streamed = await stream.get_final_message()
            for message in (streamed, await client.messages.create(**asked)):
                assert [block.type for block in message.content] == ["thinking", "text"]
                assert message.content[0].thinking == shown
                assert message.content[0].signature == sign("hm")

    run(main())


def test_reasoning_has_encrypted_content_where_the_request_asks_for_it():
    script = Script()
    script.on(user="x").reply(Reply(blocks=(BlockSpec(thinking="hm"), BlockSpec(text="hi"))))

    async def main():
        async with (
            serving(script) as served,
            openai.AsyncOpenAI(base_url=served.server.openai_url, api_key="test", max_retries=0) as client,
        ):
            plain = await client.responses.create(model="m", input="x")
            asked = await client.responses.create(
                model="m", input="x", include=["reasoning.encrypted_content"]
            )
            assert (plain.output[0].encrypted_content, asked.output[0].encrypted_content) == (None, SEAL)
            async with client.responses.stream(
                model="m", input="x", include=["reasoning.encrypted_content"]
            ) as stream:
                assert (await stream.get_final_response()).output[0].encrypted_content == SEAL

    run(main())


def test_message_start_says_about_how_much_went_in():
    script = Script()
    script.on(user="hello").reply("hi", usage=Usage(input_tokens=9, output_tokens=4))

    async def main():
        async with serving(script) as served, anthropic_client(served.server.anthropic_url) as client:
            started = []
            async with client.messages.stream(
                model="m", max_tokens=99, messages=[{"role": "user", "content": "hello" * 8}]
            ) as stream:
                async for event in stream:
                    if event.type == "message_start":
                        started.append(event.message.usage.input_tokens)
                final = await stream.get_final_message()
            assert (started, final.usage.input_tokens) == ([10], 9)

    run(main())


CARRIED = {  # format -> content that has fields of compatible servers, of maps, or of types that are not in our table
    "openai-chat": {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}],
                "reasoning_details": [{"soon": 1}],
            }
        ],
        "tools": [
            {"type": "function", "function": {"name": "f", "parameters": {"x-own": 1}}, "cache_control": {}}
        ],
    },
    "openai-responses": {
        "input": [{"role": "user", "content": "hello"}, {"type": "soon", "anything": {"goes": 1}}],
        "tools": [{"type": "mcp", "server_label": "s", "headers": {"x-own": "1"}}, {"type": "soon", "a": 1}],
    },
    "anthropic": {
        "system": [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "scope": "global"}}
        ],
        "messages": [
            {"role": "user", "content": [{"type": "soon", "a": 1}, {"type": "text", "text": "hello"}]}
        ],
        "tools": [
            {"name": "f", "input_schema": {"type": "object", "x-own": 1, "$defs": {}}, "strict": True},
            {"type": "mcp_toolset", "mcp_server_name": "s", "configs": {"any_tool": {"enabled": True}}},
            {"type": "soon_20300101", "name": "soon", "a": 1},
        ],
    },
    "gemini": {
        "contents": [{"parts": {"text": "hello"}}],
        "tools": [
            {"function_declarations": [{"name": "f", "parameters": {"x-own": 1}, "behavior": "BLOCKING"}]},
            {"googleSearch": {}},
        ],
    },
}


@pytest.mark.parametrize("name", CARRIED)
def test_schemas_maps_and_what_our_table_does_not_have_are_carried(name):
    wire = WIRES[name]
    script = Script()
    script.on(user="hello").reply("hi")

    async def main():
        async with serving(script) as served:
            assert await served.text(wire, json={**wire.body("hello", ""), **CARRIED[name]}) == "hi"

    run(main())


def _nested(depth: int) -> dict[str, object]:
    held: dict[str, object] = {"type": "text", "text": "x"}
    for _ in range(depth):
        held = {"type": "tool_result", "tool_use_id": "c", "content": [held]}
    return held


def test_the_look_at_a_request_takes_odd_values_for_what_they_are():
    """It answers or refuses; wrong types are refused by the codecs, with the provider's words."""
    for table in (_fields.CHAT, _fields.RESPONSES, _fields.ANTHROPIC, _fields.GEMINI):
        for value in (None, 5, "x", [], {}, [None, 5, "x", [{}]], {"type": ["x"]}, [{"type": {}}]):
            with contextlib.suppress(RequestRejected):
                table.check(dict.fromkeys(table.root.inner, value))
    _fields.ANTHROPIC.check({"messages": [{"role": "user", "content": [_nested(100)]}]})
