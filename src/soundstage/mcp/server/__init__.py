"""Tools of wings for agents, over MCP: stdio or HTTP. Start it with `soundstage mcp`.

A wing offers tools by its record, `Wing(tools="my_wing:TOOLS")`: a `Toolset` of functions. What a tool takes and
returns is the function's signature, and its docstring is what agents read.
"""

from soundstage.mcp.server._options import McpOptions
from soundstage.mcp.server._serve import serve_mcp
from soundstage.mcp.server._tool import ServedTool, ToolFunction, describe, envelope
from soundstage.mcp.server._toolset import ClientState, Toolset, ToolUnavailable

__all__ = [
    "ClientState",
    "McpOptions",
    "ServedTool",
    "ToolFunction",
    "ToolUnavailable",
    "Toolset",
    "describe",
    "envelope",
    "serve_mcp",
]
