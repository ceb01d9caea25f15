"""A closed set: no way out of Python's own sockets is left, in any thread; each try is on record.

Addresses are those of documentation (192.0.2.0/24, 2001:db8::/32), names end in `.invalid`; a name that had been looked
up would be a `gaierror`, not an `EgressRefused`.
"""

from __future__ import annotations

import _socket
import asyncio
import contextlib
import ctypes
import errno
import os
import queue
import socket
import ssl
import struct
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from socket import socket as captured_before

import aiohttp
import httpx
import pytest
import requests
import uvloop

from soundstage.clock import SystemClock, VirtualClock, run
from soundstage.errors import EgressRefused, NetworkForbiddenError, ScriptError
from soundstage.guard import permitted
from soundstage.journal import EgressTried, HostReached, Journal
from soundstage.net import ClosedSet, EgressProxy

OUT = "192.0.2.1"
NAME = "api.openai.invalid"


@pytest.fixture(autouse=True)
def no_proxies_of_this_machine(monkeypatch):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def journal():
    return Journal(clock=VirtualClock())


@pytest.fixture
def make(journal):
    """Closes sets, and opens them again after the test."""
    made = []

    def close(**options):
        made.append(ClosedSet(journal, **options))
        made[-1].begin()
        return made[-1]

    yield close
    for one in reversed(made):
        one.end()


