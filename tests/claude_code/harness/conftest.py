"""A client of the harness, as an agent is one: the MCP SDK's, in memory, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"
Body = Callable[..., Awaitable[Any]]


class Tools:
    """Calls tools and returns their results as data."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def __call__(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool, whatever it is."""
        result = await self.client.call_tool(name, arguments)
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def good(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool that must not fail."""
        result = await self(name, **arguments)
        assert result["status"] in ("success", True), result
        return result

    async def bad(self, name: str, **arguments: Any) -> str:
        """The error of a tool that must fail, with an envelope."""
        result = await self(name, **arguments)
        assert result["status"] in ("error", False), result
        assert result["error"], result
        return str(result["error"])


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    """Where projects and artifacts go."""
    for name in ("projects", "artifacts"):
        (tmp_path / name).mkdir()
    return tmp_path / "projects", tmp_path / "artifacts"


@pytest.fixture
def marketplace(tmp_path: Path) -> Path:
    """The example plugins, in a folder of the test's own."""
    return Path(shutil.copytree(EXAMPLES, tmp_path / "marketplace"))


@pytest.fixture
def tools(roots: tuple[Path, Path], tmp_path: Path) -> Callable[[Body], Any]:
    """Runs a test's body with the tools of a server in memory."""
    from mcp import Client

    from soundstage.claude_code.harness._harness import Harness
    from soundstage.claude_code.harness._table import TOOLSET
    from soundstage.mcp.server._server import build_server
    from soundstage.mcp.server._toolset import ServerTools

    def run(body: Body) -> Any:
        async def main() -> Any:
            def make(_: int) -> Harness:
                return Harness(projects=roots[0], plugins=[tmp_path], artifacts=roots[1])

            offered = TOOLSET._replace(open=lambda options: make)
            async with Client(build_server(ServerTools([offered]))) as client:
                return await body(Tools(client))

        return asyncio.run(main())

    return run


@pytest.fixture
def command(roots: tuple[Path, Path], tmp_path: Path) -> list[str]:
    """The command line of the server."""
    given = ["--projects", str(roots[0]), "--plugins", str(tmp_path), "--artifacts", str(roots[1])]
    return [sys.executable, "-m", "soundstage.mcp.server", *given]


@pytest.fixture
def over_stdio(command: list[str], tmp_path: Path) -> Callable[[], AbstractAsyncContextManager[Tools]]:
    """Starts a server of its own for a client over stdio."""
    from mcp import Client, StdioServerParameters

    temporary = tmp_path / "tmp"
    temporary.mkdir()

    @asynccontextmanager
    async def connect() -> AsyncIterator[Tools]:
        parameters = StdioServerParameters(
            command=command[0], args=command[1:], env={"TMPDIR": str(temporary)}, cwd=tmp_path
        )
        async with Client(parameters) as client:
            yield Tools(client)

    return connect


class HttpHarness:
    """A server over HTTP in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, token: str) -> None:
        self.process = process
        self.url = url
        self.token = token

    @asynccontextmanager
    async def client(self, **headers: str) -> AsyncIterator[Tools]:
        """A client of it, with the token unless other headers are given."""
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        sent = headers or {"authorization": f"Bearer {self.token}"}
        async with httpx2.AsyncClient(headers=sent, timeout=60) as http:
            async with Client(streamable_http_client(self.url, http_client=http)) as client:
                yield Tools(client)

    async def get(self, path: str, **headers: str) -> Any:
        """The answer at a path."""
        import httpx

        async with httpx.AsyncClient() as http:
            return await http.get(self.url.replace("/mcp", path), headers=headers)


@pytest.fixture
def over_http(command: list[str], tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[HttpHarness]]:
    """Starts a server over HTTP, and ends it."""
    temporary = tmp_path / "tmp-http"
    temporary.mkdir()

    @asynccontextmanager
    async def serve(*options: str) -> AsyncIterator[HttpHarness]:
        process = await asyncio.create_subprocess_exec(
            *command,
            "--http",
            "--port",
            "0",
            *options,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(temporary)},
        )
        assert process.stdout is not None
        try:
            url = (await process.stdout.readline()).decode().removeprefix("serving ").strip()
            token = (await process.stdout.readline()).decode().removeprefix("token: ").strip()
            yield HttpHarness(process, url, token)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()

    return serve


def processes_in(folder: Path) -> dict[str, int]:
    """The programs that run with a folder in their environment, and their process ids."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes()
            name = (entry / "comm").read_text().strip()
        except OSError:
            continue
        if f"HOME={folder}".encode() in environment:
            found[name] = int(entry.name)
    return found


@pytest.fixture
def running() -> Callable[[Path], dict[str, int]]:
    return processes_in
