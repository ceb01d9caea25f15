"""Deliveries: the same answer in other pieces, with other line ends and comments, cut, or not sent at all."""

from __future__ import annotations

import asyncio
import socket

import anthropic
import openai
import pytest

from soundstage.clock import IdSource
from soundstage.errors import ConnectionCut
from soundstage.journal import Journal
from soundstage.messages import ByteDelivery, ModelRequest, StartChunk, user
from soundstage.models import Script, ScriptedModel, Wrapper, complete
from soundstage.wire import ModelServer
from soundstage.wire._delivery import delivered

TEXT = "Crème brûlée, 5 €, 日本: and a longer sentence that is cut into pieces."
EVENTS = f'data: {{"text":"{TEXT}"}}\n\ndata: [DONE]\n\n'.encode()
WAYS = {
    "whole": ByteDelivery(pieces="whole"),
    "bytes": ByteDelivery(pieces="bytes"),
    "characters": ByteDelivery(pieces="characters"),
    "drawn": ByteDelivery(pieces="drawn", seed=7),
    "CR LF": ByteDelivery(line_end="\r\n", pieces="drawn", seed=8),
    "comments": ByteDelivery(comments=True),
}


class DeliveredModel(Wrapper):
    """Another model's replies, delivered in some way."""

    def __init__(self, inner, delivery):
        super().__init__(inner)
        self.delivery = delivery

    async def stream(self, request):
        yield StartChunk(delivery=self.delivery)
        async for chunk in self.inner.stream(request):
            yield chunk


def serving(delivery, ask):
    """Run `ask(server)` in a thread beside a server that delivers its answers so."""

    async def main():
        script = Script()
        script.on(user="dessert").reply(TEXT)
        server = ModelServer(DeliveredModel(ScriptedModel(script), delivery), Journal(), ids=IdSource(1))
        await server.start()
        try:
            return await asyncio.to_thread(ask, server)
        finally:
            await server.stop()

    return asyncio.run(main())


def by_openai(server):
    with openai.OpenAI(base_url=server.openai_url, api_key="test", max_retries=0) as client:
        asked = [{"role": "user", "content": "a dessert"}]
        stream = client.chat.completions.create(model="m", messages=asked, stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def by_anthropic(server):
    with anthropic.Anthropic(base_url=server.anthropic_url, api_key="test", max_retries=0) as client:
        asked = [{"role": "user", "content": "a dessert"}]
        with client.messages.stream(model="m", max_tokens=99, messages=asked) as stream:
            return stream.get_final_text()


@pytest.mark.parametrize("ask", [by_openai, by_anthropic], ids=["openai", "anthropic"])
@pytest.mark.parametrize("way", WAYS)
def test_an_official_sdk_reads_the_same_text_however_it_is_delivered(way, ask):
    assert serving(WAYS[way], ask) == TEXT


def test_a_stream_that_is_cut_breaks_after_exactly_its_bytes():
    def ask(server):
        body = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"a dessert"}]}'
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as plain:
            head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n"
            plain.sendall(head % len(body) + body)
            return b"".join(iter(lambda: plain.recv(65536), b""))

    raw = serving(ByteDelivery(cut=100, pieces="bytes"), ask).partition(b"\r\n\r\n")[2]
    assert raw == b"".join(b"1\r\n%c\r\n" % byte for byte in raw[3::6]), (
        "one chunk for each byte, and no last one"
    )
    assert len(raw[3::6]) == 100
    assert raw[3::6].startswith(b'data: {"id":"chatcmpl-')


@pytest.mark.parametrize("stream", ["true", "false"])
def test_a_connection_that_is_dropped_has_no_answer_at_all(stream):
    """A cut before the first chunk, where the delivery says so."""

    class Cut(DeliveredModel):
        async def stream(self, request):
            yield StartChunk(delivery=self.delivery)
            raise ConnectionCut("the connection was cut")

    async def main():
        server = ModelServer(Cut(ScriptedModel(Script()), ByteDelivery(dropped=True)), Journal())
        await server.start()
        try:
            return await asyncio.to_thread(ask, server)
        finally:
            await server.stop()

    def ask(server):
        body = b'{"model":"m","stream":%s,"messages":[{"role":"user","content":"x"}]}' % stream.encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as plain:
            head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n"
            plain.sendall(head % len(body) + body)
            try:
                return plain.recv(65536)
            except ConnectionResetError:
                return b""

    assert asyncio.run(main()) == b""


def test_a_whole_answer_is_delivered_in_pieces_too():
    def ask(server):
        with openai.OpenAI(base_url=server.openai_url, api_key="test", max_retries=0) as client:
            asked = [{"role": "user", "content": "a dessert"}]
            return client.chat.completions.create(model="m", messages=asked).choices[0].message.content

    assert serving(ByteDelivery(pieces="bytes"), ask) == TEXT


def test_in_process_a_delivery_changes_nothing():
    script = Script()
    script.on(user="dessert").reply(TEXT)
    model = DeliveredModel(ScriptedModel(script), ByteDelivery(pieces="bytes"))
    request = ModelRequest(model="m", messages=(user("a dessert"),))
    assert asyncio.run(complete(model, request)).text == TEXT


def test_the_pieces_of_each_way_are_the_bytes_in_their_order():
    for way in ("whole", "bytes", "drawn", "characters"):
        assert b"".join(delivered(WAYS[way], EVENTS)) == EVENTS
    assert len(delivered(WAYS["bytes"], EVENTS)) == len(EVENTS)
    split = delivered(WAYS["characters"], EVENTS)
    assert len(split) == sum(not character.isascii() for character in TEXT) + 1
    assert all(piece[-1] >= 0xC0 for piece in split[:-1]), "each piece ends within a character"


def test_line_ends_and_comments_stand_where_events_end():
    plain = ByteDelivery(line_end="\r\n", comments=True, pieces="whole")
    assert delivered(plain, b"data: 1\n\nevent: a\ndata: 2\n\n") == [
        b": ping\r\n\r\ndata: 1\r\n\r\n: ping\r\n\r\nevent: a\r\ndata: 2\r\n\r\n"
    ]
