"""The official `anthropic` package, unmodified, against the server."""

from __future__ import annotations

import asyncio

import anthropic
import pytest

from soundstage.journal import ModelFailed, RequestServed
from soundstage.messages import Usage
from soundstage.models import BlockSpec, CallSpec, ErrorSpec, Reply

HELLO = [{"role": "user", "content": "hello"}]
TOOL = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
ASK = {"model": "claude-sonnet-5-5", "max_tokens": 100, "messages": HELLO}
BLOCKS = (
    BlockSpec(thinking="I should look it up, carefully and in more than one piece.", signature="seal"),
    BlockSpec(text="Let me look."),
    BlockSpec(tool_call=CallSpec(name="get_weather", arguments={"city": "Oslo"}, id="toolu_1")),
    BlockSpec(text="One moment."),
)


@pytest.fixture
def client(model_server):
    with anthropic.Anthropic(base_url=model_server.anthropic_url, api_key="test-key-of-nobody") as made:
        yield made


def test_a_message_keeps_thinking_text_and_tools_in_order(script, client):
    script.on(user="hello").reply(
        Reply(blocks=BLOCKS, usage=Usage(input_tokens=9, output_tokens=4, cache_read_tokens=2))
    )
    message = client.messages.create(**ASK, tools=[TOOL])
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "text"]
    assert message.content[0].signature == "seal"
    assert message.content[2].input == {"city": "Oslo"}
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (9, 4)
    assert message.usage.cache_read_input_tokens == 2


def test_a_stream_folds_to_the_same_message(script, client):
    script.on(user="hello").reply(blocks=BLOCKS)
    whole = client.messages.create(**ASK, tools=[TOOL])
    with client.messages.stream(**ASK, tools=[TOOL]) as stream:
        kinds = [event.type for event in stream]
        streamed = stream.get_final_message()
    assert [block.to_dict() for block in streamed.content] == [block.to_dict() for block in whole.content]
    assert kinds.count("content_block_start") == 4
    assert kinds[-1] == "message_stop"


def test_the_client_for_vertex_has_its_model_in_the_path(script, model_server, trace):
    script.on(user="hello").reply("hi")
    with anthropic.AnthropicVertex(
        base_url=f"{model_server.url}/v1", region="us", project_id="p", access_token="test-key-of-nobody"
    ) as client:
        assert client.messages.create(**ASK).content[0].text == "hi"
        with client.messages.stream(**ASK) as stream:
            assert stream.get_final_text() == "hi"
        counted = client.messages.count_tokens(model=ASK["model"], messages=HELLO)
        assert counted.input_tokens == 2
        with pytest.raises(anthropic.BadRequestError, match="model: Extra inputs"):
            client.post(
                "/projects/p/locations/us/publishers/anthropic/models/m:rawPredict",
                body=ASK | {"anthropic_version": "vertex-2023-10-16"},
                cast_to=object,
            )
        with pytest.raises(anthropic.NotFoundError, match="publishers/anthropic"):
            client.post("/projects/p/locations/us/publishers/anthropic/models/m:nonsense", cast_to=object)
    assert [step.model for step in trace().steps] == [ASK["model"]] * 2


def test_the_async_client_streams_text(script, model_server):
    script.on(user="hello").reply(chunks=["Hel", "lo"])

    async def main():
        async with anthropic.AsyncAnthropic(base_url=model_server.anthropic_url, api_key="test") as client:
            async with client.messages.stream(**ASK) as stream:
                return [text async for text in stream.text_stream]

    assert asyncio.run(main()) == ["Hel", "lo"]


def test_tokens_are_counted_without_a_model_and_without_eating_a_step(script, client, journal):
    script.queue("the only reply")
    counted = client.messages.count_tokens(model="claude-sonnet-5-5", messages=HELLO)
    more = client.messages.count_tokens(
        model="claude-sonnet-5-5", messages=[{"role": "user", "content": "hello " * 50}]
    )
    assert 0 < counted.input_tokens < more.input_tokens
    assert [event.what.split(":")[0] for event in journal.events(RequestServed)] == ["token count"] * 2
    assert client.messages.create(**ASK).content[0].text == "the only reply"


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "invalid_request_error", anthropic.BadRequestError),
        (401, "authentication_error", anthropic.AuthenticationError),
        (403, "permission_error", anthropic.PermissionDeniedError),
        (404, "not_found_error", anthropic.NotFoundError),
        (413, "request_too_large", anthropic.RequestTooLargeError),
        (429, "rate_limit_error", anthropic.RateLimitError),
        (500, "api_error", anthropic.InternalServerError),
        (529, "overloaded_error", anthropic.OverloadedError),
    ],
)
def test_a_scripted_error_is_the_sdks_error_with_the_providers_type(script, client, status, kind, error):
    script.on(user="hello").reply(
        Reply(error=ErrorSpec(status=status, message="as scripted", should_retry=False))
    )
    with pytest.raises(error) as caught:
        client.messages.create(**ASK)
    assert caught.value.status_code == status
    assert caught.value.body["error"]["type"] == kind


def test_the_sdk_retries_an_overload_and_then_succeeds(script, client, journal):
    script.on(user="hello", times=1).error(529, "busy", type="overloaded_error", retry_after=0.01)
    script.on(user="hello").reply("at last")
    assert client.messages.create(**ASK).content[0].text == "at last"
    assert [failure.status for failure in journal.events(ModelFailed)] == [529]


def test_an_error_in_mid_stream_reaches_the_client(script, client):
    script.on(user="hello").fault("garbled", Reply(chunks=("a", "b")), after=1)
    with pytest.raises(Exception) as caught, client.messages.stream(**ASK) as stream:  # noqa: PT011
        list(stream)
    assert caught.value is not None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": []}, "at least one message is required"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "role"),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "y"}]}
                ]
            },
            "tool_use_id",
        ),
    ],
)
def test_a_request_that_the_provider_would_reject_is_rejected(client, change, words):
    with pytest.raises(anthropic.BadRequestError, match=words):
        client.messages.create(**{**ASK, **change})


def test_the_list_of_models_has_the_providers_shape(client):
    listed = client.models.list()
    assert listed.data
    assert all(model.type == "model" for model in listed.data)
