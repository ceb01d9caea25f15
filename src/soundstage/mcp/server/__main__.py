"""`python -m soundstage.mcp.server`: the same as `soundstage mcp`."""

import typer

from soundstage.mcp._command_line import mcp

typer.run(mcp)
