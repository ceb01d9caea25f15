"""WebSocket connections of the server: a real client on loopback."""

from __future__ import annotations

import asyncio
import socket

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK, InvalidStatus

from soundstage.errors import InvalidStateError
from soundstage.journal import DaemonChanged, Journal
from soundstage.net import HttpServer, WebSocketClosed


async def nothing(request, exchange):
    await exchange.reply(404, {}, b"")


def serving(handler, body):
    """Run `body(url, journal, server)` beside a server that hands connections to `handler`."""

    async def main():
        server = HttpServer(nothing, Journal(), websocket=handler)
        await server.start()
        try:
            return await body(server.url.replace("http", "ws"), server)
        finally:
            await server.stop()

    return asyncio.run(main())


def test_text_and_bytes_go_both_ways_and_the_handler_sees_path_query_and_headers():
    seen = []

    async def echo(websocket):
        seen.append((websocket.path, websocket.query, websocket.headers["x-who"]))
        await websocket.accept()
        while True:
            await websocket.send(await websocket.receive())

    async def body(url, _):
        async with connect(f"{url}/gateway?v=10", additional_headers={"X-Who": "ann"}) as client:
            await client.send("hello")
            await client.send(b"\x00\xff")
            return await client.recv(), await client.recv()

    assert serving(echo, body) == ("hello", b"\x00\xff")
    assert seen == [("/gateway", "v=10", "ann")]


def test_the_server_closes_with_a_code_and_a_reason():
    async def closing(websocket):
        await websocket.accept()
        await websocket.close(4004, "Authentication failed.")
        await websocket.close(1000)  # harmless

    async def body(url, _):
        async with connect(url) as client:
            with pytest.raises(ConnectionClosedError) as caught:
                await client.recv()
            return caught.value.rcvd.code, caught.value.rcvd.reason

    assert serving(closing, body) == (4004, "Authentication failed.")


def test_a_handler_that_returns_without_closing_cuts_the_connection():
    async def cutting(websocket):
        await websocket.accept()

    async def body(url, _):
        async with connect(url) as client:
            with pytest.raises(ConnectionClosedError) as caught:
                await client.recv()
            return caught.value.rcvd

    assert serving(cutting, body) is None


def test_the_handler_learns_how_the_client_closed_and_every_later_call_says_so_too():
    closed = asyncio.Queue()

    async def waiting(websocket):
        await websocket.accept()
        for call in (websocket.receive, websocket.receive, lambda: websocket.send("too late")):
            try:
                await call()
            except WebSocketClosed as error:
                closed.put_nowait((error.code, error.reason))

    async def body(url, _):
        async with connect(url) as client:
            await client.close(4000, "going")
        return [await closed.get() for _ in range(3)]

    assert serving(waiting, body) == [(4000, "going")] * 3


def test_a_client_that_vanishes_ends_the_handler():
    ended = asyncio.Event()

    async def waiting(websocket):
        await websocket.accept()
        try:
            await websocket.receive()
        finally:
            ended.set()

    async def body(url, _):
        client = await connect(url)
        client.transport.abort()
        await ended.wait()

    serving(waiting, body)


def test_a_handshake_can_be_refused_with_a_status():
    async def refusing(websocket):
        await websocket.refuse(404, "no gateway here")

    async def body(url, _):
        with pytest.raises(InvalidStatus) as caught:
            await connect(url)
        return caught.value.response.status_code, caught.value.response.body

    assert serving(refusing, body) == (404, b"no gateway here")


def test_answering_a_handshake_twice_and_sending_before_it_are_mistakes():
    async def confused(websocket):
        with pytest.raises(InvalidStateError, match="has not been answered"):
            await websocket.send("early")
        await websocket.accept()
        with pytest.raises(InvalidStateError, match="has been answered"):
            await websocket.accept()
        await websocket.close(1000, "done")

    async def body(url, server):
        async with connect(url) as client:
            with pytest.raises(ConnectionClosedOK):
                await client.recv()
        return [event.error for event in server.journal.events(DaemonChanged) if event.error]

    assert serving(confused, body) == []


def test_a_handler_that_fails_is_on_record_and_the_client_sees_code_1011():
    async def failing(websocket):
        await websocket.accept()
        raise ValueError("broken")

    async def body(url, server):
        async with connect(url) as client:
            with pytest.raises(ConnectionClosedError) as caught:
                await client.recv()
        errors = [event.error for event in server.journal.events(DaemonChanged) if event.error]
        return caught.value.rcvd.code, errors

    assert serving(failing, body) == (1011, ["ValueError: broken"])


def test_stopping_the_server_closes_open_connections():
    closed = []

    async def waiting(websocket):
        await websocket.accept()
        try:
            await websocket.receive()
        except WebSocketClosed as error:
            closed.append(error.code)
            raise

    async def main():
        server = HttpServer(nothing, Journal(), websocket=waiting)
        await server.start()
        async with connect(server.url.replace("http", "ws")) as client:
            await server.stop()
            with pytest.raises(ConnectionClosedError) as caught:
                await client.recv()
        return caught.value.rcvd.code

    assert asyncio.run(main()) == 1012
    assert closed == [1012]


def test_a_server_without_a_handler_treats_a_handshake_as_a_plain_request():
    async def body(url, _):
        with pytest.raises(InvalidStatus) as caught:
            await connect(url)
        return caught.value.response.status_code

    assert serving(None, body) == 404


def test_a_ping_returns_when_the_client_has_read_what_came_before():
    order = []

    async def handler(websocket):
        await websocket.accept()
        await websocket.receive()
        await websocket.send("first")
        await websocket.ping()
        order.append("answered")
        await websocket.send("second")
        await websocket.receive()

    async def body(url, _):
        async with connect(url, ping_interval=None) as client:
            client.transport.pause_reading()
            await client.send("go")
            for _ in range(50):
                await asyncio.sleep(0)
            order.append("client reads")
            client.transport.resume_reading()
            return [await client.recv(), await client.recv()]

    assert serving(handler, body) == ["first", "second"]
    assert order == ["client reads", "answered"]


def test_a_ping_ends_when_the_connection_does():
    pinging, ended = asyncio.Event(), asyncio.Queue()

    async def handler(websocket):
        await websocket.accept()
        await websocket.receive()
        pinging.set()
        try:
            await websocket.ping()
        except WebSocketClosed as closed:
            ended.put_nowait(closed.code)

    async def body(url, server):
        client = await connect(url, ping_interval=None)
        client.transport.pause_reading()
        await client.send("go")
        await pinging.wait()
        client.transport.abort()
        return await asyncio.wait_for(ended.get(), 5)

    assert serving(handler, body) == 1006


def test_connections_send_small_pieces_at_once():
    async def handler(websocket):
        await websocket.accept()
        await websocket.receive()

    async def body(url, server):
        async with connect(url):
            (connection,) = server._connections
            raw = connection.transport.get_extra_info("socket")
            return raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    assert serving(handler, body)
