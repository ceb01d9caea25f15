"""The sections of a failed test's report: the trace, the unused rules, the page.

A run gets them whether fixtures or a `HostBuilder` made it. A test may make many runs: those that ended last are kept
until it is over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from soundstage.errors import ExpectationError
from soundstage.host import errors_of, list_rules
from soundstage.journal import clean_records
from soundstage.pytest_plugin._kept import keep_journal
from soundstage.pytest_plugin._runs import Ran
from soundstage.trace import build_trace

if TYPE_CHECKING:
    from soundstage.report import SectionVerdict

SHOWN: Final = 200  # lines of the trace in a failure report
LONGEST_NAME: Final = 150  # bytes of a test's id in the name of its page


def sections_of(runs: Sequence[Ran], error: BaseException) -> list[tuple[str, str]]:
    """Titles and texts for the report of a failed test.

    Args:
        runs: its runs; those in which nothing happened have no sections.
        error: what the test has raised; the trace has a mark at the event that it is about.
    """
    told = busy(runs)
    mark = error.at if isinstance(error, ExpectationError) and len(told) == 1 else None
    sections = []
    for number, run in enumerate(told, 1):
        title = "soundstage" if len(told) == 1 else f"soundstage run {number} of the last {len(told)}:"
        sections.append((f"{title} trace", or_problem(partial(_shown_trace, run, mark))))
        if unused := unused_rules(run):
            sections.append((f"{title} unused rules", unused))
    return sections


def busy(runs: Sequence[Ran]) -> list[Ran]:
    """The runs in which something happened."""
    return [run for run in runs if run.busy]


def told_runs(runs: Sequence[Ran], verdict: SectionVerdict | None) -> list[Ran]:
    """The runs that a page tells of; with a verdict one in which nothing happened, because that is what is told."""
    return busy(runs) or list(runs[:1] if verdict is not None else ())


def verdict_of(error: BaseException | None) -> SectionVerdict | None:
    """The verdict that comes with what has ended a test, or with what led to that."""
    from soundstage.report import CarriesVerdict

    errors = errors_of(error) if error is not None else []
    return next((each.section_verdict() for each in errors if isinstance(each, CarriesVerdict)), None)


def unused_rules(run: Ran) -> str:
    """The rules of a run that were never used, one a line."""
    unused = run.scripted.unused()
    return or_problem(lambda: list_rules(unused, run.scripted, run.journal, run.after)) if unused else ""


def write_test_page(
    folder: Path,
    item: pytest.Item,
    runs: Sequence[Ran],
    outcome: str,
    failure: tuple[str, str],
    verdict: SectionVerdict | None = None,
) -> Path:
    """The page of a test: what failed and where, and a section for each of its runs; their journals beside it.

    Args:
        folder: where to.
        item: the test.
        runs: its runs; at least one of which there is something to tell.
        outcome: how it ended.
        failure: what failed, in one line and as pytest tells it; two empty texts if nothing did.
        verdict: why a replay was not the recorded run, if that is what failed.
    """
    from soundstage.report import Section, write_page

    told, name = told_runs(runs, verdict), item.nodeid
    redactor = told[0].journal.redactor
    sections = [
        Section(
            title=name if len(told) == 1 else f"run {number} of the last {len(told)}",
            records=list(clean_records(run.journal.read(run.after), run.journal.redactor)),
            outcome=outcome
            if len(told) == 1 or run.host is None
            else "failed"
            if run.host.outcome
            else "passed",
            note=failure[0] if number == 1 else "",
            failure=failure[1] if number == 1 else "",
            unused=run.journal.redactor.text(unused_rules(run)),
            verdict=verdict if number == 1 else None,
        )
        for number, run in enumerate(told, 1)
    ]
    path = folder / f"{page_name(redactor.text(name), name)}.html"
    write_page(path, sections, title=name, redactor=redactor)
    for number, section in enumerate(sections, 1):
        keep_journal(path, section.records, number=number if len(sections) > 1 else 0)
    return path


def page_name(shown: str, name: str) -> str:
    """The name of a test as that of a file: short enough for any file system, and no two tests share it.

    Args:
        shown: the test's id, without secrets.
        name: the test's id.
    """
    letters = "".join(letter if letter.isalnum() or letter in "-._" else "_" for letter in shown)
    end = letters.encode("utf-8", "replace")[-LONGEST_NAME:].decode("utf-8", "ignore")
    return f"{end}-{hashlib.blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"


def _shown_trace(run: Ran, mark: int | None) -> str:
    trace = build_trace(run.journal.read(run.after))
    lines = run.journal.redactor.text(trace.format(mark=mark)).splitlines()
    marked = next((number for number, line in enumerate(lines) if line.startswith("> ")), None)
    if marked is not None and marked < len(lines) - SHOWN:
        begin = max(marked - SHOWN // 2, 0)
        after = len(lines) - begin - SHOWN
        lines = [f"... {begin} lines before", *lines[begin : begin + SHOWN], f"... {after} lines after"]
    elif len(lines) > SHOWN:
        lines = [f"... {len(lines) - SHOWN} lines before", *lines[-SHOWN:]]
    return "\n".join(lines)


def or_problem(make: Callable[[], str]) -> str:
    """Make a part of a report, or say why it cannot be had: a report never ends a run."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001  (told in the report; the test's own failure stays the headline)
        return f"not available: {error}"
