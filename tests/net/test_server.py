"""The HTTP server: bytes in, bytes out, and nothing left behind, on the loop of the standard library and uvloop."""

from __future__ import annotations

import asyncio
import contextlib
import functools

import pytest

from soundstage.journal import DaemonChanged
from soundstage.lifecycle import Status
from soundstage.net import MAX_BODY
from support.sockets import (
    BIG,
    LOOPS,
    PLAIN,
    connect,
    echo,
    no_task_is_left,
    run_on,
    serving,
    still_answers,
    streams,
)


@pytest.fixture(params=LOOPS)
def run(request):
    """Runs a coroutine on a loop of either kind."""
    return functools.partial(run_on, request.param)


def test_a_request_arrives_whole_and_its_answer_has_a_length(run):
    seen = []

    async def handler(request, exchange):
        seen.append(request)
        await exchange.reply(201, {**PLAIN, "x-more": "é"}, b"done")

    async def main():
        async with serving(handler) as server, connect(server) as client:
            client.send("POST", "/a%20b?c=d%20e", b'{"x":1}', ["X-Mixed: Case"])
            return await client.answer()

    answer = run(main())
    assert (answer.status, answer.body, answer.headers["content-length"]) == (201, b"done", "4")
    assert answer.headers["content-type"] == "text/plain"
    [request] = seen
    assert (request.method, request.path, request.query) == ("POST", "/a b", "c=d%20e")
    assert (request.body, request.headers["x-mixed"], request.too_large) == (b'{"x":1}', "Case", False)


def test_a_reply_that_is_there_at_once_goes_out_as_one_piece(run):
    async def items():
        for item in (b"a", b"b", b"c"):
            yield item

    async def main():
        async with serving(streams(items)) as server, connect(server) as client:
            client.send()
            assert (await client.head())[1]["transfer-encoding"] == "chunked"
            return [data async for data in client.chunks()]

    assert run(main()) == [b"abc"]


def test_what_is_there_reaches_the_client_before_the_producer_goes_on(run):
    async def main():
        arrived = [asyncio.Event(), asyncio.Event()]

        async def items():
            yield b"one "
            yield b"two "
            await arrived[0].wait()
            yield b"three "
            await arrived[1].wait()
            yield b"four"

        async with serving(streams(items)) as server, connect(server) as client:
            client.send()
            await client.head()
            pieces = []
            for event in arrived:
                pieces.append(await client.chunk())
                event.set()
            return pieces + [data async for data in client.chunks()]

    assert run(main()) == [b"one two ", b"three ", b"four"]


def test_nothing_is_sent_before_the_status_line_even_if_the_producer_waits(run):
    """A producer may turn out to be an error after its first wait: the status is still open then."""

    async def main():
        go = asyncio.Event()

        async def items():
            await go.wait()
            yield b"late"

        async def handler(request, exchange):
            async for item in exchange.each(items()):
                await exchange.reply(503, PLAIN, item)

        async with serving(handler) as server, connect(server) as client:
            client.send()
            go.set()
            return await client.answer()

    assert run(main())[::2] == (503, b"late")


def test_what_a_producer_raises_reaches_the_handler_also_after_a_wait(run):
    async def items():
        yield b"x"
        await asyncio.sleep(0)
        raise LookupError("broken")

    caught = []

    async def handler(request, exchange):
        await exchange.begin(200, PLAIN)
        try:
            async for item in exchange.each(items()):
                exchange.write(item)
        except LookupError as error:
            caught.append(str(error))
        await exchange.end()

    async def main():
        async with serving(handler) as server, connect(server) as client:
            client.send()
            assert (await client.answer()).body == b"x"
            await no_task_is_left()

    run(main())
    assert caught == ["broken"]


def test_a_producer_may_use_timeouts_and_tasks_of_its_own(run):
    async def items():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        yield b"timed out, "
        yield await asyncio.create_task(asyncio.sleep(0, b"and went on"))

    async def main():
        async with serving(streams(items)) as server, connect(server) as client:
            client.send()
            return (await client.answer()).body

    assert run(main()) == b"timed out, and went on"


