"""MCP servers for tests: scripted, recorded, replayed, and failing on request, over HTTP and stdio.

`McpServer` is a server whose tools answer by rules; an agent connects with it as with any other. Every call is in
the journal. `RecordingMcpServer` stands before a real server and writes a tape, `ReplayMcpServer` plays one.
"""

from soundstage.worlds.mcp._answer import RejectSpec, ToolAnswer
from soundstage.worlds.mcp._catalog import McpPrompt, McpResource, McpTool
from soundstage.worlds.mcp._client import McpClient, Upstream
from soundstage.worlds.mcp._config import claude_tool, mcp_json, server_entries, split_claude_tool
from soundstage.worlds.mcp._events import (
    McpConnectionChanged,
    McpFaultChanged,
    McpMessageRefused,
    McpMismatched,
    McpNotified,
    McpProbed,
    McpServed,
    McpToolCalled,
    McpToolReturned,
    McpToolsChanged,
)
from soundstage.worlds.mcp._file import check_mcp_script, is_mcp_script, load_mcp_script, mcp_script_schema
from soundstage.worlds.mcp._hostile import hostile_text
from soundstage.worlds.mcp._http_client import McpHttpClient
from soundstage.worlds.mcp._jsonrpc import RpcError
from soundstage.worlds.mcp._recording import RecordingMcpServer
from soundstage.worlds.mcp._replay import ReplayMcpServer
from soundstage.worlds.mcp._rules import ToolRule
from soundstage.worlds.mcp._script import McpScript
from soundstage.worlds.mcp._server import McpServer
from soundstage.worlds.mcp._stubs import McpStubs
from soundstage.worlds.mcp._tape import McpTape, McpTapeLine

__all__ = [
    "McpClient",
    "McpConnectionChanged",
    "McpFaultChanged",
    "McpHttpClient",
    "McpMessageRefused",
    "McpMismatched",
    "McpNotified",
    "McpProbed",
    "McpPrompt",
    "McpResource",
    "McpScript",
    "McpServed",
    "McpServer",
    "McpStubs",
    "McpTape",
    "McpTapeLine",
    "McpTool",
    "McpToolCalled",
    "McpToolReturned",
    "McpToolsChanged",
    "RecordingMcpServer",
    "RejectSpec",
    "ReplayMcpServer",
    "RpcError",
    "ToolAnswer",
    "ToolRule",
    "Upstream",
    "check_mcp_script",
    "claude_tool",
    "hostile_text",
    "is_mcp_script",
    "load_mcp_script",
    "mcp_json",
    "mcp_script_schema",
    "server_entries",
    "split_claude_tool",
]
