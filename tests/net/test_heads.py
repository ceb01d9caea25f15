"""Requests of odd clients: upgrades that nobody does are ignored; no head is endless, no request endlessly late."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.journal import RequestRefused
from soundstage.net._http import LARGEST_HEAD, HttpProtocol
from support.sockets import LOOPS, connect, echo, run_on, serving, still_answers

H2C = (
    "Connection: Upgrade, HTTP2-Settings",
    "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
    "Upgrade: h2c",
)


@pytest.fixture(params=LOOPS)
def loop(request):
    return request.param


@pytest.mark.parametrize("pieces", [1, 2, 7], ids=lambda pieces: f"in {pieces} pieces")
def test_an_upgrade_that_we_do_not_do_is_ignored(loop, pieces):
    """As Java's client sends it, with every request of a connection."""
    head = "\r\n".join(
        ["POST /a HTTP/1.1", *H2C[:1], "Content-Length: 5", "Host: x", *H2C[1:], "", ""]
    ).encode()
    data = head + b"hello" + head + b"again"
    step = -(-len(data) // pieces)

    async def main():
        async with serving(echo) as server, connect(server) as client:
            for start in range(0, len(data), step):
                client.writer.write(data[start : start + step])
                await client.writer.drain()
            answers = [await client.answer(), await client.answer()]
            assert [(answer.status, answer.body) for answer in answers] == [(200, b"hello"), (200, b"again")]
            client.send(path="/plain")
            assert (await client.answer()).body == b"GET /plain?"
            client.send(path="/bodyless", headers=H2C)
            assert (await client.answer()).body == b"GET /bodyless?"

    run_on(loop, main())


def test_a_tunnel_is_refused_and_the_server_goes_on(loop):
    async def main():
        async with serving(echo) as server:
            async with connect(server) as client:
                client.send("CONNECT", "example.com:443")
                status, _ = await client.head()
                assert 400 <= status < 500
            await still_answers(server)

    run_on(loop, main())


def test_a_head_without_an_end_is_refused(loop):
    async def main():
        async with serving(echo) as server:
            async with connect(server) as client:
                client.writer.write(b"GET / HTTP/1.1\r\n")
                await client.writer.drain()
                try:
                    for _ in range(200):  # 13 MB if nobody stops it
                        client.writer.write(b"x-more: " + b"y" * LARGEST_HEAD + b"\r\n")
                        await client.writer.drain()
                except ConnectionError:
                    pass
                else:
                    pytest.fail("the server has taken 13 MB of headers")
            await still_answers(server)

    run_on(loop, main())


def test_a_head_a_little_over_the_limit_is_told_so(loop):
    async def main():
        async with serving(echo) as server, connect(server) as client:
            client.writer.write(b"GET / HTTP/1.1\r\nx-a: ")
            await client.writer.drain()
            while not client.reader.at_eof() and client.writer.transport.get_write_buffer_size() == 0:
                client.writer.write(b"y" * 8192)
                await client.writer.drain()
                if client.reader._buffer:
                    break
            status, _ = await client.head()
            assert status == 431

    run_on(loop, main())


@pytest.mark.parametrize("beginning", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: x\r\n"])
def test_a_head_that_does_not_come_ends_the_connection(loop, beginning):
    async def main():
        async with serving(echo, head_within=0.05) as server:
            async with connect(server) as client:
                client.writer.write(beginning)
                assert (await client.reader.read()).startswith(b"HTTP/1.1 408 ")
            async with connect(server) as client:  # the second request of a connection, too
                client.send(path="/first")
                assert (await client.answer()).body == b"GET /first?"
                client.writer.write(b"GET /second HT")
                assert (await client.reader.read()).startswith(b"HTTP/1.1 408 ")

    run_on(loop, main())


@pytest.mark.parametrize("framing", ["content-length: 9000", "transfer-encoding: chunked"])
def test_a_body_that_drips_ends_the_connection_and_is_told(loop, framing):
    async def main():
        async with serving(echo, body_within=0.2) as server:
            async with connect(server) as client:
                client.send("POST", "/drip", headers=[framing])
                answer = asyncio.create_task(client.reader.read())
                while not answer.done():
                    client.writer.write(b"x" if "length" in framing else b"1\r\nx\r\n")
                    await asyncio.wait([answer], timeout=0.01)
                assert answer.result().startswith(b"HTTP/1.1 408 ")
                assert b"the body of a request is complete within 0.2 seconds" in answer.result()
            await still_answers(server)
            (refused,) = server.journal.events(RequestRefused)
            assert (refused.path, refused.status) == ("/drip", 408)

    run_on(loop, main())


def test_a_request_behind_a_slow_answer_is_not_late(loop, monkeypatch):
    """Nothing is read from a client meanwhile, so what is missing of its next request is not its fault."""
    ring = HttpProtocol._ring

    async def main(half):
        rung = asyncio.Event()

        def ring_and_tell(protocol):
            ring(protocol)
            rung.set()

        async def handler(request, exchange):
            await rung.wait()
            await echo(request, exchange)

        monkeypatch.setattr(HttpProtocol, "_ring", ring_and_tell)
        async with serving(handler, head_within=0.25, body_within=0.25) as server, connect(server) as client:
            client.writer.write(b"GET /slow HTTP/1.1\r\n\r\n" + half)
            assert (await client.answer()).body == b"GET /slow?"
            assert (await client.reader.read()).startswith(b"HTTP/1.1 408 ")

    for half in (b"GET /next HT", b"POST /next HTTP/1.1\r\ncontent-length: 2\r\n\r\nx"):
        run_on(loop, main(half))
