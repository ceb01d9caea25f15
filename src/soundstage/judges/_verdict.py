"""The verdict that a model gives: the type that the caller wants, its schema, and reading it out of an answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec

from soundstage.errors import WrongTypeError
from soundstage.judges._errors import JudgmentFailedError
from soundstage.judges._rubric import Rubric
from soundstage.match import objects_in, preview
from soundstage.tools import record_schema

ScoreShare = Annotated[float, msgspec.Meta(ge=0, le=1)]
_SHOWN: Final = 400


class CriterionVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one criterion.

    Args:
        score: from 0 to 1.
        evidence: passages of the transcript, word for word.
        reasoning: why, in a sentence or two.
    """

    score: ScoreShare
    evidence: tuple[str, ...]
    reasoning: str = ""


class RubricVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a judge, unless the caller wants another type.

    Args:
        passed: what the judge thinks.
        score: from 0 to 1, what the judge thinks.
        criteria: the verdict on each criterion of the rubric, by its id.
        reasoning: why, in a few sentences.
    """

    passed: bool
    score: ScoreShare
    criteria: dict[str, CriterionVerdict]
    reasoning: str


def verdict_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a verdict of this type, as a judge gets it.

    Args:
        kind: a msgspec `Struct`, a dataclass, a `TypedDict` or a pydantic model, with a field `passed`.

    Raises:
        WrongTypeError: for another type, or one without `passed`.
    """
    try:
        schema: dict[str, Any] = (
            kind.model_json_schema() if hasattr(kind, "model_json_schema") else record_schema(kind)
        )
    except (TypeError, KeyError, msgspec.MsgspecError) as error:
        raise WrongTypeError(
            "this cannot be the type of a verdict",
            expected="a msgspec Struct, a dataclass, a TypedDict or a pydantic model",
            seen=f"{kind!r}: {error}",
        ) from None
    fields = schema.get("properties", {})
    if fields.get("passed", {}).get("type") != "boolean":  # a text such as "no" would count as true
        raise WrongTypeError(
            f"a verdict of the type {kind.__name__} would not say whether the run passes",
            expected="a field `passed: bool`",
            seen=", ".join(f"{name}: {one.get('type', 'any')}" for name, one in fields.items())
            or "no fields",
        )
    return schema


def read_verdict(answer: str, kind: Any, rubric: Rubric) -> Any:
    """The verdict in the answer of a model.

    Args:
        answer: its words; one JSON object stands in them.
        kind: the type of the verdict.
        rubric: names the criteria.

    Raises:
        JudgmentFailedError: if there is no such object, several different ones, or one with fields missing or wrong;
            the message shows the answer.
    """
    found = objects_in(answer)
    if not found:
        raise _no_verdict(answer, "no JSON object stands in the answer")
    made, problems = [], []
    for one in found:
        try:
            verdict = _converted(one, kind)
        except ValueError as error:  # of msgspec and of pydantic
            problems.append(str(error))
        else:
            made += [] if verdict in made else [verdict]
    if len(made) != 1:
        raise _no_verdict(answer, problems[-1] if not made else f"{len(made)} different verdicts")
    wanted, given = {one.id for one in rubric.criteria}, _value(made[0], "criteria")
    if isinstance(given, Mapping) and set(given) != wanted:
        missing, unknown = ", ".join(sorted(wanted - set(given))), ", ".join(sorted(set(given) - wanted))
        parts = [f"missing: {missing}" if missing else "", f"not of the rubric: {unknown}" if unknown else ""]
        raise _no_verdict(answer, "criteria " + "; ".join(filter(None, parts)))
    if wrong := next(_wrong_scores(made[0]), ""):
        raise _no_verdict(answer, wrong)
    return made[0]


def scores_of(verdict: Any, rubric: Rubric) -> dict[str, float]:
    """The scores of the criteria in a verdict, in the order of the rubric; empty if its type has none."""
    criteria = _value(verdict, "criteria")
    if not isinstance(criteria, Mapping):
        return {}
    scores = {
        key: one if isinstance(one, int | float) else _value(one, "score") for key, one in criteria.items()
    }
    if any(score is None for score in scores.values()):
        return {}
    return {one.id: float(scores[one.id]) for one in rubric.criteria}


def _wrong_scores(verdict: Any) -> Iterator[str]:
    """Scores that are no shares, which a type of the caller's may let through; and criteria without their ids."""
    criteria = _value(verdict, "criteria")
    if criteria is not None and not isinstance(criteria, Mapping):
        yield "expected `criteria` by the ids of the rubric"
        return
    found = {"score": _value(verdict, "score")}
    for key, one in (criteria or {}).items():
        found[f"criteria.{key}"] = one if isinstance(one, int | float) else _value(one, "score")
    for place, score in found.items():
        number = isinstance(score, int | float) and not isinstance(score, bool)
        if score is not None and not (number and 0 <= score <= 1):
            yield f"{place}: expected a number from 0 to 1, got {score!r}"


def evidence_of(verdict: Any) -> Iterator[tuple[str, str]]:
    """Each quote of a verdict, with the criterion that it is for; empty for the verdict as a whole."""
    yield from (("", quote) for quote in _quotes(verdict))
    criteria = _value(verdict, "criteria")
    if isinstance(criteria, Mapping):
        for key, one in criteria.items():
            yield from ((key, quote) for quote in _quotes(one))


def field_of(verdict: Any, name: str) -> Any:
    """A field of a verdict of any type; nothing if it has none."""
    return _value(verdict, name)


def _converted(value: dict[str, Any], kind: Any) -> Any:
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    return msgspec.convert(value, kind)


def _quotes(value: Any) -> tuple[str, ...]:
    found = _value(value, "evidence")
    if isinstance(found, str):
        return (found,)
    return tuple(found) if isinstance(found, list | tuple) else ()


def _value(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)


def _no_verdict(answer: str, problem: str) -> JudgmentFailedError:
    words = re.sub(r"\s+", " ", answer).strip()
    return JudgmentFailedError(
        "the judge gave no verdict",
        answer=answer,
        expected="one JSON object with the fields of the verdict",
        seen=f"{problem}; the answer: {preview(words, _SHOWN) if words else 'empty'}",
        hint="a script answers judges by rules with `purpose: judge`; judge.prompt(run) shows what is asked",
    )
