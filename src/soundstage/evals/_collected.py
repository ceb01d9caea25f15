"""Suites in files as tests of pytest: a file of the suite, a test for each case."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest

from soundstage.clock import SystemClock
from soundstage.config import load_settings
from soundstage.errors import EnvironmentProblem, SoundstageError
from soundstage.evals._baseline import write_last
from soundstage.evals._engine import run_suite
from soundstage.evals._executor import LocalExecutor
from soundstage.evals._gates import EvalGates
from soundstage.evals._read import load_suite
from soundstage.evals._report import EvalReport, ScoredRun
from soundstage.evals._report_text import as_text
from soundstage.evals._suite import EvalBudget, Suite
from soundstage.guard import real_environment
from soundstage.runs import RunStore, store_of

KEEP: Final = "--soundstage-runs"


class SuiteFile(pytest.File):
    """A suite. It is skipped, with the reason, if it needs a live model that nobody has asked for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._reports: dict[str, EvalReport] = {}
        self._made: list[ScoredRun] = []

    def setup(self) -> None:
        """Begin one event loop for all cases, so that they share the limits of providers and the budget."""
        self._now = SystemClock().now
        self._began = self._now()
        self._runner = asyncio.Runner()

    def teardown(self) -> None:
        """End it."""
        self._runner.close()

    def run(self, suite: Suite, case: str, store: RunStore) -> EvalReport:
        """Run one case, within what the others have left of the budget."""
        report = self._runner.run(
            run_suite(
                msgspec.structs.replace(suite, budget=self._left(suite.budget)),
                store=store,
                only=[case],
                alone=False,
                executor=self._executor,
                before=self._made,
            )
        )
        self._made += [run for one in report.cases for run in one.runs]
        return report

    def _left(self, budget: EvalBudget) -> EvalBudget:
        """The budget without the seconds that are gone; the engine counts what runs have taken."""
        if budget.seconds is None:
            return budget
        left = budget.seconds - (self._now() - self._began)
        if left <= 0:
            pytest.fail(
                f"the budget of {budget.seconds:g} seconds is spent by the cases before", pytrace=False
            )
        return msgspec.structs.replace(budget, seconds=left)

    def report_with(self, case: str, report: EvalReport) -> EvalReport:
        """The report of all cases that were run so far, this one included."""
        self._reports[case] = report
        cases = [one for name in self._names if name in self._reports for one in self._reports[name].cases]
        return msgspec.structs.replace(report, cases=tuple(cases))

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each case."""
        try:
            suite = load_suite(self.path)
        except EnvironmentProblem as problem:
            pytest.skip(str(problem), allow_module_level=True)
        except SoundstageError as error:
            raise self.CollectError(str(error)) from None
        self._names = [case.name for case in suite.cases]
        self._executor = LocalExecutor(EvalGates(suite.limits))
        for case in suite.cases:
            yield SuiteCase.from_parent(self, name=case.name, suite=suite)


class SuiteCase(pytest.Item):
    """One case of a suite: it passes if enough of its runs do."""

    parent: SuiteFile

    def __init__(self, *, suite: Suite, **options: Any) -> None:
        super().__init__(**options)
        self._suite = suite

    def runtest(self) -> None:
        """Run the case as often as it says; its runs are kept where those of tests are."""
        place = self.config.getoption(KEEP)
        with tempfile.TemporaryDirectory() as scratch:
            root = (
                scratch
                if place is None
                else self.config.rootpath / (".soundstage" if place == "-" else place)
            )
            store = store_of(load_settings(self.config.rootpath, real_environment()), root)
            try:
                report = self.parent.run(self._suite, self.name, store)
            finally:
                store.close()
            if place is not None:
                write_last(self.parent.report_with(self.name, report), store.root)
        text = as_text(report)
        self.user_properties.append(("eval", text.splitlines()[0]))
        if not report.passed:
            pytest.fail(text, pytrace=False)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """File and name, for headlines."""
        return self.path, None, f"{self._suite.name}: {self.name}"
