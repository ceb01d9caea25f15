"""Evaluators of tool calls that stand in the answer, as data of a provider or as JSON in a text.

Calls that the agent has made are in the trace of the run: `tool` and `tools` look there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from soundstage.errors import WrongValueError
from soundstage.evals._events import Grade
from soundstage.evals._run import EvalRun, Evaluator
from soundstage.evals.evaluators._json import schema_check
from soundstage.match import json_at, preview

_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_BEGIN: Final = re.compile(r"[\[{]")
_TRIES: Final = 1000  # beginnings without an end: a text of brackets alone shall not cost its square


def valid_tool_calls(spec: list[dict[str, Any]]) -> Evaluator:
    """The answer is a list of calls as OpenAI's chat has them, or `{tool_calls: ...}`. Each is of one of these tools,
    `{type: function, function: {name, parameters}}`, and its arguments fulfil the JSON Schema in `parameters`."""
    check = _check_of(
        [tool.get("function") for tool in spec if tool.get("type") == "function"], "valid_tool_calls"
    )

    def problem(value: Any) -> str:
        calls = value.get("tool_calls", value) if isinstance(value, dict) else value
        if not isinstance(calls, list) or not calls:
            return "the answer is no list of tool calls"
        functions = [call.get("function") if isinstance(call, dict) else None for call in calls]
        return next(filter(None, map(check, functions)), "")

    return _judging(problem)


def valid_function_call(spec: list[dict[str, Any]]) -> Evaluator:
    """The answer is a call `{name, arguments}`, or `{function_call: ...}`, of one of these functions, `{name,
    parameters}`, and its arguments fulfil the JSON Schema in `parameters`."""
    check = _check_of(spec, "valid_function_call")

    def problem(value: Any) -> str:
        return check(value.get("function_call", value) if isinstance(value, dict) else value)

    return _judging(problem)


class ExpectedNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of tools, and the F1 that is enough, from 0 to 1."""

    tools: list[str]
    at_least: float = 1.0


def tool_call_f1(spec: list[str] | ExpectedNames) -> Evaluator:
    """The tools whose calls stand in the answer are these: a list of names, or `{tools, at_least: 1.0}`. The score is
    F1 of the two sets of names; order and repetition do not count. Calls are those of OpenAI, Anthropic and Gemini."""
    wanted = ExpectedNames(spec) if isinstance(spec, list) else spec
    names = set(wanted.tools)
    if not names or not all(names):
        raise WrongValueError("`tool_call_f1` takes names of tools", seen=repr(wanted.tools))

    def evaluate(run: EvalRun) -> Grade:
        called = set(_names(run.output if run.value is None else run.value))
        score = 2 * len(names & called) / (len(names) + len(called))
        passed = score >= wanted.at_least
        told = f"F1 is {score:.3g}, below {wanted.at_least:g}; called: {', '.join(sorted(called)) or 'none'}"
        return Grade(passed=passed, score=score, reason="" if passed else told)

    return evaluate


def _judging(problem_of: Any) -> Evaluator:
    def evaluate(run: EvalRun) -> Grade:
        problem = problem_of(_data(run.output) if run.value is None else run.value)
        return Grade(passed=not problem, reason=f"{problem}: {preview(run.output)}" if problem else "")

    return evaluate


def _check_of(functions: list[Any], kind: str) -> Callable[[Any], str]:
    """The problem of a call, if these are the functions; the first of a name counts."""
    schemas: dict[str, Any] = {}
    for one in functions:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise WrongValueError(f"`{kind}` takes functions with a `name`", seen=repr(one))
        schemas.setdefault(one["name"], _fits(one.get("parameters"), kind))

    def problem(call: Any) -> str:
        if not isinstance(call, dict) or not all(
            isinstance(call.get(key), str) for key in ("name", "arguments")
        ):
            return "this is no call with a `name` and `arguments` as a text"
        fits = schemas.get(call["name"])
        if fits is None:
            return f"{call['name']} was called, and no such function has `parameters`"
        try:
            found = json.loads(call["arguments"])
        except (ValueError, RecursionError) as error:
            return f"the arguments of {call['name']} are not JSON: {error}"
        wrong = fits(found)
        return f"the arguments of {call['name']} do not fit: {wrong}" if wrong else ""

    return problem


def _fits(parameters: Any, kind: str) -> Callable[[object], str] | None:
    if parameters is None:
        return None
    return schema_check(parameters, kind) if parameters else lambda _: ""


def _data(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _names(value: Any) -> Iterator[str]:
    """The names of tools that some data calls, whichever provider's they are."""
    if isinstance(value, str):
        found = _data(value)
        for one in _blocks(value) if isinstance(found, str) else [found]:
            yield from _names(one)
    elif isinstance(value, dict):
        yield from _texts(_names_of_message(value))
    elif isinstance(value, list):
        yield from _texts(_name_of_part(part) for part in value if isinstance(part, dict))


def _names_of_message(value: dict[str, Any]) -> Iterator[Any]:
    calls, live = value.get("tool_calls"), value.get("toolCall")
    if isinstance(calls, list):
        for call in calls:
            if isinstance(call, dict):
                yield _named(call.get("function"))
                yield call.get("name")
    elif value.get("type") in ("tool_use", "function_call") and isinstance(value.get("name"), str):
        yield value["name"]
    elif isinstance(value.get("functionCall"), dict):
        yield _named(value["functionCall"])
    elif isinstance(live, dict):
        several = live.get("functionCalls")
        yield from map(_named, several if isinstance(several, list) else [])


def _name_of_part(part: dict[str, Any]) -> Any:
    if part.get("type") == "tool_use" and isinstance(part.get("name"), str):
        return part["name"]
    for key in ("functionCall", "function"):
        if isinstance(part.get(key), dict):
            return _named(part[key])
    return part.get("name")


def _named(value: Any) -> Any:
    return value.get("name") if isinstance(value, dict) else None


def _texts(found: Iterator[Any]) -> Iterator[str]:
    return (one for one in found if isinstance(one, str))


def _blocks(text: str) -> Iterator[Any]:
    """The JSON that has lines of a text for itself; what stands between fences is an example, no call."""
    fence, place, failed = "", 0, 0
    while place < len(text) and failed < _TRIES:
        stop = _line_end(text, place)
        mark = _FENCE.match(text, place, stop)
        if mark and not (fence or (mark[1][0] == "`" and "`" in mark[2])):
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif not fence and (begin := _BEGIN.search(text, place, stop)):
            found, end = json_at(text, begin.start())
            failed += end == 0
            alone = not text[text.rfind("\n", 0, begin.start()) + 1 : begin.start()].strip()
            place, stop = end or begin.end(), _line_end(text, end)
            if end and alone and not text[end:stop].strip():
                yield found
            continue
        place = stop + 1


def _line_end(text: str, place: int) -> int:
    found = text.find("\n", place)
    return len(text) if found < 0 else found
