"""The fixture of pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from soundstage.host import Setup
    from soundstage.mcp import McpServer


@pytest.fixture
def mcp_server(stage: Setup) -> McpServer:
    """An MCP server `mcp` on loopback, for asynchronous tests: `.tool(..)`, `.url`, `await .expect(..)`."""
    from soundstage.mcp import McpServer

    return stage.add(McpServer)
