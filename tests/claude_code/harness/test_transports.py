"""The server over stdio and HTTP: who is let in, who sees what, and what is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

ALL = 34


def test_a_client_over_stdio_has_all_tools_and_leaves_nothing(
    over_stdio: Any, running: Any, tmp_path: Path
) -> None:
    async def main() -> None:
        async with over_stdio() as tools:
            assert len((await tools.client.list_tools()).tools) == ALL
            await tools.good("start_conversation")
            assert "claude" in running(tmp_path / "tmp")

    asyncio.run(main())
    assert running(tmp_path / "tmp") == {}
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_over_stdio_heeds_signals_too(
    number: signal.Signals, command: list[str], running: Any, tmp_path: Path
) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "start_conversation"}},
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in asked:
            server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
        server.stdout.readline()
        started = json.loads(server.stdout.readline())
        assert started["result"]["structuredContent"]["status"] == "success"
        assert "claude" in running(tmp_path)
        server.send_signal(number)
        assert server.wait(timeout=30) == 0
    assert running(tmp_path) == {}
    assert not list(tmp_path.glob("soundstage-*"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_server_that_is_ended_takes_what_it_has_started_with_it(
    number: signal.Signals, over_http: Any, running: Any, tmp_path: Path
) -> None:
    async def main() -> int:
        async with over_http() as harness:
            with pytest.raises(BaseException):  # noqa: B017, PT011  (the SDK's client loses its server)
                async with asyncio.timeout(30), harness.client() as tools:
                    await tools.good("start_conversation")
                    assert "claude" in running(tmp_path / "tmp-http")
                    harness.process.send_signal(number)
                    await harness.process.wait()
                    await tools("list_plugins")
            return int(harness.process.returncode)

    code = asyncio.run(main())
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    _wait_until_gone(running, tmp_path / "tmp-http")


def _wait_until_gone(running: Any, folder: Path) -> None:
    """The launcher of a killed server ends what is left; its own end closes the pipe that we wait for."""
    asyncio.run(_gone(running, folder))


async def _gone(running: Any, folder: Path) -> None:
    async with asyncio.timeout(20):
        while running(folder):
            await asyncio.to_thread(_wait_for_one, folder)


def _wait_for_one(folder: Path) -> None:
    import os
    import select

    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={folder}".encode() not in (entry / "environ").read_bytes():
                continue
            handle = os.pidfd_open(int(entry.name))
        except OSError:
            continue
        select.select([handle], [], [], 10)
        os.close(handle)
        return


def test_a_client_over_http_needs_the_token(over_http: Any) -> None:
    async def main() -> None:
        async with over_http("--token", "sesame") as harness:
            async with harness.client(authorization="Bearer sesame") as tools:
                assert len((await tools.client.list_tools()).tools) == ALL
            for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "sesame"}):
                refused = await harness.get("/mcp", **headers)
                assert refused.status_code == 401
                assert refused.headers["www-authenticate"] == "Bearer"

    asyncio.run(main())


def test_a_token_is_made_unless_one_is_given_or_none_is_wanted(over_http: Any) -> None:
    async def main() -> None:
        async with over_http() as harness:
            assert len(harness.token) >= 32
            assert (await harness.get("/mcp")).status_code == 401
        async with over_http("--no-token") as harness, harness.client(accept="*/*") as tools:
            assert len((await tools.client.list_tools()).tools) == ALL

    asyncio.run(main())


def test_everybody_may_ask_for_health_and_nothing_else_is_there(over_http: Any) -> None:
    async def main() -> None:
        async with over_http() as harness:
            async with harness.client():
                health = (await harness.get("/health")).json()
            assert health["status"] == "ok"
            assert (health["tools"], health["clients"]) == (ALL, 1)
            assert (await harness.get("/health")).json()["clients"] == 0
            assert (await harness.get("/elsewhere")).status_code == 404

    asyncio.run(main())


def test_a_web_page_may_not_use_the_server(over_http: Any) -> None:
    async def main() -> None:
        async with over_http("--no-token") as harness:
            port = harness.url.split(":")[2].partition("/")[0]
            rebound = f"evil.example:{port}"
            for page in (
                {"origin": "http://evil.example"},
                {"origin": "null"},
                {"origin": f"http://{rebound}", "host": rebound},
                {"host": rebound},
                {"sec-fetch-site": "cross-site"},
            ):
                for path in ("/mcp", "/health"):
                    assert (await harness.get(path, **page)).status_code == 403, (path, page)
            assert (await harness.get("/health", host=f"localhost:{port}")).status_code == 200
            async with harness.client(accept="*/*") as tools:
                assert (await harness.get("/health")).json()[
                    "clients"
                ] == 1  # pages have opened no connection
                assert len((await tools.client.list_tools()).tools) == ALL

    asyncio.run(main())


def test_who_has_the_token_may_call_the_server_by_any_name(over_http: Any) -> None:
    async def main() -> None:
        async with over_http() as harness:
            token = {"authorization": f"Bearer {harness.token}"}
            assert (await harness.get("/health", host="harness.example", **token)).status_code == 200
            assert (await harness.get("/health", host="harness.example")).status_code == 403
            assert (
                await harness.get("/mcp", host="harness.example", origin="null", **token)
            ).status_code == 403

    asyncio.run(main())


@pytest.mark.parametrize(
    ("host", "page"),
    [
        *[(name, False) for name in ("127.0.0.1:3000", "localhost", "LocalHost:1", "[::1]:3000", "[::1]")],
        *[(name, True) for name in ("", "evil.example:3000", "127.0.0.1.evil.example", "localhost:x", "::1")],
        *[
            (name, True)
            for name in ("localhost:1@evil.example:3000", "127.0.0.1:3000:1", "[::1].evil.example")
        ],
    ],
)
def test_a_server_on_loopback_is_called_by_a_name_of_loopback(host: str, page: bool) -> None:
    from soundstage.mcp.server._http import web_page

    assert bool(web_page({"host": host}, any_host=False)) is page
    assert web_page({"host": host}, any_host=True) == ""


def test_two_clients_do_not_share_sessions_and_one_that_goes_takes_its_own(over_http: Any) -> None:
    async def main() -> None:
        async with over_http() as harness, harness.client() as first:
            async with harness.client() as second:
                started = await second.good("start_conversation")
                assert "no such conversation" in await first.bad(
                    "get_agent_mode", session_id=started["session_id"]
                )
                assert (await first.good("list_plugins"))["plugins"] == []
                await second.good("get_agent_mode", session_id=started["session_id"])
            own = await first.good("start_conversation")
            await first.good("get_agent_mode", session_id=own["session_id"])

    asyncio.run(main())


def test_a_busy_port_is_an_exit_code_of_one(command: list[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = subprocess.run(
            [*command, "--http", "--port", port], check=False, capture_output=True, text=True, timeout=30
        )
    assert ended.returncode == 1
    assert f"port {port} of 127.0.0.1 is in use" in ended.stderr
    assert ended.stdout == ""


def test_an_open_server_is_for_loopback_alone(command: list[str]) -> None:
    options = ["--http", "--port", "0", "--no-token", "--host", "0.0.0.0"]
    ended = subprocess.run([*command, *options], check=False, capture_output=True, text=True, timeout=30)
    assert ended.returncode == 1
    assert "token" in ended.stderr