@pytest.fixture
def database():
    """A server on this machine that is not ours."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()


def tried(journal):
    return [(event.host, event.port, event.method) for event in journal.events(EgressTried)]


def datagram(call, *args):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        getattr(sender, call)(*args)


def connects(address, kind=socket.socket, family=socket.AF_INET, blocking=True):
    sock = kind(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(blocking)
        sock.connect(address)
    finally:
        sock.close()


def with_tls():
    context = ssl.create_default_context()
    with socket.socket() as plain, context.wrap_socket(plain, server_hostname=NAME) as wrapped:
        wrapped.connect((OUT, 443))


WAYS = {
    "create_connection to an address": (
        lambda: socket.create_connection((OUT, 443), timeout=1),
        (OUT, 443, "tcp"),
    ),
    "create_connection to a name": (
        lambda: socket.create_connection((NAME, 443), timeout=1),
        (NAME, 443, "dns"),
    ),
    "connect": (lambda: connects((OUT, 443)), (OUT, 443, "tcp")),
    "connect to a name": (lambda: connects((NAME, 443)), (NAME, 443, "tcp")),
    "connect without waiting": (lambda: connects((OUT, 443), blocking=False), (OUT, 443, "tcp")),
    "a class that was imported before": (
        lambda: connects((NAME, 443), kind=captured_before),
        (NAME, 443, "tcp"),
    ),
    "the socket below the socket": (lambda: connects((OUT, 443), kind=_socket.socket), (OUT, 443, "tcp")),
    "IPv6": (
        lambda: connects(("2001:db8::1", 443), family=socket.AF_INET6),
        ("2001:db8::1", 443, "tcp"),
    ),
    "an IPv4 address in IPv6": (
        lambda: connects((f"::ffff:{OUT}", 443), family=socket.AF_INET6),
        (f"::ffff:{OUT}", 443, "tcp"),
    ),
    "an address as one number": (lambda: connects(("3221225985", 443)), ("3221225985", 443, "tcp")),
    "broadcast": (lambda: datagram("sendto", b"x", ("<broadcast>", 9)), ("<broadcast>", 9, "udp")),
    "multicast": (lambda: datagram("sendto", b"x", ("224.0.0.251", 5353)), ("224.0.0.251", 5353, "udp")),
    "TLS": (with_tls, (OUT, 443, "tcp")),
    "a datagram": (lambda: datagram("sendto", b"x", (OUT, 53)), (OUT, 53, "udp")),
    "a datagram to a name": (lambda: datagram("sendto", b"x", 0, (NAME, 53)), (NAME, 53, "udp")),
    "a datagram in parts": (lambda: datagram("sendmsg", [b"x"], [], 0, (OUT, 53)), (OUT, 53, "udp")),
    "a datagram to whom it is connected": (lambda: datagram("connect", (OUT, 53)), (OUT, 53, "udp")),
    "getaddrinfo": (lambda: socket.getaddrinfo(NAME, 443), (NAME, 443, "dns")),
    "getaddrinfo of bytes": (lambda: socket.getaddrinfo(NAME.encode(), 443), (NAME, 443, "dns")),
    "gethostbyname": (lambda: socket.gethostbyname(NAME), (NAME, 0, "dns")),
    "gethostbyname_ex": (lambda: socket.gethostbyname_ex(NAME), (NAME, 0, "dns")),
    "gethostbyaddr": (lambda: socket.gethostbyaddr(OUT), (OUT, 0, "dns")),
    "getnameinfo": (lambda: socket.getnameinfo((OUT, 80), 0), (OUT, 80, "dns")),
}
by_way = pytest.mark.parametrize("way", list(WAYS))


@by_way
def test_each_way_out_is_refused_and_on_record(way, make, journal):
    make()
    function, expected = WAYS[way]
    with pytest.raises(EgressRefused, match="this run is closed"):
        function()
    assert tried(journal) == [expected]


def test_a_thread_that_is_older_than_the_run_is_refused(make, journal):
    jobs = queue.Queue()
    results = queue.Queue()

    def works():
        for job in iter(jobs.get, None):
            try:
                results.put(job())
            except OSError as error:
                results.put(error)

    old = threading.Thread(target=works)
    old.start()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        make()
        jobs.put(lambda: connects((OUT, 443)))
        jobs.put(None)
        assert isinstance(results.get(timeout=10), EgressRefused)
        assert isinstance(pool.submit(connects, (NAME, 443)).exception(), EgressRefused)
    old.join()
    assert tried(journal) == [(OUT, 443, "tcp"), (NAME, 443, "tcp")]


def test_connect_ex_reports_a_number_as_it_does_without_a_network(make, journal):
    make()
    with socket.socket() as sock:
        assert sock.connect_ex((NAME, 443)) == errno.ENETUNREACH
        assert sock.connect_ex((OUT, 443)) == errno.ENETUNREACH
    assert len(tried(journal)) == 2


@pytest.mark.parametrize("ask", [httpx.get, requests.get, urllib.request.urlopen])
def test_http_libraries_meet_a_connection_error_of_their_own(ask, make, journal):
    make()
    with pytest.raises((httpx.ConnectError, requests.ConnectionError, urllib.error.URLError)):
        ask(f"https://{NAME}/v1")
    assert set(tried(journal)) == {(NAME, 443, "dns")}


LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])


def on(loop, main):
    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(main())


async def open_connection(host):
    await asyncio.open_connection(host, 443)


async def look_up(host):
    await asyncio.get_running_loop().getaddrinfo(host, 443)


async def sock_connect(host):
    with socket.socket() as sock:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (host, 443))


async def datagram_to(host):
    await asyncio.get_running_loop().create_datagram_endpoint(
        asyncio.DatagramProtocol, remote_addr=(host, 443)
    )


async def ask_aiohttp(host):
    async with aiohttp.ClientSession() as session, session.get(f"https://{host}/"):
        pass


async def ask_httpx(host):
    async with httpx.AsyncClient() as client:
        await client.get(f"https://{host}/")


@LOOPS
@pytest.mark.parametrize("host", [OUT, NAME])
@pytest.mark.parametrize("ask", [open_connection, look_up, sock_connect, datagram_to, ask_aiohttp, ask_httpx])
def test_event_loops_are_refused_and_uvloop_as_well(loop, host, ask, make, journal):
    make()
    if ask is look_up and host == OUT:
        on(loop, lambda: ask(host))  # nobody is asked for an address
        assert tried(journal) == []
        return
    with pytest.raises((EgressRefused, aiohttp.ClientConnectorError, httpx.ConnectError)):
        on(loop, lambda: ask(host))
    assert {(seen, port) for seen, port, _ in tried(journal)} == {(host, 443)}


@LOOPS
def test_a_datagram_from_an_endpoint_without_a_partner_is_refused(loop, make, journal):
    seen = []

    class Protocol(asyncio.DatagramProtocol):
        def connection_made(self, transport):
            seen.append(transport)

        def error_received(self, exc):
            seen.append(exc)

    async def main():
        transport, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
            Protocol, local_addr=("127.0.0.1", 0)
        )
        assert isinstance(protocol, Protocol)
        assert seen == [transport]
        try:
            transport.sendto(b"x", (OUT, 53))
        except EgressRefused as error:
            seen.append(error)
        transport.close()

    make()
    on(loop, main)
    assert isinstance(seen[1], EgressRefused)
    assert tried(journal) == [(OUT, 53, "udp")]


@LOOPS
def test_datagrams_on_loopback_go_both_ways(loop, make):
    class Echo(asyncio.DatagramProtocol):
        def connection_made(self, transport):
            self.transport = transport
            self.got = asyncio.get_running_loop().create_future()

        def datagram_received(self, data, addr):
            if data == b"ping":
                self.transport.sendto(b"pong", addr)
            else:
                self.got.set_result(data)

    async def main():
        here = asyncio.get_running_loop()
        server, _ = await here.create_datagram_endpoint(Echo, local_addr=("127.0.0.1", 0))
        address = server.get_extra_info("sockname")
        client, protocol = await here.create_datagram_endpoint(Echo, local_addr=("127.0.0.1", 0))
        client.sendto(b"ping", address)
        assert await protocol.got == b"pong"
        server.close()
        client.close()

    make()
    on(loop, main)


def test_a_loop_of_uvloop_that_runs_already_is_refused(make, journal):
    async def main():
        make()
        with pytest.raises(EgressRefused):
            await open_connection(NAME)

    on(uvloop.new_event_loop, main)
    assert tried(journal) == [(NAME, 443, "dns")]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "0.0.0.0", b"127.0.0.1"])
def test_what_is_on_this_machine_is_reached_and_listed_once(host, make, journal, database):
    make()
    for _ in range(3):
        socket.create_connection((host, database[1])).close()
    assert [(event.port, event.method) for event in journal.events(HostReached)] == [(database[1], "tcp")]
    assert tried(journal) == []


def test_a_closed_run_refuses_that_too_unless_it_is_listed(make, journal, database):
    first = make(egress="closed")
    with pytest.raises(EgressRefused):
        socket.create_connection(database)
    assert tried(journal) == [("127.0.0.1", database[1], "tcp")]
    first.end()
    make(egress="closed", hosts=[f"127.0.0.1:{database[1]}"])
    socket.create_connection(database).close()


def test_servers_of_runs_are_reached_in_a_closed_run_and_are_no_news(make, journal):
    async def main():
        proxy = EgressProxy(Journal())
        await proxy.start()
        make(egress="closed")
        port = int(proxy.url.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        await proxy.stop()
        with pytest.raises(EgressRefused):
            await asyncio.open_connection("127.0.0.1", port)

    run(main(), clock=SystemClock())
    assert journal.events(HostReached) == []


def test_sockets_of_the_file_system_and_pairs_are_local(make, journal, tmp_path):
    make(egress="closed")
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen()
        client.connect(path)
    one, other = socket.socketpair()
    one.sendall(b"x")
    assert other.recv(1) == b"x"
    one.close()
    other.close()
    assert tried(journal) == []


def test_the_machines_own_names_and_addresses_are_known_without_asking(make, journal):
    closed = make()
    socket.getaddrinfo("192.0.2.1", 80)
    socket.getaddrinfo(None, 0)
    for name in ("localhost", "app.localhost", socket.gethostname(), "127.0.0.1"):
        assert closed.permits(_attempt(name, 80, "dns")), name
    assert not closed.permits(_attempt("localhost.example.invalid", 80, "dns"))
    assert tried(journal) == []


def test_a_listed_host_is_let_through_by_name_address_and_port(make, journal):
    closed = make(hosts=["db.example.invalid", "192.0.2.7:5432"])
    allowed = [("DB.example.invalid.", 1), ("db.example.invalid", 5432), ("192.0.2.7", 5432)]
    refused = [("192.0.2.7", 5433), ("192.0.2.10", 1), ("x.db.example.invalid", 1), ("192.0.2.8", 5432)]
    assert [closed.permits(_attempt(host, port, "tcp")) for host, port in allowed] == [True] * 3
    assert [closed.permits(_attempt(host, port, "tcp")) for host, port in refused] == [False] * 4
    assert [(event.host, event.port) for event in journal.events(HostReached)] == allowed


def test_the_addresses_of_a_listed_name_are_those_that_its_look_up_gave(make, journal, monkeypatch):
    """The system's answer is a fixed one; nothing of ours is replaced."""
    answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.9", 443))]
    monkeypatch.setattr(_socket, "getaddrinfo", lambda *_: answer)
    closed = make(hosts=[f"{NAME}:443"])
    assert not closed.permits(_attempt("192.0.2.9", 443, "tcp"))
    assert closed.permits(_attempt(NAME, 443, "dns"))
    assert not closed.permits(_attempt("other.invalid", 443, "dns"))
    assert closed.permits(_attempt("192.0.2.9", 443, "tcp"))
    assert not closed.permits(_attempt("192.0.2.9", 80, "tcp"))
    assert not closed.permits(_attempt("192.0.2.8", 443, "tcp"))


