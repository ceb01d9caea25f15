"""A server of the world, and a real client, the SDK's, over both transports."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from soundstage.journal import Journal
from soundstage.mcp import McpServer
from support.mcp_clients import TRANSPORTS, connected, rejected, running


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    """Each of the two ways to a server."""
    return str(request.param)


@pytest.fixture
def serve():
    """Runs `body(server)` with a scripted server that has started; gives the server back."""

    def run(body: Any, **options: Any) -> McpServer:
        server = McpServer(Journal(), **{"name": "notes", **options})

        async def main() -> None:
            async with running(server):
                await body(server)

        asyncio.run(main())
        return server

    return run


@pytest.fixture
def connect():
    """`async with connect(server, transport) as (client, told)`: the SDK's client, and what it was told."""
    return connected


@pytest.fixture
def refused():
    """`await refused(call)`: the JSON-RPC error that a call ends in."""
    return rejected


@pytest.fixture
def run_server():
    """`async with run_server(server)`: the server while it runs."""
    return running
