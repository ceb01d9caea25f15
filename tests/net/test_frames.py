"""Bytes of WebSocket clients: right behind the handshake, before it is answered, and broken."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from websockets.frames import Opcode

from soundstage.journal import DaemonChanged
from soundstage.net import WebSocketClosed
from soundstage.net._frames import MOST_HELD
from support.frames import ASKS, KEY, frame, goodbye, handshake, told
from support.sockets import LOOPS, connect, echo, no_task_is_left, run_on, serving

ROUNDS = 20  # of the loop, in which a server reads what has been written


@pytest.fixture(params=LOOPS)
def loop(request):
    return request.param


async def answering(websocket):
    await websocket.accept()
    while True:
        await websocket.send(await websocket.receive())


async def rounds():
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


def failures(server):
    return [event.error for event in server.journal.events(DaemonChanged) if event.error]


@contextlib.asynccontextmanager
async def watched(handler):
    """A server with WebSockets in which nothing may go wrong, and that nothing may be left of."""
    wrong = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: wrong.append(context))
    async with serving(echo, websocket=handler) as server:
        yield server
        await server._connections.gone()
    await no_task_is_left()
    assert wrong == []
    assert failures(server) == []


async def exchanged(server, *pieces):
    """All that the server answers to these pieces, to the end of the connection."""
    async with connect(server) as client:
        for piece in pieces:
            client.writer.write(piece)
            await rounds()
        return await client.reader.read()


def test_frames_right_behind_the_handshake_are_served_wherever_the_pieces_are_cut(loop):
    sent = handshake() + frame(b"early", Opcode.PING) + frame(b"one") + frame(b"two") + goodbye()

    async def main():
        async with watched(answering) as server:
            for cut in range(len(sent)):
                answered = told(await exchanged(server, sent[:cut], sent[cut:]))
                assert answered[0] == ("101", b""), cut
                assert answered[1] == ("PONG", b"early"), cut
                assert answered[-1] == ("CLOSE", b"\x03\xe8"), cut

    run_on(loop, main())


def test_messages_right_behind_the_handshake_reach_the_handler_in_order(loop):
    async def main():
        heard = []

        async def listening(websocket):
            await websocket.accept()
            with contextlib.suppress(WebSocketClosed):
                while True:
                    heard.append(await websocket.receive())
            await websocket.close()

        async with watched(listening) as server:
            sent = [
                frame(b"one"),
                frame(b"t", fin=False),
                frame(b"!", Opcode.PING),
                frame(b"wo", Opcode.CONT),
                frame(b"\0", Opcode.BINARY),
            ]
            await exchanged(server, handshake() + b"".join(sent) + goodbye())
        assert heard == ["one", "two", b"\0"]

    run_on(loop, main())


@pytest.mark.parametrize("size", [1, 2 * MOST_HELD], ids=["little", "more than is held"])
def test_nothing_is_answered_before_the_handler_has_accepted(loop, size):
    async def main():
        accepts = asyncio.Event()

        async def slow(websocket):
            await accepts.wait()
            await answering(websocket)

        async with watched(slow) as server, connect(server) as client:
            for piece in (handshake(), frame(b"early", Opcode.PING), frame(b"x" * size)):
                client.writer.write(piece)
                await rounds()
            assert client.reader._buffer == b""
            accepts.set()
            head = await client.reader.readuntil(b"\r\n\r\n")
            rest = await client.reader.readexactly(2 + len("early") + (2 if size == 1 else 10) + size)
            assert told(head + rest)[1:] == [("PONG", b"early"), ("TEXT", b"x" * size)]

    run_on(loop, main())


def test_frames_behind_a_handshake_that_is_refused_change_nothing(loop):
    async def refusing(websocket):
        await websocket.refuse(404, "no gateway here")

    async def main():
        async with watched(refusing) as server:
            answered = await exchanged(server, handshake() + frame(b"x", Opcode.PING) + b"\xff" * 20)
            assert told(answered) == [("404", b"no gateway here")]

    run_on(loop, main())


BROKEN = {  # bytes -> the code that says what is wrong with them
    "a frame without a mask": (frame(b"x", mask=False), 1002),
    "an opcode that nobody has": (b"\x83\x80\0\0\0\0", 1002),
    "bits that are reserved": (b"\xf1\x80\0\0\0\0", 1002),
    "a continuation of nothing": (frame(b"x", Opcode.CONT), 1002),
    "a ping in two pieces": (b"\x09\x80\0\0\0\0", 1002),
    "a length of many bytes that needs one": (b"\x81\xff" + b"\xff" * 8 + b"\0" * 4, 1009),
    "a text that is not UTF-8": (frame(b"\xff"), 1007),
    "such a text, and a goodbye": (frame(b"\xff") + goodbye(), 1000),
    "a goodbye of one byte": (frame(b"\x03", Opcode.CLOSE), 1002),
    "a goodbye with a code that nobody has": (goodbye(5), 1002),
    "a goodbye within a message": (frame(b"x", fin=False) + goodbye(), 1002),
}


@pytest.mark.parametrize("before", ["handshake", "101", "message"])
@pytest.mark.parametrize("what", BROKEN)
def test_broken_frames_are_told_by_their_code_and_what_came_before_them_is_served(loop, what, before):
    broken, code = BROKEN[what]
    good = frame(b"good")
    pieces = {
        "handshake": [handshake() + good + broken],
        "101": [handshake(), good + broken],
        "message": [handshake(), good, broken],
    }

    async def main():
        heard = []

        async def listening(websocket):
            await websocket.accept()
            try:
                while True:
                    heard.append(await websocket.receive())
            except WebSocketClosed as closed:
                heard.append(closed.code)

        async with watched(listening) as server:
            answered = told(await exchanged(server, *pieces[before]))
            assert [(kind, data[:2]) for kind, data in answered] == [
                ("101", b""),
                ("CLOSE", code.to_bytes(2, "big")),
            ]
        assert heard == ["good", code]

    run_on(loop, main())


HEADS = {  # a handshake that cannot be served -> the status of the answer, and a word in it
    "more headers than the library takes": (handshake("/", *["X-A: b"] * 130), 400, b"too many"),
    "a longer line than the library takes": (handshake("/", "Cookie: " + "x" * 9000), 400, b"line too long"),
    "a key that is not ASCII": (
        handshake(asks=[*ASKS[:2], "Sec-WebSocket-Key: \xe9", ASKS[3]]),
        400,
        b"not ASCII",
    ),
    "a word behind the protocol that is not ASCII": (
        handshake(asks=[*ASKS, "Sec-WebSocket-Protocol: \xe9"]),
        400,
        b"not ASCII",
    ),
    "no key": (handshake(asks=[*ASKS[:2], ASKS[3]]), 400, b"Sec-WebSocket-Key"),
    "two keys": (handshake("/", f"Sec-WebSocket-Key: {KEY}"), 400, b"multiple values"),
    "a version that nobody has": (
        handshake(asks=[*ASKS[:3], "Sec-WebSocket-Version: 99"]),
        400,
        b"Sec-WebSocket-Version",
    ),
}


@pytest.mark.parametrize("what", HEADS)
def test_a_handshake_that_cannot_be_served_is_answered_and_ends(loop, what):
    head, status, word = HEADS[what]

    async def main():
        async with watched(answering) as server:
            answered = await exchanged(server, head + frame(b"x"))
            assert answered.startswith(b"HTTP/1.1 %d " % status)
            assert word in answered

    run_on(loop, main())


@pytest.mark.parametrize(
    "head",
    [
        handshake(first="POST {} HTTP/1.1"),
        handshake(first="GET {} HTTP/1.0"),
        handshake("/", "Content-Length: 2") + b"hi",
        handshake("/", "Transfer-Encoding: chunked") + b"2\r\nhi\r\n0\r\n\r\n",
        handshake(asks=["Connection: Upgrade", "Upgrade: websocket, h2c"]),
    ],
    ids=["POST", "HTTP/1.0", "with a length", "in chunks", "or something else"],
)
def test_what_is_no_handshake_is_a_plain_request(loop, head):
    async def main():
        async with watched(answering) as server, connect(server) as client:
            client.writer.write(head)
            answered = await client.answer()
            assert answered.status == 200
            assert answered.body in (b"hi", b"GET /?", b"POST /?")

    run_on(loop, main())


def test_a_client_that_leaves_before_it_is_accepted_is_no_failure_of_the_server(loop):
    async def main():
        accepts, seen = asyncio.Event(), asyncio.Queue()

        async def slow(websocket):
            await accepts.wait()
            for step in (websocket.accept, lambda: websocket.send("hello")):
                try:
                    await step()
                except WebSocketClosed as closed:
                    seen.put_nowait(closed.code)

        async with watched(slow) as server:
            async with connect(server) as client:
                client.writer.write(handshake() + frame(b"x"))
                await rounds()
            accepts.set()
            assert [await seen.get() for _ in range(2)] == [1006, 1006]

    run_on(loop, main())


def test_sending_to_a_client_whose_connection_has_failed_says_that_it_is_closed(loop):
    async def main():
        sends, seen = asyncio.Event(), asyncio.Queue()

        async def late(websocket):
            await websocket.accept()
            await sends.wait()
            try:
                await websocket.send("hello")
            except WebSocketClosed as closed:
                seen.put_nowait(closed.code)

        async with watched(late) as server, connect(server) as client:
            client.writer.write(handshake())
            await client.head()
            client.writer.write(frame(b"x", mask=False))
            (protocol,) = server._connections
            while protocol._phase != "over":
                await asyncio.sleep(0)
            sends.set()
            assert await seen.get() == 1006

    run_on(loop, main())
