"""The official `openai` package, unmodified, against the server: chat and responses."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest
from pydantic import BaseModel

from soundstage.journal import ModelFailed, ModelRequested, RequestRefused
from soundstage.messages import Usage
from soundstage.models import BlockSpec, CallSpec, ErrorSpec, Reply

HELLO = [{"role": "user", "content": "hello"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
WEATHER_RESPONSES = {"type": "function", "strict": False, **WEATHER["function"]}


@pytest.fixture
def client(model_server):
    with openai.OpenAI(base_url=model_server.openai_url, api_key="test-key-of-nobody", max_retries=2) as made:
        yield made


def test_a_chat_completion_has_text_usage_finish_and_model(script, client):
    script.on(user="hello").reply(Reply(text="hi", usage=Usage(input_tokens=7, output_tokens=3)))
    answer = client.chat.completions.create(model="gpt-4o", messages=HELLO)
    choice = answer.choices[0]
    assert (choice.message.content, choice.finish_reason, answer.model) == ("hi", "stop", "gpt-4o")
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (
        7,
        3,
        10,
    )
    assert answer.id.startswith("chatcmpl-")


def test_a_chat_stream_has_the_given_chunks_and_a_usage_chunk(script, client):
    script.on(user="hello").reply(chunks=["Hel", "lo ", "you"])
    stream = client.chat.completions.create(
        model="gpt-4o", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert [text for text in texts if text] == ["Hel", "lo ", "you"]
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens > 0


def test_streamed_tool_arguments_come_in_pieces_that_join_to_json(script, client):
    arguments = {"city": "Oslo", "note": "a long note that does not fit into one piece of a stream"}
    script.on(user="hello").reply(
        tool_calls=[
            CallSpec(name="get_weather", arguments=arguments),
            CallSpec(name="get_weather", arguments={"city": "Rome"}),
        ]
    )
    stream = client.chat.completions.create(model="gpt-4o", messages=HELLO, tools=[WEATHER], stream=True)
    pieces = [call for chunk in stream for call in chunk.choices[0].delta.tool_calls or ()]
    first = [piece.function.arguments for piece in pieces if piece.index == 0]
    assert len(first) > 2
    assert json.loads("".join(first)) == arguments
    assert {piece.index for piece in pieces} == {0, 1}


def test_structured_output_of_chat_is_parsed_by_the_sdk(script, client):
    class City(BaseModel):
        name: str
        people: int

    script.on(user="hello").reply('{"name": "Oslo", "people": 717710}')
    answer = client.chat.completions.parse(model="gpt-4o", messages=HELLO, response_format=City)
    assert answer.choices[0].message.parsed == City(name="Oslo", people=717710)


def test_the_async_client_streams_chat(script, model_server):
    script.on(user="hello").reply(chunks=["a", "b"])

    async def main():
        async with openai.AsyncOpenAI(base_url=model_server.openai_url, api_key="test") as client:
            stream = await client.chat.completions.create(model="m", messages=HELLO, stream=True)
            return [chunk.choices[0].delta.content async for chunk in stream if chunk.choices]

    assert asyncio.run(main())[1:3] == ["a", "b"]


def test_a_response_has_items_in_the_order_of_the_blocks(script, client):
    script.on(user="hello").reply(
        blocks=[
            BlockSpec(thinking="let me think"),
            BlockSpec(text="I will look."),
            BlockSpec(tool_call=CallSpec(name="get_weather", arguments={"city": "Oslo"})),
        ]
    )
    answer = client.responses.create(model="gpt-5", input="hello", tools=[WEATHER_RESPONSES])
    assert [item.type for item in answer.output] == ["reasoning", "message", "function_call"]
    assert answer.output_text == "I will look."
    assert json.loads(answer.output[2].arguments) == {"city": "Oslo"}


def test_a_response_stream_ends_with_the_completed_response(script, client):
    script.on(user="hello").reply(chunks=["Hel", "lo"])
    with client.responses.stream(model="gpt-5", input="hello") as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert deltas == ["Hel", "lo"]
    assert final.output_text == "Hello"


def test_structured_output_of_responses_is_parsed_by_the_sdk(script, client):
    class City(BaseModel):
        name: str

    script.on(user="hello").reply('{"name": "Oslo"}')
    answer = client.responses.parse(model="gpt-5", input="hello", text_format=City)
    assert answer.output_parsed == City(name="Oslo")


def test_a_response_can_be_continued_by_its_id(script, client, journal):
    script.on(user="hello", times=1).reply(
        tool_calls=[CallSpec(name="get_weather", arguments={"city": "Oslo"})]
    )
    script.on(tool_result="4 C").reply("Cold.")
    first = client.responses.create(model="gpt-5", input="hello", tools=[WEATHER_RESPONSES])
    result = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "4 C"}
    second = client.responses.create(model="gpt-5", input=[result], previous_response_id=first.id)
    assert second.output_text == "Cold."
    roles = [message.role for message in journal.events(ModelRequested)[1].request.messages]
    assert roles == ["user", "assistant", "tool"]


def test_the_async_client_gets_responses(script, model_server):
    script.on(user="hello").reply("hi")

    async def main():
        async with openai.AsyncOpenAI(base_url=model_server.openai_url, api_key="test") as client:
            return (await client.responses.create(model="m", input="hello")).output_text

    assert asyncio.run(main()) == "hi"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
def test_a_scripted_error_is_the_sdks_error_of_that_status(script, client, status, error):
    script.on(user="hello").reply(
        Reply(error=ErrorSpec(status=status, message="as scripted", should_retry=False))
    )
    with pytest.raises(error) as caught:
        client.chat.completions.create(model="gpt-4o", messages=HELLO)
    assert caught.value.status_code == status
    assert "as scripted" in str(caught.value)


def test_the_sdk_retries_as_told_and_then_succeeds(script, client, journal):
    script.on(user="hello", times=2).error(429, "slow down", retry_after=0.01)
    script.on(user="hello").reply("at last")
    assert client.chat.completions.create(model="m", messages=HELLO).choices[0].message.content == "at last"
    assert len(journal.events(ModelFailed)) == 2


@pytest.mark.soundstage(strict=True)
def test_an_unscripted_request_is_an_error_that_is_not_retried_and_says_why(stage, script, client, journal):
    script.on(user="goodbye").reply("bye")
    with pytest.raises(openai.BadRequestError, match="no rule answers this request") as caught:
        client.chat.completions.create(model="gpt-4o", messages=HELLO)
    assert "'goodbye' is not in 'hello'" in str(caught.value)
    assert [failure.reason for failure in journal.events(ModelFailed)] == ["no_match"]
    script.strict = False


def test_a_request_without_messages_is_refused_as_the_provider_does_and_journaled(client, journal):
    with pytest.raises(openai.BadRequestError, match="empty array"):
        client.chat.completions.create(model="gpt-4o", messages=[])
    assert [refused.status for refused in journal.events(RequestRefused)] == [400]


def test_a_cut_stream_is_a_connection_error_in_the_sdk(script, client, journal):
    script.on(user="hello").fault("cut", Reply(chunks=("a", "b", "c")), after=2)
    received = []
    with pytest.raises(openai.APIConnectionError):
        for chunk in client.chat.completions.create(model="m", messages=HELLO, stream=True):
            received.append(chunk.choices[0].delta.content)
    assert received[1:] == ["a", "b"]
    assert [failure.reason for failure in journal.events(ModelFailed)] == ["cut"]


def test_models_and_embeddings_are_served(script, client):
    assert "gpt-4o" in {model.id for model in client.models.list()}
    assert client.models.retrieve("my-own").id == "my-own"
    answer = client.embeddings.create(
        model="text-embedding-3-small", input=["cat", "cat", "harbour"], dimensions=64
    )
    first, same, other = (item.embedding for item in answer.data)
    assert first == same
    assert first != other
    assert len(first) == 64
