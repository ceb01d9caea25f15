"""Assertions on the result of a run: is it whole, is it that of another run, did it cost more than it may.

Each has its negation, and each of these its check, which returns a `Finding`. A result of which nothing can be said is
an error in both: one in which nothing has happened, a cost that nobody knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.errors import ExpectationError, ScriptError, UnknownNameError, WrongValueError, did_you_mean
from soundstage.journal import Event, Record
from soundstage.runs._files import LazyFile
from soundstage.runs.result import FileEntry, RunResult
from soundstage.trace import Finding, ToolUse, assertion_of, over_budget

_TIMES: Final = frozenset({"started", "ended", "time"})  # the fields that are seconds on the clock of a run
_SHOWN, _LONGEST = 20, 200  # differences, and characters of a value, in a message
_FIELDS: Final = frozenset(
    name for kind in (RunResult, FileEntry, ToolUse, Record) for name in kind.__struct_fields__
)


def check_complete_hooks(result: RunResult) -> Finding:
    """The run is complete, and no hook or tool call lacks its begin or its end.

    Raises:
        ScriptError: if nothing has happened.
    """
    _require_events(result)
    missing = ", ".join(result.missing)
    held = result.status == "complete" and not missing
    return Finding(
        passed=held,
        message="all hooks are there"
        if held
        else f"hooks without their begin or end: {missing}"
        if missing
        else f"the run is {result.status}: {'; '.join(result.reasons) or 'it does not say why'}",
        expected="status complete, no hook missing",
        seen="\n".join((f"status {result.status}", f"missing: {missing or 'none'}", *result.reasons)),
        hint="" if held else "look at result.warnings, and at the hooks of result.timeline",
    )


def check_incomplete_hooks(result: RunResult) -> Finding:
    """The run is not complete, or a hook or tool call lacks its begin or its end.

    Raises:
        ScriptError: if nothing has happened.
    """
    return _turned(check_complete_hooks(result), "status partial or failed, or a hook missing")


def check_same_result(
    result: RunResult, expected: RunResult, *, tolerance: float = 1.0, ignore: Collection[str] = ()
) -> Finding:
    """All fields of two results are equal, as deep as they go: records, files by their hashes, tool calls, cost.

    Times are compared as seconds since the begin of their run, and may differ a little.

    Args:
        result: the result.
        expected: that of another run.
        tolerance: so many seconds may a time differ, from 0.
        ignore: names of fields that do not count, wherever they stand: `id` and `run` for runs with ids of their own.

    Raises:
        ScriptError: if nothing has happened in one of them.
        UnknownNameError: for a field that there is not.
        WrongValueError: for a tolerance below 0.
    """
    _require_events(result)
    _require_events(expected)
    _require_options(tolerance, ignore)
    old, new = (_plain_result(one, frozenset(ignore)) for one in (expected, result))
    found = list(_differing(old, new, "", tolerance))
    fields = ", ".join(dict.fromkeys(re.split(r"[.\[]", where, maxsplit=1)[0] for where, _, _ in found))
    lines = [f"{where}\n  - {_preview(before)}\n  + {_preview(now)}" for where, before, now in found[:_SHOWN]]
    if len(found) > _SHOWN:
        lines.append(f"and {len(found) - _SHOWN} more")
    return Finding(
        passed=not found,
        message=f"the results differ in {fields}" if found else "the results are equal",
        expected="an equal result; below, - is of the expected one",
        seen=f"{len(found)} differences" if found else "no difference",
        diff="\n".join(lines),
    )


def check_other_result(
    result: RunResult, expected: RunResult, *, tolerance: float = 1.0, ignore: Collection[str] = ()
) -> Finding:
    """Two results differ in a field. Arguments and errors as of `check_same_result`."""
    return _turned(
        check_same_result(result, expected, tolerance=tolerance, ignore=ignore), "a result that differs"
    )


def check_within_budget(result: RunResult, dollars: float) -> Finding:
    """The run cost at most so much; all of it is within.

    Args:
        result: the result.
        dollars: US dollars, from 0.

    Raises:
        ScriptError: if nobody asked a model.
        PricingError: if the cost is not known.
        WrongValueError: for a budget that is no number from 0.
    """
    if result.cost is None:
        raise ScriptError(
            "the run has no cost that could be compared with a budget",
            expected="a run that asks a model, or reports its cost",
            seen=f"status {result.status}, {len(result.timeline)} records",
        )
    cost = result.cost.usd
    held = not over_budget(cost, dollars)
    return Finding(
        passed=held,
        message=f"the run cost {_dollars(cost)} of {_dollars(dollars)}",
        expected=f"at most {_dollars(dollars)}",
        seen=", ".join(
            [_dollars(cost), *(f"{name} {_dollars(part)}" for name, part in result.cost.by_model.items())]
        ),
        hint="" if held else "raise the budget, or look which steps cost most: build_trace(result.timeline)",
    )


def check_over_budget(result: RunResult, dollars: float) -> Finding:
    """The run cost more than that. Arguments and errors as of `check_within_budget`."""
    return _turned(check_within_budget(result, dollars), f"more than {_dollars(dollars)}")


def _turned(finding: Finding, expected: str) -> Finding:
    """The finding of the negation."""
    return Finding(
        passed=not finding.passed,
        message=finding.message,
        expected=expected,
        seen=finding.diff or finding.seen or finding.message,
    )


def _require_events(result: RunResult) -> None:
    if result.status == "idle":
        raise ScriptError(
            "nothing has happened in this run: there is nothing to assert",
            expected="a result with records",
            seen="status idle",
            hint="give the records of the run: build_result(journal.read())",
        )


def _require_options(tolerance: float, ignore: Collection[str]) -> None:
    if isinstance(tolerance, bool) or not (math.isfinite(tolerance) and tolerance >= 0):
        raise WrongValueError("a tolerance is a number of seconds from 0", seen=repr(tolerance))
    if isinstance(ignore, str):
        raise WrongValueError(
            "fields to ignore are a list of names", expected=repr([ignore]), seen=repr(ignore)
        )
    for name in ignore:
        if name not in _FIELDS:
            raise UnknownNameError(
                f"a result has no field {name!r}",
                expected="one of " + ", ".join(sorted(_FIELDS)),
                hint=did_you_mean(name, _FIELDS),
            )


class _Seconds(NamedTuple):
    """A time, counted from the begin of its run."""

    value: float


class _Absent:
    """Nothing, at a place where the other result has something."""

    def __repr__(self) -> str:
        return "nothing"


_ABSENT: Final = _Absent()


def _plain_result(result: RunResult, ignore: Collection[str]) -> Any:
    """A result as dicts, lists and plain values."""

    def plain(value: Any) -> Any:
        if isinstance(value, LazyFile):
            return value.blob.sha256
        if isinstance(value, msgspec.Struct):
            kind = {"type": type(value).__name__} if isinstance(value, Event) else {}
            names = (name for name in value.__struct_fields__ if name not in ignore)
            return kind | {name: field(name, getattr(value, name)) for name in names}
        if isinstance(value, Mapping):
            return {str(key): plain(part) for key, part in value.items()}
        return [plain(part) for part in value] if isinstance(value, tuple | list) else value

    def field(name: str, value: Any) -> Any:
        timed = name in _TIMES and isinstance(value, float | int)
        return _Seconds(value - (result.started or 0.0)) if timed else plain(value)

    return plain(result)


def _differing(old: Any, new: Any, where: str, tolerance: float) -> Iterator[tuple[str, Any, Any]]:
    """Place and both values of each difference."""
    if isinstance(old, _Seconds) and isinstance(new, _Seconds):
        if abs(old.value - new.value) > tolerance:
            yield where, old.value, new.value
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            below = f"{where}.{key}" if where else key
            yield from _differing(old.get(key, _ABSENT), new.get(key, _ABSENT), below, tolerance)
    elif isinstance(old, list) and isinstance(new, list):
        for place, (before, now) in enumerate(zip_longest(old, new, fillvalue=_ABSENT)):
            yield from _differing(before, now, f"{where}[{place}]", tolerance)
    elif old != new or type(old) is not type(new):
        yield where, old, new


def _preview(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _dollars(amount: float) -> str:
    """All digits that count: two amounts that differ are not shown as one."""
    whole, _, behind = f"{amount:.9f}".partition(".")
    return f"${whole}.{behind.rstrip('0').ljust(2, '0')}"


def _demand(_: RunResult, finding: Finding) -> None:
    __tracebackhide__ = True
    if not finding.passed:
        seen = finding.diff or finding.seen
        raise ExpectationError(finding.message, expected=finding.expected, seen=seen, hint=finding.hint)


assert_complete_hooks = assertion_of(check_complete_hooks, _demand)
assert_incomplete_hooks = assertion_of(check_incomplete_hooks, _demand)
assert_same_result = assertion_of(check_same_result, _demand)
assert_other_result = assertion_of(check_other_result, _demand)
assert_within_budget = assertion_of(check_within_budget, _demand)
assert_over_budget = assertion_of(check_over_budget, _demand)
