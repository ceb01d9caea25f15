"""The server's life: over standard input and output, or over HTTP until a signal comes."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from soundstage.clock import SystemClock
from soundstage.errors import EnvironmentProblem
from soundstage.journal import Journal
from soundstage.lifecycle import termination_requested
from soundstage.mcp_server._options import McpOptions

if TYPE_CHECKING:
    from soundstage.mcp_server._harness import Harness

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


class _Harnesses:
    """Makes the harness of each client."""

    def __init__(self, options: McpOptions) -> None:
        self._options = options
        self._made = 0
        self._peers: set[Harness] = set()

    def __call__(self) -> Harness:
        from soundstage.mcp_server._harness import Harness
        from soundstage.mcp_server._paths import plugin_roots

        self._made += 1
        return Harness(
            projects=self._options.projects,
            plugins=plugin_roots(self._options.plugins, Path.cwd()),
            artifacts=self._options.artifacts,
            number=self._made,
            peers=self._peers,
            isolation=self._options.isolation,
        )

    async def close(self) -> None:
        """End what all clients have started."""
        async with AsyncExitStack() as last:
            for harness in self._peers:
                last.push_async_callback(harness.close)


async def _stdio(options: McpOptions) -> None:
    """Serve one client; its end of file, or a signal, ends everything."""
    from mcp.server.stdio import stdio_server

    from soundstage.mcp_server._server import build_server

    harnesses = _Harnesses(options)
    server = build_server(harnesses)

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    serving = asyncio.create_task(serve(), name="mcp over stdio")
    stop = termination_requested()
    signalled = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, signalled}, return_when=asyncio.FIRST_COMPLETED)
    signalled.cancel()
    if not serving.done():
        await harnesses.close()
        # The SDK reads standard input in a thread that nothing can wake but the client, and waits for it.
        os._exit(GOOD)
    serving.result()


async def _http(options: McpOptions, say: Say) -> None:
    from soundstage.mcp_server._http import PATH, Clients
    from soundstage.mcp_server._server import build_server
    from soundstage.net import HttpServer

    journal = Journal(clock=SystemClock(), run="mcp")
    token = "" if options.open else options.token or secrets.token_urlsafe(24)
    clients = Clients(
        build_server(_Harnesses(options)),
        lambda: secrets.token_hex(16),
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
