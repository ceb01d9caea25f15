"""Where findings are written down while a plugin is tested."""

from __future__ import annotations

from pathlib import Path

from soundstage.claude_code.plugin_check._finding import CheckedPart, Kind, PluginFinding
from soundstage.claude_code.plugin_check._rules import RULES
from soundstage.errors import ScriptProblem


class Entry:
    """One thing that is looked at. Findings are added to it; `Findings.close` makes a `CheckedPart` of it."""

    def __init__(self, kind: Kind, name: str, file: str, line: int) -> None:
        self.kind: Kind = kind
        self.name = name
        self.file = file
        self.line = line
        self.seconds = 0.0
        self.skipped = ""
        self.findings: list[PluginFinding] = []

    def add(
        self, rule: str, message: str, *, line: int | None = None, file: str | None = None, hint: str = ""
    ) -> None:
        """Write down a finding; without `line` and `file`, at the place where the thing is declared."""
        found = PluginFinding(
            rule=rule,
            severity=RULES[rule].severity,
            file=self.file if file is None else file,
            line=self.line if line is None else line,
            message=message,
            hint=hint or RULES[rule].hint,
        )
        if found not in self.findings:
            self.findings.append(found)

    @property
    def broken(self) -> bool:
        """Whether there is an error."""
        return any(finding.severity == "error" for finding in self.findings)

    def check(self) -> CheckedPart:
        """As a record."""
        return CheckedPart(
            kind=self.kind,
            name=self.name,
            file=self.file,
            line=self.line,
            findings=tuple(self.findings),
            seconds=self.seconds,
            skipped=self.skipped,
        )


class Findings:
    """The findings on one plugin folder: an entry for each part that is looked at.

    Args:
        folder: what is tested; paths in findings begin there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[Entry] = []

    def open(self, kind: Kind, name: str, file: Path, line: int = 0) -> Entry:
        """One more thing to look at, declared at `file` and `line`."""
        entry = Entry(kind, name, self.path(file), line)
        self.entries.append(entry)
        return entry

    def path(self, file: Path) -> str:
        """A file as findings call it."""
        return file.relative_to(self.folder).as_posix() if file.is_relative_to(self.folder) else str(file)

    def has_error(self, file: str) -> bool:
        """Whether an error is known in a file."""
        return any(
            finding.file == file and finding.severity == "error"
            for entry in self.entries
            for finding in entry.findings
        )

    def mentions(self, file: str) -> bool:
        """Whether anything is known about a file."""
        return any(finding.file == file for entry in self.entries for finding in entry.findings)

    def close(self) -> tuple[CheckedPart, ...]:
        """Everything, as records."""
        return tuple(entry.check() for entry in self.entries)


def add_problems(
    entry: Entry, rule: str, problems: list[ScriptProblem], *, file: str, after: int = 0
) -> None:
    """Write down what a reader of files found; `after` is the number of lines before the text that it read."""
    for problem in problems:
        key = f"{problem.key}: " if problem.key else ""
        said = "key-twice" if "there twice" in problem.message else rule
        entry.add(
            said, f"{key}{problem.message}", file=file, line=problem.line + after if problem.line else 1
        )
