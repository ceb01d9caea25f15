"""Evaluators of JSON in the answer."""

from __future__ import annotations

import json
from typing import Any, Literal

from soundstage.errors import WrongValueError
from soundstage.evals._events import Grade
from soundstage.evals._run import EvalRun, Evaluator
from soundstage.match import objects_in, preview


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
    if spec is True:
        return lambda _: ""
    if not spec:
        raise WrongValueError(f"`{kind}` takes true, or a JSON Schema", seen=repr(spec))
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError as BadSchema
    from jsonschema.exceptions import best_match

    try:
        Draft202012Validator.check_schema(spec)
    except BadSchema as error:
        raise WrongValueError("this is no JSON Schema", seen=error.message) from None
    validator = Draft202012Validator(spec, format_checker=Draft202012Validator.FORMAT_CHECKER)

    def problem(value: object) -> str:
        error = best_match(validator.iter_errors(value))
        return "" if error is None else f"{error.json_path}: {error.message}"

    return problem
