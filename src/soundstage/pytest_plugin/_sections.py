"""The sections of a failed test's report: the trace, the unused rules, the page.

A run gets them whether fixtures or a `HostBuilder` made it. A test may make many runs: those that ended last are kept
until it is over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from soundstage.host import list_rules
from soundstage.journal import Journal, Record
from soundstage.models import ScriptedModel
from soundstage.trace import build_trace

if TYPE_CHECKING:
    from soundstage.host import Host

SHOWN: Final = 200  # lines of the trace in a failure report
LONGEST_NAME: Final = 150  # bytes of a test's id in the name of its page


def failure_sections(
    name: str,
    journal: Journal,
    scripted: ScriptedModel,
    html: str | None,
    *,
    after: int = 0,
    title: str = "soundstage",
) -> list[tuple[str, str]]:
    """Titles and texts for the report of a failed test.

    Args:
        name: the test's id.
        journal: what has happened.
        scripted: its unused rules are listed.
        html: the folder for the page; `-` for `.soundstage/failures`, none for no page.
        after: the position of the journal where the run begins.
        title: how the sections' titles begin.
    """
    records = journal.read(after)
    if len(records) < 2:
        return []
    sections = [(f"{title} trace", _or_problem(lambda: _shown_trace(journal, records)))]
    unused = scripted.unused()
    if unused:
        sections.append((f"{title} unused rules", list_rules(unused)))
    if html:
        sections.append(
            (f"{title} page", _or_problem(lambda: str(_write_page(name, journal, records, html))))
        )
    return sections


def run_sections(name: str, runs: Sequence[Host], html: str | None) -> list[tuple[str, str]]:
    """The sections of the runs that a test has made with a `HostBuilder`."""
    sections = []
    for number, host in enumerate(runs, 1):
        title = "soundstage" if len(runs) == 1 else f"soundstage run {number} of the last {len(runs)}:"
        page = name if len(runs) == 1 else f"{name}-run-{number}"
        sections += failure_sections(page, host.journal, host.scripted, html, after=host.begun, title=title)
    return sections


def page_name(shown: str, name: str) -> str:
    """The name of a test as that of a file: short enough for any file system, and no two tests share it.

    Args:
        shown: the test's id, without secrets.
        name: the test's id.
    """
    letters = "".join(letter if letter.isalnum() or letter in "-._" else "_" for letter in shown)
    end = letters.encode("utf-8", "replace")[-LONGEST_NAME:].decode("utf-8", "ignore")
    return f"{end}-{hashlib.blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"


def _shown_trace(journal: Journal, records: Sequence[Record]) -> str:
    lines = journal.redactor.text(build_trace(records).format()).splitlines()
    if len(lines) > SHOWN:
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
