"""The report of an eval: a row for each case, with its runs, rate and interval. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import msgspec

from soundstage.errors import EnvironmentProblem
from soundstage.evals._events import Grade
from soundstage.evals._matrix_table import cells_of, matrix_as_json
from soundstage.evals._suite import Suite
from soundstage.evals.statistics import (
    ClusteredMean,
    PassRate,
    Separation,
    clustered_mean,
    pass_all_k,
    pass_at_k,
    pass_rate,
    separating_features,
)

_LEAST_RUNS = 6  # of one case: with fewer no feature can be significant


class ScoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a case, graded.

    Args:
        case: name of the case.
        number: from 1, among the runs of the case.
        outcome: `error` for a run that could not be made or graded: no result of the agent.
        run: its id in the store; empty for an error.
        grades: the answers of its evaluators.
        seconds: it took.
        tokens: of all replies.
        cost: US dollars; `None` if it is not known.
        judge_tokens: of its judges, which are not among its own.
        judge_cost: US dollars of its judges; `None` if it is not known.
        reason: why it did not pass, the first of them.
        unpriced: why its cost is not known.
        uncounted: replies that have not told their tokens.
        throttled: requests that the provider turned away for a while; no failure of the agent.
        features: tools that it called, and with what.
    """

    case: str
    number: int
    outcome: Literal["passed", "failed", "error"]
    run: str = ""
    grades: tuple[Grade, ...] = ()
    seconds: float = 0.0
    tokens: int = 0
    cost: float | None = None
    judge_tokens: int = 0
    judge_cost: float | None = 0.0
    reason: str = ""
    unpriced: str = ""
    uncounted: int = 0
    throttled: int = 0
    features: tuple[str, ...] = ()


class CaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one case, counted. Errors are not counted.

    Args:
        name: of the case.
        required: the share of its runs that has to pass.
        planned: runs that it is to have.
        rate: the share that passed, with its interval.
        runs: its runs, by number.
        separating: what tells its failing runs from the passing ones.
        fingerprint: of its input and what is expected; two results of one fingerprint can be compared.
        base: its name without the combination of a matrix.
        combination: labels by dimension; empty without a matrix.
    """

    name: str
    required: float
    planned: int
    rate: PassRate
    runs: tuple[ScoredRun, ...]
    separating: tuple[Separation, ...] = ()
    fingerprint: str = ""
    base: str = ""
    combination: Mapping[str, str] = {}

    def examples(self, separation: Separation) -> tuple[str, str]:
        """The ids of a failing and a passing run that differ in something, to be compared."""
        counted = [run.run for run in self.runs if run.outcome != "error"]
        failing, passing = separation.examples
        return counted[failing], counted[passing]

    @property
    def passed(self) -> bool:
        """Whether all its runs are there, and enough of them passed."""
        return self.rate.runs == self.planned and self.rate.rate >= self.required - 1e-12

    @property
    def is_below(self) -> bool:
        """Whether the runs that have a result are below its rate, all there or not."""
        return self.rate.runs > 0 and self.rate.rate < self.required - 1e-12

    @property
    def outcome(self) -> Literal["passed", "failed", "error"]:
        """Whether it passed. Wrong answers that put it below its rate are a failure, whatever else went wrong.

        A case that only lacks runs which could not be made or graded is an error: it tells nothing of the agent.
        """
        if self.passed:
            return "passed"
        broken = any(run.outcome == "error" for run in self.runs)
        return "error" if broken and not self.is_below else "failed"

    def average(self, field: Literal["tokens", "seconds"]) -> float:
        """Tokens or seconds of a run, on average; 0 without runs (R4.70)."""
        counted = [getattr(run, field) for run in self.runs if run.outcome != "error"]
        return math.fsum(counted) / len(counted) if counted else 0.0


class EvalReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an eval.

    Args:
        suite: its name.
        eval: the id of this eval, by which the store finds its runs.
        cases: in the order of the suite.
        left_out: why runs were left out, if the budget of the eval had no room for them.
        replayed: the recording that answered in the place of a provider, if one did.
    """

    suite: str
    eval: str
    cases: tuple[CaseReport, ...]
    left_out: str = ""
    replayed: str = ""

    @property
    def passed(self) -> bool:
        """Whether every case passed. One that lacks runs has not."""
        return all(case.passed for case in self.cases)

    @property
    def errors(self) -> tuple[ScoredRun, ...]:
        """Runs that could not be made or graded."""
        return tuple(run for case in self.cases for run in case.runs if run.outcome == "error")

    @property
    def rate(self) -> PassRate:
        """The share of all runs that passed."""
        return pass_rate(
            sum(case.rate.passed for case in self.cases), sum(case.rate.runs for case in self.cases)
        )

    @property
    def throttled(self) -> int:
        """Requests that providers turned away for a while, and that were sent again."""
        return sum(run.throttled for case in self.cases for run in case.runs)

    @property
    def mean(self) -> ClusteredMean | None:
        """The same share as a mean with a standard error clustered by case; `None` without runs."""
        values = {
            case.name: [float(run.outcome == "passed") for run in case.runs if run.outcome != "error"]
            for case in self.cases
        }
        return clustered_mean(values) if any(values.values()) else None

    @property
    def cost(self) -> float | None:
        """US dollars of all runs; `None` if that of one is not known."""
        found = [run.cost for case in self.cases for run in case.runs if run.outcome != "error"]
        known = [cost for cost in found if cost is not None]
        return math.fsum(known) if len(known) == len(found) else None

    def as_json(self) -> dict[str, Any]:
        """The report as plain data: `last-report.json`."""
        mean = self.mean
        return {
            "suite": self.suite,
            "eval": self.eval,
            "passed": self.passed,
            "cases": [_case_as_json(case) for case in self.cases],
            **({"matrix": matrix_as_json(self)} if cells_of(self) else {}),
            "total": {
                "cases": len(self.cases),
                "cases_passed": sum(case.passed for case in self.cases),
                "runs": self.rate.runs,
                "errors": len(self.errors),
                **_rate_as_json(self.rate),
                "standard_error": None if mean is None else mean.error,
                "cost": self.cost,
                "throttled": self.throttled,
            },
            "left_out": self.left_out,
            "replayed": self.replayed,
        }


