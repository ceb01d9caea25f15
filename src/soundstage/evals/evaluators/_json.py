"""Evaluators of JSON in the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, Literal

from soundstage.errors import WrongValueError
from soundstage.evals._events import Grade
from soundstage.evals._run import EvalRun, Evaluator
from soundstage.match import objects_in, preview

_DATA: Final = frozenset({"const", "default", "enum", "examples"})  # keywords whose values are no schemas


def is_json(spec: Literal[True] | dict[str, Any]) -> Evaluator:
    """The whole answer is JSON: `true`, or a JSON Schema that it has to fulfil."""
    fits = _fits(spec, "is_json")

    def evaluate(run: EvalRun) -> Grade:
        try:
            found = json.loads(run.output, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            return Grade(passed=False, reason=f"the answer is not JSON: {error}: {preview(run.output)}")
        problem = fits(found)
        return Grade(passed=not problem, reason=problem)

    return evaluate


def contains_json(spec: Literal[True] | dict[str, Any]) -> Evaluator:
    """A JSON object stands in the answer: `true`, or a JSON Schema that one of them has to fulfil."""
    fits = _fits(spec, "contains_json")

    def evaluate(run: EvalRun) -> Grade:
        objects = objects_in(run.output)
        problems = [fits(found) for found in objects]
        reason = problems[-1] if problems else f"no JSON object stands in the answer: {preview(run.output)}"
        passed = "" in problems
        return Grade(passed=passed, reason="" if passed else reason)

    return evaluate


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number in JSON")


def _fits(spec: Literal[True] | dict[str, Any], kind: str) -> Any:
    """The problem of a value under a schema, as a function; no problem at all for `true`."""
    return (lambda _: "") if spec is True else schema_check(spec, kind)


def schema_check(spec: dict[str, Any], kind: str) -> Callable[[object], str]:
    """The problem of a value under a schema, as a function; no problem is an empty text.

    Args:
        spec: a JSON Schema.
        kind: of the evaluator that takes it, for the message.

    Raises:
        WrongValueError: for an empty schema, one that is wrong, and one that refers to what is not in it.
    """
    if not spec:
        raise WrongValueError(f"`{kind}` takes true, or a JSON Schema", seen=repr(spec))
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError as BadSchema
    from jsonschema.exceptions import best_match
    from jsonschema_specifications import REGISTRY

    try:
        Draft202012Validator.check_schema(spec)
    except BadSchema as error:
        raise WrongValueError("this is no JSON Schema", seen=error.message) from None
    _require_here(spec)
    validator = Draft202012Validator(
        spec,
        registry=REGISTRY,  # the default one fetches references from the network
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )

    def problem(value: object) -> str:
        error = best_match(validator.iter_errors(value))
        return "" if error is None else f"{error.json_path}: {error.message}"

    return problem


def _require_here(schema: dict[str, Any]) -> None:
    """Refuse references to what is not in the schema: nothing is fetched."""
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    root = REGISTRY.resolver_with_root(DRAFT202012.create_resource(schema))
    waiting: list[tuple[Any, Any]] = [(root, schema)]
    while waiting:
        resolver, node = waiting.pop()
        if isinstance(node, list):
            waiting += [(resolver, part) for part in node]
        if not isinstance(node, dict):
            continue
        named = isinstance(node.get("$id"), str)
        inside = resolver.in_subresource(DRAFT202012.create_resource(node)) if named else resolver
        reference = node.get("$ref")
        try:
            if isinstance(reference, str):
                inside.lookup(reference)
        except Unresolvable:
            raise WrongValueError(
                "a JSON Schema refers to itself alone: nothing is fetched",
                expected="`$ref` to a part of the schema, e.g. #/$defs/name",
                seen=str(reference),
            ) from None
        waiting += [(inside, part) for key, part in node.items() if key not in _DATA]
