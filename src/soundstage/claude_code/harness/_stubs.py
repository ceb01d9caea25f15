"""Stubs of MCP tools: servers of our own that stand in for those of plugins, under the same tool names.

How it works. Claude Code names a tool of a plugin's server `mcp__plugin_<plugin>_<server>__<tool>`, and a tool of
a configured server `mcp__<server>__<tool>`. So a configured server that is called `plugin_<plugin>_<server>` has
the very names of the plugin's. The plugins' own servers are left out then, by a variable in the settings of the
session; those without a stub are configured again, as they are declared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.errors import ScriptError
from soundstage.journal import Journal
from soundstage.mcp import McpStubs, server_entries, split_claude_tool

ALONE: Final = "mock"  # the server of tools that no plugin has


class ConfiguredServer(NamedTuple):
    """A server that a plugin declares: its name among all servers, and its entry in a configuration."""

    name: str
    entry: dict[str, Any]


class Stubs:
    """The stubs of one client.

    Args:
        journal: where their calls go.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._stubs: McpStubs | None = None

    def __bool__(self) -> bool:
        return self._stubs is not None

    async def add(self, server: str, tool: str, answer: Mapping[str, Any]) -> str:
        """Answer the calls of a tool from now on. Returns Claude Code's name of it."""
        if self._stubs is None:
            stubs = McpStubs(self._journal)
            await stubs.start()
            self._stubs = stubs
        return await self._stubs.set(tool, server=server, **_answer(answer))

    async def close(self) -> None:
        """Forget all of them."""
        stubs, self._stubs = self._stubs, None
        if stubs is not None:
            await stubs.stop()

    def options(
        self, declared: Iterable[ConfiguredServer], settings: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The options of a session with these stubs: `mcp_servers` and `settings`.

        Args:
            declared: the servers of its plugins.
            settings: the settings that it has anyway.
        """
        if self._stubs is None:
            return {"settings": settings}
        ours = server_entries(json.loads(self._stubs.mcp_json()))
        real = {server.name: server.entry for server in declared if server.name not in ours}
        given = dict(settings or {})
        environment = {**given.get("env", {}), **self._stubs.environment()}
        return {"mcp_servers": {**real, **ours}, "settings": {**given, "env": environment}}


def _answer(response: Mapping[str, Any]) -> dict[str, Any]:
    """A response as the answer of a tool: MCP's own form as it is, anything else as a structured result."""
    content = response.get("content")
    if set(response) <= {"content", "isError"} and isinstance(content, list):
        if response.get("isError") is True:
            return {"error": "\n".join(str(block.get("text", "")) for block in content)}
        return {"content": tuple(content)}
    return {"json": dict(response)}


def target(tool_name: str, declared: Iterable[ConfiguredServer]) -> tuple[str, str]:
    """The server and the tool that a client means.

    Args:
        tool_name: Claude Code's name of it, or the bare name of a tool.
        declared: the servers of the plugins; a bare name is a tool of the only one.

    Raises:
        ScriptError: if a bare name could be a tool of several.
    """
    if tool_name.startswith("mcp__"):
        return split_claude_tool(tool_name)
    names = [server.name for server in declared]
    if len(names) > 1:
        raise ScriptError(
            "several servers could have this tool",
            expected=" or ".join(f"mcp__{name}__{tool_name}" for name in names),
            seen=repr(tool_name),
        )
    return (names[0] if names else ALONE), tool_name


def declared_servers(folders: Iterable[Path]) -> list[ConfiguredServer]:
    """The servers that plugins declare, in `.mcp.json` or in their manifest; `folders` may hold plugins too."""
    return [server for plugin in plugin_folders(folders) for server in _servers(plugin)]


def plugin_folders(folders: Iterable[Path]) -> list[Path]:
    """The plugins in some folders, each of which is a plugin or holds plugins."""
    return list(dict.fromkeys(plugin for folder in folders for plugin in _plugins(folder)))


def _plugins(folder: Path) -> list[Path]:
    if (folder / ".claude-plugin/plugin.json").is_file():
        return [folder]
    return sorted(path.parent.parent for path in folder.glob("*/.claude-plugin/plugin.json"))


def _servers(plugin: Path) -> list[ConfiguredServer]:
    manifest = _json(plugin / ".claude-plugin/plugin.json")
    given = manifest.get("mcpServers")
    if isinstance(given, str):
        given = _json(plugin / given)
    elif not isinstance(given, dict):
        given = _json(plugin / ".mcp.json")
    text = json.dumps(given).replace("${CLAUDE_PLUGIN_ROOT}", json.dumps(str(plugin))[1:-1])
    name = manifest.get("name", plugin.name)
    return [
        ConfiguredServer(f"plugin_{name}_{key}", entry)
        for key, entry in server_entries(json.loads(text)).items()
    ]


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):  # a broken plugin: the CLI says so when it loads it
        return {}
    return found if isinstance(found, dict) else {}
