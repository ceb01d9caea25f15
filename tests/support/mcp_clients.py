"""A real client of MCP servers, the SDK's, over both transports."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

TRANSPORTS = ("http", "stdio")


def target(server: Any, transport: str) -> Any:
    """The target that the SDK's client connects to."""
    if transport == "http":
        return server.url
    config = server.stdio_config()
    return stdio_client(StdioServerParameters(command=config["command"], args=config["args"], env={}))


class Heard(NamedTuple):
    """A client, and what the server told it by itself."""

    client: Client
    told: asyncio.Queue[str]


@asynccontextmanager
async def connected(server: Any, transport: str = "http", **options: Any) -> Any:
    """A client that has shaken hands."""
    told: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        told.put_nowait(str(getattr(message, "method", message)))

    options = {"mode": "legacy", "message_handler": hear, **options}
    async with Client(target(server, transport), **options) as client:
        yield Heard(client, told)


async def rejected(call: Any) -> MCPError:
    """The JSON-RPC error that a call ends in."""
    with pytest.raises(MCPError) as caught:
        await call
    return caught.value


@asynccontextmanager
async def running(server: Any) -> Any:
    """The server while it runs."""
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
