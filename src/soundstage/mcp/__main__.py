"""`python -m soundstage.mcp --connect URL`: a stdio server that is really in the harness at URL."""

from __future__ import annotations

import argparse
import sys

from soundstage.mcp._bridge import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m soundstage.mcp",
        description="A stdio MCP server: hands its streams on to a server that runs in a test.",
    )
    parser.add_argument("--connect", required=True, metavar="URL", help="base URL of the server in the test")
    sys.exit(main(parser.parse_args().connect))
