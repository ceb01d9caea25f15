"""Requests that come one behind the other before the first is answered, and what is broken behind an answer."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.journal import RequestRefused
from soundstage.net._http import LARGEST_HEAD
from support.frames import frame, handshake
from support.sockets import LOOPS, PLAIN, connect, echo, no_task_is_left, run_on, serving, still_answers

ROUNDS = 20  # of the loop, in which a server reads what has been written
GET = b"GET %s HTTP/1.1\r\nhost: test\r\n\r\n"


@pytest.fixture(params=LOOPS)
def loop(request):
    return request.param


async def rounds():
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


class Slow:
    """A handler whose answers to /slow have begun, and end when they may."""

    def __init__(self):
        self.begun, self.may_end, self.cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, request, exchange):
        if request.path != "/slow":
            await echo(request, exchange)
            return
        await exchange.begin(200, PLAIN)
        exchange.write(b"first ")
        self.begun.set()
        try:
            await exchange.wait(self.may_end.wait())
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        exchange.write(b"last")
        await exchange.end()


BROKEN = {  # what comes behind a request that is being answered -> the status that is on record
    "no HTTP": (b"\x16\x03\x01\xff\xff", 400),
    "a target that is none": (GET % b"x y", 400),
    "a tunnel": (b"CONNECT x:1 HTTP/1.1\r\n\r\n", 400),
    "a body whose chunks are broken": (
        b"POST /open HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\nzz\r\n",
        400,
    ),
    "a head that is too large": (b"GET /large HTTP/1.1\r\nx: " + b"y" * 2 * LARGEST_HEAD, 431),
}


@pytest.mark.parametrize(
    "between", [b"", GET % b"/whole"], ids=["nothing between", "a whole request between"]
)
@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_behind_an_answer_does_not_come_into_it(loop, what, between):
    broken, status = BROKEN[what]

    async def main():
        slow = Slow()
        async with serving(slow) as server:
            async with connect(server) as client:
                client.writer.write(GET % b"/slow" + between)
                await slow.begun.wait()
                for piece in (broken[:20], broken[20:]):
                    client.writer.write(piece)
                    await rounds()
                slow.may_end.set()
                assert (await client.answer()).body == b"first last"
                if between:
                    answered = await client.answer()
                    assert answered.body == b"GET /whole?"
                rest = await client.reader.read()
                assert rest.startswith(b"HTTP/1.1 %d " % status) or rest == b""
            await still_answers(server)
            assert [event.status for event in server.journal.events(RequestRefused)] == [status]
            await server._connections.gone()
        await no_task_is_left()

    run_on(loop, main())


def test_a_client_that_leaves_ends_the_answer_under_way_however_much_it_has_asked_behind(loop):
    async def main():
        slow = Slow()
        async with serving(slow) as server:
            async with connect(server) as client:
                client.writer.write(GET % b"/slow" + GET % b"/next")
                await slow.begun.wait()
                await rounds()
            await slow.cancelled.wait()
            await server._connections.gone()
        await no_task_is_left()

    run_on(loop, main())


def test_a_handler_can_drop_a_connection_on_which_more_has_been_asked(loop):
    async def dropping(request, exchange):
        await rounds()
        await exchange.drop()

    async def main():
        async with serving(dropping) as server, connect(server) as client:
            client.writer.write(GET % b"/first" + GET % b"/next")
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await client.reader.readexactly(1)
            await server._connections.gone()

    run_on(loop, main())


@pytest.mark.parametrize("cut", [0, 10, len(handshake("/behind"))], ids=["in one piece", "cut", "apart"])
def test_a_handshake_behind_an_answer_opens_a_websocket_when_that_is_complete(loop, cut):
    paths = []

    async def greeting(websocket):
        paths.append(websocket.path)
        await websocket.accept()
        await websocket.send(await websocket.receive())

    async def main():
        slow = Slow()
        async with serving(slow, websocket=greeting) as server, connect(server) as client:
            behind = handshake("/behind") + frame(b"hi")
            client.writer.write(GET % b"/slow" + behind[:cut])
            await slow.begun.wait()
            client.writer.write(behind[cut:])
            await rounds()
            assert paths == []
            slow.may_end.set()
            assert (await client.answer()).body == b"first last"
            status, _ = await client.head()
            assert (status, await client.reader.readexactly(4)) == (101, b"\x81\x02hi")
        assert paths == ["/behind"]

    run_on(loop, main())


def test_a_handshake_behind_an_answer_that_is_complete_opens_a_websocket(loop):
    async def greeting(websocket):
        await websocket.accept()
        await websocket.send(await websocket.receive())

    async def main():
        async with serving(echo, websocket=greeting) as server, connect(server) as client:
            client.writer.write(GET % b"/first")
            assert (await client.answer()).body == b"GET /first?"
            client.writer.write(handshake() + frame(b"hi"))
            status, _ = await client.head()
            assert (status, await client.reader.readexactly(4)) == (101, b"\x81\x02hi")

    run_on(loop, main())


def test_a_thousand_upgrades_in_one_piece_are_a_thousand_plain_requests(loop):
    head = b"GET /%d HTTP/1.1\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"

    async def main():
        async with serving(echo) as server, connect(server) as client:
            client.writer.write(b"".join(head % number for number in range(1000)))
            for number in range(1000):
                assert (await client.answer()).body == b"GET /%d?" % number

    run_on(loop, main())


@pytest.mark.parametrize(
    ("version", "connection"), [("1.1", "close, Upgrade"), ("1.0", "Upgrade")], ids=["close", "HTTP/1.0"]
)
def test_an_upgrade_that_is_ignored_leaves_what_else_the_client_says_of_its_connection(
    loop, version, connection
):
    async def main():
        async with serving(echo) as server, connect(server) as client:
            client.writer.write(
                f"GET / HTTP/{version}\r\nConnection: {connection}\r\nUpgrade: h2c\r\n\r\n".encode()
            )
            answered = await client.answer()
            assert (answered.body, answered.headers["connection"]) == (b"GET /?", "close")
            assert await client.reader.read() == b""

    run_on(loop, main())
