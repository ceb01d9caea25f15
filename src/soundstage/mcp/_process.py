"""A real MCP server as a process: started as `.mcp.json` says, asked whether it answers, and gone afterwards.

How it works. The program runs like any command here: below a launcher that collects what it starts, in a throw-away
home, with a bare environment and every way out refused. Its standard output is the protocol's: each line goes to a
client (`McpClient`), and what is no message of the protocol goes into the journal, where lines of
standard error are too. When the program ends, everything that waits for an answer fails with its exit code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, Literal, Unpack

import msgspec

from soundstage.clock import IdSource
from soundstage.drivers import Program, ProgramOptions
from soundstage.errors import AppError, ScriptError, WaitTimeout
from soundstage.journal import Journal, MessageSent
from soundstage.lifecycle import Process
from soundstage.match import preview
from soundstage.mcp._client import McpClient
from soundstage.mcp._config import expanded
from soundstage.mcp._events import McpProbed
from soundstage.mcp._jsonrpc import RpcError

LINE_LIMIT: Final = 256 * 1024 * 1024  # bytes of one message
PROBE_WITHIN: Final = 5.0
WITHIN: Final = 30.0

Json = dict[str, Any]


class McpStarted(msgspec.Struct, frozen=True, kw_only=True):
    """A server that was started. `id` is `mcp_<name>_<8 hexadecimal digits>`."""

    id: str
    name: str
    pid: int
    command: tuple[str, ...]


class McpStopped(msgspec.Struct, frozen=True, kw_only=True):
    """A server that is over.

    Args:
        id: which one.
        stopped: whether its process is gone.
        cleaned: whether its throw-away folders are gone.
        exit_code: of its process, negative for a signal; nothing if it never ran.
    """

    id: str
    stopped: bool
    cleaned: bool
    exit_code: int | None = None


class McpProbe(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a server answers: a handshake and its list of tools.

    Args:
        id: which server.
        responding: whether both were answered.
        latency_ms: measured milliseconds for the two.
        tools: names of its tools.
        server: the name and version that it gives itself.
        protocol: the version of the protocol that it chose.
        error: why it does not respond.
    """

    id: str
    responding: bool
    latency_ms: float = 0.0
    tools: tuple[str, ...] = ()
    server: str = ""
    protocol: str = ""
    error: str = ""

    @property
    def tool_count(self) -> int:
        """How many tools it has."""
        return len(self.tools)


