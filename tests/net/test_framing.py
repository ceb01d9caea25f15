"""Where a request ends is never guessed: what two readers could read in two ways is refused, with what comes behind."""

from __future__ import annotations

import pytest

from soundstage.journal import RequestRefused
from support.sockets import LOOPS, connect, echo, run_on, serving, still_answers

POST = b"POST /a HTTP/1.1\r\nhost: x\r\n%b\r\n"
LENGTH, CHUNKED = b"content-length: 3\r\n", b"transfer-encoding: chunked\r\n"
BEHIND = b"GET /smuggled HTTP/1.1\r\n\r\n"
AMBIGUOUS = {
    "a length, and chunks": POST % (LENGTH + CHUNKED) + b"0\r\n\r\n",
    "chunks, and a length": POST % (CHUNKED + LENGTH) + b"0\r\n\r\n",
    "two lengths": POST % (LENGTH + b"content-length: 4\r\n") + b"abcd",
    "one length twice": POST % (LENGTH + LENGTH) + b"abc",
    "a list of lengths": POST % b"content-length: 3, 3\r\n" + b"abc",
    "a length with a sign": POST % b"content-length: +3\r\n" + b"abc",
    "a length below nothing": POST % b"content-length: -3\r\n" + b"abc",
    "a length in hexadecimal": POST % b"content-length: 0x3\r\n" + b"abc",
    "an empty length": POST % b"content-length: \r\n" + b"abc",
    "a space before the colon": POST % b"content-length : 3\r\n" + b"abc",
    "chunks that are not the last coding": POST % b"transfer-encoding: chunked, gzip\r\n"
    + b"3\r\nabc\r\n0\r\n\r\n",
    "chunks twice": POST % (CHUNKED + CHUNKED) + b"3\r\nabc\r\n0\r\n\r\n",
    "another coding": POST % b"transfer-encoding: xchunked\r\n" + b"3\r\nabc\r\n0\r\n\r\n",
    "a coding behind a control": POST % b"transfer-encoding: \x0bchunked\r\n" + b"0\r\n\r\n",
    "a chunk size below nothing": POST % CHUNKED + b"-1\r\n\r\n",
    "a chunk size with 0x": POST % CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
    "a chunk size that overflows": POST % CHUNKED + b"fffffffffffffffff\r\nabc\r\n",
    "a chunk size with a space": POST % CHUNKED + b"3 \r\nabc\r\n0\r\n\r\n",
    "a chunk line without CR": POST % CHUNKED + b"3\nabc\r\n0\r\n\r\n",
    "a chunk longer than its size": POST % CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n",
    "a header over two lines": POST % (b"x-a: b\r\n c\r\n" + LENGTH) + b"abc",
    "a length over two lines": POST % b"content-length: 3\r\n 4\r\n" + b"abc",
    "a coding over two lines": POST % b"transfer-encoding:\r\n chunked\r\n" + b"0\r\n\r\n",
    "a head without CR": b"POST /a HTTP/1.1\ncontent-length: 3\n\nabc",
    "a bare CR in a header": POST % b"x: a\rb\r\n",
    "a NUL in a header": POST % b"x: a\0b\r\n",
    "a space before the first header": b"POST /a HTTP/1.1\r\n content-length: 3\r\n\r\nabc",
}


@pytest.fixture(params=LOOPS)
def loop(request):
    return request.param


@pytest.mark.parametrize("what", AMBIGUOUS)
def test_what_can_be_read_in_two_ways_is_refused_and_nothing_behind_it_is_served(loop, what):
    served = []

    async def noting(request, exchange):
        served.append(request.path)
        await echo(request, exchange)

    async def main():
        async with serving(noting) as server:
            async with connect(server) as client:
                client.writer.write(AMBIGUOUS[what] + BEHIND)
                answered = await client.reader.read()
            await still_answers(server)
            return answered, [event.status for event in server.journal.events(RequestRefused)]

    answered, refused = run_on(loop, main())
    assert answered.startswith(b"HTTP/1.1 400 ")
    assert answered.count(b"HTTP/1.1") == 1
    assert (served, refused) == (["/echo"], [400])


WHOLE = {
    "a length": (POST % LENGTH + b"abc", b"abc"),
    "chunks": (POST % CHUNKED + b"1\r\na\r\n2;x=y\r\nbc\r\n0\r\nx-trailer: z\r\n\r\n", b"abc"),
    "nothing": (POST % b"", b"POST /a?"),
    "an upgrade": (POST % (LENGTH + b"connection: upgrade\r\nupgrade: h2c\r\n") + b"abc", b"abc"),
}


@pytest.mark.parametrize("what", WHOLE)
def test_bytes_that_are_cut_anywhere_are_the_same_requests(loop, what):
    data, body = WHOLE[what]

    async def main():
        async with serving(echo) as server, connect(server) as client:
            for cut in range(len(data)):
                client.writer.write(data + data[:cut])
                assert (await client.answer()).body == body, cut
                client.writer.write(data[cut:])
                assert (await client.answer()).body == body, cut

    run_on(loop, main())


def test_an_answer_to_an_old_client_has_no_chunks_and_ends_with_the_connection(loop):
    async def streaming(request, exchange):
        await exchange.begin(200, {})
        exchange.write(b"some words")
        await exchange.end()

    async def main():
        async with serving(streaming) as server, connect(server) as client:
            client.writer.write(b"GET / HTTP/1.0\r\n\r\n")
            return await client.reader.read()

    assert run_on(loop, main()) == b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nsome words"


@pytest.mark.parametrize("written", [b"ab", b"abcd"], ids=["less", "more"])
def test_an_answer_that_breaks_its_own_length_is_never_sent_as_whole(loop, written):
    async def lying(request, exchange):
        if request.path == "/echo":
            await echo(request, exchange)
            return
        await exchange.begin(200, {"content-length": "3"})
        exchange.write(written)
        await exchange.end()

    async def main():
        async with serving(lying) as server:
            async with connect(server) as client:
                client.send()
                await client.head()
                assert len(await client.reader.read()) < 3
            await still_answers(server)

    run_on(loop, main())
