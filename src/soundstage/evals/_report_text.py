"""The report in words: for a terminal, as Markdown for a pull request, as JUnit for a CI. Pure."""

from __future__ import annotations

import unicodedata
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from soundstage.evals._matrix_table import markdown_cell, matrix_lines, matrix_markdown
from soundstage.evals._report import CaseReport, EvalReport, ScoredRun
from soundstage.evals._words import counted, counted_are

_SHOWN = 3  # failing runs of a case
_MARKS: Final = {  # of a case: in a terminal, in Markdown, as a tag of JUnit
    "passed": ("passed", "✅", ""),
    "failed": ("FAILED", "❌", "failure"),
    "error": ("ERROR ", "⚠️", "error"),
}


def as_text(report: EvalReport) -> str:
    """The report for a terminal: a line for each case, and below it why runs failed."""
    width = max((len(case.name) for case in report.cases), default=0)
    lines = []
    for case in report.cases:
        lines.append(
            f"{_MARKS[case.outcome][0]}  {case.name:<{width}}  {_rate(case)}  {case.average('seconds'):.2f} s"
        )
        for run in _failing(case)[:_SHOWN]:
            lines.append(f"        run {run.number}: {run.outcome}: {_indented(run.reason)}")
        lines += [
            f"        tells failing from passing runs: {one}; compare the runs {' and '.join(case.examples(one))}"
            for one in case.separating
        ]
    return "\n".join([*lines, *matrix_lines(report), total_line(report)])


def as_markdown(report: EvalReport) -> str:
    """The report as a table in Markdown, such as a step summary of GitHub shows."""
    lines = [
        f"### Eval `{report.suite}`: {'passed' if report.passed else 'failed'}",
        "",
        "| case | passed | rate | 95 % interval | required | latency | tokens | first failure |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in report.cases:
        first = next((run.reason.splitlines()[0] for run in _failing(case) if run.reason), "")
        cells = (
            f"{_MARKS[case.outcome][1]} {case.name}",
            f"{case.rate.passed}/{case.planned}",
            f"{case.rate.rate:.0%}",
            f"{case.rate.low:.0%} to {case.rate.high:.0%}",
            f"{case.required:.0%}",
            f"{case.average('seconds'):.2f} s",
            f"{case.average('tokens'):.0f}",
            first,
        )
        lines.append("| " + " | ".join(map(markdown_cell, cells)) + " |")
    return "\n".join([*lines, "", *matrix_markdown(report), total_line(report), ""])


def as_junit(report: EvalReport) -> str:
    """The report as JUnit XML: a test case for each case of the suite."""
    tags = [_MARKS[case.outcome][2] for case in report.cases]
    seconds = sum(run.seconds for case in report.cases for run in case.runs)
    counts = f'tests="{len(tags)}" failures="{tags.count("failure")}" errors="{tags.count("error")}"'
    head = f'name={quoteattr(report.suite)} {counts} time="{seconds:.3f}"'
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<testsuites><testsuite {head}>"]
    for case, tag in zip(report.cases, tags, strict=True):
        spent = sum(run.seconds for run in case.runs)
        names = f'classname={quoteattr(report.suite)} name={quoteattr(case.name)} time="{spent:.3f}"'
        body = ""
        if tag:
            told = "\n".join(f"run {run.number}: {run.outcome}: {run.reason}" for run in _failing(case))
            body = f"<{tag} message={quoteattr(_plain(_rate(case)))}>{escape(_plain(told))}</{tag}>"
        lines.append(f"<testcase {names}>{body}</testcase>")
    return "\n".join([*lines, "</testsuite></testsuites>", ""])


def _plain(text: str) -> str:
    """Without characters that XML cannot carry."""
    return "".join(letter if letter in "\n\t" or _in_xml(letter) else "�" for letter in text)


def _in_xml(letter: str) -> bool:
    return unicodedata.category(letter) not in ("Cc", "Cs") and letter not in "\ufffe\uffff"


def _failing(case: CaseReport) -> list[ScoredRun]:
    return [run for run in case.runs if run.outcome != "passed"]


def _rate(case: CaseReport) -> str:
    rate = case.rate
    missing = f", {case.planned - rate.runs} missing" if rate.runs < case.planned else ""
    wanted = f" of {case.required:.0%}" if not case.passed else ""
    return f"{rate.passed}/{rate.runs}{missing} = {rate.rate:.0%}{wanted} [{rate.low:.0%}, {rate.high:.0%}]"


def total_line(report: EvalReport) -> str:
    """All of it in one line."""
    rate, mean = report.rate, report.mean
    error = f" ± {mean.error:.1%}" if mean is not None and mean.error is not None else ""
    cost = "cost not known" if report.cost is None else f"${report.cost:.4f}"
    errors = f", {counted(len(report.errors), 'run')} with errors" if report.errors else ""
    planned = sum(case.planned for case in report.cases)
    missing = planned - sum(len(case.runs) for case in report.cases)
    good = sum(case.passed for case in report.cases)
    runs = f"{rate.passed} of {counted(rate.runs, 'run')} = {rate.rate:.0%}{error}{errors}"
    turned = counted_are(report.throttled, "request", "was", "were")
    busy = f"; {turned} turned away for a while" if report.throttled else ""
    lines = [f"{good} of {counted(len(report.cases), 'case')} passed; {runs}; {cost}{busy}"]
    if report.replayed:
        lines.append(f"replayed from {report.replayed}: no provider was asked, and no token spent")
    if report.left_out:
        lines.append(f"{missing} of {counted_are(planned, 'run')} left out: {report.left_out}")
    return "\n".join(lines)


def _indented(text: str) -> str:
    return text.replace("\n", "\n          ")
