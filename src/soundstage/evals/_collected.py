"""Suites in files as tests of pytest: a file of the suite, a test for each case."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
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

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each case."""
        try:
            suite = load_suite(self.path)
        except EnvironmentProblem as problem:
            pytest.skip(str(problem), allow_module_level=True)
        except SoundstageError as error:
            raise self.CollectError(str(error)) from None
        self._executor = LocalExecutor(EvalGates(suite.limits))
        for case in suite.cases:
            yield SuiteCase.from_parent(self, name=case.name, suite=suite)


class SuiteCase(pytest.Item):
    """One case of a suite: it passes if enough of its runs do.

    `soundstage_eval` is its report, as data that pytest-xdist can carry to the process that has those of all cases.
    """

    parent: SuiteFile
    soundstage_eval: dict[str, Any] | None = None

    def __init__(self, *, suite: Suite, **options: Any) -> None:
        super().__init__(**options)
        self._suite = suite

    def runtest(self) -> None:
        """Run the case as often as it says; its runs are kept where those of tests are."""
        with tempfile.TemporaryDirectory() as scratch:
            settings = load_settings(self.config.rootpath, real_environment())
            store = store_of(settings, kept_in(self.config) or scratch)
            try:
                report = self.parent.run(self._suite, self.name, store)
            finally:
                store.close()
        self.soundstage_eval = {
            "place": self.session.items.index(self),
            "file": self.parent.nodeid,
            "case": [case.name for case in self._suite.cases].index(self.name),
            "report": msgspec.to_builtins(report),
        }
        text = as_text(report)
        self.user_properties.append(("eval", text.splitlines()[0]))
        if not report.passed:
            pytest.fail(text, pytrace=False)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """File and name, for headlines."""
        return self.path, None, f"{self._suite.name}: {self.name}"


def kept_in(config: pytest.Config) -> Path | None:
    """The folder of the store in which runs are to be kept; `None` if they are not."""
    place = config.getoption(KEEP)
    if place is None:
        return None
    return config.rootpath / (
        load_settings(config.rootpath, real_environment()).runs if place == "-" else place
    )


def write_collected(told: Sequence[Mapping[str, Any]], root: Path) -> None:
    """Write the report of all cases that were run, of the suite that came last, whichever processes ran them."""
    file = max(told, key=lambda one: one["place"])["file"]
    own = sorted((one for one in told if one["file"] == file), key=lambda one: one["case"])
    reports = [msgspec.convert(one["report"], EvalReport) for one in own]
    cases = tuple(case for report in reports for case in report.cases)
    write_last(msgspec.structs.replace(reports[-1], cases=cases), root)
