"""The declared parts of a plugin, as its files say: the work list of the tests with the real CLI."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from soundstage.claude_code.plugin_check._findings import Entry
from soundstage.claude_code.plugin_check._sources import Document


class DeclaredText(NamedTuple):
    """A command, an agent or a skill: its full name, `plugin:plan`, its file, and where findings go."""

    name: str
    document: Document
    entry: Entry

    @property
    def called(self) -> str:
        """The name that the CLI lists: that of a command's front matter takes the place of its file's."""
        own = self.document.get("name")
        return f"{self.name.rpartition(':')[0]}:{own}" if own and self.entry.kind != "agent" else self.name


class DeclaredHook(NamedTuple):
    """A hook: when it runs, what it is, and where findings go. `data` is the hook as it is written."""

    event: str
    matcher: str
    data: dict[str, Any]
    entry: Entry


class DeclaredServer(NamedTuple):
    """An MCP server: its name, its configuration as it is written, and where findings go."""

    name: str
    data: dict[str, Any]
    entry: Entry


class DeclaredPlugin(NamedTuple):
    """All of one plugin. `entry` is for findings about the plugin as a whole."""

    name: str
    version: str
    root: Path
    entry: Entry
    commands: tuple[DeclaredText, ...] = ()
    agents: tuple[DeclaredText, ...] = ()
    skills: tuple[DeclaredText, ...] = ()
    hooks: tuple[DeclaredHook, ...] = ()
    servers: tuple[DeclaredServer, ...] = ()
