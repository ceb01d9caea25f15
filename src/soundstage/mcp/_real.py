"""Real servers by their entries in `.mcp.json`: a process, or a client of an address."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from soundstage.errors import ScriptError
from soundstage.journal import Journal, Redactor
from soundstage.match import preview
from soundstage.mcp._client import Upstream
from soundstage.mcp._config import expanded
from soundstage.mcp._http_client import McpHttpClient
from soundstage.mcp._process import McpProcess

_HTTP: Final = ("http", "streamable-http")
_FOLDERS: Final = {  # where programs look, if the variable is not set
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}


def real_server(
    name: str,
    entry: Mapping[str, Any],
    journal: Journal,
    *,
    environment: Mapping[str, str],
    cwd: Path,
    redactor: Redactor | None = None,
) -> Upstream:
    """A real server as the user has it, to be recorded: with the user's folders, variables and network.

    Its secrets (headers, variables of its own, a login in its address) are made known to redactors.

    Args:
        name: how messages and the journal call it.
        entry: its entry of `.mcp.json`: `command`, `args`, `env`; or `url`, `headers`. `${NAME}` stands for a variable.
        journal: where its start, its standard error and its exit go.
        environment: the user's variables.
        cwd: the folder in which its process runs.
        redactor: another one than the journal's that is to know its secrets: a tape's.

    Raises:
        ScriptError: for an entry that has neither a command nor a URL, or a variable that is not there.

    Example:
        ::

            entry = {"command": "notes-server"}
            upstream = real_server("real", entry, journal, environment=os.environ, cwd=Path.cwd())
            recording = RecordingMcpServer(journal, upstream, "notes.tape", name="notes")
    """
    redactors = (journal.redactor, *([redactor] if redactor is not None else ()))
    url = entry.get("url")
    if not isinstance(url, str):
        own = entry.get("env")
        for each in redactors:
            each.add_environment(own if isinstance(own, Mapping) else {})
        variables = {**_usual(environment), **environment}
        return McpProcess(entry, journal, name=name, environment=variables, cwd=cwd, code=None)
    if entry.get("type", "http") not in _HTTP or not url.startswith(("http://", "https://", "${")):
        raise ScriptError(
            f"the MCP server {name!r} cannot be reached",
            expected='{"type": "http", "url": "http://.."}: streamable HTTP',
            seen=preview(dict(entry)),
        )
    address = expanded(name, url, environment)
    headers = {key: expanded(name, text, environment) for key, text in entry.get("headers", {}).items()}
    for each in redactors:
        each.add_environment({"MCP_URL": address})
        each.headers(headers)
    return McpHttpClient(address, headers=headers, name=name)


def _usual(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables by which a process has what it has without a sandbox: the user's folders, and no proxy."""
    home = environment.get("HOME", "")
    folders = {variable: str(Path(home, folder)) for variable, folder in _FOLDERS.items()} if home else {}
    temporary = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), tempfile.gettempdir())
    return {**folders, **temporary, "ALL_PROXY": ""}
