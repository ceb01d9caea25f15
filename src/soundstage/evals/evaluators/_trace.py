"""Evaluators of the course of a run: tools, agents, files, hosts, and amounts. The checks are those of the trace."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from typing import Any, Literal, get_args

import msgspec

from soundstage.errors import WrongValueError, did_you_mean
from soundstage.evals._errors import AbsentDataError
from soundstage.evals._events import Grade
from soundstage.evals._run import EvalRun, Evaluator
from soundstage.journal import ModelResponded
from soundstage.messages import FinishReason
from soundstage.trace import (
    Finding,
    check_agent_sequence,
    check_model_requests,
    check_no_egress,
    check_no_failures,
    check_no_tool,
    check_tool_calls,
    check_tool_count,
    over_budget,
)

Order = Literal["exact", "in_order", "any_order"]


class ExpectedTool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool that is to be called: its name, conditions on its arguments, how often, by whom."""

    name: str
    arguments: dict[str, Any] | None = None
    times: int | None = None
    agent: str | None = None


class ExpectedTools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Several tool calls and their order."""

    calls: list[str | ExpectedTool]
    order: Order = "in_order"


class ExpectedAgents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Agents in the order of their turns."""

    sequence: list[str]
    order: Order = "in_order"


class AmountBounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of an amount."""

    at_most: float | None = None
    at_least: float | None = None


def tool(spec: str | ExpectedTool) -> Evaluator:
    """The tool was called: its name, or `{name, arguments, times, agent}`."""
    wanted = ExpectedTool(spec) if isinstance(spec, str) else spec
    if wanted.times is not None and wanted.arguments is not None:
        raise WrongValueError("`times` counts all calls of a tool", hint="leave out `arguments`, or `times`")

    def evaluate(run: EvalRun) -> Finding:
        if not run.trace.tools and wanted.times != 0:
            return Finding(passed=False, message=f"{wanted.name} was not called", seen="no tool call at all")
        if wanted.times is not None:
            return check_tool_count(run.trace, wanted.name, wanted.times, agent=wanted.agent)
        return check_tool_calls(run.trace, _call(wanted), agent=wanted.agent, order="any_order")

    return evaluate


def no_tool(spec: str | list[str]) -> Evaluator:
    """The tool was not called, or none of several."""
    names = [spec] if isinstance(spec, str) else spec
    _require(names, "no_tool")

    def evaluate(run: EvalRun) -> Finding:
        if not run.trace.tools and not any(step.request.tools for step in run.trace.steps):
            raise AbsentDataError("no tool was offered or called in this run")
        found = [check_no_tool(run.trace, name) for name in names]
        return next((finding for finding in found if not finding.passed), found[0])

    return evaluate


def tools(spec: list[str | ExpectedTool] | ExpectedTools) -> Evaluator:
    """Tools were called in this order, others between them: a list, or `{calls, order: exact|in_order|any_order}`."""
    wanted = ExpectedTools(spec) if isinstance(spec, list) else spec
    _require(wanted.calls, "tools")
    calls = [_call(ExpectedTool(call) if isinstance(call, str) else call) for call in wanted.calls]
    return lambda run: check_tool_calls(run.trace, *calls, order=wanted.order)


def trajectory_contains(spec: str | list[str]) -> Evaluator:
    """Each of these agents had a turn, whatever the order."""
    names = [spec] if isinstance(spec, str) else spec
    _require(names, "trajectory_contains")

    def evaluate(run: EvalRun) -> Grade:
        there = run.trace.agents
        missing = [name for name in names if name not in there]
        reason = (
            f"no turn of {', '.join(missing)}; there were: {', '.join(there) or 'none'}" if missing else ""
        )
        return Grade(passed=not missing, reason=reason)

    return evaluate


def agents(spec: list[str] | ExpectedAgents) -> Evaluator:
    """Agents had their turns in this order, others between them: a list, or `{sequence, order}`."""
    wanted = ExpectedAgents(spec) if isinstance(spec, list) else spec
    _require(wanted.sequence, "agents")
    return lambda run: check_agent_sequence(run.trace, *wanted.sequence, order=wanted.order)


def model_requests(spec: int) -> Evaluator:
    """The model was asked so many times."""
    return lambda run: check_model_requests(run.trace, spec)


def no_egress(spec: Literal[True]) -> Evaluator:  # noqa: ARG001  (a switch)
    """Nothing tried to reach a host outside of the run."""
    return lambda run: check_no_egress(run.trace)


def no_failures(spec: Literal[True]) -> Evaluator:  # noqa: ARG001  (a switch)
    """No request, agent, program or model failed."""
    return lambda run: check_no_failures(run.trace)


def finish_reason(spec: str) -> Evaluator:
    """The last reply of the model ended for this reason: `stop`, `length`, `tool_calls`, `content_filter`..."""
    reasons = get_args(FinishReason)
    if spec not in reasons:
        raise WrongValueError(
            "there is no such reason",
            expected=", ".join(reasons),
            seen=spec,
            hint=did_you_mean(spec, reasons),
        )

    def evaluate(run: EvalRun) -> Grade:
        replies = [one.event for one in run.result.timeline if isinstance(one.event, ModelResponded)]
        if not replies:
            raise AbsentDataError("no model replied in this run")
        found = replies[-1].response.finish
        return Grade(passed=found == spec, reason="" if found == spec else f"the reply ended with {found}")

    return evaluate


def files_modified(spec: int | str | list[str]) -> Evaluator:
    """So many files were changed; or a file for each of these paths or patterns (`src/*.py`)."""
    if not isinstance(spec, int):
        _require([spec] if isinstance(spec, str) else spec, "files_modified")

    def evaluate(run: EvalRun) -> Grade:
        paths = [file.path for file in run.result.files]
        seen = ", ".join(paths) or "none"
        if isinstance(spec, int):
            return Grade(passed=len(paths) == spec, reason=f"{len(paths)} files changed: {seen}")
        patterns = [spec] if isinstance(spec, str) else spec
        missing = [pattern for pattern in patterns if not fnmatch.filter(paths, pattern)]
        reason = f"not changed: {', '.join(missing)}; changed: {seen}" if missing else ""
        return Grade(passed=not missing, reason=reason)

    return evaluate


def cost(spec: float | AmountBounds) -> Evaluator:
    """US dollars: at most a number, or `{at_most, at_least}`. It gives the score, too."""
    return _within(spec, "cost", lambda run: run.cost, "${:.4f}")


def latency(spec: float | AmountBounds) -> Evaluator:
    """Seconds that the run took: at most a number, or `{at_most, at_least}`. It gives the score, too."""
    return _within(spec, "latency", lambda run: run.result.duration, "{:.3g} s")


def tokens(spec: float | AmountBounds) -> Evaluator:
    """Tokens of all replies: at most a number, or `{at_most, at_least}`. It gives the score, too."""
    return _within(spec, "tokens", lambda run: run.result.usage.total_tokens, "{:g} tokens")


def _within(
    spec: float | AmountBounds, name: str, amount: Callable[[EvalRun], float], shown: str
) -> Evaluator:
    limit = spec if isinstance(spec, AmountBounds) else AmountBounds(at_most=float(spec))
    bounds = [bound for bound in (limit.at_most, limit.at_least) if bound is not None]
    if not bounds or min(bounds) < 0:
        raise WrongValueError(
            f"`{name}` has a bound from 0", expected="at_most, at_least, or both", seen=repr(spec)
        )

    def evaluate(run: EvalRun) -> Grade:
        found = amount(run)
        over = limit.at_most is not None and over_budget(found, limit.at_most)
        under = limit.at_least is not None and over_budget(limit.at_least, found)
        bound = limit.at_most if over else limit.at_least
        word = "above" if over else "below"
        reason = (
            f"{shown.format(found)}, {word} {shown.format(bound)}" if over or under else shown.format(found)
        )
        return Grade(passed=not (over or under), score=float(found), reason=reason)

    return evaluate


def _call(spec: ExpectedTool) -> Any:
    return spec.name if spec.arguments is None else (spec.name, spec.arguments)


def _require(names: Any, kind: str) -> None:
    if not names or not all(names):
        raise WrongValueError(
            f"`{kind}` names something", expected="a name, or a list of names", seen=repr(names)
        )
