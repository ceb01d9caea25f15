"""Starts MCP servers: the handshake, then the list of tools."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, Final

from soundstage.claude_code.plugin_check._declared import DeclaredPlugin, DeclaredServer
from soundstage.claude_code.plugin_check._environment import GRACE, PluginEnvironment
from soundstage.claude_code.plugin_check._findings import Entry
from soundstage.claude_code.plugin_check._server_files import REMOTE, unset_variables
from soundstage.errors import AppError, EnvironmentProblem, WaitTimeout
from soundstage.journal import MessageSent
from soundstage.match import preview
from soundstage.mcp import McpProcess, RpcError, claude_tool

_TOOL: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")  # what the Messages API takes as the name of a tool
_PLAIN: Final = re.compile(r"[a-zA-Z0-9_.-]+")  # a name that the CLI does not change


async def run_servers(plugin: DeclaredPlugin, stage: PluginEnvironment) -> None:
    """Start all servers of a plugin, one after the other. What is wrong with them is written down."""
    known = stage.variables()
    for server in plugin.servers:
        unset = unset_variables(server.data, known)
        if server.data.get("type", "stdio") in REMOTE:
            server.entry.skipped = f"it is elsewhere, at {server.data.get('url', 'an address of its own')}"
        elif unset:
            server.entry.skipped = f"it needs {', '.join(unset)}"
        elif not server.entry.broken:
            mark, began = stage.mark(), time.perf_counter()
            await _run(plugin, server, stage, mark)
            server.entry.seconds = time.perf_counter() - began
            stage.tell_since(mark, server.entry)


async def _run(plugin: DeclaredPlugin, server: DeclaredServer, stage: PluginEnvironment, mark: int) -> None:
    entry = server.entry
    process = McpProcess(
        server.data,
        stage.journal,
        name=server.name,
        cwd=stage.project,
        environment={**stage.workspace.environment(own_home=True), **stage.variables()},
        isolation=stage.isolation,
        grace=GRACE,
    )
    try:
        await process.start()
    except EnvironmentProblem as error:
        entry.add("server-fails", f"{entry.name} cannot be started: {error.seen}")
        return
    try:
        tools = await _tools(process, stage.within)
    except WaitTimeout:
        rule, said = "server-hangs", f"{entry.name} does not answer within {stage.within:g} s"
        entry.add(rule, said + _complaint(server, stage, mark))
    except RpcError as error:
        entry.add("server-fails", f"{entry.name} answers with an error: {preview(str(error), 300)}")
    except AppError as error:
        entry.add("server-fails", f"{entry.name}: {error.summary}{_complaint(server, stage, mark)}")
    else:
        _check_tools(plugin, server, tools)
    finally:
        await process.stop()


def _complaint(server: DeclaredServer, stage: PluginEnvironment, mark: int) -> str:
    """The last line that the server has written to standard error."""
    lines = [
        record.event.text.strip()
        for record in stage.journal.read(mark, MessageSent)
        if isinstance(record.event, MessageSent)
        and record.event.channel == "stderr"
        and record.source == server.name
        and record.event.text.strip()
    ]
    return f"; it says: {stage.untouched(preview(lines[-1], 300))}" if lines else ""


async def _tools(process: McpProcess, within: float) -> list[Any]:
    """The tools of a server as it lists them, page by page; none if it does not say that it has some."""
    capabilities = (await process.handshake(within=within)).get("capabilities")
    if not isinstance(capabilities, Mapping) or "tools" not in capabilities:
        return []
    tools: list[Any] = []
    cursors: set[str] = set()
    params: dict[str, Any] = {}
    while True:
        page = await process.request("tools/list", params, within=within)
        listed = page.get("tools")
        if not isinstance(listed, list):
            raise AppError('tools/list is answered without a list "tools"')
        tools += listed
        cursor = page.get("nextCursor")
        if not cursor:
            return tools
        if cursor in cursors:
            raise AppError("tools/list gives the same cursor again and again")
        cursors.add(cursor)
        params = {"cursor": cursor}


def _check_tools(plugin: DeclaredPlugin, server: DeclaredServer, tools: list[Any]) -> None:
    entry, names = server.entry, set[str]()
    for tool in tools:
        name = tool.get("name") if isinstance(tool, Mapping) else None
        if not isinstance(name, str) or not _is_name(name, plugin, server):
            entry.add("server-tools", f"{name!r} cannot be the name of a tool")
            continue
        if name in names:
            entry.add("server-tools", f"{entry.name} has two tools {name}")
        names.add(name)
        _check_schema(name, tool.get("inputSchema"), entry)


def _is_name(name: str, plugin: DeclaredPlugin, server: DeclaredServer) -> bool:
    """Whether the model can be given the tool: its whole name has letters, digits, `_` and `-`, 128 at most."""
    whole = claude_tool(server.name, name, plugin=plugin.name)
    return _PLAIN.fullmatch(name) is not None and _TOOL.fullmatch(whole) is not None


def _check_schema(name: str, schema: Any, entry: Entry) -> None:
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        entry.add("server-tools", f'the inputSchema of {name} is no schema of type "object"')
