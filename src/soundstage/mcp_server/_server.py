"""The table of tools behind the MCP SDK.

One connection, one harness: the SDK enters the server's lifespan once for a connection, and that is where a
harness is made and closed. Two clients therefore never see each other's sessions, and a client that goes takes
everything that it has started with it, whichever way it goes.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import metadata
from typing import Any, Final

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext

from soundstage.mcp_server._harness import Harness, HostUnavailable
from soundstage.mcp_server._table import TOOLS
from soundstage.mcp_server._tool import Tool, envelope

NAME: Final = "Claude Code Test Harness"
INSTRUCTIONS: Final = """\
Tests Claude Code plugins end to end: the real Claude Code CLI in a throw-away home, offline; only the model's
words are scripted, by you.

The usual order:
1. create_test_project, setup_git_repo, create_sample_files: something to work on.
2. install_plugin (or plugin_dirs of a conversation), then get_plugin_status.
3. start_conversation with a script that says what the model replies; it returns a session id.
4. execute_command or send_prompt in that session; get_response, get_workflow_stage, list_active_hooks,
   get_hook_execution_log and get_conversation_history look at what happened.
5. assert_* check it; capture_test_artifacts keeps it.
6. end_conversation, uninstall_plugin, reset_test_environment.

Every result has `status`. When a tool fails, it is "error" (false for reset_test_environment and
stop_mcp_server), and `error` says what was expected, what was seen and what to do next.
"""

Close = Callable[[Harness], None]


def build_server(make: Callable[[], Harness], tools: Sequence[Tool] = TOOLS) -> Server[Harness]:
    """The MCP server.

    Args:
        make: makes a harness for a connection.
        tools: what it offers.
    """
    by_name = {tool.name: tool for tool in tools}
    listed = types.ListToolsResult(tools=[_listed(tool) for tool in tools])

    @asynccontextmanager
    async def lifespan(_: Server[Harness]) -> AsyncIterator[Harness]:
        harness = make()
        try:
            yield harness
        finally:
            await harness.close()

    async def list_tools(_: ServerRequestContext[Harness], __: Any) -> types.ListToolsResult:
        return listed

    async def call_tool(
        context: ServerRequestContext[Harness], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = by_name.get(params.name)
        if tool is None:
            text = f"there is no tool {params.name!r}\n  expected: one of {', '.join(by_name)}"
            return _result({"status": "error", "error": text}, failed=True)
        return await _call(tool, context.lifespan_context, params.arguments or {})

    return Server(
        NAME,
        version=metadata.version("soundstage"),
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _call(tool: Tool, harness: Harness, arguments: Mapping[str, Any]) -> types.CallToolResult:
    try:
        return _result(await tool.function(harness, **tool.read(arguments, harness.places.check)))
    except HostUnavailable as error:
        return _result(envelope(tool, f"{error}\n  needed by: {tool.name}"), failed=True)
    except Exception as error:  # noqa: BLE001  (whatever it is, the client learns it, and the server goes on)
        harness.note_failure(tool.name, error)
        return _result(envelope(tool, error))


def _result(data: Mapping[str, Any], *, failed: bool = False) -> types.CallToolResult:
    """A result as data, and as text for clients that read text alone."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=dict(data), is_error=failed
    )


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=f"{tool.category}: {tool.name.replace('_', ' ')}",
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        _meta={"category": tool.category},
    )
