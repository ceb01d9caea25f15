"""Evals as a store has them: the report of any of them, and how a case did in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from soundstage.errors import ConfigError, EnvironmentProblem, did_you_mean
from soundstage.evals._features import read_run
from soundstage.evals._making import DRIVER
from soundstage.evals._report import CaseReport, EvalReport, ScoredRun, case_report
from soundstage.evals.statistics import drift_of
from soundstage.runs import RunRecord, RunStore

LAST: Final = "last"
_LEAST_RUNS: Final = 8  # of one case: with fewer no change can be significant


class PastResult(NamedTuple):
    """How a case did in one eval.

    Args:
        eval: its id.
        began: its first run.
        outcomes: whether its runs passed, in their order.
        fingerprint: of the case; with another one it asked for something else.
    """

    eval: str
    began: datetime
    outcomes: tuple[bool, ...]
    fingerprint: str = ""

    def __str__(self) -> str:
        passed, runs = sum(self.outcomes), len(self.outcomes)
        return f"{passed}/{runs} = {passed / runs:.0%}"

    @property
    def when(self) -> str:
        """The time of its begin, to the minute."""
        return f"{self.began.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def stored_report(store: RunStore, name: str = LAST) -> EvalReport:
    """The report of an eval, made of its runs in a store. Runs that ended in an error are not there.

    Args:
        store: has the runs.
        name: `last`, the id of an eval, how that begins, or the name of a suite for its last eval.

    Raises:
        ConfigError: if there is none, or several begin so.
    """
    records = store.list(driver=DRIVER)
    known = list(dict.fromkeys(record.labels.get("eval", "") for record in records))
    of_suite = [record.labels["eval"] for record in records if record.labels.get("suite") == name]
    found = known[:1] if name == LAST else of_suite[:1] or [one for one in known if one.startswith(name)]
    if len(found) != 1:
        raise ConfigError(
            f"{store.root} has {'several evals' if found else 'no eval'} {name!r}",
            expected="last, the id of an eval, or the name of a suite",
            seen=", ".join(found),
            hint=did_you_mean(name, known) or "soundstage eval run SUITE",
        )
    chosen = [record for record in reversed(records) if record.labels.get("eval") == found[0]]
    runs: dict[str, dict[int, ScoredRun]] = {}
    labels: dict[str, Mapping[str, str]] = {}
    for record in sorted(chosen, key=lambda one: int(one.labels.get("place", 0))):
        run = read_run(store.open(record))
        runs.setdefault(run.case, {}).setdefault(run.number, run)
        labels.setdefault(run.case, record.labels)
    cases = tuple(_case(name, [*of_case.values()], labels[name]) for name, of_case in runs.items())
    first = chosen[0].labels
    return EvalReport(suite=first["suite"], eval=found[0], cases=cases, replayed=first.get("replayed", ""))


def _case(name: str, runs: Sequence[ScoredRun], labels: Mapping[str, str]) -> CaseReport:
    """Runs of older versions do not say what was asked of them."""
    required, planned = float(labels.get("required", 1.0)), int(labels.get("planned", len(runs)))
    return case_report(name, runs, required, planned, labels.get("case_fingerprint", ""))


def case_history(store: RunStore, suite: str) -> dict[str, list[PastResult]]:
    """How each case of a suite did in each eval that a store has, the newest first."""
    found: dict[str, dict[str, list[RunRecord]]] = {}
    for record in store.list(driver=DRIVER, labels={"suite": suite}):
        labels = record.labels
        found.setdefault(labels["case"], {}).setdefault(labels["eval"], []).append(record)
    return {
        case: [_past(eval_id, records) for eval_id, records in evals.items()] for case, evals in found.items()
    }


def _past(eval_id: str, records: Sequence[RunRecord]) -> PastResult:
    in_order = sorted(records, key=lambda one: int(one.labels["number"]))
    return PastResult(
        eval_id,
        min(one.started for one in records),
        tuple(one.outcome == "passed" for one in in_order),
        in_order[0].labels.get("case_fingerprint", ""),
    )


def case_drift(past: Sequence[PastResult]) -> str:
    """The change of a case's pass rate over its evals, in words, with the eval in which it began; nothing without one.

    Args:
        past: its results, the newest first. Those before a change of the case itself are left out.
    """
    same = [one for one in past if one.fingerprint == past[0].fingerprint][::-1]
    owners = [one for one in same for _ in one.outcomes]
    if len(owners) < _LEAST_RUNS:
        return ""
    try:
        drift = drift_of([outcome for one in same for outcome in one.outcomes])
    except (ImportError, EnvironmentProblem):  # without the extra `stats`
        return ""
    return "" if drift is None else f"changed in the eval {owners[drift.at].eval}: {drift}"
