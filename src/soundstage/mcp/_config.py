"""Entries of `.mcp.json` and `--mcp-config`: how clients are told where a server is. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from soundstage.errors import ScriptError
from soundstage.match import preview
from soundstage.mcp._answer import Json

BRIDGE: Final = Path(__file__).with_name("_bridge.py")
_ODD: Final = re.compile(r"[^a-zA-Z0-9_-]")
_VARIABLE: Final = re.compile(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}")


class Configured(Protocol):
    """Anything with a name and an address: every server of this package."""

    name: str

    def stdio_config(self) -> Json:
        """Its entry as a stdio server."""
        ...

    def http_config(self) -> Json:
        """Its entry as an HTTP server."""
        ...


def bridge_config(url: str) -> Json:
    """The entry of a stdio server whose program hands its streams on to `url`."""
    return {"command": sys.executable, "args": ["-I", "-S", str(BRIDGE), "--connect", url], "env": {}}


def mcp_json(*servers: Configured, transport: str = "stdio") -> str:
    """The text of an `.mcp.json` with these servers, also for `claude --mcp-config`.

    Args:
        servers: servers that run.
        transport: `stdio` or `http`.

    Raises:
        ScriptError: for another transport, or two servers of one name.
    """
    if transport not in ("stdio", "http"):
        raise ScriptError("a server is reached over stdio or http", seen=repr(transport))
    names = [server.name for server in servers]
    if len(set(names)) != len(names):
        raise ScriptError("servers of one file need different names", seen=", ".join(names))
    entries = {
        server.name: server.stdio_config() if transport == "stdio" else server.http_config()
        for server in servers
    }
    return msgspec.json.encode({"mcpServers": entries}).decode()


def claude_tool(server: str, tool: str, *, plugin: str = "") -> str:
    """Claude Code's name of a tool: `mcp__<server>__<tool>`, or `mcp__plugin_<plugin>_<server>__<tool>`.

    >>> claude_tool("browser-tools", "screenshot", plugin="visual-iteration")
    'mcp__plugin_visual-iteration_browser-tools__screenshot'
    """
    name = f"plugin_{plugin}_{server}" if plugin else server
    return f"mcp__{_ODD.sub('_', name)}__{tool}"


def split_claude_tool(name: str) -> tuple[str, str]:
    """The server and the tool of a name that Claude Code uses.

    Raises:
        ScriptError: if it is no such name.
    """
    head, _, rest = name.partition("__")
    server, _, tool = rest.partition("__")
    if head != "mcp" or not server or not tool:
        raise ScriptError("this is no name of an MCP tool", expected="mcp__<server>__<tool>", seen=repr(name))
    return server, tool


def server_entries(config: Mapping[str, Any]) -> dict[str, Json]:
    """The servers of an `.mcp.json`; plugins may leave the key `mcpServers` out.

    Raises:
        ScriptError: for an entry that is no mapping.
    """
    found = config.get("mcpServers", config)
    if not isinstance(found, Mapping) or not all(isinstance(entry, Mapping) for entry in found.values()):
        raise ScriptError(
            "this is no .mcp.json", expected='{"mcpServers": {"name": {"command": ..}}}', seen=preview(config)
        )
    return {str(name): dict(entry) for name, entry in found.items()}


def expanded(name: str, text: str, variables: Mapping[str, str]) -> str:
    """A text of a server's entry, with the variables that `${NAME}` and `${NAME:-default}` in it stand for.

    Raises:
        ScriptError: if a variable is not there.
    """

    def value(found: re.Match[str]) -> str:
        known = variables.get(found["name"], found["default"])
        if known is None:
            raise ScriptError(
                f"the MCP server {name!r} needs the variable {found['name']}",
                seen=text,
                hint="give it in environment=",
            )
        return known

    return _VARIABLE.sub(value, text)
