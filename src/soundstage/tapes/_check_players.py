"""Who plays tapes: the tests, as pytest collects them.

The mark `tape` of a test says which tape it plays, and parameters, classes and conftest files say which tests there
are. So pytest collects them, in this process and without running one.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

import pytest

from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.pytest_plugin import name_of_test
from soundstage.tapes._check import Players, test_file_of
from soundstage.tapes._fixtures import RECORD
from soundstage.tapes._source import TapeOptions, tape_path
from soundstage.tapes._tape import FOLDER

_FINE = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.INTERRUPTED)


def players_of(tapes: Iterable[Path], tests: Sequence[Path] = ()) -> Players:
    """The tests that play tapes.

    Args:
        tapes: those of a folder `__tapes__` say which test file they belong to.
        tests: more files and folders of tests. With them, who plays a tape that lies elsewhere is known, too.

    Raises:
        EnvironmentProblem: if a test file cannot be imported, or pytest does not collect.
    """
    files = {test_file_of(tape) for tape in tapes if tape.parent.parent.name == FOLDER}
    places = [*sorted(file for file in files if file.exists()), *tests]
    collector = _Collector()
    if places:
        said = io.StringIO()
        arguments = ["--collect-only", "-q", "-p", "no:cacheprovider", *map(str, places)]
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = pytest.main(arguments, plugins=[collector])
        if collector.broken or code not in _FINE:
            raise _not_collected(collector.broken or said.getvalue().strip())
    unseen = {file: "pytest does not collect it" for file in files if file.exists()} | collector.unseen
    return Players(
        collector.played,
        {file: frozenset(names) for file, names in collector.tests.items()},
        {file: why for file, why in unseen.items() if file not in collector.tests},
        all_tapes=bool(tests),
    )


def _not_collected(seen: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        "it cannot be said which tests play the tapes",
        expected="tests that pytest can collect",
        seen=seen[-2000:],
        hint="pytest --collect-only says more; with --no-tests, nothing is said of unused and orphaned tapes",
    )


class _Collector:
    """A plugin of pytest that takes down which tests there are, and which tapes they play."""

    def __init__(self) -> None:
        self.played: dict[Path, str] = {}
        self.tests: dict[Path, set[str]] = {}
        self.unseen: dict[Path, str] = {}
        self.broken = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Take down how a file was collected."""
        report = yield
        if report.outcome == "failed":
            self.broken = self.broken or f"{report.nodeid}: {report.longreprtext.strip()}"
        elif isinstance(collector, pytest.Module):
            path = collector.path.resolve()
            if report.outcome == "passed":
                self.tests.setdefault(path, set())
            else:
                self.unseen[path] = f"it is skipped: {report.longreprtext.strip().splitlines()[-1]}"
        return report

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Take down a test, also one that the user's options leave out."""
        self.tests.setdefault(item.path.resolve(), set()).add(name_of_test(item))
        mark = item.get_closest_marker("tape")
        if mark is not None:
            with contextlib.suppress(ScriptError):  # the test fails with it
                self.played.setdefault(
                    tape_path(item, TapeOptions.of(mark)).resolve(), f"pytest {RECORD}=all '{item.nodeid}'"
                )
