"""The server's life: over standard input and output, or over HTTP until a signal comes."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from typing import Final

from soundstage.clock import SystemClock
from soundstage.errors import EnvironmentProblem
from soundstage.journal import Journal
from soundstage.lifecycle import termination_requested
from soundstage.mcp.server._options import McpOptions

GOOD, FAILED = 0, 1
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
INSTALL: Final = "pip install 'soundstage[mcp]'"
Say = Callable[[str], None]


def serve_mcp(options: McpOptions, *, say: Say, warn: Say) -> int:
    """Serve the harness until its client goes, or SIGTERM, SIGHUP or SIGINT comes. Returns the exit code.

    Args:
        options: how, and where files go.
        say: gets what is for the user, over HTTP alone: the address and the token. Standard output belongs
            to the protocol otherwise.
        warn: gets why it could not be served: the port is in use, the MCP SDK is missing.

    Example:
        ::

            serve_mcp(McpOptions(http=True, port=0), say=print, warn=print)
    """
    try:
        _check(options)
        asyncio.run(_http(options, say) if options.http else _stdio(options))
    except EnvironmentProblem as error:
        warn(str(error))
        return FAILED
    return GOOD


def _check(options: McpOptions) -> None:
    try:
        import mcp  # noqa: F401  (is it there?)
    except ImportError:
        raise EnvironmentProblem("the MCP SDK is not installed", hint=INSTALL) from None
    from soundstage.drivers import isolation_problem

    problem = isolation_problem(options.isolation)
    if problem is not None:
        raise problem
    if options.open and options.host not in LOOPBACK:
        raise EnvironmentProblem(
            f"{options.host} can be reached from other machines",
            expected="a loopback address, or a token that clients must send",
            hint="leave --no-token out, or --host",
        )


async def _stdio(options: McpOptions) -> None:
    """Serve one client; its end of file, or a signal, ends everything."""
    from mcp.server.stdio import stdio_server

    from soundstage.mcp.server._server import build_server
    from soundstage.mcp.server._toolset import ServerTools, toolsets

    tools = ServerTools(toolsets(), options)
    server = build_server(tools)

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    serving = asyncio.create_task(serve(), name="mcp over stdio")
    stop = termination_requested()
    signalled = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, signalled}, return_when=asyncio.FIRST_COMPLETED)
    signalled.cancel()
    if not serving.done():
        await tools.close()
        # The SDK reads standard input in a thread that nothing can wake but the client, and waits for it.
        os._exit(GOOD)
    serving.result()


async def _http(options: McpOptions, say: Say) -> None:
    from soundstage.mcp.server._http import PATH, Clients
    from soundstage.mcp.server._server import build_server
    from soundstage.mcp.server._toolset import ServerTools, toolsets
    from soundstage.net import HttpServer

    journal = Journal(clock=SystemClock(), run="mcp")
    token = "" if options.open else options.token or secrets.token_urlsafe(24)
    tools = ServerTools(toolsets(), options)
    clients = Clients(
        build_server(tools),
        lambda: secrets.token_hex(16),
        tools=sum(len(one.tools) for one in tools.sets),
        token=token,
        idle=options.idle,
        report=lambda error: server.report_failure(error),  # noqa: PLW0108  (the server is made below),
        loopback=options.host in LOOPBACK,
    )
    server = HttpServer(clients.handle, journal, host=options.host, port=options.port, name="mcp", grace=1.0)
    stop = termination_requested()
    await server.start()
    try:
        say(f"serving {server.url}{PATH}")
        say(f"token: {token}" if token else "no token is required")
        await stop.wait()
    finally:
        await clients.close()
        await server.stop()
