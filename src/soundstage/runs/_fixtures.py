"""The options of pytest that keep runs. This file imports pytest alone, because it is loaded in every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from soundstage.host import Setup
    from soundstage.pytest_plugin import RunOfTest
    from soundstage.runs._keeping import Keeper
    from soundstage.runs.runner._fixture import RunAgent

OPTION: Final = "--soundstage-runs"
EVERY: Final = "--soundstage-runs-for"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that keep runs."""
    group = parser.getgroup("soundstage")
    group.addoption(
        OPTION,
        metavar="DIR",
        default=None,
        help="Keep the run of each test in the store DIR ('-' for the setting `runs`, .soundstage).",
    )
    group.addoption(
        EVERY,
        choices=("failed", "all"),
        default="all",
        help=f"The tests whose runs are kept with {OPTION}: those that failed, or all that have a run.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to keep runs, if that is asked for."""
    if config.getoption(OPTION):
        config.pluginmanager.register(KeepRuns(config), "soundstage-runs")


class KeepRuns:
    """Keeps the runs of tests, each where its test runs; the process that has all reports says how many."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._keeper: Keeper | None = None
        self._kept: list[str] = []
        self._problems: list[str] = []

    def pytest_soundstage_phase(
        self, item: pytest.Item, report: pytest.TestReport, runs: Sequence[RunOfTest], outcome: str
    ) -> None:
        """Keep the runs of a test that is over."""
        from soundstage.runs._keeping import Keeper

        if self._keeper is None:
            every = self._config.getoption(EVERY) == "all"
            self._keeper = Keeper.of(self._config, self._config.getoption(OPTION), every=every)
        self._keeper.phase(item, report, runs, outcome)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count; with pytest-xdist the process that has all reports does."""
        self._kept += getattr(report, "soundstage_runs", ())
        self._problems += filter(None, [getattr(report, "soundstage_runs_problem", "")])

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many runs were kept, and what went wrong."""
        place = self._config.getoption(OPTION)
        again = "" if place == "-" else f" --store {place}"
        terminalreporter.write_line(f"soundstage runs: {len(self._kept)} kept; soundstage runs list{again}")
        for problem in dict.fromkeys(self._problems):
            terminalreporter.write_line(f"soundstage runs: not kept: {problem}", red=True)

    def pytest_unconfigure(self) -> None:
        """Let go of the store."""
        if self._keeper is not None:
            self._keeper.close()


@pytest.fixture
def run_agent(stage: Setup, request: pytest.FixtureRequest) -> RunAgent:
    """Runs any target on the journal of the test: `await run_agent(claude_code, "fix the bug", budget=...)`."""
    from soundstage.runs.runner._fixture import RunAgent

    return RunAgent.of(request.node, stage)
