"""Frozen records of plugins: marketplaces, installed plugins, results of a check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from soundstage.claude_code._matchers import fits
from soundstage.errors import AppError

Cause = Literal[
    "unknown plugin",
    "unknown marketplace",
    "not installed",
    "invalid manifest",
    "hooks in the wrong shape",
    "unknown hook event",
    "no front matter",
    "missing file",
    "same name",
    "refused",
    "remark",
]
"""The kinds of defects of a plugin, in words that a test can compare. `remark` is style, nothing is broken."""

Severity = Literal["error", "warning"]

FAILURES: Final[dict[str, Cause]] = {
    "not_found": "unknown plugin",
    "error_validation": "invalid manifest",
    "error_not_found": "missing file",
    "not_installed": "not installed",
    "invalid_source": "unknown marketplace",
}
"""The CLI's own codes; whatever else it says is `refused`."""


class PluginError(AppError):
    """Raised when Claude Code does not take a plugin, or does not know it.

    Args:
        cause: what is wrong, one of `Cause`.
        plugin: which one.
        message: the CLI's words.
    """

    def __init__(
        self, cause: Cause, plugin: str, message: str, *, expected: str = "", hint: str = ""
    ) -> None:
        super().__init__(f"{plugin}: {cause}", expected=expected, seen=message, hint=hint)
        self.cause = cause
        self.plugin = plugin
        self.message = message


class Defect(msgspec.Struct, frozen=True, kw_only=True):
    """Something wrong in a plugin.

    Args:
        cause: which kind of defect.
        message: the CLI's words.
        severity: an `error` keeps something from loading, a `warning` does not.
        file: full path of the file; empty if the CLI does not say.
        line: where in the file, from 1; 0 if that is not known.
        where: path inside of the file: `agents[0]`, `hooks`.
        plugin: its name, where several are checked at once.
    """

    cause: Cause
    message: str
    severity: Severity = "error"
    file: str = ""
    line: int = 0
    where: str = ""
    plugin: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (place, self.cause, self.message) if part)


class Marketplace(msgspec.Struct, frozen=True, kw_only=True):
    """A marketplace that the home knows."""

    name: str
    path: str
    source: str = "directory"


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """An installed plugin.

    Args:
        id: `name@marketplace`.
        version: of its manifest.
        enabled: whether new sessions load it.
        folder: where it is read from. A folder marketplace is read in place, not from a copy.
        mcp_servers: names of the servers that it brings.
        defects: why parts of it do not load.
    """

    id: str
    version: str = ""
    enabled: bool = True
    folder: str = ""
    mcp_servers: tuple[str, ...] = ()
    defects: tuple[Defect, ...] = ()

    @property
    def name(self) -> str:
        """Its name without the marketplace."""
        return self.id.partition("@")[0]

    @property
    def marketplace(self) -> str:
        """Where it comes from."""
        return self.id.partition("@")[2]

    @property
    def status(self) -> Literal["loaded", "unloaded", "error"]:
        """`unloaded` when it is disabled, `error` when a part of it does not load."""
        if not self.enabled:
            return "unloaded"
        return "error" if self.defects else "loaded"


class PluginHook(msgspec.Struct, frozen=True, kw_only=True):
    """A hook that a plugin or a settings file registers.

    Args:
        event: `PreToolUse`, `Stop`...
        command: what is run; empty for hooks of another type.
        matcher: which tools it is for, as it is written; empty for all. See `fits`.
        type: `command`, `prompt`...
        timeout: seconds; `None` for the CLI's own limit.
        plugin: whose it is; empty for settings.
        root: the folder of the plugin.
        args: its arguments, if it is started without a shell; else `None`.
        condition: a rule of permission that narrows it down (`if`); empty for none.
        background: whether the CLI goes on without its answer (`async`).
        id: the plugin with its marketplace, `name@marketplace`; `name@inline` for a plugin folder.
    """

    event: str
    command: str = ""
    matcher: str = ""
    type: str = "command"
    timeout: float | None = None
    plugin: str = ""
    root: str = ""
    args: tuple[str, ...] | None = None
    condition: str = ""
    background: bool = False
    id: str = ""

    @property
    def name(self) -> str:
        """As the CLI calls it in its events: `PreToolUse:Bash`."""
        return f"{self.event}:{self.matcher}" if self.matcher else self.event

    def fits(self, payload: Mapping[str, Any]) -> bool:
        """Whether its matcher is for this input: `{"tool_name": "Bash", ...}`. Its `condition` is not looked at.

        Raises:
            ScriptError: for a matcher that only the CLI can read.
        """
        return fits(self.event, self.matcher, payload)


class PluginServer(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server that a plugin declares. `target` is its program or URL."""

    name: str
    type: str = "stdio"
    target: str = ""
    args: tuple[str, ...] = ()


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check of a plugin or marketplace folder.

    Args:
        path: the manifest that was checked.
        ok: whether the CLI would take it. Warnings do not count, remarks neither.
        kind: `plugin` or `marketplace`.
        defects: all that is wrong.
        commands, agents, skills, hooks, mcp_servers: what a valid plugin provides.
    """

    path: str
    ok: bool
    kind: str = "plugin"
    defects: tuple[Defect, ...] = ()
    commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    hooks: tuple[PluginHook, ...] = ()
    mcp_servers: tuple[PluginServer, ...] = ()

    @property
    def errors(self) -> tuple[Defect, ...]:
        """The defects that keep something from loading."""
        return tuple(defect for defect in self.defects if defect.severity == "error")

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The defects in short, remarks left out."""
        return tuple(defect.cause for defect in self.defects if defect.cause != "remark")