def test_a_client_that_goes_away_ends_the_handler_and_nothing_is_left(run):
    async def main():
        ended = asyncio.get_running_loop().create_future()

        async def items():
            yield b"begin"
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError as error:
                ended.set_result(str(error))
                raise

        async with serving(streams(items)) as server:
            async with connect(server) as client:
                client.send()
                await client.head()
                assert await client.chunk() == b"begin"
            assert await ended == "the client has gone"
            await no_task_is_left()
            await still_answers(server)
            assert server.journal.events(DaemonChanged)[-1].error == ""

    run(main())


def test_a_client_that_goes_away_while_it_sends_never_reaches_the_handler(run):
    async def main():
        requests = []

        async def handler(request, exchange):
            requests.append(request.path)
            await echo(request, exchange)

        async with serving(handler) as server:
            async with connect(server) as client:
                client.writer.write(b"POST /half HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf")
                await client.writer.drain()
            await still_answers(server)
            await no_task_is_left()
        assert requests == ["/echo"]

    run(main())


def test_a_slow_reader_gets_a_big_reply_whole(run):
    async def main():
        handed_over = asyncio.Event()

        async def handler(request, exchange):
            await exchange.reply(200, PLAIN, BIG * 16)
            handed_over.set()

        async with serving(handler) as server, connect(server) as client:
            client.send()
            await handed_over.wait()
            return (await client.answer()).body

    assert run(main()) == BIG * 16


def test_a_producer_waits_for_a_slow_reader(run):
    count = 100
    produced = []

    async def items():
        for number in range(count):
            await asyncio.sleep(0)
            produced.append(number)
            yield BIG

    async def main():
        async with serving(streams(items)) as server, connect(server) as client:
            client.send()
            await client.head()
            for _ in range(20 * count):  # turns of the loop, in which the producer could do it all
                await asyncio.sleep(0)
            before = len(produced)
            size = sum([len(data) async for data in client.chunks()])
            return before, size

    before, size = run(main())
    assert before < count
    assert size == count * len(BIG)


def test_connections_are_kept_and_requests_may_be_pipelined(run):
    async def main():
        async with serving(echo) as server, connect(server) as client:
            client.send(path="/1")
            first = await client.answer()
            for number in (2, 3, 4):
                client.send(path=f"/{number}", headers=["connection: close"] if number == 4 else ())
            rest = [await client.answer() for _ in range(3)]
            assert await client.reader.read() == b""
            return [answer.body for answer in (first, *rest)]

    assert run(main()) == [b"GET /1?", b"GET /2?", b"GET /3?", b"GET /4?"]


def test_a_body_over_the_limit_is_cut_off_and_marked(run):
    seen = []

    async def handler(request, exchange):
        seen.append((len(request.body), request.too_large))
        await exchange.reply(200, PLAIN, b"")

    async def main():
        async with serving(handler) as server, connect(server) as client:
            for size in (MAX_BODY, MAX_BODY + 1):
                client.send("POST", body=bytes(size))
                await client.answer()

    run(main())
    assert seen == [(MAX_BODY, False), (MAX_BODY, True)]


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a TLS greeting
        b"hello?\r\n\r\n",
        b"BREW /coffee HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nnot a size\r\n",
    ],
)
def test_nonsense_is_refused_and_the_server_goes_on(run, nonsense):
    async def main():
        async with serving(echo) as server:
            async with connect(server) as client:
                client.writer.write(nonsense)
                answer = await client.reader.read()
            await still_answers(server)
            await no_task_is_left()
            return answer

    assert run(main()).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"])
def test_the_handler_decides_about_methods(run, method):
    async def main():
        async with serving(echo) as server, connect(server) as client:
            client.send(method, "/x")
            answer = await client.answer(bodyless=method == "HEAD")
            client.send(path="/again")
            assert (await client.answer()).body == b"GET /again?"
            return answer

    answer = run(main())
    assert (answer.status, answer.headers["content-length"]) == (200, str(len(f"{method} /x?")))


