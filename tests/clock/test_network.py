"""Blocking calls past the event loop reach no network either, while a run on virtual time lasts."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import urllib.request
from urllib.error import URLError

import pytest

from soundstage.clock import SystemClock, run
from soundstage.errors import NetworkForbiddenError


@pytest.fixture
def server():
    """A real listener, so that only a refusal can keep a call from getting through."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()


def connects(address):
    socket.create_connection(address, timeout=5).close()


def asks(address):
    urllib.request.urlopen(f"http://127.0.0.1:{address[1]}/", timeout=5)


def listens(_):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))


def looks_up(_):
    socket.gethostbyname("localhost")


def sends(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", address)


CALLS = [connects, asks, listens, looks_up, sends]


async def call(function, address):
    function(address)


@pytest.mark.parametrize("function", CALLS)
def test_a_blocking_call_is_refused(function, server):
    with pytest.raises(NetworkForbiddenError, match="virtual time"):
        run(call(function, server))


def test_a_blocking_call_in_a_thread_of_the_run_is_refused(server):
    with pytest.raises(NetworkForbiddenError, match=r"socket\.(getaddrinfo|connect)"):
        run(asyncio.to_thread(connects, server))


def test_the_refusal_names_the_address(server):
    async def main():
        with socket.socket() as plain:
            plain.connect(server)

    with pytest.raises(NetworkForbiddenError, match=f"'127.0.0.1', {server[1]}"):
        run(main())


def test_after_the_run_and_on_the_time_of_the_machine_the_network_is_there(server):
    with contextlib.suppress(NetworkForbiddenError):
        run(call(connects, server))
    connects(server)
    run(call(connects, server), clock=SystemClock())


def test_other_threads_keep_their_network_while_a_run_lasts(server):
    """A thread that is no part of the run: another test's server, a debugger."""
    begun, ended, found = threading.Event(), threading.Event(), []

    def other():
        begun.wait(10)
        try:
            connects(server)
        except Exception as error:
            found.append(error)
        ended.set()

    async def main():
        begun.set()
        assert ended.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    run(main())
    thread.join()
    assert found == []


def test_a_library_that_has_its_own_error_for_the_network_does_not_hide_the_refusal(server):
    async def main():
        with contextlib.suppress(URLError):
            asks(server)

    with pytest.raises(NetworkForbiddenError):
        run(main())


def test_both_ends_of_a_pair_may_talk():
    async def main():
        one, other = socket.socketpair()
        with one, other:
            one.sendall(b"hi")
            one.sendmsg([b"!"])
            return other.recv(3)

    assert run(main()) == b"hi!"


def test_a_run_in_a_thread_is_refused_too(server):
    found = []

    def work():
        try:
            run(call(connects, server))
        except NetworkForbiddenError as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(found) == 1
