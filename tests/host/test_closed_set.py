"""A run by the builder is as closed as a test with fixtures."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

import openai
import pytest

from soundstage.clock import SystemClock, run
from soundstage.errors import ExpectationError, ScriptError
from soundstage.host import HostBuilder
from soundstage.lifecycle import Daemon
from soundstage.live import LiveModel
from soundstage.mcp import McpHttpClient
from soundstage.models import Script
from soundstage.trace import assert_model_requests

REAL = "sk-proj-the-real-key-of-the-user"
ANSWER = (
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,'
    b'"delta":{"role":"assistant","content":"from the provider"},"finish_reason":null}]}\n\n'
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,'
    b'"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


@pytest.fixture(autouse=True)
def the_users_variables(monkeypatch):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", REAL)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.openai.invalid/v1")


def swallows():
    with contextlib.suppress(Exception):
        socket.create_connection(("api.openai.invalid", 443))


@pytest.mark.parametrize("real", [False, True], ids=["on virtual time", "on the machine's"])
@pytest.mark.parametrize("in_a_thread", [False, True], ids=["itself", "in a thread"])
def test_a_try_that_the_app_swallows_fails_the_run(real, in_a_thread):
    ended = asyncio.Event()

    async def app(_):
        await asyncio.to_thread(swallows) if in_a_thread else swallows()
        ended.set()

    async def body(_):
        await ended.wait()

    builder = HostBuilder().with_console().with_app(app)
    with pytest.raises(ExpectationError, match=r"leave the closed set[\s\S]*api\.openai\.invalid:443"):
        (builder.with_workspace() if real else builder).run(body)


def test_a_test_may_try_inside_of_a_run_that_allows_it_within_one_that_does_not():
    async def inner(_):
        swallows()

    async def outer(host):
        async with HostBuilder().allow_egress().build() as other:
            await inner(other)
        assert other.trace.egress
        assert not host.trace.egress

    HostBuilder().run(outer)


def test_default_clients_ask_the_run_and_the_live_model_has_the_real_key(monkeypatch):
    """The provider is no server of ours: nobody but the live model may reach it."""
    heads = []

    async def provider(reader, writer):
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(HEAD + ANSWER)
        await writer.drain()
        writer.close()

    async def body(port):
        live = HostBuilder().with_server().close_loopback()
        live.with_model(lambda _: LiveModel("openai", base_url=f"http://127.0.0.1:{port}", allow=True))
        async with live.build():
            assert os.environ["OPENAI_API_KEY"] != REAL
            async with openai.AsyncOpenAI() as client:
                answer = await client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "hello"}]
                )
        assert answer.choices[0].message.content == "from the provider"

    async def main():
        server = await asyncio.start_server(provider, "127.0.0.1", 0)
        async with server:
            await body(server.sockets[0].getsockname()[1])

    run(main(), clock=SystemClock())
    assert [REAL in head.decode() for head in heads] == [True]
    assert os.environ["OPENAI_API_KEY"] == REAL
    assert os.environ["OPENAI_BASE_URL"] == "https://api.openai.invalid/v1"


def test_a_strict_run_with_a_server_that_nobody_asks_fails_unless_the_test_says_so():
    async def nothing(_):
        pass

    async def says_so(host):
        assert_model_requests(host.trace, 0)

    def builder():
        return HostBuilder().with_script(Script(strict=True)).with_server()

    with pytest.raises(ExpectationError, match="the model server was never asked"):
        builder().run(nothing)
    builder().run(says_so)
    lenient().with_server().run(nothing)


def test_hosts_are_checked_when_they_are_named():
    with pytest.raises(ScriptError, match="not a host"):
        HostBuilder().allow_hosts("https://example.com")


class NoDaemonToday(Daemon):
    """Cannot start."""

    async def _start(self):
        assert os.environ["OPENAI_API_KEY"] != REAL  # the run was closed already
        raise RuntimeError("no daemon today")

    async def _stop(self):
        raise AssertionError


def test_a_run_that_cannot_start_leaves_the_process_open():
    before = dict(os.environ)

    async def body(_):
        raise AssertionError

    builder = HostBuilder().with_server().with_daemon(lambda host: NoDaemonToday("none", host.journal))
    with pytest.raises(RuntimeError, match="no daemon"):
        builder.run(body)
    assert dict(os.environ) == before


def lenient():
    """A run whose model need not be asked."""
    return HostBuilder().with_script(Script(strict=False))


def test_the_client_of_a_real_mcp_server_gets_out_of_a_closed_run_and_the_app_does_not():
    asked = []

    async def server(reader, writer):
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def main():
        listening = await asyncio.start_server(server, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        async with listening, lenient().with_server().close_loopback().build() as host:
            client = McpHttpClient(f"http://127.0.0.1:{port}/mcp")
            await client.start()
            await client._send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
            await client.stop()
            assert len(asked) == 1
            assert not host.trace.egress

    run(main(), clock=SystemClock())
