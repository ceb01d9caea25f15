"""Evaluators made of others: the opposite of one, several with weights, one of an answer that is transformed first."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec

from soundstage.errors import WrongValueError
from soundstage.evals._events import Grade, GradePart
from soundstage.evals._run import EvalRun, Evaluator, NamedEvaluator, grade
from soundstage.evals.evaluators._judge import require_gates
from soundstage.evals.evaluators._scripts import CodeSpec, javascript_value, python_value

MakeEvaluator = Callable[[str, Any], NamedEvaluator]
AMOUNTS: Final = frozenset({"cost", "latency", "tokens"})  # their scores are amounts, no shares
_LIKENESS: Final = frozenset(
    {"rouge_n", "bleu", "gleu", "similar"}
)  # the opposite of their score is the rest to 1


class ScoreSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Evaluators, each with a `weight` and a `name` of its own if it has them, and the mean that is enough."""

    of: list[str | dict[str, Any]]
    at_least: float | None = None


class TransformSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the answer is changed, and what is expected of what becomes of it."""

    expect: str | dict[str, Any]
    by: Literal["json"] | dict[str, Any]


class _ScorePart(NamedTuple):
    kind: str
    weight: float
    evaluator: NamedEvaluator


def score(spec: ScoreSpec, make: MakeEvaluator) -> Evaluator:
    """Several at once: `{of: [{contains: sunny, weight: 2, name: facts}, ...], at_least: 0.5}`. The score is the mean
    by weight, where one that passes or fails counts as 1 or 0. With `at_least` the mean decides, else every part has
    to pass. A weight of 0 is told and decides nothing."""
    parts = [_score_part(item, make) for item in spec.of]
    if not parts:
        raise WrongValueError("`score` is made of evaluators", expected="at least one in `of`", seen="none")
    for part in parts:
        if part.weight:
            require_gates(part.evaluator.evaluate, "a score")

    async def evaluate(run: EvalRun) -> Grade:
        grades = [await grade(part.evaluator, run) for part in parts]
        shares = [_share(part.kind, one) for part, one in zip(parts, grades, strict=True)]
        weight = sum(part.weight for part in parts)
        total = sum(part.weight * share for part, share in zip(parts, shares, strict=True))
        found = total / weight if weight else 0.0
        told = tuple(
            piece
            for part, one, share in zip(parts, grades, shares, strict=True)
            for piece in (
                GradePart(
                    evaluator=part.evaluator.name,
                    holds=one.holds or not part.weight,
                    score=share,
                    weight=part.weight,
                    reason=one.reason,
                ),
                *one.parts,
            )
        )
        failed = [one for part, one in zip(parts, grades, strict=True) if part.weight and not one.holds]
        if spec.at_least is None:
            reason = "; ".join(one.reason for one in failed)
            return Grade(passed=not failed, score=found, reason=reason, parts=told)
        reason = (
            f"the score is {found:.3g}, {'at least' if found >= spec.at_least else 'below'} {spec.at_least:g}"
        )
        return Grade(passed=found >= spec.at_least, score=found, reason=reason, parts=told)

    return _made_of(evaluate, *(part.evaluator for part in parts))


def _made_of(evaluate: Evaluator, *parts: NamedEvaluator) -> Evaluator:
    """The evaluator, which knows what it is made of."""
    vars(evaluate)["parts"] = tuple(part.evaluate for part in parts)
    return evaluate


def _score_part(item: str | dict[str, Any], make: MakeEvaluator) -> _ScorePart:
    given = {item: True} if isinstance(item, str) else dict(item)
    weight, name = given.pop("weight", 1.0), given.pop("name", "")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < float("inf"):
        raise WrongValueError("a weight is a number", expected="from 0", seen=repr(weight))
    kind, evaluator = _only(given, make)
    return _ScorePart(kind, weight, evaluator._replace(name=str(name)) if name else evaluator)


def _only(given: str | Mapping[str, Any], make: MakeEvaluator) -> tuple[str, NamedEvaluator]:
    """The single evaluator of a mapping."""
    given = {given: True} if isinstance(given, str) else given
    if len(given) != 1:
        seen = ", ".join(given) or "none"
        raise WrongValueError("a part is one evaluator", expected="one kind", seen=seen)
    kind, spec = next(iter(given.items()))
    return kind.replace("-", "_"), make(kind, spec)


def _share(kind: str, found: Grade) -> float:
    """The score of a part."""
    if found.absent:
        return 0.0
    if found.score is None or kind in AMOUNTS:
        return float(found.holds)
    return found.score


def not_(spec: str | dict[str, Any], make: MakeEvaluator) -> Evaluator:
    """The opposite of an evaluator: `{contains: rain}`. What cannot be judged does not pass, here too."""
    kind, inner = _only(spec, make)
    require_gates(inner.evaluate, "a not")

    async def evaluate(run: EvalRun) -> Grade:
        found = await grade(inner, run)
        if found.absent or found.passed is None:  # the opposite of what decides nothing decides nothing
            return found
        opposite = None if kind in AMOUNTS else found.score
        if kind in _LIKENESS and opposite is not None:
            opposite = 1 - opposite
        reason = f"{inner.name} holds" if found.holds else ""
        return Grade(passed=not found.holds, score=opposite, reason=reason)

    return _made_of(evaluate, inner)


def transform(spec: TransformSpec, make: MakeEvaluator) -> Evaluator:
    """An evaluator of the answer after a change: `{by: {javascript: "output.trim()"}, expect: {equals: yes}}`. `by` is
    also `{python: ...}`, or `json`: an answer that is JSON is data for code that follows."""
    _, inner = _only(spec.expect, make)
    if isinstance(spec.by, str):
        change: Any = _parsed
    else:
        if len(spec.by) != 1 or next(iter(spec.by)) not in _CHANGES:
            raise WrongValueError(
                "`by` says how the answer is changed",
                expected=f"json, {', '.join(_CHANGES)}",
                seen=repr(spec.by),
            )
        language, code = next(iter(spec.by.items()))
        given = CodeSpec(code=code) if isinstance(code, str) else msgspec.convert(code, CodeSpec)
        change = _CHANGES[language](given)

    async def evaluate(run: EvalRun) -> Grade:
        value, problem = await change(run)
        if problem or value is None:
            return Grade(
                absent=True, reason=f"the answer cannot be transformed: {problem or 'nothing is left'}"
            )
        return await grade(inner, msgspec.structs.replace(run, value=value))

    vars(evaluate)["made_of"] = getattr(change, "made_of", "")
    return _made_of(evaluate, inner)


async def _parsed(run: EvalRun) -> tuple[Any, str]:
    try:
        found = json.loads(run.output)
    except (ValueError, RecursionError):
        return run.output, ""
    return (found if isinstance(found, dict | list) else run.output), ""


_CHANGES: Final[dict[str, Any]] = {"javascript": javascript_value, "python": python_value}
