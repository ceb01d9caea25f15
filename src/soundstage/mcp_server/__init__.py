"""The harness as MCP tools: a coding agent tests a plugin end to end. Start it with `soundstage mcp`."""

from soundstage.mcp_server._options import McpOptions
from soundstage.mcp_server._serve import serve_mcp

__all__ = ["McpOptions", "serve_mcp"]
