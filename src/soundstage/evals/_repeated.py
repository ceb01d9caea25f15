"""One test, run again and again until its runs have decided, told to pytest as one.

Each run goes through the whole protocol of pytest, so it has fixtures of its own, and whoever keeps the runs of tests
keeps each of them. Reporters are told the last run's set-up and teardown, and a body whose outcome is the decision.
"""

from __future__ import annotations

from typing import Any, Final, Literal, get_args

import msgspec
import pytest
from _pytest.runner import runtestprotocol

from soundstage.errors import WrongTypeError, WrongValueError, did_you_mean
from soundstage.evals.statistics import SequentialTest, pass_rate

Inconclusive = Literal["fail", "skip"]
SECTION: Final = "soundstage eval"


class EvalTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of the mark `eval`.

    Args:
        repeat: runs at most.
        pass_rate: good enough; unless given, every run has to pass.
        bad_rate: not good enough; see `SequentialTest`.
        error: the chance of a wrong answer.
        inconclusive: what becomes of a test that its runs have not decided.

    Raises:
        WrongValueError: for values that cannot be, a pass rate of 1.0 among them.
    """

    repeat: int
    pass_rate: float | None = None
    bad_rate: float | None = None
    error: float = 0.05
    inconclusive: Inconclusive = "fail"

    def __post_init__(self) -> None:
        if type(self.repeat) is not int or self.repeat < 1:
            raise WrongValueError(
                "`repeat` is a number of runs", expected="at least 1", seen=repr(self.repeat)
            )
        if self.inconclusive not in get_args(Inconclusive):
            raise WrongValueError(
                "`inconclusive` says what becomes of the test",
                expected="'fail' or 'skip'",
                seen=repr(self.inconclusive),
            )
        if self.pass_rate is None and self.bad_rate is not None:
            raise WrongValueError("`bad_rate` goes with a `pass_rate`", hint="give both, or neither")
        self.sequential()

    def sequential(self) -> SequentialTest | None:
        """The test that stops early; nothing where every run has to pass."""
        if self.pass_rate is None:
            return None
        options: dict[str, Any] = {} if self.bad_rate is None else {"bad_rate": self.bad_rate}
        return SequentialTest(rate=self.pass_rate, error=self.error, **options)

    def decided(self, passed: int, runs: int) -> tuple[str, str]:
        """The outcome after so many runs, `inconclusive` as long as there is none, and the words for it."""
        test = self.sequential()
        if test is not None:
            decision = test.decide(passed, runs)
            return decision.outcome, f"{decision} ({_rate(passed, runs)}; wanted {self.pass_rate:.0%})"
        if passed < runs:
            return "failed", f"run {runs} failed, and every run has to pass ({_rate(passed, runs)})"
        outcome = "passed" if runs >= self.repeat else "inconclusive"
        return outcome, f"{passed} of {runs} runs passed ({_rate(passed, runs)})"


def _rate(passed: int, runs: int) -> str:
    rate = pass_rate(passed, runs)
    return f"{rate.rate:.0%} [{rate.low:.0%}, {rate.high:.0%}]"


def terms_of(mark: pytest.Mark) -> EvalTerms:
    """The terms that a mark gives.

    Raises:
        WrongTypeError: for an unknown option, or none.
        WrongValueError: for a value that cannot be.
    """
    given = dict(zip(("repeat",), mark.args, strict=False)) | dict(mark.kwargs)
    known = EvalTerms.__struct_fields__
    unknown = [name for name in given if name not in known]
    if unknown or len(mark.args) > 1 or "repeat" not in given:
        raise WrongTypeError(
            "the mark `eval` takes a number of runs",
            expected=f"eval(repeat=20, pass_rate=0.9); options: {', '.join(known)}",
            seen=f"args {mark.args!r}, options {mark.kwargs!r}",
            hint=did_you_mean(unknown[0], known) if unknown else "",
        )
    return EvalTerms(**given)


def run_repeated(item: pytest.Item, nextitem: pytest.Item | None, terms: EvalTerms) -> None:
    """Run a test until its runs have decided, and tell pytest of it once."""
    place = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**place)
    facts = dict(item.stash._storage)  # noqa: SLF001  (known before the first run; a stash cannot be copied otherwise)
    passed = runs = 0
    outcome, words = "inconclusive", ""
    failing: pytest.TestReport | None = None
    while outcome == "inconclusive" and runs < terms.repeat:
        item.stash = pytest.Stash()  # what one run leaves there is not for the next
        item.stash._storage.update(facts)  # noqa: SLF001
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        body = next((report for report in reports if report.when == "call"), None)
        if body is None or _ends_all(reports):
            break
        runs += 1
        passed += body.passed
        if body.failed:
            failing = body
        outcome, words = terms.decided(passed, runs)
    else:
        body = next(report for report in reports if report.when == "call")
        _tell(body, terms, outcome, words, failing)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(**place)


def _ends_all(reports: list[pytest.TestReport]) -> bool:
    """Whether a run is no run of the agent: skipped, an error of ours, or of a fixture."""
    return any(
        report.skipped
        or getattr(report, "soundstage_mistake", False)
        or (report.failed and report.when != "call")
        for report in reports
    )


def _tell(
    body: pytest.TestReport, terms: EvalTerms, outcome: str, words: str, failing: pytest.TestReport | None
) -> None:
    """Make the report of the last body one of all runs."""
    body.user_properties.append(("eval", words))
    body.sections.append((SECTION, words))
    if outcome == "passed":
        body.outcome, body.longrepr = "passed", None
    elif outcome == "inconclusive" and terms.inconclusive == "skip":
        file, line, _ = body.location
        body.outcome, body.longrepr = "skipped", (file, line or 0, f"Skipped: {words}")
    else:
        last = "" if failing is None else f"\n\nThe last run that failed:\n\n{failing.longreprtext}"
        body.outcome, body.longrepr = "failed", f"{words}{last}"
