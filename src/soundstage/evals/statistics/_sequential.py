"""A test that looks after each run, and stops as soon as the runs have decided.

Wald's sequential test (1945) of two rates: `rate`, which is good enough, and `bad_rate`, which is not. Each run is
evidence: the logarithm of how much likelier it is with the one than with the other. Beyond a threshold the test ends.

The thresholds are log(1 / error), not Wald's log((1 - error) / error): the ratio of likelihoods is a martingale of mean
1, so by Ville's inequality it ever passes 1 / error with a chance of at most `error`. So both errors are held for any
number of looks, and also if the test is cut off after some number of runs.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from soundstage.errors import WrongValueError
from soundstage.evals.statistics._checked import require_counts, require_share

DecisionOutcome = Literal["passed", "failed", "inconclusive"]
_ODDS = 4  # unless given, the odds of a bad rate are a quarter of those of the good one


class SequentialDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a sequential test after some runs.

    Args:
        outcome: `passed`, `failed`, or `inconclusive` as long as the runs have not decided.
        passed: runs that passed.
        runs: all runs.
        passes_needed: further runs, all passing, until it passes; 0 if it is decided.
        failures_needed: further runs, all failing, until it fails; 0 if it is decided.
        runs_needed: further runs until a decision, if they pass as often as these; `None` if none would come then.
    """

    outcome: DecisionOutcome
    passed: int
    runs: int
    passes_needed: int = 0
    failures_needed: int = 0
    runs_needed: int | None = 0

    def __str__(self) -> str:
        begin = f"{self.outcome} after {self.runs} runs, {self.passed} passed"
        if self.outcome != "inconclusive":
            return begin
        either = f"{self.passes_needed} more that pass or {self.failures_needed} more that fail would decide"
        usual = f"; as it went so far, about {self.runs_needed} more would" if self.runs_needed else ""
        return f"{begin}: {either}{usual}"


class SequentialTest(msgspec.Struct, frozen=True, kw_only=True):
    """Whether something passes often enough, with as few runs as the answer takes.

    Something that passes at `rate` or more is said to fail with a chance of at most `error`; something that passes at
    `bad_rate` or less is said to pass with a chance of at most `error`. In between both answers are possible.

    Args:
        rate: good enough.
        bad_rate: not good enough; unless given, the rate with a quarter of the odds: 0.69 for 0.9, 0.96 for 0.99.
        error: the chance of each of the two errors.

    Raises:
        WrongValueError: for a rate of 1, which no number of runs can show; or if the rates are not 0 < bad < good < 1.

    Example:
        >>> str(SequentialTest(rate=0.9).decide(12, 12))
        'passed after 12 runs, 12 passed'
        >>> SequentialTest(rate=0.9).decide(10, 12).outcome
        'inconclusive'
    """

    rate: float
    bad_rate: float = math.nan
    error: float = 0.05

    def __post_init__(self) -> None:
        if self.rate == 1:
            raise WrongValueError(
                "no number of runs can show a pass rate of 1.0",
                expected="a rate below 1, e.g. 0.99",
                seen=repr(self.rate),
                hint="without a pass rate every run has to pass, and the first that fails decides",
            )
        require_share("rate", self.rate)
        require_share("error", self.error)
        if math.isnan(self.bad_rate):
            odds = self.rate / (1 - self.rate) / _ODDS
            msgspec.structs.force_setattr(self, "bad_rate", odds / (1 + odds))
        if not 0 < self.bad_rate < self.rate:
            raise WrongValueError(
                "a bad rate is below the good one",
                expected=f"above 0 and below {self.rate}",
                seen=repr(self.bad_rate),
            )

    def evidence(self, passed: int, runs: int) -> float:
        """How much likelier such runs are at the good rate than at the bad one, as a natural logarithm."""
        require_counts(passed, runs)
        return passed * self._of_pass + (runs - passed) * self._of_failure

    def decide(self, passed: int, runs: int) -> SequentialDecision:
        """The answer after so many runs.

        It is that of the test only if it was asked after each run, and the first answer counts.

        Raises:
            WrongValueError: for counts that cannot be.
        """
        evidence, enough = self.evidence(passed, runs), math.log(1 / self.error)
        if abs(evidence) >= enough:
            outcome: DecisionOutcome = "passed" if evidence > 0 else "failed"
            return SequentialDecision(outcome=outcome, passed=passed, runs=runs)
        drift = evidence / runs if runs else 0.0
        away = enough - evidence if drift > 0 else enough + evidence
        return SequentialDecision(
            outcome="inconclusive",
            passed=passed,
            runs=runs,
            passes_needed=math.ceil((enough - evidence) / self._of_pass),
            failures_needed=math.ceil((enough + evidence) / -self._of_failure),
            runs_needed=math.ceil(away / abs(drift)) if drift else None,
        )

    @property
    def _of_pass(self) -> float:
        return math.log(self.rate / self.bad_rate)

    @property
    def _of_failure(self) -> float:
        return math.log((1 - self.rate) / (1 - self.bad_rate))