def _attempt(host, port, method):
    from soundstage.guard import EgressAttempt

    return EgressAttempt(host, port, method)


@pytest.mark.parametrize("words", ["", "https://example.com", "*.example.com", "a:b:c", "host:99999", 7])
def test_what_is_no_host_is_refused_by_name(words, journal):
    with pytest.raises(ScriptError, match="not a host"):
        ClosedSet(journal, hosts=[words])


def test_wrong_words_are_refused(journal):
    with pytest.raises(ScriptError, match="unknown egress"):
        ClosedSet(journal, egress="open")
    with pytest.raises(ScriptError, match="hosts are a list"):
        ClosedSet(journal, hosts="example.com")


def test_a_proxy_of_the_users_leads_outside_also_on_loopback(make, journal, database, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{database[1]}")
    client = httpx.Client()  # made before the run, it knows the user's proxy
    make()
    assert "HTTPS_PROXY" not in os.environ
    with pytest.raises(httpx.ConnectError):
        client.get(f"https://{NAME}/")
    assert tried(journal) == [("127.0.0.1", database[1], "tcp")]


def test_variables_and_sockets_are_as_before_when_the_run_is_over(make, database, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://192.0.2.1:3128")
    before = dict(os.environ)
    closed = make(egress="closed")
    closed.proxy()
    assert os.environ["HTTPS_PROXY"].startswith("http://127.0.0.1:")
    closed.end()
    closed.end()
    assert dict(os.environ) == before
    socket.create_connection(database).close()


ASKS = "import urllib.request as u; u.urlopen('http://api.example.invalid/')"


@pytest.mark.parametrize("environment", [None, "a copy"])
def test_a_child_process_gets_the_proxy_that_refuses_and_records(environment, make):
    journal = Journal(clock=SystemClock())
    closed = ClosedSet(journal)
    closed.begin()
    try:
        given = None if environment is None else {**os.environ, "EXTRA": "1"}
        done = subprocess.run(
            [sys.executable, "-c", ASKS], env=given, capture_output=True, text=True, check=False
        )
    finally:
        closed.end()
    assert "403" in done.stderr
    assert tried(journal) == [("api.example.invalid", 80, "GET")]


def test_on_virtual_time_the_proxy_comes_with_the_first_child(make, journal):
    make()
    assert "HTTP_PROXY" not in os.environ
    subprocess.run([sys.executable, "-c", ASKS], capture_output=True, check=False)
    assert tried(journal) == [("api.example.invalid", 80, "GET")]


def test_a_copy_of_the_process_goes_on_refusing_and_writes_nothing(make, journal):
    make()
    child = os.fork()
    if not child:
        code = 0
        try:
            connects((OUT, 443))
        except EgressRefused:
            code = 7
        finally:
            os._exit(code if not tried(journal) else 8)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert tried(journal) == []


def test_on_virtual_time_a_try_is_on_record_even_when_it_is_swallowed(journal):
    async def main():
        with pytest.raises(NetworkForbiddenError):
            connects((NAME, 443))
        with pytest.raises(NetworkForbiddenError):
            await asyncio.open_connection(NAME, 443)
        with pytest.raises(NetworkForbiddenError):
            socket.getaddrinfo("192.0.2.1", 80)

    closed = ClosedSet(journal)
    closed.begin()
    try:
        run(main(), clock=journal.clock)
    finally:
        closed.end()
    assert tried(journal) == [(NAME, 443, "tcp"), (NAME, 443, "tcp"), ("192.0.2.1", 80, "dns")]


def swallows():
    with contextlib.suppress(EgressRefused):
        connects((NAME, 443))


def test_a_bare_thread_of_a_run_on_virtual_time_is_refused_and_on_record(make, journal):
    async def main():
        thread = threading.Thread(target=swallows)
        thread.start()
        thread.join()

    make()
    run(main(), clock=journal.clock)
    assert tried(journal) == [(NAME, 443, "tcp")]


def test_what_we_do_for_a_test_is_let_through_and_nothing_else_of_the_same_time(make, journal, database):
    """Only this task, and by name only what it looks up."""
    make(egress="closed")
    inside = threading.Event()
    results = []

    def app():
        inside.wait(10)
        with pytest.raises(EgressRefused):
            socket.create_connection(database)
        results.append("refused")

    thread = threading.Thread(target=app)
    thread.start()
    with permitted(["api.example.invalid"]):
        inside.set()
        thread.join()
        socket.create_connection(database).close()
    with pytest.raises(EgressRefused):
        socket.getaddrinfo("api.example.invalid", 443)
    assert results == ["refused"]


def test_of_two_runs_each_answers_for_its_own_tasks(make):
    """A thread that belongs to none is answered for by the one that began last."""
    first, second = Journal(clock=VirtualClock()), Journal(clock=VirtualClock())

    async def one(journal, begun, go):
        closed = ClosedSet(journal)
        closed.begin()
        begun.set()
        await go.wait()
        with pytest.raises(EgressRefused):
            connects((f"{journal.run}.invalid", 1))
        return closed

    async def main():
        go, both = asyncio.Event(), [asyncio.Event(), asyncio.Event()]
        first.run, second.run = "first", "second"
        tasks = [
            asyncio.create_task(one(journal, begun, go))
            for journal, begun in zip((first, second), both, strict=True)
        ]
        for begun in both:
            await begun.wait()
        go.set()
        for closed in await asyncio.gather(*tasks):
            closed.end()

    asyncio.run(main())
    assert tried(first) == [("first.invalid", 1, "tcp")]
    assert tried(second) == [("second.invalid", 1, "tcp")]


LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def native(host, port):
    """A socket that Python knows nothing of. To connect one for datagrams sends nothing."""
    descriptor = LIBC.socket(socket.AF_INET, socket.SOCK_DGRAM, 0)
    address = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(port), socket.inet_aton(host))
    assert LIBC.connect(descriptor, address, len(address)) == 0, ctypes.get_errno()
    try:
        yield
    finally:
        os.close(descriptor)


def test_what_a_native_library_leaves_open_is_on_record_once(make, journal):
    with native(OUT, 80):
        closed = make(hosts=["192.0.2.7"])
        with native(OUT, 443), native("127.0.0.1", 443), native("192.0.2.7", 443):
            closed.look()
            closed.look()
    assert tried(journal) == [(OUT, 443, "native")]


@pytest.mark.parametrize("used", [False, True])
def test_a_connection_from_before_the_run_is_on_record_when_it_was_used(
    used, make, journal, database, monkeypatch
):
    """The machine itself plays the host outside."""
    with socket.create_connection(database) as old:
        old.sendall(b"before the run")
        monkeypatch.setattr("soundstage.net._closed.in_this_machine", lambda _: False)
        closed = make()
        if used:
            old.sendall(b"in the run")
        closed.look()
    assert tried(journal) == ([("127.0.0.1", database[1], "open before")] if used else [])
