"""Evaluators of the answer's text."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from soundstage.errors import WrongValueError
from soundstage.evals._errors import AbsentDataError
from soundstage.evals._events import Grade
from soundstage.evals._run import EvalRun, Evaluator
from soundstage.match import matcher, preview

Texts = str | list[str]
_ERRORS = ("error", "Error")  # words that no good answer has, as the seed's report counts them


def contains(spec: Texts) -> Evaluator:
    """The answer contains the text, or each of several."""
    wanted = _texts(spec)

    def evaluate(run: EvalRun) -> Grade:
        missing = [text for text in wanted if text not in run.output]
        return _grade(run, not missing, f"the answer does not contain {_listed(missing)}")

    return evaluate


def not_contains(spec: Texts) -> Evaluator:
    """The answer contains neither the text, nor any of several."""
    unwanted = _texts(spec)

    def evaluate(run: EvalRun) -> Grade:
        there = [text for text in unwanted if text in run.output]
        return _grade(run, not there, f"the answer contains {_listed(there)}")

    return evaluate


def output_matches(spec: Any) -> Evaluator:
    """The answer matches: a text that it contains, a `/regex/`, or any other condition of the match algebra."""
    wanted = matcher(spec)

    def evaluate(run: EvalRun) -> Grade:
        passed = wanted.matches(run.output)
        return Grade(
            passed=passed, reason="" if passed else wanted.explain(run.output) or "it does not match"
        )

    return evaluate


def equals(spec: str) -> Evaluator:
    """The answer is this text, without spaces around it."""
    return lambda run: _same(run, run.output.strip(), spec.strip())


def equals_normalised(spec: str) -> Evaluator:
    """The answer is this text, whatever the case of letters, the spaces, and the marks around it."""
    return lambda run: _same(run, _normalised(run.output), _normalised(spec))


def expected(spec: str) -> Evaluator:
    """The answer compared with the `expected` of its case: `exact`, `normalised`, or `contains` for a part of it."""
    ways = {"exact": equals, "normalised": equals_normalised, "contains": contains}
    if spec not in ways:
        raise WrongValueError("`expected` says how to compare", expected=" or ".join(ways), seen=repr(spec))

    def evaluate(run: EvalRun) -> Any:
        if run.case.expected is None:
            raise AbsentDataError(f"the case {run.case.name!r} has no `expected`")
        return ways[spec](str(run.case.expected))(run)

    return evaluate


class Similar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """To which text, and how much at least, from 0 to 1."""

    to: str
    at_least: float = 0.8


def similar(spec: Similar) -> Evaluator:
    """The answer is like a text: `{to: TEXT, at_least: 0.8}`, by the ratio of Python's `difflib`. It gives a score."""
    from difflib import SequenceMatcher

    if not 0 < spec.at_least <= 1:
        raise WrongValueError(
            "`at_least` is a share", expected="above 0, at most 1", seen=repr(spec.at_least)
        )

    def evaluate(run: EvalRun) -> Grade:
        score = SequenceMatcher(None, _normalised(spec.to), _normalised(run.output), autojunk=False).ratio()
        reason = "" if score >= spec.at_least else f"it is like it by {score:.2f}, below {spec.at_least:g}"
        return Grade(passed=score >= spec.at_least, score=score, reason=reason)

    return evaluate


class WordBounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of a number of words."""

    at_least: int | None = None
    at_most: int | None = None


def word_count(spec: int | WordBounds) -> Evaluator:
    """The answer has so many words, between spaces: a number, or `{at_least, at_most}`."""
    wanted = WordBounds(spec, spec) if isinstance(spec, int) else spec
    least, most = wanted.at_least or 0, wanted.at_most
    if (wanted.at_least is None and most is None) or least < 0 or (most is not None and most < least):
        raise WrongValueError("`word_count` has bounds", expected="from 0, at_least first", seen=repr(spec))

    def evaluate(run: EvalRun) -> Grade:
        found = len(run.output.split())
        passed = found >= least and (most is None or found <= most)
        return Grade(passed=passed, reason="" if passed else f"{found} words: {preview(run.output)}")

    return evaluate


def no_errors(spec: Literal[True] | list[str]) -> Evaluator:
    """The answer has no word of errors, `error` and `Error` or those given, and the run ended without a failure."""
    words = _ERRORS if spec is True else tuple(_texts(spec))

    def evaluate(run: EvalRun) -> Grade:
        there = [word for word in words if word in run.output]
        if there:
            return _grade(run, not there, f"the answer contains {_listed(there)}")
        failures = [failure.message for failure in run.trace.failures]
        return Grade(passed=not failures, reason="; ".join(failures[:3]))

    return evaluate


def _texts(spec: Texts) -> list[str]:
    found = [spec] if isinstance(spec, str) else list(spec)
    if not all(found) or not found:
        raise WrongValueError(
            "an empty text is in every answer", expected="a text, or a list of texts", seen=repr(spec)
        )
    return found


def _listed(texts: list[str]) -> str:
    return ", ".join(repr(text) for text in texts)


def _normalised(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!?\"'`")


def _same(run: EvalRun, seen: str, wanted: str) -> Grade:
    return _grade(run, seen == wanted, f"the answer is not {preview(wanted)}")


def _grade(run: EvalRun, passed: bool, reason: str) -> Grade:  # noqa: FBT001  (a private helper of two values)
    return Grade(passed=passed, reason="" if passed else f"{reason}: {preview(run.output)}")
