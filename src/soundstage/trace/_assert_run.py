"""Assertions on what was said, on the number of requests, and on what must not happen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from soundstage.errors import ScriptError
from soundstage.journal import EgressTried
from soundstage.match import Matcher, Not, matcher, preview
from soundstage.trace._finding import Finding, asserting
from soundstage.trace._names import agent_condition, need_records
from soundstage.trace._nearest import likeness
from soundstage.trace._trace import Trace

_SHOWN = 10  # events listed in a message
_silences: Final[list[str]] = []  # runs in which there was no request, and a test has said so


class _FinalText(NamedTuple):
    position: int
    text: str


def check_text(trace: Trace, condition: Any, agent: Any = None) -> Finding:
    """Something that was said at last matches: the last text of a run, or a message to a world.

    A condition that begins with `not` must hold for all of them, since one of many lines nearly always
    lacks a word.

    Args:
        trace: the trace.
        condition: what `soundstage.match` knows; a plain string is contained in the text.
        agent: look at what this agent said only; at what all said unless given.

    Raises:
        ScriptError: for an agent that is not in the trace.
        MatchError: for a condition that is empty or cannot be evaluated.
    """
    wanted = matcher(condition)
    said = list(_said(trace, agent_condition(trace, agent)))
    who = "somebody" if agent is None else repr(agent)
    found = [one for one in said if wanted.matches(one.text)]
    held = bool(said) and (len(found) == len(said) if isinstance(wanted, Not) else bool(found))
    if held:
        message = (
            f"{who} said {wanted.describe()}" if not isinstance(wanted, Not) else f"{who} said nothing else"
        )
        return Finding(passed=True, message=message, expected=wanted.describe(), seen=preview(found[0].text))
    if isinstance(wanted, Not) and said:
        wrong = next(one for one in said if not wanted.matches(one.text))
        return _unsaid(
            f"{who} said it: {wanted.explain(wrong.text)}", wanted, wrong, preview(wrong.text, 200)
        )
    near = _nearest(wanted, said)
    message = f"{who} did not say {wanted.describe()}" if said else f"{who} said nothing at all"
    return _unsaid(
        message, wanted, near, f"the nearest line: {preview(near.text, 200)}" if near else "no text"
    )


def _unsaid(message: str, wanted: Matcher, near: _FinalText | None, seen: str) -> Finding:
    return Finding(
        passed=False,
        message=message,
        expected=wanted.describe(),
        seen=seen,
        at=near.position if near is not None else None,
    )


def _said(trace: Trace, by: Matcher | None) -> Iterator[_FinalText]:
    for run in trace.runs:
        if run.text and (by is None or by.matches(run.agent)):
            last = next((step for step in reversed(run.steps) if step.text), run.steps[-1])
            yield _FinalText(last.position, run.text)
    for line in trace.messages:
        if line.direction == "out" and (by is None or by.matches(line.sender)):
            yield _FinalText(line.position, line.text)


def _nearest(wanted: Matcher, said: list[_FinalText]) -> _FinalText | None:
    """The line most like the wanted text; the last line when the condition is no plain text."""
    lines = [_FinalText(one.position, line) for one in said for line in one.text.splitlines() if line.strip()]
    text = getattr(wanted, "text", None)
    if not isinstance(text, str):
        return lines[-1] if lines else None
    return max(lines, key=lambda line: likeness(line.text, text), default=None)


def check_model_requests(trace: Trace, count: int) -> Finding:
    """The agents asked their models exactly so many times; side requests such as titles do not count.

    Args:
        trace: the trace.
        count: how many requests, from 0.

    Raises:
        ScriptError: for a number below 0, or an empty trace.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ScriptError("requests are counted in whole numbers", expected="0, 1, 2...", seen=repr(count))
    need_records(trace)
    steps = trace.main_steps
    if not steps and count == 0:
        _silences.append(trace.records[0].run)
    side = len(trace.steps) - len(steps)
    by_agent = ", ".join(
        f"{sum(1 for step in steps if step.agent == name)} by {name}" for name in trace.agents
    )
    return Finding(
        passed=len(steps) == count,
        message=_count(len(steps), "model request") + ("" if len(steps) == count else f", expected {count}"),
        expected=_count(count, "model request"),
        seen=f"{len(steps)}"
        + (f": {by_agent}" if steps else "")
        + (f"; and {side} side requests" if side else ""),
        at=steps[count].position if len(steps) > count else None,
    )


def silences_asserted() -> int:
    """Count the checks of this process that expected no request, and found none.

    A test that uses a model server and ends without a request fails, unless this has grown meanwhile.
    """
    return len(_silences)


def check_no_egress(trace: Trace) -> Finding:
    """Nothing tried to reach a host outside.

    Raises:
        ScriptError: if the trace is empty.
    """
    need_records(trace)
    tried = [(r.position, r.event) for r in trace.records if isinstance(r.event, EgressTried)]
    hosts = [f"@{position} {event.method} {event.host}:{event.port}" for position, event in tried]
    return Finding(
        passed=not tried,
        message=f"{_count(len(tried), 'attempt')} to reach the network"
        if tried
        else "nothing tried to reach the network",
        expected="no attempt to reach a host outside",
        seen=_some(hosts) or "none",
        hint="switch the call off, or let it go to a world of the run" if tried else "",
        at=tried[0][0] if tried else None,
    )


def check_no_failures(trace: Trace) -> Finding:
    """Nothing went wrong: no request failed or was refused, no daemon, agent, program or run failed.

    A tool that returns an error is no failure.

    Raises:
        ScriptError: if the trace is empty.
    """
    need_records(trace)
    failures = trace.failures
    return Finding(
        passed=not failures,
        message=f"{_count(len(failures), 'failure')}, the first: {failures[0].message}"
        if failures
        else "nothing failed",
        expected="no failure",
        seen=_some([f"@{one.position} {one.what}: {one.message}" for one in failures]) or "none",
        at=failures[0].position if failures else None,
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _some(lines: list[str]) -> str:
    more = [f"... and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join([*lines[:_SHOWN], *more])


assert_text = asserting(check_text)
assert_model_requests = asserting(check_model_requests)
assert_no_egress = asserting(check_no_egress)
assert_no_failures = asserting(check_no_failures)
