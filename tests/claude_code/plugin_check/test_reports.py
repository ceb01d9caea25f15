"""Reports as text, JUnit and HTML, and exit codes. No CLI is needed to print."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from soundstage.claude_code import bundled_cli
from soundstage.claude_code.plugin_check import (
    RULES,
    CheckedPart,
    PluginFinding,
    PluginReport,
    PluginTestOptions,
    report_html,
    report_junit,
    report_text,
    run_plugin_test,
)
from support.plugins import GREET, Make, manifest

HOSTILE = "<script>alert(1)</script>\x1b[31m\x00 & ]]> \ud800"
NEEDS_CLI = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)


def finding(rule: str, file: str, line: int, message: str = "something") -> PluginFinding:
    return PluginFinding(
        rule=rule, severity=RULES[rule].severity, file=file, line=line, message=message, hint=RULES[rule].hint
    )


def report(message: str = "something") -> PluginReport:
    checks = (
        CheckedPart(kind="plugin", name="mine", file=".claude-plugin/plugin.json"),
        CheckedPart(
            kind="command",
            name="/mine:a",
            file="commands/a.md",
            line=1,
            findings=(
                finding("tool-unknown", "commands/a.md", 3, message),
                finding("key-unknown", "commands/a.md", 2, message),
            ),
        ),
        CheckedPart(
            kind="hook",
            name="Stop",
            file="hooks/hooks.json",
            line=6,
            findings=(finding("hook-noise", "hooks/hooks.json", 6),),
            seconds=0.25,
        ),
        CheckedPart(kind="server", name="far", file=".mcp.json", line=3, skipped="it is elsewhere"),
    )
    return PluginReport(
        name="mine", version="1.0.0", folder="mine", checks=checks, cli="2.1.330", seconds=1.5
    )


def test_the_text_is_grouped_by_file_and_in_the_order_of_lines() -> None:
    assert report_text(report()).splitlines() == [
        "mine 1.0.0: 1 command, 1 hook, 1 server, run with Claude Code 2.1.330",
        "",
        "commands/a.md",
        "     2  warning  something  [key-unknown]",
        "                 next step: correct or remove it; it is ignored",
        "     3  error    something  [tool-unknown]",
        "                 next step: correct the name; it is case-sensitive",
        "",
        "hooks/hooks.json",
        "     6  warning  something  [hook-noise]",
        "                 next step: see what it complains about",
        "",
        "not run",
        "  far: it is elsewhere",
        "",
        "4 checks in 1.5 s, 1 not run, 1 error, 2 warnings",
    ]


def test_junit_has_a_case_for_each_check() -> None:
    root = ET.fromstring(report_junit(report()))
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "1")
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == ["mine", "/mine:a", "Stop, line 6", "far"]
    failure = cases["/mine:a"].find("failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("tool-unknown", "commands/a.md:3: something")
    assert "key-unknown" in (cases["/mine:a"].findtext("system-out") or "")
    assert cases["Stop, line 6"].find("failure") is None
    assert cases["far"].find("skipped") is not None
    assert cases["Stop, line 6"].get("classname") == "mine.hook"


def test_warnings_are_failures_when_strict() -> None:
    root = ET.fromstring(report_junit(report(), strict=True))
    assert root.get("failures") == "2"


def test_hostile_text_does_nothing_in_any_report() -> None:
    hostile = report(HOSTILE)
    page = report_html(hostile)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert re.search(r"default-src 'none'; style-src 'sha256-[^']+'", page)
    assert not re.search(r"(?:src|href)=", page)
    assert page.encode()
    text = report_text(hostile)
    assert "\x1b" not in text
    assert "\x00" not in text
    assert text.encode()
    assert "alert(1)" in (ET.fromstring(report_junit(hostile)).find(".//failure").text or "")  # type: ignore[union-attr]


def test_equal_reports_give_equal_pages() -> None:
    assert report_html(report()) == report_html(report())


def run(folder: Path, **options: object) -> tuple[int, str, str]:
    said: list[str] = []
    warned: list[str] = []
    code = run_plugin_test(PluginTestOptions(folder, **options), say=said.append, warn=warned.append)  # type: ignore[arg-type]
    return code, "\n".join(said), "\n".join(warned)


@NEEDS_CLI
def test_a_good_plugin_is_code_0_and_the_reports_are_written(make: Make, tmp_path: Path) -> None:
    junit, html = tmp_path / "out/junit.xml", tmp_path / "out/report.html"
    code, said, warned = run(make({"commands/a.md": GREET}), junit=junit, html=html)
    assert (code, warned) == (0, "")
    assert f"wrote {junit}" in said
    assert ET.parse(junit).getroot().get("failures") == "0"
    assert "nothing wrong" in html.read_text()


@NEEDS_CLI
def test_something_broken_is_code_1_and_a_warning_only_when_strict(make: Make) -> None:
    assert run(make({"commands/a.md": "---\ndescription: d\n---\n"}, name="broken"))[0] == 1
    odd = make({".claude-plugin/plugin.json": manifest("odd", no_such_key=1)}, name="odd")
    assert run(odd)[0] == 0
    assert run(odd, strict=True)[0] == 1


@NEEDS_CLI
def test_what_cannot_be_tested_is_code_2_with_the_reason(make: Make, tmp_path: Path) -> None:
    folder = make({})
    blocked = tmp_path / "file"
    blocked.write_text("")
    for code, _, warned in (
        run(tmp_path / "nowhere"),
        run(folder, cli=tmp_path / "no-cli"),
        run(folder, junit=blocked / "junit.xml"),
    ):
        assert code == 2
        assert warned


def test_every_rule_says_something_and_what_to_do() -> None:
    for name, rule in RULES.items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
        assert rule.severity in ("error", "warning")
        assert rule.says
        assert rule.hint


def test_every_rule_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs/plugin-test.md").read_text()
    assert [name for name in RULES if f"`{name}`" not in page] == []
