"""Stubs under the names that an agent knows: `mcp__plugin_<plugin>_<server>__<tool>`.

The registry runs one server for each name of a server in it. Given to Claude Code in the place of the plugin's own
servers, the stubs have the very names of the plugin's tools.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import msgspec

from soundstage.clock import IdSource
from soundstage.errors import InvalidStateError
from soundstage.journal import Journal
from soundstage.lifecycle import Daemon, Status
from soundstage.mcp._config import claude_tool, mcp_json, split_claude_tool
from soundstage.mcp._events import McpToolCalled
from soundstage.mcp._server import McpServer


class McpStubs(Daemon):
    """Answers of tools by the names that Claude Code has for them.

    Args:
        journal: where everything goes; each server is a source of its own.
        ids: where ids of HTTP sessions come from.
        name: how messages call the registry.

    Example:
        ::

            stubs = McpStubs(journal)
            await stubs.start()
            await stubs.set("mcp__plugin_visual_browser__screenshot", {"saved": "shot.png"})
            claude = ClaudeCode(
                journal, model, workspace,
                environment=stubs.environment(),
                allowed_tools=stubs.tools,
                extra_args=("--mcp-config", stubs.mcp_json()),
            )
    """

    def __init__(self, journal: Journal, *, ids: IdSource | None = None, name: str = "stubs") -> None:
        super().__init__(name, journal)
        self._ids = ids if ids is not None else IdSource()
        self._servers: dict[str, McpServer] = {}
        self._set: dict[str, set[str]] = {}

    async def _start(self) -> None:
        """There is nothing to start before the first stub."""

    async def _stop(self) -> None:
        async with AsyncExitStack() as last:
            for server in self._servers.values():
                last.push_async_callback(server.stop)

    async def set(self, tool: str, answer: Any = msgspec.UNSET, /, *, server: str = "", **fields: Any) -> str:
        """Let a tool answer this from now on. Returns Claude Code's name of it.

        Args:
            tool: `mcp__<server>__<tool>`, or with `server` the tool's own name.
            answer: text, JSON, a `ToolAnswer`, or a function of the arguments.
            server: the name of the server, if `tool` does not say it.
            fields: those of `ToolAnswer`: `error`, `delay`, `fault`...

        Raises:
            ScriptError: for a name that is none, or an answer that cannot be one.
            InvalidStateError: if the registry does not run.
        """
        if self.status is not Status.RUNNING:
            raise InvalidStateError(f"the registry {self.name} is {self.status.value}", hint="start it first")
        owner, own = (server, tool) if server else split_claude_tool(tool)
        found = self._servers.get(owner)
        if found is None:
            found = McpServer(self.journal, name=owner, ids=self._ids)
            found.stub(own, answer, **fields)
            await found.start()
            self._servers[owner] = found
        else:
            found.stub(own, answer, **fields)
        self._set.setdefault(owner, set()).add(own)
        return claude_tool(owner, own)

    def clear(self) -> None:
        """Take all stubs away; clients are told, servers stay."""
        for server in self._servers.values():
            server.unstub()
        self._set.clear()

    @property
    def tools(self) -> tuple[str, ...]:
        """Claude Code's names of the stubs, to allow them."""
        return tuple(claude_tool(owner, tool) for owner, tools in self._set.items() for tool in sorted(tools))

    def calls(self, tool: str = "") -> list[McpToolCalled]:
        """The calls so far, of one tool by Claude Code's name, or of all."""
        owner, own = split_claude_tool(tool) if tool else ("", "")
        servers = [server for name, server in self._servers.items() if owner in ("", name)]
        return [call for server in servers for call in server.calls(own)]

    def mcp_json(self, *, transport: str = "stdio") -> str:
        """The text for `--mcp-config`, with a server for each name."""
        return mcp_json(*self._servers.values(), transport=transport)

    def environment(self) -> dict[str, str]:
        """The variables that keep Claude Code from starting the plugins' own servers; the stubs take their names."""
        return {"CLAUDE_CODE_SKIP_PLUGIN_MCP_SERVERS": "1"}
