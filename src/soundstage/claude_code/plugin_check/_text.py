"""A report as text: grouped by file, calm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from soundstage.claude_code.plugin_check._finding import PluginFinding, PluginReport


def report_text(report: PluginReport) -> str:
    """The report for people, without the last newline.

    Example:
        >>> from soundstage.claude_code.plugin_check import CheckedPart, PluginReport
        >>> check = CheckedPart(kind="command", name="/a:plan", file="commands/plan.md")
        >>> print(report_text(PluginReport(name="a", folder="a", checks=(check,))))
        a: 1 command
        1 check, nothing wrong
    """
    return "\n".join([headline(report), *_files(report), summary(report)])


def headline(report: PluginReport) -> str:
    """Return one line: the folder that was tested, and the version of the CLI."""
    kinds = Counter(check.kind for check in report.checks if check.kind != "plugin")
    parts = ", ".join(_count(number, kind) for kind, number in kinds.items()) or "nothing in it"
    version = f" {report.version}" if report.version else ""
    by = f", run with Claude Code {report.cli}" if report.cli else ""
    return _line(f"{report.name}{version}: {parts}{by}")


def summary(report: PluginReport) -> str:
    """How many checks there were, and what came of them."""
    skipped = sum(bool(check.skipped) for check in report.checks)
    counts = [(len(report.errors), "error"), (len(report.warnings), "warning")]
    found = ", ".join(_count(number, what) for number, what in counts if number) or "nothing wrong"
    left = f", {skipped} not run" if skipped else ""
    took = f" in {report.seconds:.1f} s" if report.seconds else ""
    return f"{_count(len(report.checks), 'check')}{took}{left}, {found}"


def _files(report: PluginReport) -> Iterator[str]:
    for file, findings in report.by_file():
        yield ""
        yield _line(file)
        for finding in findings:
            yield from _finding(finding)
    skipped = [check for check in report.checks if check.skipped]
    if skipped:
        yield from ("", "not run")
        yield from ("  " + _line(f"{check.name}: {check.skipped}") for check in skipped)
    if report.findings or skipped:
        yield ""


def _finding(finding: PluginFinding) -> Iterator[str]:
    place = str(finding.line) if finding.line else "-"
    yield f"  {place:>4}  {finding.severity:<7}  {_line(finding.message)}  [{finding.rule}]"
    if finding.hint:
        yield f"{'':15}  next step: {_line(finding.hint)}"


def _line(text: str) -> str:
    """One line, without characters that would act on a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in " ".join(text.split()))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
