"""The pages of tests, and the index of the session. This file imports pytest alone until there is a page to write.

A page is written where its test runs, which with pytest-xdist is another process; the report carries its name to the
process that writes the index. Whatever goes wrong with a page is told, and never ends a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from soundstage.pytest_plugin._hooks import ORDER, outcome_of

if TYPE_CHECKING:
    from soundstage.pytest_plugin._runs import Ran
    from soundstage.report import SectionVerdict

HTML: Final = "--soundstage-html"
EVERY: Final = "--soundstage-html-for"
FAILURES: pytest.StashKey[list[str]] = pytest.StashKey()
HEADLINE: pytest.StashKey[str] = pytest.StashKey()
VERDICT: pytest.StashKey[SectionVerdict] = pytest.StashKey()


def add_options(group: pytest.OptionGroup) -> None:
    """The options of pages."""
    group.addoption(
        HTML,
        metavar="DIR",
        default=None,
        help="Write the trace of each failed test as a page into DIR ('-' for .soundstage/failures), and an index.",
    )
    group.addoption(
        EVERY,
        choices=("failed", "all"),
        default="failed",
        help=f"The tests that get a page with {HTML}: those that failed, or all that have a run.",
    )


def register(config: pytest.Config) -> None:
    """Begin to collect, if pages are asked for."""
    folder = config.getoption(HTML)
    if folder:
        pages = Pages(Path(".soundstage/failures") if folder == "-" else Path(folder))
        config.pluginmanager.register(pages, "soundstage-pages")


class Pages:
    """Writes the pages, and the index when the session is over."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: dict[str, dict[str, Any]] = {}

    def pytest_soundstage_phase(
        self,
        item: pytest.Item,
        report: Any,
        runs: Sequence[Ran],
        outcome: str,
        error: BaseException | None,
    ) -> None:
        """Write the page of a test when it has failed, or when it is over and pages of all are asked for."""
        failures = item.stash.setdefault(FAILURES, [])
        last = report.when == "teardown" and item.config.getoption(EVERY) == "all" and not failures
        if not (report.failed or last):
            return
        from soundstage.pytest_plugin._sections import or_problem, told_runs, verdict_of, write_test_page

        if report.failed:
            failures.append(str(report.longrepr).strip("\n"))
            item.stash.setdefault(HEADLINE, _headline(report))
            found = verdict_of(error)
            if found is not None:
                item.stash.setdefault(VERDICT, found)
        verdict = item.stash.get(VERDICT, None)
        if not told_runs(runs, verdict):
            return

        def write() -> str:
            headline = item.stash.get(HEADLINE, "")
            failure = headline, "\n\n".join(failures)
            ended = "failed" if failures else outcome
            path = write_test_page(self._folder, item, runs, ended, failure, verdict)
            report.soundstage_page = path.name  # which pytest-xdist carries over
            return str(path)

        said = or_problem(write)
        if report.failed:
            report.sections.append(("soundstage page", said))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember a phase of a test for the index."""
        row = self._rows.setdefault(
            report.nodeid, {"outcome": "", "seconds": 0.0, "headline": "", "page": ""}
        )
        row["seconds"] += report.duration
        if report.when == "call" or not report.passed:
            row["outcome"] = min(filter(None, (row["outcome"], outcome_of(report))), key=ORDER.index)
        if report.failed and not row["headline"]:
            row["headline"] = _headline(report)
        row["page"] = getattr(report, "soundstage_page", "") or row["page"]

    def pytest_collectreport(self, report: Any) -> None:
        """Remember a file that could not be read."""
        if report.failed:
            said = report.longreprtext.strip().splitlines() or [""]
            self._rows[report.nodeid] = {"outcome": "error", "seconds": 0.0, "headline": said[-1], "page": ""}

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write the index; with pytest-xdist this is called in the process that has all reports."""
        from soundstage.pytest_plugin._sections import or_problem

        terminalreporter.write_line(f"soundstage pages: {or_problem(self._write_index)}")

    def _write_index(self) -> str:
        from soundstage.report import IndexRow, write_index

        rows = [IndexRow(name, **row) for name, row in self._rows.items()]
        rows.sort(key=lambda row: ORDER.index(row.outcome or "passed"))
        return str(write_index(self._folder / "index.html", rows))


def _headline(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return str((report.longreprtext.strip().splitlines() or [""])[-1])
    return f"{Path(crash.path).name}:{crash.lineno}: {crash.message.partition(chr(10))[0]}"
