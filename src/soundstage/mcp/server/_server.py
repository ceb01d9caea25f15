"""The tools of wings behind the MCP SDK.

One connection, one client state: the SDK enters the server's lifespan once for a connection, and that is where the
state is made and closed. Two clients therefore never see each other's sessions, and a client that goes takes
everything that it has started with it, whichever way it goes.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import metadata
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext

from soundstage.mcp.server._tool import ServedTool, envelope
from soundstage.mcp.server._toolset import ClientState, ClientTools, ServerTools, ToolUnavailable


def build_server(tools: ServerTools) -> Server[ClientTools]:
    """The MCP server.

    Args:
        tools: what it offers.
    """
    offered = [tool for one in tools.sets for tool in one.tools]
    listed = types.ListToolsResult(tools=[_listed(tool) for tool in offered])

    @asynccontextmanager
    async def lifespan(_: Server[ClientTools]) -> AsyncIterator[ClientTools]:
        client = tools.connect()
        try:
            yield client
        finally:
            await client.close()

    async def list_tools(_: ServerRequestContext[ClientTools], __: Any) -> types.ListToolsResult:
        return listed

    async def call_tool(
        context: ServerRequestContext[ClientTools], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        known = context.lifespan_context.by_name
        if params.name not in known:
            text = f"there is no tool {params.name!r}\n  expected: one of {', '.join(known)}"
            return _result({"status": "error", "error": text}, failed=True)
        return await call(*known[params.name], params.arguments or {})

    return Server(
        ", ".join(one.title for one in tools.sets) or "Soundstage",
        version=metadata.version("soundstage"),
        instructions="\n\n".join(one.instructions for one in tools.sets),
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def call(tool: ServedTool, state: ClientState, arguments: Mapping[str, Any]) -> types.CallToolResult:
    """Call a tool for a client. A tool that fails is a result, with an envelope that says why."""
    try:
        return _result(await tool.function(state, **tool.read(arguments, state.resolve)))
    except ToolUnavailable as error:
        return _result(envelope(tool, f"{error}\n  needed by: {tool.name}"), failed=True)
    except Exception as error:  # noqa: BLE001  (whatever it is, the client learns it, and the server goes on)
        state.note_failure(tool.name, error)
        return _result(envelope(tool, error))


def _result(data: Mapping[str, Any], *, failed: bool = False) -> types.CallToolResult:
    """A result as data, and as text for clients that read text alone."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=dict(data), is_error=failed
    )


def _listed(tool: ServedTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=f"{tool.category}: {tool.name.replace('_', ' ')}",
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        _meta={"category": tool.category},
    )