def report_of(
    suite: Suite,
    runs: Sequence[ScoredRun],
    eval_id: str,
    *,
    planned: Collection[str] = (),
    left_out: str = "",
) -> EvalReport:
    """The report of some runs of a suite: the cases that they are of, and those planned, in the order of the suite."""
    by_case: dict[str, list[ScoredRun]] = {}
    for run in runs:
        by_case.setdefault(run.case, []).append(run)
    cases = []
    for case in suite.cases:
        found = by_case.get(case.name, ())
        if found or case.name in planned:
            required, count = suite.rate_of(case), suite.runs_of(case)
            one = case_report(case.name, found, required, count, suite.fingerprint_of(case))
            labels = {} if case.combination is None else case.combination.labels
            cases.append(msgspec.structs.replace(one, base=case.base, combination=labels))
    return EvalReport(
        suite=suite.name, eval=eval_id, cases=tuple(cases), left_out=left_out, replayed=suite.replayed
    )


def case_report(
    name: str, runs: Sequence[ScoredRun], required: float, planned: int, fingerprint: str
) -> CaseReport:
    """The report of one case; arguments as of `CaseReport`."""
    counted = [run for run in sorted(runs, key=lambda run: run.number) if run.outcome != "error"]
    passed = sum(run.outcome == "passed" for run in counted)
    return CaseReport(
        name=name,
        required=required,
        planned=planned,
        rate=pass_rate(passed, len(counted)),
        runs=tuple(sorted(runs, key=lambda run: run.number)),
        separating=_separating(counted) if 0 < passed < len(counted) else (),
        fingerprint=fingerprint,
    )


def _separating(runs: Sequence[ScoredRun]) -> tuple[Separation, ...]:
    """Features that tell failing runs from passing ones; none without the extra `stats`."""
    if len(runs) < _LEAST_RUNS or not any(run.features for run in runs):
        return ()
    try:
        return separating_features([run.features for run in runs], [run.outcome == "passed" for run in runs])
    except (ImportError, EnvironmentProblem):
        return ()


def _rate_as_json(rate: PassRate) -> dict[str, float]:
    return {"pass_rate": rate.rate, "low": rate.low, "high": rate.high}


def _separation_as_json(case: CaseReport, one: Separation) -> dict[str, Any]:
    failing, passing = case.examples(one)
    return {
        "features": list(one.features),
        "text": str(one),
        "p": one.p,
        "failing_run": failing,
        "passing_run": passing,
    }


def _case_as_json(case: CaseReport) -> dict[str, Any]:
    runs, passed = case.rate.runs, case.rate.passed
    return {
        "name": case.name,
        "fingerprint": case.fingerprint,
        **({"combination": dict(case.combination)} if case.combination else {}),
        "passed": case.passed,
        "outcome": case.outcome,
        "required": case.required,
        **_rate_as_json(case.rate),
        "pass_at_k": {str(k): pass_at_k(runs, passed, k) for k in range(1, runs + 1)},
        "pass_all_k": {str(k): pass_all_k(runs, passed, k) for k in range(1, runs + 1)},
        "avg_tokens": case.average("tokens"),
        "avg_latency": case.average("seconds"),
        "separating": [_separation_as_json(case, one) for one in case.separating],
        "runs": [
            {
                **{
                    name: getattr(run, name)
                    for name in (
                        "number",
                        "outcome",
                        "run",
                        "seconds",
                        "tokens",
                        "cost",
                        "throttled",
                        "reason",
                    )
                },
                "grades": [
                    {
                        name: value
                        for name in ("evaluator", "passed", "score", "label", "reason", "absent")
                        if (value := getattr(one, name)) not in ("", None)
                    }
                    for one in run.grades
                ],
            }
            for run in case.runs
        ],
    }