def test_an_upgrade_to_a_websocket_is_answered_as_a_plain_request(run):
    async def main():
        async with serving(echo) as server:
            async with connect(server) as client:
                client.send(path="/ws", headers=["connection: upgrade", "upgrade: websocket"])
                assert (await client.answer()).body == b"GET /ws?"
            await still_answers(server)

    run(main())


def test_a_client_that_waits_for_leave_to_send_gets_it(run):
    async def main():
        async with serving(echo) as server, connect(server) as client:
            client.send("POST", headers=["expect: 100-continue", "content-length: 4"])
            assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.writer.write(b"body")
            return (await client.answer()).body

    assert run(main()) == b"body"


def test_a_handler_that_fails_is_a_500_and_an_event_and_the_server_goes_on(run):
    async def handler(request, exchange):
        if request.path == "/echo":
            await echo(request, exchange)
            return
        raise LookupError("no such thing")

    async def main():
        async with serving(handler) as server:
            async with connect(server) as client:
                client.send()
                answer = await client.answer()
            await still_answers(server)
            return answer, server.journal.events(DaemonChanged)[-1]

    answer, event = run(main())
    assert answer.status == 500
    assert b"LookupError: no such thing" in answer.body
    assert answer.headers["x-should-retry"] == "false"  # it would fail again
    assert (event.daemon, event.status, event.error) == (
        "server",
        Status.RUNNING,
        "LookupError: no such thing",
    )


def test_a_handler_that_fails_in_the_middle_breaks_the_connection_off(run):
    async def items():
        yield b"half"
        await asyncio.sleep(0)
        raise LookupError("in the middle")

    async def main():
        async with serving(streams(items)) as server:
            async with connect(server) as client:
                client.send()
                await client.head()
                assert await client.chunk() == b"half"
                assert await client.reader.read() == b""  # closed, and without the last chunk
            await no_task_is_left()
            await still_answers(server)
            return server.journal.events(DaemonChanged)[-1].error

    assert run(main()) == "LookupError: in the middle"


@pytest.mark.parametrize("headers", [{"x-bad": "a\nb"}, {"x\u20ac": "euro"}])
def test_a_header_that_cannot_be_sent_is_a_failure_on_record(run, headers):
    async def handler(request, exchange):
        if request.path == "/echo":
            await echo(request, exchange)
        else:
            await exchange.reply(200, headers, b"x")

    async def main():
        async with serving(handler) as server:
            async with connect(server) as client:
                client.send()
                answer = await client.answer()
            await still_answers(server)
            return answer.status, server.journal.events(DaemonChanged)[-1].error

    status, error = run(main())
    assert status == 500
    assert error


def test_headers_that_differ_in_case_only_are_one_header_and_the_last_counts(run):
    async def handler(request, exchange):
        await exchange.reply(200, {**PLAIN, "Content-Type": "text/html", "Content-Length": "999"}, b"four")

    async def main():
        async with serving(handler) as server, connect(server) as client:
            client.send()
            head = (await client.reader.readuntil(b"\r\n\r\n")).decode().lower()
            return head, await client.reader.readexactly(4)

    head, body = run(main())
    assert head.count("content-type") == head.count("content-length") == 1
    assert "content-type: text/html" in head
    assert body == b"four"


@pytest.mark.parametrize("started", [True, False])
def test_a_cut_shows_what_was_written_and_closes_without_an_end(run, started):
    async def handler(request, exchange):
        if request.path == "/echo":
            await echo(request, exchange)
            return
        if started:
            await exchange.begin(200, PLAIN)
        exchange.write(b"half of it")
        await exchange.cut()

    async def main():
        async with serving(handler) as server:
            async with connect(server) as client:
                client.send()
                await client.head()
                rest = await client.reader.read()
            await still_answers(server)
            await no_task_is_left()
            return rest

    assert run(main()) == b"a\r\nhalf of it\r\n"


def test_two_hundred_requests_at_once_are_all_answered(run):
    async def one(server, number):
        async with connect(server) as client:
            client.send(path=f"/{number}")
            return (await client.answer()).body

    async def main():
        async with serving(echo) as server:
            return await asyncio.gather(*(one(server, number) for number in range(200)))

    assert run(main()) == [f"GET /{number}?".encode() for number in range(200)]
