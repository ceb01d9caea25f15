"""Two results of one suite, compared on the cases that both have: what got better, what got worse, what chance does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Literal

import msgspec

from soundstage.errors import ConfigError, UnknownNameError, did_you_mean
from soundstage.evals._baseline import CaseBaseline, EvalBaseline
from soundstage.evals._words import counted_are
from soundstage.evals.statistics import (
    RunCounts,
    ScoreComparison,
    compare_runs,
    compare_scores,
    holm,
    stratified_p,
)

Change = Literal["better", "worse", "the same"]
RATE: Final = "pass rate"
COST: Final = "cost of a run"
USAGE: Final = (
    "cost",
    "latency",
    "tokens",
    "model_requests",
)  # evaluators of what a run took: less is better
JUDGE: Final = "judge"  # decides by its gate, which is in the pass rate, and by nothing else
ERROR: Final = 0.05


class ComparedMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of two results.

    Args:
        name: `pass rate`, `cost of a run`, or the evaluator whose score it is.
        cases: cases that have it in both.
        old: its mean in the old result.
        new: its mean in the new one.
        difference: new less old, case by case.
        p: how likely so large a difference is if nothing has changed, corrected for all figures that were compared.
        smallest: about the smallest true difference that such results would have shown, four times out of five.
        change: `better` or `worse` only if it is significant.
        decides: whether the comparison is worse if this figure is.
    """

    name: str
    cases: int
    old: float
    new: float
    difference: float
    p: float
    smallest: float
    change: Change = "the same"
    decides: bool = True


class ChangedCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case whose pass rate is another one.

    Args:
        case: its name.
        old: runs that passed in the old result, and all.
        new: the same in the new one.
        p: of Fisher's exact test, corrected for all cases; 1 if there are too few runs to show anything.
        significant: whether chance alone would hardly do that.
    """

    case: str
    old: RunCounts
    new: RunCounts
    p: float
    significant: bool


class EvalComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two results of one suite.

    Args:
        suite: its name.
        compared: the cases that both have.
        measures: the pass rate, the scores, the cost.
        changes: cases whose pass rate is another one, the worst first.
        other: cases that are not what they were, so they are not compared.
        only_old: cases that the old result alone has.
        only_new: cases that the new one alone has.
        not_compared: figures that were not compared, with the reason.
    """

    suite: str
    compared: tuple[str, ...]
    measures: tuple[ComparedMeasure, ...]
    changes: tuple[ChangedCase, ...] = ()
    other: tuple[str, ...] = ()
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()

    @property
    def worse(self) -> bool:
        """Whether the new result is significantly worse: its pass rate, a score, or a single case."""
        return any(one.decides and one.change == "worse" for one in self.measures) or any(
            one.significant and one.new.rate < one.old.rate for one in self.changes
        )

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain data."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        for change in data["changes"]:
            for side in ("old", "new"):
                change[side] = dict(zip(("passed", "runs"), change[side], strict=True))
        return {"worse": self.worse, **data}


def compare_results(
    old: EvalBaseline, new: EvalBaseline, *, lower_is_better: Collection[str] = (), error: float = ERROR
) -> EvalComparison:
    """Compare two results of a suite, case by case.

    The pass rate is compared by an exact test within each case, scores by the differences of the cases; all figures
    that decide are corrected together by Holm's method, and all single cases. What a run took (cost, tokens) is shown
    and decides nothing: it has limits of its own. So is the score of a judge, which decides by its gate alone.

    Args:
        old: the earlier result, or the baseline.
        new: the later one.
        lower_is_better: evaluators whose lower scores are better.
        error: the share of comparisons of equal things that may be worse or better: of figures, and of cases.

    Raises:
        ConfigError: if they are of two suites, or have no case in common.
        UnknownNameError: for an evaluator that gives no score in either.
        EnvironmentProblem: without the extra `stats`.

    Example:
        ::

            found = compare_results(load_baseline("baseline.json"), baseline_of(report))
            assert not found.worse
    """
    shared, left = _shared(old, new)
    pairs = {name: (old.cases[name], new.cases[name]) for name in shared}
    scored = _scored(pairs)
    for name in lower_is_better:
        if name not in scored:
            raise UnknownNameError(
                f"no evaluator {name!r} gives a score",
                expected=", ".join(scored) or "there are no scores",
                hint=did_you_mean(name, scored),
            )
    measures, skipped = [_rate(pairs, error)], []
    for name in scored:
        lower = name in lower_is_better or _is_usage(name)
        decides = not _is_usage(name) and _kind(name) != JUDGE
        found = _measure(name, pairs, _score_of(name), lower=lower, decides=decides, error=error)
        measures += [found] if isinstance(found, ComparedMeasure) else []
        skipped += [found] if isinstance(found, str) else []
    cost = _measure(COST, pairs, lambda case: case.cost, lower=True, decides=False, error=error)
    measures += [cost] if isinstance(cost, ComparedMeasure) else []
    return EvalComparison(
        suite=old.suite,
        compared=shared,
        measures=_corrected(measures, error),
        changes=_changes(pairs, error),
        not_compared=tuple(skipped),
        **left,
    )