class McpProcess(Program):
    """A real MCP server in a process.

    Args:
        config: its entry of `.mcp.json`: `command`, `args`, `env`. `${NAME}` and `${NAME:-default}` in it stand for
            variables of `environment`.
        journal: where its start, its standard error, probes and its exit go.
        name: its name in `.mcp.json`, and how messages and the journal call it.
        ids: where its id comes from.
        **options: those of every `drivers.Program`, such as `cwd` and `isolation`. Variables of `env` win over those of
            `environment`; `grace` is given after its input has ended, and again after SIGTERM. In a container, the
            program and its files are those of the image.

    Raises:
        ScriptError: for an entry without a command, or a variable that is not there.
        EnvironmentProblem: from `start`, if it cannot be run.

    Example:
        ::

            server = McpProcess({"command": "notes-server", "args": ["--stdio"]}, journal, name="notes")
            await server.start()
            probe = await server.probe(within=5)
            assert probe.responding, probe.error
            assert (await server.end()).cleaned
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        journal: Journal,
        *,
        name: str = "mcp",
        ids: IdSource | None = None,
        **options: Unpack[ProgramOptions],
    ) -> None:
        variables = dict(options.get("environment") or {})
        argv, own = _command(name, config, variables)
        options["environment"] = {**variables, **own}
        super().__init__(name, argv, journal, **options)
        self.id = f"mcp_{name}_{(ids if ids is not None else IdSource()).hex(8)}"
        self._client = McpClient(name, self._send)
        self._watching: asyncio.Task[None] | None = None

    @property
    def started(self) -> McpStarted:
        """The command, and the server that it started.

        Raises:
            InvalidStateError: before the start.
        """
        process = self._running()
        return McpStarted(id=self.id, name=self.name, pid=process.pid, command=self.argv)

    @property
    def transport(self) -> Literal["stdio"]:
        """The way to it."""
        return "stdio"

    @property
    def told(self) -> Any:
        """Gets the method and the params of what the server tells by itself."""
        return self._client.told

    @told.setter
    def told(self, tell: Any) -> None:
        self._client.told = tell

    def _made(self, **options: Any) -> Process:
        return Process(self.argv, self.journal, on_line=self._heard, line_limit=LINE_LIMIT, **options)

    def _begun(self, process: Process) -> None:
        self._watching = asyncio.create_task(self._watch(process), name=f"{self.name} end")

    async def _over(self) -> None:
        if self._watching is not None:
            await self._watching

    async def end(self) -> McpStopped:
        """Stop it and say what is left. Harmless when repeated."""
        root = self._sandbox.root if self._process is not None and self._process.alive else None
        await self.stop()
        return McpStopped(
            id=self.id,
            stopped=self._process is None or not self._process.alive,
            cleaned=root is None or not root.exists(),
            exit_code=self.exit_code,
        )

    async def handshake(self, *, within: float = WITHIN) -> Json:
        """The result of `initialize`; hands are shaken once.

        Raises:
            RpcError: if the server refuses.
            AppError: if it has ended.
            WaitTimeout: if it does not answer in time; it runs on.
        """
        self._running()
        return await self._client.handshake(within=within)

    async def request(self, method: str, params: Json | None = None, *, within: float = WITHIN) -> Json:
        """The result of a request, after the handshake. Raises what `handshake` raises."""
        self._running()
        return await self._client.request(method, params, within=within)

    async def probe(self, *, within: float = PROBE_WITHIN) -> McpProbe:
        """Whether it answers: a handshake, if there was none, and its list of tools, measured.

        A server that does not answer is data, not an exception.

        Args:
            within: seconds for each of the two.
        """
        self._running()
        before = self.journal.clock.now()
        try:
            greeting = await self._client.handshake(within=within)
            tools = tuple(str(tool.get("name")) for tool in await self._client.list_all(within=within))
        except (AppError, WaitTimeout, RpcError) as error:
            seen = getattr(error, "seen", "")
            return self._probed(responding=False, error=f"{getattr(error, 'summary', error)} {seen}".strip())
        info = greeting.get("serverInfo")
        info = info if isinstance(info, dict) else {}
        return self._probed(
            responding=True,
            latency_ms=round((self.journal.clock.now() - before) * 1000, 3),
            tools=tools,
            server=f"{info.get('name', '')} {info.get('version', '')}".strip(),
            protocol=str(greeting.get("protocolVersion", "")),
        )

    def _probed(self, **facts: Any) -> McpProbe:
        probe = McpProbe(id=self.id, **facts)
        event = McpProbed(
            server=self.name,
            responding=probe.responding,
            latency_ms=probe.latency_ms,
            tools=probe.tools,
            error=probe.error,
        )
        self.journal.append(event, source=self.name, cause=self._running().started_at)
        return probe

    async def _send(self, message: bytes) -> None:
        await self._running().write(message + b"\n")

    def _heard(self, channel: str, line: str) -> None:
        refused = self._client.receive(line.encode()) if channel == "stdout" and line.strip() else None
        if channel == "stderr" or refused is not None:
            event = MessageSent(text=line, channel=channel, sender=self.name)
            self.journal.append(event, source=self.name, cause=self._running().started_at)

    async def _watch(self, process: Process) -> None:
        try:
            await process.wait()
        finally:
            self._client.lost(process.describe_exit())


def _command(
    name: str, config: Mapping[str, Any], variables: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The program with its arguments, and its own variables."""
    command, args, env = config.get("command"), config.get("args", []), config.get("env", {})
    if not isinstance(command, str) or not command:
        url = config.get("url")
        raise ScriptError(
            f"the MCP server {name!r} has no command",
            expected='{"command": "program", "args": [..], "env": {..}}',
            seen=preview(dict(config)),
            hint="a server at a URL is no process: use McpHttpClient(url)" if url else "",
        )
    if not _all_text(args, list | tuple) or not _all_text(env.values() if isinstance(env, Mapping) else None):
        raise ScriptError(
            f"the MCP server {name!r} has arguments or variables that are no text", seen=preview(dict(config))
        )
    argv = tuple(expanded(name, part, variables) for part in (command, *args))
    return argv, {key: expanded(name, value, variables) for key, value in env.items()}


def _all_text(values: Any, kind: Any = object) -> bool:
    return values is not None and isinstance(values, kind) and all(isinstance(value, str) for value in values)


async def start_mcp_server(
    name: str, config: Mapping[str, Any], journal: Journal, **options: Any
) -> McpProcess:
    """Start a server as `.mcp.json` says; `started` has its id and its process id.

    Args:
        name: its name in `.mcp.json`.
        config: its entry there.
        journal: where everything goes.
        options: those of `McpProcess`.

    Raises:
        ScriptError: for an entry without a command.
        EnvironmentProblem: if it cannot be run.
    """
    server = McpProcess(config, journal, name=name, **options)
    await server.start()
    return server
