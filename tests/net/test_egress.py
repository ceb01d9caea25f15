"""The egress proxy lets nothing out, records every try, and no client can upset it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.errors import InvalidStateError
from soundstage.journal import EgressTried, Journal, Noted
from soundstage.lifecycle import Status
from soundstage.net import LOOPBACK, EgressProxy
from soundstage.net._egress import MAX_HEAD, ProxyTarget, parse_target
from support.cases import cases


def with_proxy(body: Callable[[EgressProxy], Awaitable[Any]], **options: Any) -> tuple[Journal, Any]:
    """Run `body` with a proxy that is up; the journal and what `body` returned."""
    journal = Journal()

    async def main() -> Any:
        proxy = EgressProxy(journal, **options)
        await proxy.start()
        try:
            return await body(proxy)
        finally:
            await proxy.stop()

    return journal, asyncio.run(main())


async def connect(proxy: EgressProxy) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(LOOPBACK, int(proxy.url.rsplit(":", 1)[1]))


async def ask(proxy: EgressProxy, request: bytes) -> bytes:
    reader, writer = await connect(proxy)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


def tried(journal: Journal) -> list[tuple[str, int, str]]:
    return [(event.host, event.port, event.method) for event in journal.events(EgressTried)]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (
            b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n",
            ("api.example.com", 443, "CONNECT"),
        ),
        (b"CONNECT [2001:db8::1]:8443 HTTP/1.1\r\n\r\n", ("2001:db8::1", 8443, "CONNECT")),
        (b"GET http://Example.com/path?q=1 HTTP/1.1\r\n\r\n", ("example.com", 80, "GET")),
        (
            b"POST http://u:p@example.com:81/ HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc",
            ("example.com", 81, "POST"),
        ),
        (b"GET ws://example.com/socket HTTP/1.1\r\n\r\n", ("example.com", 80, "GET")),
    ],
)
def test_a_request_is_refused_with_403_and_recorded(request_: bytes, expected: tuple[str, int, str]) -> None:
    journal, answer = with_proxy(lambda proxy: ask(proxy, request_))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert f"may not reach {expected[0]}:{expected[1]}".encode() in answer
    assert tried(journal) == [expected]


def test_the_answer_of_a_refused_loopback_request_names_the_reason() -> None:
    _, answer = with_proxy(lambda proxy: ask(proxy, b"GET http://127.0.0.1:9/ HTTP/1.1\r\n\r\n"))
    assert b"ignores NO_PROXY" in answer


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x05\x01\x00",
        b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"CONNECT HTTP/1.1\r\n\r\n",
        b"CONNECT host:99999 HTTP/1.1\r\n\r\n",
        b"CONNECT [::1:443 HTTP/1.1\r\n\r\n",
        b"hello\r\n\r\n",
        b"A" * (MAX_HEAD + 10),
    ],
)
def test_nonsense_is_answered_with_400_and_noted(nonsense: bytes) -> None:
    journal, answer = with_proxy(lambda proxy: ask(proxy, nonsense))
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert tried(journal) == []
    assert [event.text for event in journal.events(Noted)] == ["not a proxy request"]


def test_a_client_that_stops_in_the_middle_of_a_request_is_recorded_all_the_same() -> None:
    journal, answer = with_proxy(
        lambda proxy: ask(proxy, b"CONNECT slow.example:443 HTTP/1.1\r\nHo"), request_within=0.05
    )
    assert answer.startswith(b"HTTP/1.1 403")
    assert tried(journal) == [("slow.example", 443, "CONNECT")]


def test_a_request_in_single_bytes_is_one_try() -> None:
    async def body(proxy: EgressProxy) -> bytes:
        reader, writer = await connect(proxy)
        for byte in b"CONNECT drip.example:443 HTTP/1.1\r\n\r\n":
            writer.write(bytes([byte]))
            await writer.drain()
        answer = await reader.read()
        writer.close()
        return answer

    journal, answer = with_proxy(body)
    assert answer.startswith(b"HTTP/1.1 403")
    assert tried(journal) == [("drip.example", 443, "CONNECT")]


def test_a_client_with_a_large_body_still_reads_its_refusal() -> None:
    async def body(proxy: EgressProxy) -> bytes:
        reader, writer = await connect(proxy)
        writer.write(
            b"POST http://up.example/ HTTP/1.1\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 4_000_000
        )
        await writer.drain()
        answer = await reader.read()
        writer.close()
        return answer

    _, answer = with_proxy(body)
    assert answer.startswith(b"HTTP/1.1 403")


def test_a_client_that_leaves_without_a_word_changes_nothing() -> None:
    async def body(proxy: EgressProxy) -> bytes:
        _, writer = await connect(proxy)
        writer.transport.abort()
        return await ask(proxy, b"CONNECT next.example:443 HTTP/1.1\r\n\r\n")

    journal, answer = with_proxy(body)
    assert answer.startswith(b"HTTP/1.1 403")
    assert tried(journal) == [("next.example", 443, "CONNECT")]


def test_stop_ends_connections_that_are_still_open() -> None:
    async def main() -> bytes:
        proxy = EgressProxy(Journal(), request_within=3600)
        await proxy.start()
        silent, writer = await connect(proxy)
        talking, other = await connect(proxy)
        other.write(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")
        await talking.readuntil(b"\r\n\r\n")
        await proxy.stop()
        assert proxy.status is Status.COMPLETED
        with pytest.raises(InvalidStateError):
            _ = proxy.url
        try:
            return await silent.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()
            other.close()

    assert asyncio.run(main()) == b""


def test_a_hundred_clients_at_once_are_a_hundred_tries() -> None:
    async def body(proxy: EgressProxy) -> list[bytes]:
        requests = (f"CONNECT host{number}.example:443 HTTP/1.1\r\n\r\n".encode() for number in range(100))
        return await asyncio.gather(*(ask(proxy, request) for request in requests))

    journal, answers = with_proxy(body)
    assert all(answer.startswith(b"HTTP/1.1 403") for answer in answers)
    assert {host for host, _, _ in tried(journal)} == {f"host{number}.example" for number in range(100)}


def test_a_real_program_is_stopped_by_the_environment_alone() -> None:
    program = (
        "import urllib.request, urllib.error\n"
        "for url in ('https://one.example/', 'http://two.example/'):\n"
        "    try: urllib.request.urlopen(url, timeout=20)\n"
        "    except OSError as error: print(error)\n"
    )

    async def body(proxy: EgressProxy) -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            program,
            env={"PATH": os.defpath, **proxy.environment()},
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate()
        return output.decode()

    journal, output = with_proxy(body)
    assert output.count("403") == 2
    assert tried(journal) == [("one.example", 443, "CONNECT"), ("two.example", 80, "GET")]


def test_the_variables_come_in_both_spellings_and_spare_loopback() -> None:
    async def body(proxy: EgressProxy) -> tuple[str, dict[str, str]]:
        return proxy.url, proxy.environment()

    _, (url, environment) = with_proxy(body)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        assert environment[name] == environment[name.lower()] == url
    assert environment["NO_PROXY"] == environment["no_proxy"] == "127.0.0.1,localhost,::1"


@cases(300)
@given(st.binary(max_size=200))
def test_no_first_line_breaks_the_parser(line: bytes) -> None:
    found = parse_target(line)
    assert found is None or (found.host and 0 <= found.port <= 65535)


@given(st.from_regex(r"[a-z][a-z0-9]{0,20}(\.[a-z]{2,5}){1,3}", fullmatch=True), st.integers(1, 65535))
def test_every_host_and_port_is_read_from_a_connect(host: str, port: int) -> None:
    assert parse_target(f"CONNECT {host}:{port} HTTP/1.1".encode()) == ProxyTarget(host, port, "CONNECT")