def _shared(old: EvalBaseline, new: EvalBaseline) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The cases that can be compared, and those that cannot, by why."""
    if old.suite != new.suite:
        raise ConfigError(
            "two results of one suite are compared",
            expected=f"the suite {old.suite}",
            seen=f"the suite {new.suite}",
            hint="soundstage eval baseline FILE writes a baseline of the last eval",
        )
    before, after = ({name for name, case in side.cases.items() if case.runs} for side in (old, new))
    both = sorted(before & after)
    same = tuple(name for name in both if old.cases[name].fingerprint == new.cases[name].fingerprint)
    left = {
        "other": tuple(name for name in both if name not in same),
        "only_old": tuple(sorted(before - after)),
        "only_new": tuple(sorted(after - before)),
    }
    if not same:
        raise ConfigError(
            f"the two results of the suite {old.suite} have no case in common",
            expected="cases of the same name, input and expectations",
            seen="; ".join(f"{why}: {', '.join(names)}" for why, names in left.items() if names)
            or "no cases",
            hint="soundstage eval baseline FILE writes a new baseline",
        )
    return same, left


Pairs = dict[str, tuple[CaseBaseline, CaseBaseline]]


def _scored(pairs: Pairs) -> tuple[str, ...]:
    """Names of all evaluators that give scores."""
    return tuple(sorted({name for pair in pairs.values() for case in pair for name in case.scores}))


def _is_usage(name: str) -> bool:
    return _kind(name) in USAGE


def _kind(name: str) -> str:
    return name.partition(":")[0]


def _score_of(name: str) -> Callable[[CaseBaseline], float | None]:
    return lambda case: case.scores.get(name)


def _rate(pairs: Pairs, error: float) -> ComparedMeasure:
    found = compare_runs(
        {name: (a.passed, a.runs) for name, (a, _) in pairs.items()},
        {name: (b.passed, b.runs) for name, (_, b) in pairs.items()},
        error=error,
    )
    return ComparedMeasure(
        name=RATE,
        cases=found.cases,
        old=found.old.rate,
        new=found.new.rate,
        difference=found.difference,
        p=found.p,
        smallest=found.smallest,
        change=_change(found.difference),
    )


def _measure(
    name: str,
    pairs: Pairs,
    value: Callable[[CaseBaseline], float | None],
    *,
    lower: bool,
    decides: bool,
    error: float,
) -> ComparedMeasure | str:
    """A figure that cases have in both results; the reason, if it cannot be compared."""
    both = {case: (value(a), value(b)) for case, (a, b) in pairs.items()}
    known = {case: (a, b) for case, (a, b) in both.items() if a is not None and b is not None}
    if len(known) < 2:
        owners = counted_are(len(pairs), "case", "has", "have")
        return f"{name}: {len(known)} of {owners} it in both results, at least 2 are needed"
    before, after = ({case: [pair[side]] for case, pair in known.items()} for side in (0, 1))
    found: ScoreComparison = compare_scores(before, after, error=error)
    return ComparedMeasure(
        name=name,
        cases=found.cases,
        old=sum(a for a, _ in known.values()) / len(known),
        new=sum(b for _, b in known.values()) / len(known),
        difference=found.difference,
        p=found.p,
        smallest=found.smallest,
        change=_change(-found.difference if lower else found.difference),
        decides=decides,
    )


def _change(gain: float) -> Change:
    return "better" if gain > 0 else "worse" if gain < 0 else "the same"


def _corrected(measures: Sequence[ComparedMeasure], error: float) -> tuple[ComparedMeasure, ...]:
    """With corrected p-values, those that decide apart from the others; a change that chance can do is none."""
    p_values: dict[str, float] = {}
    for decides in (True, False):
        group = [one for one in measures if one.decides is decides]
        if group:
            p_values |= dict(zip((one.name for one in group), holm([one.p for one in group]), strict=True))
    return tuple(
        msgspec.structs.replace(
            one, p=p_values[one.name], change=one.change if p_values[one.name] <= error else "the same"
        )
        for one in measures
    )


def _changes(pairs: Pairs, error: float) -> tuple[ChangedCase, ...]:
    """Cases whose rate changed. All that have runs enough to show anything are corrected together."""
    counts = {
        name: (RunCounts(a.passed, a.runs), RunCounts(b.passed, b.runs)) for name, (a, b) in pairs.items()
    }
    telling = [
        name for name, (a, b) in counts.items() if stratified_p([((a.runs, a.runs), (0, b.runs))]) <= error
    ]
    corrected = holm([stratified_p([counts[name]]) for name in telling]) if telling else ()
    p_values = dict(zip(telling, corrected, strict=True))
    found = [
        ChangedCase(
            case=name, old=a, new=b, p=p_values.get(name, 1.0), significant=p_values.get(name, 1.0) <= error
        )
        for name, (a, b) in counts.items()
        if a.rate != b.rate
    ]
    return tuple(sorted(found, key=lambda one: (one.new.rate - one.old.rate, one.case)))
