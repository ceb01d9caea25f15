"""The command `soundstage mcp`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from soundstage.cli import LEVELS, level, say, warn


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of stdio.")] = False,
    host: Annotated[str | None, typer.Option(help="Address to listen on; loopback unless given.")] = None,
    port: Annotated[int | None, typer.Option(help="0 picks a free one; 3000 unless given.")] = None,
    token: Annotated[
        str | None, typer.Option(help="What clients must send as bearer token; one is made unless given.")
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Let everybody on loopback in.")] = False,
    projects: Annotated[Path | None, typer.Option(help="Folder for generated projects.")] = None,
    plugins: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder in which clients may name plugins and scripts; repeatable. The current one."
        ),
    ] = None,
    artifacts: Annotated[Path | None, typer.Option(help="Folder for captured artifacts.")] = None,
    idle: Annotated[
        float | None,
        typer.Option(help="Seconds until a client over HTTP that asks nothing is taken for gone."),
    ] = None,
    isolation: Annotated[str, typer.Option(help=f"{LEVELS[:-1]}; or service:SOCKET.")] = "process",
) -> None:
    """Serve the harness as MCP tools: a coding agent tests a plugin end to end.

    Over stdio, as agents start servers; or over HTTP, where clients send `Authorization: Bearer TOKEN` and
    `/health` says whether it is up. `SOUNDSTAGE_MCP_TOKEN` gives the token without showing it.

    Examples: `claude mcp add soundstage -- soundstage mcp`, `soundstage mcp --http --port 3000`
    """
    from soundstage.mcp.server import McpOptions, serve_mcp

    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "token": token,
        "projects": projects,
        "plugins": tuple(plugins) if plugins else None,
        "artifacts": artifacts,
        "idle": idle,
        "isolation": level(isolation),
    }
    known = {name: value for name, value in given.items() if value is not None}
    options = McpOptions.from_environment()._replace(http=http, open=no_token, **known)
    raise typer.Exit(serve_mcp(options, say=say, warn=warn))
