"""The sections of a failed test's report: the trace, the unused rules, the page.

A run gets them whether fixtures or a `HostBuilder` made it. A test may make many runs: those that ended last are kept
until it is over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from soundstage.errors import ExpectationError
from soundstage.host import list_rules
from soundstage.journal import Journal, Record
from soundstage.pytest_plugin._runs import Ran
from soundstage.trace import build_trace

SHOWN: Final = 200  # lines of the trace in a failure report
LONGEST_NAME: Final = 150  # bytes of a test's id in the name of its page


def sections_of(
    name: str, runs: Sequence[Ran], html: str | None, error: BaseException
) -> list[tuple[str, str]]:
    """Titles and texts for the report of a failed test.

    Args:
        name: the test's id.
        runs: its runs; those in which nothing happened have no sections.
        html: the folder for the pages; `-` for `.soundstage/failures`, none for no page.
        error: what the test has raised; the trace has a mark at the event that it is about.
    """
    told = [run for run in runs if len(run.journal) > run.after + 1]
    mark = error.at if isinstance(error, ExpectationError) and len(told) == 1 else None
    sections: list[tuple[str, str]] = []
    for number, run in enumerate(told, 1):
        title = "soundstage" if len(told) == 1 else f"soundstage run {number} of the last {len(told)}:"
        page = name if len(told) == 1 else f"{name}-run-{number}"
        sections += _sections(run, title, page, html, mark)
    return sections


def _sections(
    run: Ran, title: str, name: str, html: str | None, mark: int | None
) -> Iterator[tuple[str, str]]:
    journal, records = run.journal, run.journal.read(run.after)
    yield f"{title} trace", _or_problem(lambda: _shown_trace(journal, records, mark))
    unused = run.scripted.unused()
    if unused:
        yield (
            f"{title} unused rules",
            _or_problem(lambda: list_rules(unused, run.scripted, journal, run.after)),
        )
    if html:
        yield f"{title} page", _or_problem(lambda: str(_write_page(name, journal, records, html)))


def page_name(shown: str, name: str) -> str:
    """The name of a test as that of a file: short enough for any file system, and no two tests share it.

    Args:
        shown: the test's id, without secrets.
        name: the test's id.
    """
    letters = "".join(letter if letter.isalnum() or letter in "-._" else "_" for letter in shown)
    end = letters.encode("utf-8", "replace")[-LONGEST_NAME:].decode("utf-8", "ignore")
    return f"{end}-{hashlib.blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"


def _shown_trace(journal: Journal, records: Sequence[Record], mark: int | None) -> str:
    lines = journal.redactor.text(build_trace(records).format(mark=mark)).splitlines()
    marked = next((number for number, line in enumerate(lines) if line.startswith("> ")), None)
    if marked is not None and marked < len(lines) - SHOWN:
        begin = max(marked - SHOWN // 2, 0)
        after = len(lines) - begin - SHOWN
        lines = [f"... {begin} lines before", *lines[begin : begin + SHOWN], f"... {after} lines after"]
    elif len(lines) > SHOWN:
        lines = [f"... {len(lines) - SHOWN} lines before", *lines[-SHOWN:]]
    return "\n".join(lines)


def _write_page(name: str, journal: Journal, records: Sequence[Record], folder: str) -> Path:
    from soundstage.report import Section, write_page

    root = Path(".soundstage/failures") if folder == "-" else Path(folder)
    path = root / f"{page_name(journal.redactor.text(name), name)}.html"
    section = Section(title=name, records=records, outcome="failed")
    write_page(path, [section], title=name, redactor=journal.redactor)
    return path


def _or_problem(make: Callable[[], str]) -> str:
    """Make a part of a report, or say why it cannot be had: a report never ends a run."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001  (told in the report; the test's own failure stays the headline)
        return f"not available: {error}"
