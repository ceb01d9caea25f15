"""Stand-ins for the MCP servers of a program: each records a real one, plays it from the tape, or does both.

How a program finds them. Over HTTP by a variable, `SOUNDSTAGE_MCP_<NAME>_URL`. Over stdio by a command that is on its
`PATH`, `soundstage-mcp-<name>`: most MCP clients hand on to their servers few variables besides `PATH`, so a variable
would not arrive. `SOUNDSTAGE_MCP_CONFIG` is the text of an `.mcp.json` with all of them, for programs that take one.

A replay needs no names from the user: the tape has them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import msgspec

from soundstage.errors import ConfigError, UnknownNameError
from soundstage.journal import Journal
from soundstage.lifecycle import Daemon, ScratchFolder
from soundstage.mcp import McpDaemon, mcp_json, real_server, server_entries
from soundstage.tapes._mcp_recording import RecordingMcpServer
from soundstage.tapes._mcp_replay import ReplayMcpServer
from soundstage.tapes._playback import Playback
from soundstage.tapes._tape import Tape

McpEntries = Mapping[str, Mapping[str, Any]]
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
COMMAND: Final = "soundstage-mcp-"


class McpStandIns(Daemon):
    """The servers between a program and its MCP servers, while it runs.

    Args:
        tape: what is played, and what is recorded.
        journal: where everything goes.
        playback: what to play; nothing unless given.
        entries: the real servers, by name, as `.mcp.json` has them; none is asked if they are not to be recorded.
        recording: whether what is not on the tape is asked for and recorded.
        environment: the user's variables, for real servers.
        cwd: the folder for their processes.
        branch: the tape for what is recorded, if it is not `tape` itself.

    Raises:
        ConfigError: for a name that cannot be a server's here.
        ScriptError: for an entry that is none.
        TapeError: for a server that is to be played, and is not on the tape.
    """

    def __init__(
        self,
        tape: Tape,
        journal: Journal,
        *,
        playback: Playback | None,
        entries: McpEntries,
        recording: bool,
        environment: Mapping[str, str],
        cwd: Path,
        branch: Tape | None = None,
    ) -> None:
        super().__init__("mcp-servers", journal)
        self._path = environment.get("PATH", os.defpath)
        into = branch if branch is not None else tape
        names = dict.fromkeys([*(tape.mcp_servers if playback is not None else ()), *entries])
        _check_names([*names])
        self._servers: dict[str, McpDaemon] = {}
        for name in names:
            if not recording or name not in entries:
                self._servers[name] = ReplayMcpServer(journal, tape, name=name, playback=playback)
                continue
            real = real_server(
                f"{name}-real",
                entries[name],
                journal,
                environment=environment,
                cwd=cwd,
                redactor=into.redactor,
            )
            self._servers[name] = RecordingMcpServer(journal, real, into, name=name, playback=playback)
        self._tapes = (tape, into)
        self._folder: ScratchFolder | None = None
        self._open = AsyncExitStack()

    @property
    def _recording(self) -> list[RecordingMcpServer]:
        return [server for server in self._servers.values() if isinstance(server, RecordingMcpServer)]

    @property
    def recorded(self) -> int:
        """Lines that were recorded."""
        return sum(server.recorded for server in self._recording)

    @property
    def problems(self) -> tuple[str, ...]:
        """The reasons why not all was recorded, one line each."""
        unheard = [
            f"nothing arrived at the MCP server {name}: "
            f"let the program start {COMMAND}{name}, or ask the address in {variable_of(name)}"
            for name in self._servers
            if not any(name in tape.mcp_servers for tape in self._tapes)
        ]
        return (*(line for server in self._recording for line in server.unreachable), *unheard)

    def url(self, name: str) -> str:
        """The address of a server, for clients over HTTP: `http://127.0.0.1:port/mcp`.

        Raises:
            UnknownNameError: if there is none of this name.
        """
        return self._named(name).url

    def stdio_config(self, name: str) -> dict[str, Any]:
        """Its entry of `.mcp.json` as a stdio server: `command`, `args`. Raises what `url` raises."""
        return self._named(name).stdio_config()

    def _named(self, name: str) -> McpDaemon:
        found = self._servers.get(name)
        if found is None:
            raise UnknownNameError(
                f"there is no MCP server {name!r} here",
                expected=", ".join(self._servers) or "none",
                seen=name,
            )
        return found

    async def _start(self) -> None:
        """Start them all; real servers that are processes are started, too."""
        if not self._servers:
            return
        async with AsyncExitStack() as opened:
            self._folder = opened.enter_context(ScratchFolder("bin"))
            for name, server in self._servers.items():
                await server.start()
                opened.push_async_callback(server.stop)
                self._write_command(self._folder.path / f"{COMMAND}{name}", server)
            self._open = opened.pop_all()

    async def _stop(self) -> None:
        await self._open.aclose()

    @property
    def reads(self) -> tuple[Path, ...]:
        """The files and folders that a program needs to start the commands."""
        if self._folder is None:
            return ()
        bridges = {Path(server.stdio_config()["args"][2]) for server in self._servers.values()}
        return (self._folder.path, *bridges)

    def environment(self) -> dict[str, str]:
        """Variables by which a program finds the servers; the commands are first on its `PATH`."""
        if self._folder is None:
            return {}
        found = {variable_of(name): server.url for name, server in self._servers.items()}
        config = mcp_json(*self._servers.values())
        return {
            **found,
            "SOUNDSTAGE_MCP_CONFIG": config,
            "PATH": os.pathsep.join(filter(None, (str(self._folder.path), self._path))),
        }

    def _write_command(self, path: Path, server: McpDaemon) -> None:
        entry = server.stdio_config()
        path.write_text(f"#!/bin/sh\nexec {shlex.join([entry['command'], *entry['args']])}\n")
        path.chmod(0o755)


def variable_of(name: str) -> str:
    """The variable with the address of a server.

    Example:
        >>> variable_of("my-notes")
        'SOUNDSTAGE_MCP_MY_NOTES_URL'
    """
    return f"SOUNDSTAGE_MCP_{re.sub(r'[^A-Z0-9]', '_', name.upper())}_URL"


def _check_names(names: Sequence[str]) -> None:
    odd = next((name for name in names if not _NAME.fullmatch(name)), None)
    if odd is not None:
        raise ConfigError(
            "this is no name of an MCP server", expected="letters, digits, `_`, `.`, `-`", seen=repr(odd)
        )
    variables: dict[str, str] = {}
    for name in names:
        first = variables.setdefault(variable_of(name), name)
        if first != name:
            raise ConfigError(
                "two MCP servers have the same variable", expected="names that differ in letters or digits",
                seen=f"{first} and {name}: {variable_of(name)}",
            )  # fmt: skip


def entries_of(given: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The entries of servers in options such as `notes=python notes.py`, `notes=https://..`, `.mcp.json`.

    Raises:
        ConfigError: for what is none of these, or a name that comes twice.
        ScriptError: for a file that is no `.mcp.json`.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for text in given:
        for name, entry in _entries_in(text).items():
            if name in found:
                raise ConfigError("an MCP server is given once", seen=f"{name}, twice")
            found[name] = entry
    return found


def _entries_in(text: str) -> dict[str, Any]:
    name, equals, target = text.partition("=")
    if text.endswith(".json") and "=" not in text:
        try:
            return server_entries(msgspec.json.decode(Path(text).read_bytes(), type=dict[str, Any]))
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigError(
                "this is no .mcp.json", expected="a file that can be read", seen=f"{text}: {error}"
            ) from None
    try:
        words = shlex.split(target)
    except ValueError as error:
        raise _no_server(f"{text}: {error}") from None
    if not equals or not words:
        raise _no_server(text)
    if target.startswith(("http://", "https://")):
        return {name: {"type": "http", "url": target}}
    return {name: {"command": words[0], "args": words[1:]}}


def _no_server(seen: str) -> ConfigError:
    return ConfigError(
        "this is no MCP server", expected="NAME=COMMAND, NAME=URL, or the path of an .mcp.json", seen=seen
    )
