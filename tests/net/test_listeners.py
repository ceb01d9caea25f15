"""The servers of a run can be found by its journal, and serve more than one socket."""

from __future__ import annotations

import asyncio
import gc
import socket
import weakref

from soundstage.journal import Journal
from soundstage.lifecycle import LoopThread
from soundstage.net import LOOPBACK, EgressProxy, Exchange, HttpRequest, HttpServer, listeners_of


async def hello(request: HttpRequest, exchange: Exchange) -> None:
    await exchange.reply(200, {}, b"hello")


def a_socket() -> socket.socket:
    made = socket.create_server((LOOPBACK, 0))
    made.setblocking(False)
    return made


async def answer(port: int) -> bytes:
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    writer.write(b"GET http://far.example/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    found = await reader.read()
    writer.close()
    return found


def test_a_server_is_listed_while_it_runs_and_for_its_own_run_only():
    journal, other = Journal(), Journal()

    async def main() -> None:
        server = HttpServer(hello, journal)
        assert listeners_of(journal) == []
        await server.start()
        assert [(one.host, one.port) for one in listeners_of(journal)] == [(LOOPBACK, server.port)]
        assert listeners_of(other) == []
        await server.stop()
        assert listeners_of(journal) == []

    asyncio.run(main())


def test_a_second_socket_is_served_until_it_is_ended_and_the_first_one_goes_on():
    async def main() -> None:
        server = HttpServer(hello, Journal())
        await server.start()
        second = a_socket()
        port = second.getsockname()[1]
        [listener] = listeners_of(server.journal)
        end = await listener.listen_also(second)
        assert (await answer(port)).endswith(b"hello")
        end()
        await asyncio.sleep(0)
        end()
        assert await asyncio.gather(answer(port), return_exceptions=True) != [b""]
        assert (await answer(server.port)).endswith(b"hello")
        await server.stop()

    asyncio.run(main())


def test_a_server_in_another_thread_serves_it_there():
    server = HttpServer(hello, Journal())

    async def main() -> bytes:
        second = a_socket()
        port = second.getsockname()[1]
        [listener] = listeners_of(server.journal)
        end = await listener.listen_also(second)
        found = await answer(port)
        end()
        return found

    with LoopThread() as beside:
        beside.call(server.start())
        assert asyncio.run(main()).endswith(b"hello")
        beside.call(server.stop())


def test_a_server_that_stops_closes_the_second_socket_too_and_ending_it_then_is_harmless():
    async def main() -> None:
        proxy = EgressProxy(Journal())
        await proxy.start()
        second = a_socket()
        port = second.getsockname()[1]
        [listener] = listeners_of(proxy.journal)
        end = await listener.listen_also(second)
        assert b"403 Forbidden" in await answer(port)
        await proxy.stop()
        [refused] = await asyncio.gather(answer(port), return_exceptions=True)
        assert isinstance(refused, ConnectionRefusedError)
        end()

    asyncio.run(main())


def test_a_run_that_is_over_is_forgotten():
    async def main() -> weakref.ref[Journal]:
        journal = Journal()
        server = HttpServer(hello, journal)
        await server.start()
        await server.stop()
        return weakref.ref(journal)

    gone = asyncio.run(main())
    gc.collect()
    assert gone() is None
