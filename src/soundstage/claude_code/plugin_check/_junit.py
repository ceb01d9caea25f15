"""A report as JUnit XML: one case for each thing that was looked at."""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree as ET

from soundstage.claude_code.plugin_check._finding import CheckedPart, PluginFinding, PluginReport

_NOT_XML: Final = re.compile(
    r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)  # XML 1.0, production 2


def report_junit(report: PluginReport, *, strict: bool = False) -> str:
    """The report as a document that CI systems read.

    Args:
        report: what was found.
        strict: whether warnings are failures.
    """
    failed = [check for check in report.checks if _failures(check, strict=strict)]
    skipped = [check for check in report.checks if check.skipped and check not in failed]
    counts = {
        "tests": str(len(report.checks)),
        "failures": str(len(failed)),
        "errors": "0",
        "skipped": str(len(skipped)),
        "time": f"{report.seconds:.3f}",
    }
    root = ET.Element("testsuites", {"name": "soundstage plugin test", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": _clean(report.name), **counts})
    for check in report.checks:
        _case(suite, check, strict=strict)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _failures(check: CheckedPart, *, strict: bool) -> list[PluginFinding]:
    return [finding for finding in check.findings if strict or finding.severity == "error"]


def _case(suite: ET.Element, check: CheckedPart, *, strict: bool) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        {
            "classname": f"{suite.get('name')}.{check.kind}",
            "name": _clean(f"{check.name}, line {check.line}" if check.kind == "hook" else check.name),
            "file": _clean(check.file),
            "line": str(check.line),
            "time": f"{check.seconds:.3f}",
        },
    )
    failures = _failures(check, strict=strict)
    if failures:
        first = failures[0]
        failure = ET.SubElement(
            case, "failure", {"type": first.rule, "message": _clean(f"{first.place}: {first.message}")}
        )
        failure.text = _clean("\n".join(map(_told, failures)))
    elif check.skipped:
        ET.SubElement(case, "skipped", {"message": _clean(check.skipped)})
    others = [finding for finding in check.findings if finding not in failures]
    if others:
        ET.SubElement(case, "system-out").text = _clean("\n".join(map(_told, others)))


def _told(finding: PluginFinding) -> str:
    return f"{finding}\n  next step: {finding.hint}" if finding.hint else str(finding)


def _clean(text: str) -> str:
    """`text` without what XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
