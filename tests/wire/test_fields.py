"""Each field of a request is served, changes nothing, or is refused by name. None is accepted and then ignored."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import get_args, get_type_hints

import anthropic
import openai
import pytest
from anthropic.types import message_create_params as anthropic_messages
from anthropic.types.beta import message_create_params as anthropic_beta
from google.genai import models as gemini_models
from google.genai import types as gemini
from openai.types import embedding_create_params as embeddings
from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_create_params as responses

from soundstage.journal import ModelRequested, RequestRefused
from soundstage.messages import Usage
from soundstage.models import Script
from soundstage.models._reply import BlockSpec, Reply
from soundstage.wire import _fields
from soundstage.wire._parts import SEAL
from support.wires import WIRES, error_of, run, serving


def _gemini(*converters: str) -> str:
    return "".join(inspect.getsource(getattr(gemini_models, name)) for name in converters)


def _set_on(holder: str, source: str) -> set[str]:
    return {name for found, name in re.findall(r"setv\(\s*(\w+),\s*\['(\w+)'", source) if found == holder}


_CONFIG = _gemini("_GenerateContentConfig_to_mldev")
OFFICIAL = {  # what the official SDKs may send
    "chat": (
        _fields.CHAT,
        {
            *chat.CompletionCreateParamsBase.__annotations__,
            *chat.CompletionCreateParamsStreaming.__annotations__,
        },
    ),
    "responses": (
        _fields.RESPONSES,
        {
            *responses.ResponseCreateParamsBase.__annotations__,
            *responses.ResponseCreateParamsStreaming.__annotations__,
        },
    ),
    "anthropic": (
        _fields.ANTHROPIC,
        {
            "stream",
            *anthropic_messages.MessageCreateParamsBase.__annotations__,
            *anthropic_beta.MessageCreateParamsBase.__annotations__,
        },
    ),
    "gemini": (
        _fields.GEMINI,
        _set_on("parent_object", _CONFIG)
        | {
            name
            for name in _set_on("to_object", _gemini("_GenerateContentParameters_to_mldev"))
            if name[0] != "_"
        },
    ),
    "gemini's generationConfig": (_fields.GENERATION, _set_on("to_object", _CONFIG)),
    "embeddings": (_fields.EMBEDDINGS, set(embeddings.EmbeddingCreateParams.__annotations__)),
}


@pytest.mark.parametrize("name", OFFICIAL)
def test_every_field_of_the_official_sdk_is_in_our_table(name):
    fields, official = OFFICIAL[name]
    assert len(official) >= 5
    assert official - fields.known == set(), (
        "new fields of the SDK: serve them, or name them as inert or refused"
    )


def _objects(kind: object) -> Iterator[type]:
    """The record types in an annotation, in unions and lists too."""
    if hasattr(kind, "__total__"):  # of a TypedDict, whichever module made it
        yield kind
    for part in get_args(kind):
        yield from _objects(part)


def _inner(*records: type) -> dict[str, set[str]]:
    """The fields of the objects in the fields of requests."""
    found: dict[str, set[str]] = {}
    for record in records:
        for name, kind in get_type_hints(record).items():
            for holder in _objects(kind):
                found.setdefault(name, set()).update(get_type_hints(holder))
    return found


def _aliases(model: type) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


CONTENT = {"messages", "input", "system", "tools"}  # read by the codecs, each part by its type
OFFICIAL_INNER = {
    "chat": (_fields.CHAT, _inner(chat.CompletionCreateParamsBase)),
    "responses": (_fields.RESPONSES, _inner(responses.ResponseCreateParamsBase)),
    "anthropic": (
        _fields.ANTHROPIC,
        _inner(anthropic_messages.MessageCreateParamsBase, anthropic_beta.MessageCreateParamsBase),
    ),
    "gemini": (
        _fields.GEMINI,
        {"toolConfig": _aliases(gemini.ToolConfig), "safetySettings": _aliases(gemini.SafetySetting)},
    ),
    "gemini's generationConfig": (
        _fields.GENERATION,
        {"thinkingConfig": _aliases(gemini.ThinkingConfig)},
    ),
}


@pytest.mark.parametrize("name", OFFICIAL_INNER)
def test_every_field_of_an_object_in_a_request_of_the_official_sdk_is_in_our_table(name):
    fields, official = OFFICIAL_INNER[name]
    looked_at = {field for field in official if field not in CONTENT and field not in fields.refused}
    looked_at -= {"thread"}  # refused by the codec, whatever is in it
    assert looked_at
    missing = {
        field: official[field] - fields.inner[field].known for field in looked_at & fields.inner.keys()
    }
    assert looked_at - fields.inner.keys() == set()
    assert {field: names for field, names in missing.items() if names} == {}


@pytest.mark.parametrize("name", OFFICIAL)
def test_no_field_is_in_two_columns(name):
    fields = OFFICIAL[name][0]
    assert len(fields.known) == len(fields.served) + len(fields.inert) + len(fields.refused)


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
        "thinking.soon: Extra inputs are not permitted",
    ),
    ("anthropic", {"tool_choice": {"type": "auto", "soon": 1}}, "tool_choice.soon: Extra inputs"),
    ("gemini", {"toolConfig": {"soon": 1}}, 'Unknown name "toolConfig.soon": Cannot find field.'),
    ("gemini", {"generationConfig": {"thinkingConfig": {"soon": 1}}}, "thinkingConfig.soon"),
    ("gemini", {"soon": 1}, 'Unknown name "soon": Cannot find field.'),
    (
        "gemini",
        {"generationConfig": {"soon": 1}},
        'Unknown name "generation_config.soon": Cannot find field.',
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
    },
    "openai-responses": {"background": False, "conversation": None, "top_logprobs": 0, "client_metadata": {"a": "b"}},
    "anthropic": {
        "thread": None, "mcp_servers": [], "metadata": {"user_id": "{}"}, "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"}, "context_management": {"edits": []},
    },
    "gemini": {
        "generationConfig": {"candidateCount": 1, "responseModalities": ["TEXT"], "temperature": 0},
        "safetySettings": [], "labels": {"a": "b"},
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
            assert first.content[0].signature == SEAL
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
                assert message.content[0].signature == SEAL

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


def test_a_thread_is_refused_in_a_way_that_the_sdk_understands():
    """Its tool runner works with threads by default, and sends full conversations once it is told to."""
    script = Script()
    script.on(tool_result="sunny").reply("It is sunny.")
    script.on(user="weather").reply(tool_calls=[{"name": "weather", "arguments": {"city": "Rome"}}])

    @anthropic.beta_async_tool
    async def weather(city: str) -> str:
        """The weather.

        Args:
            city: where.
        """
        return "sunny"

    async def main():
        async with serving(script) as served, anthropic_client(served.server.anthropic_url) as client:
            for thread in ({"type": "create"}, {"type": "continue", "previous_message_id": "msg_1"}):
                with pytest.raises(anthropic.BadRequestError) as caught:
                    await client.beta.messages.create(
                        model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}], thread=thread
                    )
                assert caught.value.body["error"]["details"]["error_code"] == "thread_unsupported_request"
            final = await client.beta.messages.tool_runner(
                model="m", max_tokens=99, messages=[{"role": "user", "content": "weather?"}], tools=[weather]
            ).until_done()
            assert final.content[0].text == "It is sunny."
            assert len(served.events(ModelRequested)[-1].request.messages) == 3

    run(main())
