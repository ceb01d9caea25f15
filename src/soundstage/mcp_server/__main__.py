"""`python -m soundstage.mcp_server`: the same as `soundstage mcp`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from soundstage.mcp_server import McpOptions, serve_mcp


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and serve."""
    known = McpOptions.from_environment()
    parser = argparse.ArgumentParser(prog="soundstage mcp", description="The test harness as MCP tools.")
    parser.add_argument("--http", action="store_true", help="serve over HTTP, not over stdio")
    parser.add_argument("--host", default=known.host)
    parser.add_argument("--port", type=int, default=known.port, help="0 picks a free one")
    parser.add_argument("--token", default=known.token, help="what clients must send; one is made otherwise")
    parser.add_argument("--no-token", action="store_true", dest="open", help="let everybody on loopback in")
    parser.add_argument("--projects", type=Path, default=known.projects)
    parser.add_argument("--plugins", type=Path, action="append", help="where plugins may lie; repeatable")
    parser.add_argument("--artifacts", type=Path, default=known.artifacts)
    parser.add_argument(
        "--idle", type=float, default=known.idle, help="seconds until a silent client is gone"
    )
    given = vars(parser.parse_args(arguments))
    options = McpOptions(**{**given, "plugins": tuple(given["plugins"] or known.plugins)})
    return serve_mcp(
        options,
        say=lambda text: print(text, flush=True),  # noqa: T201  (this is a command)
        warn=lambda text: print(f"soundstage: {text}", file=sys.stderr),  # noqa: T201
    )


if __name__ == "__main__":
    sys.exit(main())
