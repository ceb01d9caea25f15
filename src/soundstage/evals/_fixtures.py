"""The mark `eval`, and suites in files `*.eval.yaml` as tests. This file imports pytest alone: every run loads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

MARK: Final = "eval"
CARRIED: Final = "soundstage_eval"  # of a test and of its report, which pytest-xdist carries over
SUITES: Final = (".eval.yaml", ".eval.yml", ".eval.json")
MARKER: Final = (
    "eval(repeat, pass_rate=None, bad_rate=None, error=0.05, inconclusive='fail'): run the test at most `repeat` "
    "times, each time with fixtures of its own. Without a pass rate every run has to pass. With one, a sequential "
    "test stops as soon as the runs have decided, with a chance of `error` to be wrong; if they have not decided, the "
    "test fails, or is skipped with inconclusive='skip'."
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known, and gather the reports of suites in files."""
    config.addinivalue_line("markers", MARKER)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(GatherReports(config), "soundstage-evals")


class GatherReports:
    """Writes `last-report.json`, in the process that has the reports of all tests; see `SuiteCase`."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._told: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember a case; pytest-xdist has carried it here, if it was run in another process."""
        if getattr(report, CARRIED, None) is not None:
            self._told.append(getattr(report, CARRIED))

    def pytest_sessionfinish(self) -> None:
        """Write the report, also after Ctrl-C."""
        if self._told:
            from soundstage.evals._collected import kept_in, write_collected

            root = kept_in(self._config)
            if root is not None:
                write_collected(self._told, root)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a mark that cannot be meant so, before anything runs."""
    for item in items:
        mark = item.get_closest_marker(MARK)
        if mark is not None:
            from soundstage.errors import ScriptError
            from soundstage.evals._repeated import terms_of

            try:
                terms_of(mark)
            except ScriptError as error:
                raise pytest.UsageError(f"{item.nodeid}: {error}") from None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a marked test until its runs have decided."""
    mark = item.get_closest_marker(MARK)
    if mark is None:
        return None
    from soundstage.evals._repeated import run_repeated, terms_of

    run_repeated(item, nextitem, terms_of(mark))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
    """Remember what ended a run of a marked test: an error of ours is no failure of the agent.

    The report of a case of a suite in a file carries that of its runs.
    """
    report = yield
    if call.when == "call" and getattr(item, CARRIED, None) is not None:
        setattr(report, CARRIED, getattr(item, CARRIED))
    if call.excinfo is not None and item.get_closest_marker(MARK) is not None:
        report.soundstage_mistake = _is_mistake(call.excinfo.value)
    return report


def _is_mistake(error: BaseException) -> bool:
    from soundstage.errors import ConfigError, EnvironmentProblem, HarnessError, ScriptError

    return isinstance(error, ScriptError | ConfigError | EnvironmentProblem | HarnessError)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A suite in a file is a file of tests: one for each case."""
    if not file_path.name.endswith(SUITES):
        return None
    from soundstage.evals._collected import SuiteFile

    made: pytest.Collector = SuiteFile.from_parent(parent, path=file_path)
    return made
