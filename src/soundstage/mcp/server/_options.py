"""The options of the server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

HOST: Final = "127.0.0.1"
PORT: Final = 3000
IDLE: Final = 30 * 60.0

PROJECTS: Final = "SOUNDSTAGE_PROJECTS"
PLUGINS: Final = "SOUNDSTAGE_PLUGINS"
ARTIFACTS: Final = "SOUNDSTAGE_ARTIFACTS"
TOKEN: Final = "SOUNDSTAGE_MCP_TOKEN"  # noqa: S105  (the name of a variable)


class McpOptions(NamedTuple):
    """How the harness is served, and where its files go.

    Args:
        http: over HTTP; over standard input and output otherwise.
        host: the address to listen on; other than loopback only with a token.
        port: 0 picks a free one.
        token: what clients must send as bearer token; empty: one is made and printed.
        open: no token at all; loopback only.
        projects: folder for projects that are generated; it has to be there. Unless given, it is
            `.soundstage/projects` in the current folder, and made.
        plugins: folders below which clients may name plugins, marketplaces and script files; the current folder unless
            given (and none if the user's home is that folder, or in it).
        artifacts: folder for artifacts that are captured; `.soundstage/artifacts` unless given.
        isolation: how far Claude Code and the MCP servers are kept apart: `process`, `netns`, `sandbox` or `container`.
        idle: seconds after which a client over HTTP that asks nothing is taken for gone.
    """

    http: bool = False
    host: str = HOST
    port: int = PORT
    token: str = ""
    open: bool = False
    projects: Path | None = None
    plugins: tuple[Path, ...] = ()
    artifacts: Path | None = None
    idle: float = IDLE
    isolation: str = "process"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> McpOptions:
        """The defaults, with what the variables say.

        These are `SOUNDSTAGE_PROJECTS`, `SOUNDSTAGE_PLUGINS` (several with a `:` between), `SOUNDSTAGE_ARTIFACTS` and
        `SOUNDSTAGE_MCP_TOKEN`.
        """
        found = os.environ if environment is None else environment
        return cls(
            token=found.get(TOKEN, ""),
            projects=Path(found[PROJECTS]) if found.get(PROJECTS) else None,
            plugins=tuple(Path(part) for part in found.get(PLUGINS, "").split(os.pathsep) if part),
            artifacts=Path(found[ARTIFACTS]) if found.get(ARTIFACTS) else None,
        )
