"""The assertions of a test as evaluators of ours, with their weights, names and transforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from soundstage.errors import ScriptError, did_you_mean
from soundstage.evals.evaluators._kinds import evaluator_of
from soundstage.evals.promptfoo._kinds import REFUSED, SERVED, Assertion, Spec, code_of, mapped
from soundstage.evals.promptfoo._reading import FILE, PromptfooReading, each, part_of
from soundstage.evals.promptfoo._render import render_all
from soundstage.evals.promptfoo._tests import SourceTest
from soundstage.scripts import SourceNode, SourceReport, in_one_line, read_source

SET: Final = "assert-set"
_KEYS: Final = {"type", "value", "threshold", "weight", "metric", "transform", "config"}
_SET_KEYS: Final = {"type", "assert", "threshold", "weight", "metric"}
_KEYS_REFUSED: Final = {
    "provider": "no judge is served here",
    "rubricPrompt": "no judge is served here",
    "contextTransform": "no judge is served here",
    "assert": "only an assert-set has parts",
}
_KEYS_NOTED: Final = {"description": "assertions have no description here; `metric` names one"}


class CaseTerms(NamedTuple):
    """Variables and provider of a case, which decide about its assertions too.

    Args:
        variables: of the case.
        declared: what its provider was given, such as its tools.
    """

    variables: Mapping[str, Any]
    declared: Mapping[str, Any] = {}


def expectations(test: SourceTest, given: CaseTerms, transforms: list[Spec]) -> list[Spec]:
    """The expectations of a case: one evaluator for each assertion; a single one if weights, names or a threshold
    make them one, or if the answer is transformed.

    Args:
        test: the test.
        given: variables and provider of the case.
        transforms: of the answer, in order.
    """
    parts = [
        part for key, node, reading in test.asserts for part in [_part(node, key, reading, given)] if part
    ]
    together = test.threshold is not None or any(part.keys() & {"weight", "name"} for part in parts)
    if not parts:
        return [{"no_failures": True}]
    if not (together or transforms):
        return parts
    found = parts[0] if len(parts) == 1 and not together else {"score": _scored(parts, test.threshold)}
    for transform in reversed(transforms):
        found = {"transform": {"by": transform, "expect": found}}
    return [found]


def _scored(parts: list[Spec], threshold: float | None) -> Spec:
    return {"of": parts, **({} if threshold is None else {"at_least": threshold})}


def _part(node: SourceNode, key: str, reading: PromptfooReading, given: CaseTerms) -> Spec | None:
    """One assertion, or nothing if it cannot be used; the reading then knows why."""
    kind = part_of(node, "type")
    if kind is None or not isinstance(kind.value, str):
        reading.refuse(node, key, "expected an assertion with a `type`")
        return None
    if kind.value == SET:
        return _set(node, key, reading, given)
    plain = kind.value.removeprefix("not-")
    if plain not in SERVED and plain not in REFUSED:
        hint = did_you_mean(plain, [*SERVED, *REFUSED, SET])
        reading.refuse(
            kind, f"{key}.type", f"there is no assertion {kind.value!r}; {hint or ', '.join(SERVED)}"
        )
        return None
    if not reading.known(node, key, _KEYS, _KEYS_REFUSED if plain in SERVED else {}, _KEYS_NOTED):
        return None
    try:
        spec = mapped(kind.value, _assertion(node, reading, given))
        transform = part_of(node, "transform")
        if transform is not None:
            spec = {"transform": {"by": transform_of(transform.value), "expect": spec}}
        evaluator_of(*next(iter(spec.items())))  # says what is wrong with it, where it stands
    except ScriptError as error:
        reading.refuse(kind if plain in REFUSED else node, f"{key}.{kind.value}", in_one_line(error))
        return None
    return {**spec, **_terms(node, key, reading)}


def _set(node: SourceNode, key: str, reading: PromptfooReading, given: CaseTerms) -> Spec | None:
    reading.known(node, key, _SET_KEYS, {"transform": "a set has no transform: its parts have"}, _KEYS_NOTED)
    items = list(each(part_of(node, "assert"), f"{key}.assert"))
    parts = [part for place, item in items for part in [_part(item, place, reading, given)] if part]
    if not items:
        reading.refuse(node, key, "expected `assert`, the parts of the set")
    threshold = part_of(node, "threshold")
    if threshold is not None and (
        isinstance(threshold.value, bool) or not isinstance(threshold.value, int | float)
    ):
        reading.refuse(threshold, f"{key}.threshold", f"expected a number, got {threshold.value!r}")
    return {
        "score": _scored(parts, None if threshold is None else threshold.value),
        **_terms(node, key, reading),
    }


def _terms(node: SourceNode, key: str, reading: PromptfooReading) -> Spec:
    """Weight and name of an assertion."""
    weight, metric = part_of(node, "weight"), part_of(node, "metric")
    found: Spec = {}
    if weight is not None:
        if isinstance(weight.value, bool) or not isinstance(weight.value, int | float) or weight.value < 0:
            reading.refuse(weight, f"{key}.weight", f"expected a number from 0, got {weight.value!r}")
        found["weight"] = weight.value
    if metric is not None and metric.value:
        found["name"] = str(metric.value)
    return found


def _assertion(node: SourceNode, reading: PromptfooReading, given: CaseTerms) -> Assertion:
    values = {name: field.node.value for name, field in node.fields.items()}
    threshold = values.get("threshold")
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float)):
        raise ScriptError("`threshold` is a number", seen=repr(threshold))
    return Assertion(
        render_all(values.get("value"), given.variables),
        threshold,
        values.get("config"),
        lambda text: _loaded(text, node, reading),
        given.declared,
    )


def _loaded(text: str, node: SourceNode, reading: PromptfooReading) -> Any:
    """The data of a file, or of a text that is YAML or JSON."""
    if text.startswith(FILE):
        paths = reading.paths(text, node, "value")
        found = reading.data(paths[0]) if paths else None
    else:
        own = SourceReport("")
        found = read_source(text, own, form="")
        if own.problems:
            raise ScriptError("this is neither YAML nor JSON", seen=own.problems[0].message)
    return None if found is None else found.value


def transform_of(value: Any) -> Spec:
    """A transform as promptfoo writes it: an expression, or a file in JavaScript or Python.

    Raises:
        ScriptError: for something else.
    """
    if not isinstance(value, str) or not value.strip():
        raise ScriptError("a transform is an expression in JavaScript, or a file", seen=repr(value))
    if value.startswith(FILE) and ".py" in value:
        return {"python": code_of(value, "get_transform")}
    return {"javascript": code_of(value, "")}
