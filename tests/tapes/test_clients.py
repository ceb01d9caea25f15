"""A thousand exchanges of the official SDKs in all formats: what was recorded comes back, byte for byte."""

from __future__ import annotations

import asyncio
import importlib
import random
import weakref

import pytest

from soundstage.messages import call
from soundstage.models import BlockSpec, ErrorSpec, Reply, ReplyFault, Script
from support.taping import KEY, provider, recording, replaying

COUNT = 250  # exchanges of each format
AT_ONCE = 8
WORDS = ["sun", "rain", "wind", "snow", "fog", "hail", "üöä", "日本", "😀", '"quoted"', "back\\slash"]
TOOL = {
    "name": "look",
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def varied_script(seed):
    """Replies of all kinds, each on words of its own."""
    draw, script = random.Random(seed), Script()

    def text():
        return " ".join(draw.choices(WORDS, k=draw.randint(1, 30)))

    script.on(user="/kind 0/").reply(lambda request: Reply(text=f"{request.last_user_text}: {text()}"))
    script.on(user="/kind 1/").reply(call("look", {"city": "Paris", "n": [1, 2.5, None]}), check_calls=False)
    blocks = (BlockSpec(thinking="so it is", signature="c2VhbA=="), BlockSpec(text="told"))
    script.on(user="/kind 2/").reply(Reply(blocks=blocks))
    script.on(user="/kind 3/").reply(Reply(error=ErrorSpec(status=429, message="slow down", retry_after=0)))
    script.on(user="/kind 4/").reply(Reply(error=ErrorSpec(status=500, message="oops")))
    script.on(user="/kind 5/").reply(Reply(text="half of it", fault=ReplyFault(type="cut", after=1)))
    script.on(user="/kind 6/").reply(Reply(text="long " * 400))
    return script


def wiretap(http):
    """A transport that passes everything on, and keeps the bytes of each answer by what was asked.

    Args:
        http: the HTTP library of the SDK, `httpx` or its successor.
    """

    class Pieces(http.AsyncByteStream):
        def __init__(self, pieces):
            self._pieces = pieces

        def __aiter__(self):
            return self._pieces

        async def aclose(self):
            await self._pieces.aclose()

    class Wiretap(http.AsyncBaseTransport):
        def __init__(self):
            self._inner = http.AsyncHTTPTransport(retries=0)
            self.heard = {}

        async def handle_async_request(self, request):
            body = await request.aread()
            response = await self._inner.handle_async_request(request)
            pieces = []

            async def listened(stream):
                try:
                    async for piece in stream:
                        pieces.append(piece)
                        yield piece
                finally:
                    await stream.aclose()
                    asked = self.heard.setdefault((request.url.raw_path, body), [])
                    asked.append((response.status_code, pieces))

            heard = Pieces(listened(response.stream))
            return http.Response(response.status_code, headers=response.headers, stream=heard)

        async def aclose(self):
            await self._inner.aclose()

        def bytes(self):
            """The answers by request; equal requests in order."""
            return {
                asked: [(status, b"".join(pieces)) for status, pieces in answers]
                for asked, answers in self.heard.items()
            }

    return Wiretap()


async def chat(server, client, number, prompt, *, stream):
    import openai

    sdk = openai.AsyncOpenAI(
        base_url=f"{server.url}/openai/v1", api_key=KEY, http_client=client, max_retries=0
    )
    tools = [{"type": "function", "function": TOOL}] if number % 2 else openai.NOT_GIVEN
    messages = [{"role": "user", "content": prompt}]
    answer = await sdk.chat.completions.create(model="gpt-4.1", messages=messages, tools=tools, stream=stream)
    if stream:
        async for _ in answer:
            pass


async def responses(server, client, number, prompt, *, stream):
    import openai

    sdk = openai.AsyncOpenAI(
        base_url=f"{server.url}/openai/v1", api_key=KEY, http_client=client, max_retries=0
    )
    answer = await sdk.responses.create(model="gpt-4.1", input=prompt, stream=stream)
    if stream:
        async for _ in answer:
            pass


async def messages(server, client, number, prompt, *, stream):
    import anthropic

    sdk = anthropic.AsyncAnthropic(
        base_url=f"{server.url}/anthropic", api_key=KEY, http_client=client, max_retries=0
    )
    said = [{"role": "user", "content": prompt}]
    answer = await sdk.messages.create(model="claude-test", max_tokens=99, messages=said, stream=stream)
    if stream:
        async for _ in answer:
            pass


GEMINI = weakref.WeakKeyDictionary()  # the SDK's client on each HTTP client


async def gemini(server, client, number, prompt, *, stream):
    from google import genai

    options = genai.types.HttpOptions(base_url=f"{server.url}/gemini", httpx_async_client=client)
    if client not in GEMINI:  # each would load the certificates of the machine
        GEMINI[client] = genai.Client(api_key=KEY, http_options=options)
    sdk = GEMINI[client]
    if stream:
        async for _ in await sdk.aio.models.generate_content_stream(
            model="gemini-2.5-flash", contents=prompt
        ):
            pass
    else:
        await sdk.aio.models.generate_content(model="gemini-2.5-flash", contents=prompt)


async def all_asked(server, ask):
    """Ask everything, several at once; the bytes of all answers."""
    http = importlib.import_module("httpx2" if ask is messages else "httpx")
    tap, gate = wiretap(http), asyncio.Semaphore(AT_ONCE)
    async with http.AsyncClient(transport=tap) as client:

        async def one(number):
            prompt = f"kind {number % 7}, number {number // 2}"
            async with gate:
                try:
                    await ask(server, client, number, prompt, stream=bool(number % 3))
                except Exception as error:
                    return type(error).__name__
            return ""

        outcomes = await asyncio.gather(*(one(number) for number in range(COUNT)))
    return tap.bytes(), outcomes


@pytest.mark.parametrize("ask", [chat, responses, messages, gemini])
def test_what_an_official_sdk_was_answered_comes_back_byte_for_byte(ask, tmp_path):
    async def main():
        path = tmp_path / "t.tape"
        async with provider(varied_script(7)) as upstream, recording(path, upstream) as server:
            first = await all_asked(server, ask)
            assert server.unreachable == []
        async with replaying(path) as server:
            again = await all_asked(server, ask)
            assert server.playback.finish() is None
        return first, again

    (heard, outcomes), (replayed, outcomes_again) = run_long(main())
    assert sum(map(len, heard.values())) == COUNT
    assert any(outcomes)
    assert not all(outcomes)
    assert outcomes == outcomes_again
    assert heard.keys() == replayed.keys()
    different = [asked for asked in heard if sorted(heard[asked]) != sorted(replayed[asked])]
    assert different == []


def run_long(main):
    async def limited():
        async with asyncio.timeout(240):
            return await main

    return asyncio.run(limited())
