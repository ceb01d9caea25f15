"""Category 8: MCP servers, real and stubbed."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from msgspec import Meta

from soundstage.claude_code.harness._arguments import Seconds, ServerId
from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._paths import PluginFolder
from soundstage.claude_code.harness._stubs import target
from soundstage.mcp import start_mcp_server as start_process


class ServerStarted(TypedDict):
    status: str
    server_id: str
    server_name: str
    pid: int
    port: int | None
    details: str


class ServerStopped(TypedDict):
    status: bool
    stopped: bool
    cleaned: bool
    server_id: str
    exit_code: int | None


class Communication(TypedDict):
    status: str
    responding: bool
    latency_ms: float
    tools_available: int
    tools: list[str]
    server_id: str


class Mocked(TypedDict):
    status: str
    mock_registered: bool
    tool_name: str
    server_name: str
    details: str


ToolName = Annotated[
    str,
    Meta(
        min_length=1,
        description="Claude Code's name of the tool, or its bare name if only one server can have it.",
        examples=["mcp__plugin_visual-iteration_browser-tools__screenshot", "screenshot"],
    ),
]
MockResponse = Annotated[
    dict[str, Any],
    Meta(
        description='What calls return: any object, or MCP\'s own {"content": [...], "isError": true}.',
        examples=[{"status": "success", "image_path": "shot.png"}],
    ),
]


ServerName = Annotated[
    str,
    Meta(
        min_length=1, pattern=r"^[\w.-]+$", description="Its name in .mcp.json.", examples=["browser-tools"]
    ),
]
ServerConfig = Annotated[
    dict[str, Any],
    Meta(
        description="Its entry in .mcp.json: command, args, env. ${NAME} stands for a variable.",
        examples=[{"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"]}],
    ),
]
PluginRoot = Annotated[
    PluginFolder | None, Meta(description="Folder of the plugin, for ${CLAUDE_PLUGIN_ROOT}.")
]


async def start_mcp_server(
    harness: Harness, server_name: ServerName, server_config: ServerConfig, plugin_root: PluginRoot = None
) -> ServerStarted:
    """Start an MCP server from an entry of .mcp.json, in a process of its own with a throw-away home and no network.

    Use it to test the server by itself, with verify_mcp_communication; conversations start the servers of their
    plugins themselves. It runs until stop_mcp_server, a reset, or the end of this connection.

    Returns server_id (mcp_NAME_ and 8 digits), pid, port (null: it is spoken to over its streams), server_name
    and details.

    Errors: no command, a program that cannot be run, a ${VARIABLE} that nothing stands for.

    Example: start_mcp_server(server_name="browser-tools",
    server_config={"command": "python3", "args": ["server.py"]})
    """
    variables = {} if plugin_root is None else {"CLAUDE_PLUGIN_ROOT": str(plugin_root.path)}
    server = await start_process(
        server_name,
        server_config,
        harness.journal,
        environment=variables,
        ids=harness.ids,
        isolation=harness.isolation,
    )
    harness.servers[server.id] = server
    started = server.started
    return {
        "status": "success",
        "server_id": server.id,
        "server_name": server_name,
        "pid": started.pid,
        "port": None,
        "details": "started " + " ".join(started.command),
    }


async def stop_mcp_server(harness: Harness, server_id: ServerId) -> ServerStopped:
    """Stop an MCP server of start_mcp_server, and all processes of it.

    Returns status (true), stopped (its process is gone), cleaned (its folders are gone) and exit_code.

    Errors: no such server; status is false then.

    Example: stop_mcp_server(server_id="mcp_browser-tools_1a2b3c4d")
    """
    stopped = await harness.server(server_id).end()
    del harness.servers[server_id]
    return {
        "status": stopped.stopped and stopped.cleaned,
        "stopped": stopped.stopped,
        "cleaned": stopped.cleaned,
        "server_id": server_id,
        "exit_code": stopped.exit_code,
    }


async def verify_mcp_communication(
    harness: Harness, server_id: ServerId, timeout: Seconds = 5.0
) -> Communication:
    """Check that a server of start_mcp_server answers a handshake and lists its tools.

    Returns responding, latency_ms (measured), tools_available (how many), tools (their names).

    Errors: no such server; it does not answer in time, or has ended: responding is false then, and error has
    its exit code and last words.

    Example: verify_mcp_communication(server_id="mcp_browser-tools_1a2b3c4d")
    """
    probe = await harness.server(server_id).probe(within=timeout)
    found: Communication = {
        "status": "success" if probe.responding else "error",
        "responding": probe.responding,
        "latency_ms": probe.latency_ms,
        "tools_available": probe.tool_count,
        "tools": list(probe.tools),
        "server_id": server_id,
    }
    return found if probe.responding else found | {"error": probe.error}  # type: ignore[return-value]


async def mock_mcp_tool_response(
    harness: Harness, tool_name: ToolName, mock_response: MockResponse
) -> Mocked:
    """Set the response of an MCP tool, for conversations that start afterwards.

    The stub serves under the plugin's own tool name; the real server of that tool is not started in these
    conversations, and of its tools only those with a stub are there. Registering a tool again replaces its
    response at once, also where it is in use. A bare name belongs to the only MCP server of the installed
    plugins, or to a server of its own (mcp__mock__NAME) if there is none. The tool still needs permission:
    name it in allowed_tools. reset_test_environment forgets all stubs.

    Returns mock_registered, tool_name (as the model sees it), server_name and details.

    Errors: an empty name; a bare name that several servers could have.

    Example: mock_mcp_tool_response(tool_name="mcp__plugin_visual-iteration_browser-tools__screenshot",
    mock_response={"image_path": "shot.png"})
    """
    server, tool = target(tool_name, await harness.declared_servers())
    full = await harness.stubs.add(server, tool, mock_response)
    return {
        "status": "success",
        "mock_registered": True,
        "tool_name": full,
        "server_name": server,
        "details": f"{full} is stubbed in conversations that are started from now on",
    }
