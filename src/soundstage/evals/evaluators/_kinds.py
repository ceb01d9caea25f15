"""The table of evaluators by name, and how one is made of what a suite says."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, get_type_hints

import msgspec

from soundstage.errors import UnknownNameError, WrongValueError, did_you_mean
from soundstage.evals._run import Evaluator, NamedEvaluator
from soundstage.evals.evaluators import (
    _calls,
    _code,
    _json,
    _judge,
    _likeness,
    _scripts,
    _sets,
    _text,
    _trace,
    _xml,
)


class EvaluatorKind(NamedTuple):
    """One kind of evaluator: a function that makes one of its specification, with words for users as docstring."""

    name: str
    make: Callable[..., Evaluator]

    @property
    def doc(self) -> str:
        """A line for users."""
        return " ".join((inspect.getdoc(self.make) or "").split())


_OF_OTHERS: Final[tuple[Callable[..., Evaluator], ...]] = (_sets.not_, _sets.score, _sets.transform)
_MAKERS: Final[tuple[Callable[..., Evaluator], ...]] = (
    _text.contains,
    _text.not_contains,
    _text.output_matches,
    _text.equals,
    _text.equals_normalised,
    _text.expected,
    _text.similar,
    _text.word_count,
    _text.no_errors,
    _likeness.levenshtein,
    _likeness.rouge_n,
    _likeness.bleu,
    _likeness.gleu,
    _json.is_json,
    _json.contains_json,
    _xml.is_xml,
    _xml.contains_xml,
    _calls.valid_tool_calls,
    _calls.valid_function_call,
    _calls.tool_call_f1,
    _trace.tool,
    _trace.no_tool,
    _trace.tools,
    _trace.trajectory_contains,
    _trace.agents,
    _trace.model_requests,
    _trace.no_egress,
    _trace.no_failures,
    _trace.finish_reason,
    _trace.files_modified,
    _trace.cost,
    _trace.latency,
    _trace.tokens,
    _code.program,
    _code.expression,
    _code.python,
    _judge.judge,
    _scripts.python_code,
    _scripts.javascript,
    *_OF_OTHERS,
)
KINDS: Final[Mapping[str, EvaluatorKind]] = {
    name: EvaluatorKind(name, make) for make in _MAKERS for name in [make.__name__.removesuffix("_")]
}
"""All built-in kinds, by name."""


def evaluator_of(kind: str, spec: Any, *, folder: Path = Path()) -> NamedEvaluator:
    """An evaluator of a built-in kind.

    Args:
        kind: its name; `contains-json` is `contains_json`.
        spec: what it takes.
        folder: where files that it names are looked up.

    Raises:
        UnknownNameError: for another kind; the message names the nearest.
        WrongValueError: for a specification that it does not take.

    Example:
        >>> evaluator_of("contains", "sunny").name
        'contains: sunny'
    """
    found = KINDS.get(kind.replace("-", "_"))
    if found is None:
        raise UnknownNameError(
            f"there is no evaluator {kind!r}",
            expected=", ".join(KINDS),
            hint=did_you_mean(kind.replace("-", "_"), KINDS),
        )
    wanted = next(iter(get_type_hints(found.make).values()))
    try:
        second: Any = functools.partial(evaluator_of, folder=folder) if found.make in _OF_OTHERS else folder
        given = (msgspec.convert(spec, wanted), second)
        evaluate = found.make(*given[: len(inspect.signature(found.make).parameters)])
    except msgspec.ValidationError as error:
        raise WrongValueError(
            f"`{found.name}` does not take this: {error}", seen=_shown(spec), hint=found.doc
        ) from None
    name = found.name if spec is True else f"{found.name}: {_shown(spec)}"
    return NamedEvaluator(name, evaluate, f"{found.name}: {_written(spec)}{_made_of(evaluate)}")


def _made_of(evaluate: Evaluator) -> str:
    """The content of files that an evaluator names, and those that it is made of."""
    return getattr(evaluate, "made_of", "") + "".join(map(_made_of, getattr(evaluate, "parts", ())))


def _written(spec: Any) -> str:
    return spec if isinstance(spec, str) else json.dumps(spec, ensure_ascii=False, default=str)


def _shown(spec: Any) -> str:
    text = _written(spec)
    return text if len(text) <= 60 else text[:59] + "…"
