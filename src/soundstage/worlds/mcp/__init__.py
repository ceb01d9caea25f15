"""MCP servers for tests: scripted, recorded, replayed, and failing on request, over HTTP and stdio.

`McpServer` is a server whose tools answer by rules; an agent connects with it as with any other. Every call is in
the journal. `RecordingMcpServer` stands before a real server and writes a tape, `ReplayMcpServer` plays one.
"""

from soundstage.worlds.mcp._answer import RejectSpec, ToolAnswer
from soundstage.worlds.mcp._catalog import McpPrompt, McpResource, McpTool
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
from soundstage.worlds.mcp._file import check_mcp_script, load_mcp_script, mcp_script_schema
from soundstage.worlds.mcp._hostile import hostile_text
from soundstage.worlds.mcp._jsonrpc import RpcError
from soundstage.worlds.mcp._rules import ToolRule
from soundstage.worlds.mcp._script import McpScript
from soundstage.worlds.mcp._server import McpServer

__all__ = [
    "McpConnectionChanged",
    "McpFaultChanged",
    "McpMessageRefused",
    "McpMismatched",
    "McpNotified",
    "McpProbed",
    "McpPrompt",
    "McpResource",
    "McpScript",
    "McpServed",
    "McpServer",
    "McpTool",
    "McpToolCalled",
    "McpToolReturned",
    "McpToolsChanged",
    "RejectSpec",
    "RpcError",
    "ToolAnswer",
    "ToolRule",
    "check_mcp_script",
    "claude_tool",
    "hostile_text",
    "load_mcp_script",
    "mcp_json",
    "mcp_script_schema",
    "server_entries",
    "split_claude_tool",
]
