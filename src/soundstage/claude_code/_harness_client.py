"""The harness as an agent sees it: a program that speaks MCP, started for the tests or running already; its client."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

from soundstage.claude_code._warm import own_path
from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.lifecycle import LoopThread

if TYPE_CHECKING:
    import httpx2
    from mcp import Client

HARNESS_WITHIN: Final = 30.0  # seconds that it has to start
ANSWER_WITHIN: Final = 300.0  # seconds for a tool: an agent may work in it
TOKEN: Final = "SOUNDSTAGE_MCP_TOKEN"  # noqa: S105  (the name of the variable)


@asynccontextmanager
async def started_harness(folder: Path, plugins: Iterable[Path]) -> AsyncIterator[Client]:
    """A harness as a program of its own, which ends with its client.

    Args:
        folder: where its projects and artifacts go.
        plugins: folders in which plugins may lie.
    """
    from mcp import Client, StdioServerParameters

    options = [word for path in plugins for word in ("--plugins", str(path))]
    for name in ("projects", "artifacts"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        options += [f"--{name}", str(folder / name)]
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "soundstage.mcp.server", *options],
        env={"PATH": own_path()},
        cwd=folder,
    )
    async with Client(server) as client:
        yield client


@asynccontextmanager
async def running_harness(url: str) -> AsyncIterator[Client]:
    """A harness that runs already, over HTTP; it stays when its client goes.

    Args:
        url: as `soundstage mcp --http` prints it; without a path, `/mcp` is meant.

    Raises:
        ScriptError: if that is no address.
        EnvironmentProblem: if no harness answers, or it does not know our token, $SOUNDSTAGE_MCP_TOKEN.
    """
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    place, token = address_of(url), os.environ.get(TOKEN, "")
    statuses: list[int] = []

    async def note(response: httpx2.Response) -> None:
        statuses.append(response.status_code)

    http = httpx2.AsyncClient(
        headers={"authorization": f"Bearer {token}"} if token else {},
        timeout=httpx2.Timeout(HARNESS_WITHIN, read=ANSWER_WITHIN),
        trust_env=False,  # a proxy of the machine does not lead to 127.0.0.1
        event_hooks={"response": [note]},
    )
    async with AsyncExitStack() as opened:
        await opened.enter_async_context(http)
        try:
            client = await opened.enter_async_context(Client(streamable_http_client(place, http_client=http)))
        except Exception as error:  # noqa: BLE001  (groups of groups, in which the status is not told)
            raise _no_harness(place, statuses, error, token=token) from None
        yield client


def address_of(url: str) -> str:
    """The address of the harness's MCP endpoint.

    >>> address_of("http://127.0.0.1:3000")
    'http://127.0.0.1:3000/mcp'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ScriptError(
            "the harness has no such address", expected="such as http://127.0.0.1:3000/mcp", seen=repr(url)
        )
    return parts._replace(path=parts.path.rstrip("/") or "/mcp").geturl()


def _no_harness(place: str, statuses: list[int], error: Exception, *, token: str) -> EnvironmentProblem:
    if 401 in statuses:
        return EnvironmentProblem(
            "the harness does not let us in",
            expected=f"its token in ${TOKEN}",
            seen="another one" if token else "none",
            hint=f"`soundstage mcp --http` prints its token; give both the same ${TOKEN}",
        )
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return EnvironmentProblem(
        "no harness answers",
        expected=f"`soundstage mcp --http` at {place}",
        seen=f"HTTP {statuses[-1]}: {error}" if statuses else str(error),
        hint="start one there, or leave --soundstage-harness out, and one is started for the tests",
    )


class HarnessClient:
    """An MCP client of the harness, as an agent is one. Got as `harness_client`.

    Args:
        harness: what it is connected to, `started_harness(...)` or `running_harness(...)`.
    """

    def __init__(self, harness: AbstractAsyncContextManager[Client]) -> None:
        self._harness = harness
        self._thread = LoopThread("soundstage harness client")
        self._client: Any = None
        self._used = False

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
        async with self._harness as client:
            self._ready.set_result(client)
            await self._done.wait()

    async def _disconnect(self) -> None:
        self._done.set()
        await self._task

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool. Its result as data, with `status`; an error is a result as well."""
        self._used = True
        result = self._thread.call(self._client.call_tool(name, dict(arguments or {})))
        return dict(result.structured_content)

    def reset(self) -> None:
        """Let nothing of a test be there for the next one.

        Raises:
            EnvironmentProblem: if the harness cannot clean up.
        """
        if self._used:
            cleaned = self.call_tool("reset_test_environment", {"system": True})
            self._used = False
            if cleaned["status"] is not True:
                raise EnvironmentProblem("the harness did not clean up after the test", seen=cleaned["error"])

    def list_tools(self) -> tuple[str, ...]:
        """The names of the tools."""
        return tuple(tool.name for tool in self._thread.call(self._client.list_tools()).tools)
