"""Limits of processor time: a test or a run that has become slow fails, on a busy machine as on a quiet one.

Wall time depends on what else the machine does; processor time hardly does. Each test counts what its process and
the programs that have ended in it have used, from the first fixture to the last. Workers of xdist count their own
tests, and reports carry the figures to the process that sums them.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Final

import pytest

TEST: Final = "--soundstage-test-cpu"
RUN: Final = "--soundstage-run-cpu"
SPENT: Final = "soundstage_cpu"


def add_options(group: pytest.OptionGroup) -> None:
    """The two limits, off by default."""
    group.addoption(
        TEST,
        metavar="SECONDS",
        type=_seconds,
        default=None,
        help="Fail a test over this much processor time.",
    )
    group.addoption(
        RUN,
        metavar="SECONDS",
        type=_seconds,
        default=None,
        help="Fail a run over this much processor time in all.",
    )


def register(config: pytest.Config) -> None:
    """Measure, if a limit is given."""
    if config.getoption(TEST) is not None or config.getoption(RUN) is not None:
        config.pluginmanager.register(ProcessorBudget(config), "soundstage-budget")


class ProcessorBudget:
    """Measures each test, fails one that is over its limit, and the run that is over its own."""

    def __init__(self, config: pytest.Config) -> None:
        self._test: float | None = config.getoption(TEST)
        self._run: float | None = config.getoption(RUN)
        self._sums = not hasattr(config, "workerinput")
        self._spent: dict[str, float] = {}
        self._begun = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._begun = _processor_time()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "teardown":
            spent = _processor_time() - self._begun
            setattr(report, SPENT, spent)
            if self._test is not None and spent > self._test and report.passed:
                report.outcome = "failed"
                report.longrepr = (
                    f"This test used {spent:.2f} s of processor time; {TEST} allows {self._test:g} s. "
                    "Make it faster, or raise the limit."
                )
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self._spent[report.nodeid] = getattr(report, SPENT, 0.0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._over() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._over():
            return
        slowest = sorted(self._spent.items(), key=lambda pair: -pair[1])[:5]
        terminalreporter.section("soundstage processor time", red=True)
        terminalreporter.line(
            f"The tests used {sum(self._spent.values()):.1f} s; {RUN} allows {self._run:g} s."
        )
        for name, spent in slowest:
            terminalreporter.line(f"{spent:8.2f} s  {name}")

    def _over(self) -> bool:
        return self._sums and self._run is not None and sum(self._spent.values()) > self._run


def _processor_time() -> float:
    """Seconds that this process and its ended children have used."""
    return sum(os.times()[:4])


def _seconds(text: str) -> float:
    """Read a limit.

    Raises:
        UsageError: if it is no number above zero.
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise pytest.UsageError(f"a limit of processor time is a number of seconds above 0, not {text!r}")
    return value
