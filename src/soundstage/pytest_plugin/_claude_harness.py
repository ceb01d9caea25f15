"""The harness as an agent sees it: a program that speaks MCP, and a client of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from soundstage.errors import EnvironmentProblem
from soundstage.lifecycle import LoopThread
from soundstage.pytest_plugin._claude import own_path

HARNESS_WITHIN: Final = 30.0  # seconds that it has to start


class HarnessClient:
    """An MCP client of the harness, as an agent is one. Got as `harness_client`.

    The harness runs as a program of its own (`soundstage mcp`), which ends with the client.

    Args:
        folder: where its projects and artifacts go.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._thread = LoopThread("soundstage harness client")
        self._client: Any = None

    def __enter__(self) -> Self:
        self._thread.__enter__()
        try:
            self._thread.call(self._connect())
        except BaseException:
            self._thread.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._thread.call(self._disconnect())
        finally:
            self._thread.__exit__(None, None, None)

    async def _connect(self) -> None:
        """The SDK wants to be entered and left in one task; this one waits in between."""
        self._ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._done = asyncio.Event()
        self._task = asyncio.create_task(self._stay(), name="harness client")
        try:
            async with asyncio.timeout(HARNESS_WITHIN):
                await asyncio.wait({self._ready, self._task}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            self._task.cancel()
            raise EnvironmentProblem(f"the harness did not start within {HARNESS_WITHIN:g} s") from None
        if not self._ready.done():
            self._task.result()  # raises why it could not connect
        self._client = self._ready.result()

    async def _stay(self) -> None:
        from mcp import Client, StdioServerParameters

        for name in ("projects", "artifacts"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        options = [
            "--projects",
            str(self._folder / "projects"),
            "--artifacts",
            str(self._folder / "artifacts"),
        ]
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "soundstage.mcp_server", *options],
            env={"PATH": own_path()},
            cwd=self._folder,
        )
        async with Client(server) as client:
            self._ready.set_result(client)
            await self._done.wait()

    async def _disconnect(self) -> None:
        self._done.set()
        await self._task

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool. Its result as data, with `status`; an error is a result as well."""
        result = self._thread.call(self._client.call_tool(name, dict(arguments or {})))
        return dict(result.structured_content)

    def list_tools(self) -> tuple[str, ...]:
        """The names of the tools."""
        return tuple(tool.name for tool in self._thread.call(self._client.list_tools()).tools)
