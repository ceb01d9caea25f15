"""The official `google-genai` package, unmodified, against the server."""

from __future__ import annotations

import asyncio

import pytest
from google import genai
from google.genai import errors, types

from soundstage.models import CallSpec, ErrorSpec, Reply

MODEL = "gemini-2.5-flash"
TOOLS = [types.Tool(function_declarations=[types.FunctionDeclaration(name="get_weather")])]


@pytest.fixture
def client(model_server):
    made = genai.Client(
        api_key="test-key-of-nobody", http_options=types.HttpOptions(base_url=model_server.gemini_url)
    )
    yield made
    made.close()


def test_generate_content_has_text_and_usage(script, client):
    script.on(user="hello").reply("hi")
    answer = client.models.generate_content(model=MODEL, contents="hello")
    assert answer.text == "hi"
    assert answer.usage_metadata.candidates_token_count == 1
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP


def test_a_stream_has_the_given_chunks(script, client):
    script.on(user="hello").reply(chunks=["Hel", "lo"])
    texts = [chunk.text for chunk in client.models.generate_content_stream(model=MODEL, contents="hello")]
    assert [text for text in texts if text] == ["Hel", "lo"]


def test_a_chat_with_tools_goes_round(script, client):
    script.on(user="weather", times=1).reply(
        tool_calls=[CallSpec(name="get_weather", arguments={"city": "Oslo"})]
    )
    script.on(tool_result="4 C").reply("Cold.")
    chat = client.chats.create(model=MODEL, config=types.GenerateContentConfig(tools=TOOLS))
    first = chat.send_message("weather?")
    assert first.function_calls[0].args == {"city": "Oslo"}
    second = chat.send_message(
        types.Part.from_function_response(name="get_weather", response={"result": "4 C"})
    )
    assert second.text == "Cold."


@pytest.mark.filterwarnings(
    "ignore:Inheritance class AiohttpClientSession:DeprecationWarning"
)  # the SDK's own
def test_the_async_client_streams(script, model_server):
    script.on(user="hello").reply(chunks=["a", "b"])

    async def main():
        options = types.HttpOptions(base_url=model_server.gemini_url)
        client = genai.Client(api_key="test", http_options=options).aio
        stream = await client.models.generate_content_stream(model=MODEL, contents="hello")
        texts = [chunk.text async for chunk in stream]
        await client.aclose()
        return [text for text in texts if text]

    assert asyncio.run(main()) == ["a", "b"]


@pytest.mark.parametrize(
    ("status", "error"), [(400, errors.ClientError), (429, errors.ClientError), (503, errors.ServerError)]
)
def test_a_scripted_error_has_the_providers_shape(script, client, status, error):
    script.on(user="hello").reply(Reply(error=ErrorSpec(status=status, message="as scripted")))
    with pytest.raises(error, match="as scripted") as caught:
        client.models.generate_content(model=MODEL, contents="hello")
    assert caught.value.code == status


def test_tokens_are_counted_and_models_listed(client):
    assert client.models.count_tokens(model=MODEL, contents="hello there").total_tokens > 0
    assert any(model.name.startswith("models/gemini") for model in client.models.list())
    vectors = client.models.embed_content(model="gemini-embedding-001", contents=["cat", "cat"]).embeddings
    assert vectors[0].values == vectors[1].values
