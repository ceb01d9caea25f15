"""The kinds of assertions, each as an evaluator of ours. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from soundstage.errors import ScriptError, WrongValueError
from soundstage.evals.promptfoo._pattern import python_pattern
from soundstage.evals.promptfoo._render import js_text

FILE: Final = "file://"


class Assertion(NamedTuple):
    """An assertion, its value rendered.

    Args:
        value: what it compares with; `None` if it has none.
        threshold: `None` if it has none.
        config: for code.
        load: the data of a file.
        declared: what the provider was given, such as its tools.
    """

    value: Any
    threshold: float | None
    config: Any
    load: Callable[[str], Any]
    declared: Mapping[str, Any] = {}


Spec = dict[str, Any]


def is_known(kind: str) -> bool:
    """Whether promptfoo has this kind, served or not."""
    return kind in SERVED or kind in REFUSED


def _text(given: Assertion) -> str:
    """The value as a text."""
    if given.value is None or given.value == "" or isinstance(given.value, list | dict):
        raise WrongValueError("expected a text as `value`", seen=repr(given.value))
    return js_text(given.value)


def _texts(given: Assertion) -> list[str]:
    value = [part.strip() for part in given.value.split(",")] if isinstance(given.value, str) else given.value
    if not isinstance(value, list) or not value or "" in value:
        raise WrongValueError("expected a list of texts as `value`", seen=repr(given.value))
    return [js_text(one) for one in value]


def _ignoring_case(text: str) -> str:
    return f"/{re.escape(text)}/i"


def _equals(given: Assertion) -> Spec:
    if isinstance(given.value, str) and given.value.startswith(FILE):
        given = given._replace(value=given.load(given.value))
    if isinstance(given.value, dict | list):
        return {"is_json": {"const": given.value}}
    if given.value is None:
        raise WrongValueError("expected a `value`", seen="none")
    return {"output_matches": {"equals": js_text(given.value)}}


def _json(kind: str) -> Callable[[Assertion], Spec]:
    def mapped(given: Assertion) -> Spec:
        schema = given.value
        if isinstance(schema, str) and schema:
            schema = given.load(schema)
        if schema is not None and not isinstance(schema, dict):
            raise WrongValueError("expected a JSON Schema as `value`", seen=repr(given.value))
        return {kind: schema or True}

    return mapped


def _code(kind: str, function: str) -> Callable[[Assertion], Spec]:
    def mapped(given: Assertion) -> Spec:
        if not isinstance(given.value, str) or not given.value.strip():
            raise WrongValueError("expected code as `value`", seen=repr(given.value))
        more = {"threshold": given.threshold} if given.threshold is not None else {}
        more |= {"config": given.config} if given.config is not None else {}
        code = code_of(given.value, function)
        return {kind: {**code, **more} if more or "file" in code else code["code"]}

    return mapped


def code_of(text: str, function: str) -> Spec:
    """Code in place, or a file with the name of the function in it."""
    if not text.startswith(FILE):
        return {"code": text}
    path, colon, name = text.removeprefix(FILE).rpartition(":")
    file, name = (path, name) if colon and path else (text.removeprefix(FILE), function)
    return {"file": file, **({"function": name} if name else {})}


def _levenshtein(given: Assertion) -> Spec:
    return {
        "levenshtein": {"to": _text(given), "at_most": 5 if given.threshold is None else int(given.threshold)}
    }


def _overlap(kind: str, usual: float) -> Callable[[Assertion], Spec]:
    def mapped(given: Assertion) -> Spec:
        to = _texts(given) if isinstance(given.value, list) else _text(given)
        return {kind: {"to": to, "at_least": usual if given.threshold is None else given.threshold}}

    return mapped


def _amount(kind: str, unit: float) -> Callable[[Assertion], Spec]:
    def mapped(given: Assertion) -> Spec:
        if given.threshold is None:
            raise WrongValueError("expected a `threshold`", seen="none")
        return {kind: given.threshold * unit}

    return mapped


def _words(given: Assertion) -> Spec:
    bounds = given.value
    if isinstance(bounds, str) and bounds.isdigit():
        bounds = int(bounds)
    if isinstance(bounds, dict) and bounds and bounds.keys() <= {"min", "max"}:
        names = {"min": "at_least", "max": "at_most"}
        bounds = {names[name]: number for name, number in bounds.items()}
    elif not isinstance(bounds, int):
        raise WrongValueError("expected a number, or `{min, max}`, as `value`", seen=repr(bounds))
    return {"word_count": bounds}


def _xml(kind: str) -> Callable[[Assertion], Spec]:
    def mapped(given: Assertion) -> Spec:
        value = given.value
        if isinstance(value, dict) and value:
            value = value.get("requiredElements")
            if not isinstance(value, list):
                raise WrongValueError("expected `requiredElements` with a list", seen=repr(given.value))
        if not isinstance(value, str):
            return {kind: list(map(js_text, value)) if isinstance(value, list) and value else True}
        return {kind: [path.strip() for path in value.split(",")]}

    return mapped


def _calls(kind: str, key: str) -> Callable[[Assertion], Spec]:
    def mapped(given: Assertion) -> Spec:
        found = given.declared.get(key, [])
        if not isinstance(found, list):
            raise WrongValueError(f"expected `{key}` of the provider as a list", seen=repr(found))
        return {kind: found}

    return mapped


def _f1(given: Assertion) -> Spec:
    value = given.value.split(",") if isinstance(given.value, str) else given.value
    names = (
        [name for name in (js_text(one).strip() for one in value) if name] if isinstance(value, list) else []
    )
    if not names:
        raise WrongValueError("expected names of tools as `value`", seen=repr(given.value))
    return {"tool_call_f1": {"tools": names, "at_least": 1.0 if given.threshold is None else given.threshold}}


SERVED: Final[Mapping[str, Callable[[Assertion], Spec]]] = {
    "equals": _equals,
    "contains": lambda given: {"contains": _text(given)},
    "contains-all": lambda given: {"contains": _texts(given)},
    "contains-any": lambda given: {"output_matches": {"any": [{"text": one} for one in _texts(given)]}},
    "icontains": lambda given: {"output_matches": _ignoring_case(_text(given))},
    "icontains-all": lambda given: {
        "output_matches": {"all": [_ignoring_case(one) for one in _texts(given)]}
    },
    "icontains-any": lambda given: {
        "output_matches": {"any": [_ignoring_case(one) for one in _texts(given)]}
    },
    "starts-with": lambda given: {"output_matches": f"/\\A{re.escape(_text(given))}/"},
    "regex": lambda given: {"output_matches": f"/{python_pattern(_text(given))}/"},
    "is-json": _json("is_json"),
    "contains-json": _json("contains_json"),
    "is-xml": _xml("is_xml"),
    "contains-xml": _xml("contains_xml"),
    "is-valid-openai-tools-call": _calls("valid_tool_calls", "tools"),
    "is-valid-openai-function-call": _calls("valid_function_call", "functions"),
    "is-valid-function-call": _calls("valid_function_call", "functions"),
    "tool-call-f1": _f1,
    "levenshtein": _levenshtein,
    "rouge-n": _overlap("rouge_n", 0.75),
    "bleu": _overlap("bleu", 0.5),
    "gleu": _overlap("gleu", 0.5),
    "word-count": _words,
    "finish-reason": lambda given: {"finish_reason": _text(given)},
    "cost": _amount("cost", 1.0),
    "latency": _amount("latency", 0.001),
    "javascript": _code("javascript", ""),
    "python": _code("python_code", "get_assert"),
}
"""Kinds that are served, by their names in promptfoo."""
_NEVER_INVERSE: Final = frozenset({kind for kind in SERVED if kind.startswith("is-valid-")})

_MODEL: Final = "it asks a model; `judge` does, by a rubric in a file, and decides once it is calibrated"
_TRACE: Final = "it looks into OpenTelemetry spans; `tool`, `tools` and others look into the run itself"
_SERVICE: Final = "it needs a service or a library that is not here"
REFUSED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "llm-rubric",
            "g-eval",
            "factuality",
            "model-graded-closedqa",
            "model-graded-factuality",
            "answer-relevance",
            "context-faithfulness",
            "context-recall",
            "context-relevance",
            "conversation-relevance",
            "select-best",
            "max-score",
            "search-rubric",
            "agent-rubric",
        ),
        _MODEL,
    ),
    **dict.fromkeys(
        (
            "trace-span-count",
            "trace-span-duration",
            "trace-error-spans",
            "trajectory:tool-used",
            "trajectory:tool-args-match",
            "trajectory:tool-sequence",
            "trajectory:step-count",
            "trajectory:goal-success",
            "skill-used",
        ),
        _TRACE,
    ),
    **dict.fromkeys(
        (
            "similar",
            "classifier",
            "moderation",
            "guardrails",
            "pi",
            "webhook",
            "ruby",
            "perplexity",
            "perplexity-score",
        ),
        _SERVICE,
    ),
    "meteor": "it needs WordNet, which is not here; `gleu` or `rouge-n` compare words",
    **dict.fromkeys(
        ("is-sql", "contains-sql"), "it needs a parser for each dialect; `python` can call yours"
    ),
    **dict.fromkeys(
        ("is-html", "contains-html", "is-refusal"),
        "nothing here does the same; `javascript` or `python` can",
    ),
}
"""Kinds that are not served, with the reason."""


def mapped(kind: str, given: Assertion) -> Spec:
    """The evaluator for an assertion.

    Raises:
        ScriptError: for a kind that is not served, and a value that it does not take.
    """
    plain = kind.removeprefix("not-")
    if plain in REFUSED:
        raise ScriptError(f"{plain} is not served: {REFUSED[plain]}")
    if plain != kind and plain in _NEVER_INVERSE:
        raise ScriptError(f"{kind} is not served: promptfoo judges it as {plain}")
    spec = SERVED[plain](given)
    return {"not": spec} if plain != kind else spec
