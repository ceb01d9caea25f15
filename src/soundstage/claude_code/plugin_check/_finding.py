"""The results of a test of a plugin: frozen records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

Severity = Literal["error", "warning"]
Kind = Literal["marketplace", "plugin", "command", "agent", "skill", "hook", "server"]


class PluginFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Something wrong in a plugin.

    Args:
        rule: its name in `RULES`.
        severity: an `error` means that something does not work, a `warning` that it may not do what was meant.
        file: path in the folder that was tested.
        line: from 1; 0 for the file as a whole.
        message: what is wrong.
        hint: the next step.
    """

    rule: str
    severity: Severity
    file: str
    line: int
    message: str
    hint: str = ""

    @property
    def place(self) -> str:
        """`hooks/hooks.json:12`."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        return f"{self.place}: {self.severity}: {self.message} ({self.rule})"


class CheckedPart(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at: a command, a hook, a server.

    Args:
        kind: what it is.
        name: what it is called: `/plan`, `PreToolUse:Bash`.
        file: where it is declared.
        line: from 1; 0 for the file as a whole.
        findings: what is wrong with it.
        seconds: how long it took to run it.
        skipped: why it was not run; empty if it was.
    """

    kind: Kind
    name: str
    file: str
    line: int = 0
    findings: tuple[PluginFinding, ...] = ()
    seconds: float = 0.0
    skipped: str = ""

    @property
    def failed(self) -> bool:
        """Whether there is an error."""
        return any(finding.severity == "error" for finding in self.findings)


class PluginReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a test.

    Args:
        name: of the plugin, or of the marketplace.
        version: as its manifest says.
        folder: what was tested.
        checks: everything that was looked at.
        cli: version of the Claude Code CLI that it was run with; empty if it was not run.
        seconds: how long it took.
    """

    name: str
    version: str = ""
    folder: str
    checks: tuple[CheckedPart, ...]
    cli: str = ""
    seconds: float = 0.0

    @property
    def findings(self) -> tuple[PluginFinding, ...]:
        """All that is wrong, by file and line."""
        found = (finding for check in self.checks for finding in check.findings)
        return tuple(sorted(found, key=lambda item: (item.file, item.line, item.rule, item.message)))

    @property
    def errors(self) -> tuple[PluginFinding, ...]:
        """The findings about parts that do not work."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def warnings(self) -> tuple[PluginFinding, ...]:
        """The findings about parts that may not do what was meant."""
        return tuple(finding for finding in self.findings if finding.severity == "warning")

    def by_file(self) -> Iterator[tuple[str, list[PluginFinding]]]:
        """The findings of each file, files in order."""
        files = dict.fromkeys(finding.file for finding in self.findings)
        for file in files:
            yield file, [finding for finding in self.findings if finding.file == file]
