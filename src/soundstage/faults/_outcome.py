"""The outcome of a run, and what a sweep says about it. Pure.

The outcome of a faulty run is held against that of the good one: what came out, which tools ran with which arguments,
which files are there. An app that gives up has to leave things as they were at one of the moments at which the good run
has asked its model: what is in between is half done.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from soundstage.faults._calls import ModelCall, ToolAction, asks_the_same
from soundstage.faults._cases import Injection
from soundstage.match import preview

Verdict = Literal["survived", "gave up", "wrong result", "hung", "crashed"]
VERDICTS: Final[tuple[Verdict, ...]] = ("survived", "gave up", "wrong result", "hung", "crashed")
Files = Mapping[str, str]
"""Files by path, each with its hash."""
NO_FILES: Final[Files] = MappingProxyType({})


class Outcome(NamedTuple):
    """The end of one run.

    Args:
        result: what it printed; in process, what it returned.
        code: the exit code, negative for a signal; in process 0 if it has returned, else 1.
        error: what it said when it failed; empty if it said nothing.
        crash: why its end was a crash, if it was one.
        hung: why it did not end, if it did not.
        calls: what it asked its model.
        tools: the tools that it ran.
        files: the files of its folder at the end.
        states: the files at each call of the model, and at the end.
    """

    result: Any
    code: int = 0
    error: str = ""
    crash: str = ""
    hung: str = ""
    calls: Sequence[ModelCall] = ()
    tools: Sequence[ToolAction] = ()
    files: Files = NO_FILES
    states: Sequence[Files] = ()


class Judgement(NamedTuple):
    """A verdict and its reason."""

    verdict: Verdict
    reason: str


_CRASHES: Final = (
    (re.compile(r"^Traceback \(most recent call last\):", re.MULTILINE), "a traceback"),
    (re.compile(r"^Node\.js v\d+", re.MULTILINE), "an exception that nobody caught"),
    (re.compile(r"^panic: |^goroutine \d+ \[running\]", re.MULTILINE), "a panic"),
    (re.compile(r"^thread '.*' .*panicked at ", re.MULTILINE), "a panic"),
    (re.compile(r"^Exception in thread \"|^Unhandled exception", re.MULTILINE), "an exception"),
)


def counted(number: int, thing: str) -> str:
    """A number of things, in words: `1 request`, `2 requests`."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def crash_in(code: int, errors: str) -> str:
    """The crash that a program's exit shows, in words; empty if it was none."""
    if code < 0:
        return f"ended by signal {-code}"
    last = _last_line(errors)
    return (
        next((f"{what}: {preview(last)}" for pattern, what in _CRASHES if pattern.search(errors)), "")
        if code
        else ""
    )


def judge(good: Outcome, seen: Outcome) -> Judgement:
    """The verdict on a faulty run.

    Args:
        good: the good run's outcome.
        seen: the faulty one's.
    """
    if seen.hung:
        return Judgement("hung", seen.hung)
    if seen.crash:
        return Judgement("crashed", seen.crash)
    if seen.code:
        return _given_up(good, seen)
    wrong = _difference(good, seen)
    return Judgement("wrong result", wrong) if wrong else Judgement("survived", "")


def _given_up(good: Outcome, seen: Outcome) -> Judgement:
    if not seen.error.strip():
        return Judgement("crashed", f"exit code {seen.code} without a word")
    unknown = next((call for call in seen.calls if call.unknown), None)
    if unknown is not None:
        return Judgement(
            "wrong result", f"asked what has no answer, at request {unknown.number}: {_asked(unknown)}"
        )
    half = _half_done(good, seen)
    if half:
        return Judgement("wrong result", f"gave up with {half}")
    return Judgement("gave up", preview(_last_line(seen.error)))


def _half_done(good: Outcome, seen: Outcome) -> str:
    more = Counter(seen.tools) - Counter(good.tools)
    if more:
        return f"a tool that the good run has not run: {_action(next(iter(more)))}"
    if seen.files in good.states:
        return ""
    nearest = min(good.states, key=lambda state: len(_differing(state, seen.files)), default={})
    return f"a side effect half done: {', '.join(_differing(nearest, seen.files))}"


def _difference(good: Outcome, seen: Outcome) -> str:
    """The first thing that is not as in the good run, in words; tools tell more than what came of them."""
    more, fewer = Counter(seen.tools) - Counter(good.tools), Counter(good.tools) - Counter(seen.tools)
    if more:
        action = next(iter(more))
        twice = "more often than the good run" if action in good.tools else "which the good run has not"
        return f"ran {_action(action)}, {twice}"
    if fewer:
        return f"did not run {_action(next(iter(fewer)))}"
    if seen.files != good.files:
        return f"other files: {', '.join(_differing(good.files, seen.files))}"
    if seen.result != good.result:
        return _other_result(good.result, seen.result)
    return ""


def _other_result(good: Any, seen: Any) -> str:
    if not seen and seen != 0:
        return "nothing came out, and it said it went well"
    if isinstance(good, str) and isinstance(seen, str):
        if good.startswith(seen.rstrip("\n")):
            return f"only the beginning came out: {preview(seen)}"
        times = seen.count(good.strip()) if good.strip() else 0
        if times > 1:
            return f"the result came out {times} times"
    return f"came out: {preview(seen)}, not: {preview(good)}"


def _asked(call: ModelCall) -> str:
    return preview(call.request.messages[-1].everything) if call.request.messages else "nothing"


def _differing(one: Files, other: Files) -> list[str]:
    return [path for path in sorted({*one, *other}) if one.get(path) != other.get(path)]


def _action(action: ToolAction) -> str:
    return f"{action.name}({preview(action.arguments, 60)}) -> {preview(action.result, 40)}"


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


class Retries(NamedTuple):
    """The tries that followed a fault.

    Args:
        times: how often the same was asked again.
        waited: seconds from the request that got the fault to the first of them; 0 without one.
    """

    times: int
    waited: float


def retries_in(seen: Outcome, injection: Injection) -> Retries:
    """How often the call that got the fault was made again, and how long after it."""
    if len(seen.calls) < injection.call:
        return Retries(0, 0.0)
    faulty = seen.calls[injection.call - 1]
    again = [call for call in seen.calls[injection.call :] if asks_the_same(faulty.request, call.request)]
    return Retries(len(again), again[0].began - faulty.began if again else 0.0)
