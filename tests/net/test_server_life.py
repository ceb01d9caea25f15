"""The life of a server: where it listens, and how it ends while clients are at work."""

from __future__ import annotations

import asyncio
import contextlib
import functools

import pytest

from soundstage.errors import EnvironmentProblem, InvalidStateError
from soundstage.journal import DaemonChanged, Journal
from soundstage.lifecycle import Status
from soundstage.net import LOOPBACK, HttpServer
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


def test_a_port_in_use_is_a_problem_of_the_environment_with_a_way_out(run):
    async def main():
        async with serving(echo) as server:
            second = HttpServer(echo, Journal(), port=server.port, name="second")
            with pytest.raises(
                EnvironmentProblem, match=rf"port {server.port} of 127.0.0.1 is in use"
            ) as caught:
                await second.start()
            assert caught.value.hint == "use --port 0 for a free port"
            [event] = second.journal.events(DaemonChanged)
            assert event.status == Status.STOPPED
            assert "is in use" in event.error
            await second.stop()
            await still_answers(server)

    run(main())


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_an_address_that_is_not_of_this_machine_is_a_problem_of_the_environment(run, host):
    async def main():
        with pytest.raises(EnvironmentProblem, match="cannot listen on") as caught:
            await HttpServer(echo, Journal(), host=host).start()
        assert "127.0.0.1" in caught.value.hint

    run(main())


def test_the_port_is_free_again_after_the_end(run):
    async def main():
        async with serving(echo) as server:
            await still_answers(server)
        async with serving(echo, port=server.port) as again:
            await still_answers(again)

    run(main())


def test_the_loopback_address_of_ipv6_will_do(run):
    async def main():
        async with serving(echo, host="::1") as server:
            assert server.url == f"http://[::1]:{server.port}"
            await still_answers(server)

    run(main())


def test_there_is_no_port_before_the_start_and_no_second_start(run):
    async def main():
        server = HttpServer(echo, Journal())
        with pytest.raises(InvalidStateError, match="start it first"):
            _ = server.url
        await server.start()
        await server.stop()
        await server.stop()
        with pytest.raises(InvalidStateError, match="it is completed"):
            await server.start()

    run(main())


def test_requests_in_flight_are_finished_before_the_server_has_stopped(run):
    async def main():
        entered, release = asyncio.Event(), asyncio.Event()

        async def items():
            yield b"first, "
            entered.set()
            await release.wait()
            yield b"last"

        server = HttpServer(streams(items), Journal())
        await server.start()
        async with connect(server) as client, connect(server) as idle:
            client.send()
            await entered.wait()
            stopping = asyncio.create_task(server.stop())
            assert await idle.reader.read() == b""  # idle connections are closed at once
            with pytest.raises(ConnectionError):
                await asyncio.open_connection(LOOPBACK, server.port)
            assert not stopping.done()
            release.set()
            answer = await client.answer()
            assert await client.reader.read() == b""
            await stopping
        assert answer.body == b"first, last"
        await no_task_is_left()
        assert server.status is Status.COMPLETED

    run(main())


def test_a_reply_that_is_still_on_its_way_arrives_before_the_server_has_stopped(run):
    async def main():
        handed_over = asyncio.Event()

        async def handler(request, exchange):
            await exchange.reply(200, PLAIN, BIG * 16)
            handed_over.set()

        server = HttpServer(handler, Journal())
        await server.start()
        async with connect(server) as client:
            client.send()
            await handed_over.wait()
            stopping = asyncio.create_task(server.stop())
            answer = await client.answer()
            await stopping
        assert answer.body == BIG * 16

    run(main())


@pytest.mark.parametrize("reads", [True, False])
def test_what_does_not_end_is_cancelled_after_the_grace(run, reads):
    """A producer that stalls, and a client that reads nothing of a big reply."""

    async def main():
        entered, cancelled = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def items():
            yield b"x" if reads else BIG * 32
            entered.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError as error:
                cancelled.set_result(str(error))
                raise

        server = HttpServer(streams(items), Journal(), grace=0.05)
        await server.start()
        async with connect(server) as client:
            client.send()
            await entered.wait()
            await server.stop()
            assert await cancelled == "the server has stopped"
            if reads:
                await client.head()
                assert await client.reader.read() == b"1\r\nx\r\n"
        await no_task_is_left()

    run(main())


def test_a_handler_that_ignores_its_end_does_not_keep_the_server_from_stopping(run):
    async def main():
        entered, release = asyncio.Event(), asyncio.Event()

        async def handler(request, exchange):
            entered.set()
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()

        server = HttpServer(handler, Journal(), grace=0.05)
        await server.start()
        async with connect(server) as client:
            client.send()
            await entered.wait()
            await server.stop()
            assert await client.reader.read() == b""
            release.set()
        await no_task_is_left()

    run(main())
