"""Assertions on tools: which were called, in which order, with which arguments; which were on offer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from soundstage.errors import ScriptError, did_you_mean
from soundstage.match import Matcher, Predicate, matcher, preview, same_text
from soundstage.trace._finding import Finding, asserting
from soundstage.trace._format import arguments_of
from soundstage.trace._names import agent_condition, listed, name_condition, need_records
from soundstage.trace._sequences import ComparedLists, Order, comparison
from soundstage.trace._trace import Trace
from soundstage.trace._types import ToolUse


class _Arguments(Matcher):
    """Named arguments that match. An argument that is not there is a mismatch, whatever its condition."""

    __slots__ = ("fields",)

    def __init__(self, fields: Mapping[str, Matcher]) -> None:
        self.fields = dict(fields)

    def explain(self, value: Any) -> str | None:
        for name, condition in self.fields.items():
            if name not in value:
                return f"there is no argument {name!r}, only {listed(tuple(value))}"
            reason = condition.explain(value[name])
            if reason is not None:
                return f"{name}: {reason}"
        return None

    def describe(self) -> str:
        return ", ".join(f"{name}={condition.describe()}" for name, condition in self.fields.items())


class _WantedCall(NamedTuple):
    """A call that is expected."""

    name: Matcher
    arguments: Matcher | None

    def describe(self) -> str:
        name = self.name.describe().strip("'")
        return name if self.arguments is None else f"{name}({self.arguments.describe()})"

    def explain(self, use: ToolUse) -> str | None:
        reason = self.name.explain(use.name)
        if reason is not None or self.arguments is None:
            return reason
        if use.raw:
            return f"{use.name}: the arguments are not a JSON object: {preview(use.raw)}"
        reason = self.arguments.explain(use.arguments)
        return None if reason is None else f"{use.name}: {reason}"


def _wanted(item: Any) -> _WantedCall:
    if not isinstance(item, tuple):
        return _WantedCall(name_condition(item, "the tool"), None)
    if len(item) != 2:
        raise ScriptError(
            "an expected tool call is a name, or a name and conditions on its arguments",
            seen=preview(item),
            hint="write ('Read', {'path': 'a.py'})",
        )
    return _WantedCall(name_condition(item[0], "the tool"), _arguments(item[1]))


def _arguments(spec: Any) -> Matcher:
    if isinstance(spec, Matcher):
        return spec
    if isinstance(spec, Mapping) and spec:
        return _Arguments({name: matcher(condition) for name, condition in spec.items()})
    if callable(spec):
        return Predicate(spec)
    raise ScriptError(
        "a tool call without conditions on its arguments is written as its name alone",
        expected="{'argument': condition}, or a function of all arguments",
        seen=preview(spec),
    )


def _called(use: ToolUse) -> str:
    return f"{use.name}({arguments_of(use)})"


def _known_tools(trace: Trace) -> tuple[str, ...]:
    """Tools that were offered or called."""
    offered = {tool.name: None for step in trace.steps for tool in step.request.tools}
    return tuple({**offered, **{use.name: None for use in trace.tools}})


def _uses(trace: Trace, agent: Any) -> list[ToolUse]:
    by = agent_condition(trace, agent)
    return [use for use in trace.tools if by is None or by.matches(use.agent)]


def check_tool_calls(trace: Trace, *tools: Any, agent: Any = None, order: Order = "exact") -> Finding:
    """These tools were called, with arguments that match.

    Args:
        trace: the trace.
        tools: for each call a name (upper and lower case alike, or `/regex/`), or a pair of the name and the
            conditions on its arguments: `("Read", {"path": "a.py"})`. Conditions are those of
            `soundstage.match`: a plain string is contained in the argument, `{"equals": ...}` is the whole
            value. Arguments that are not named do not matter; one that is named must be there. A function
            instead of the conditions gets all arguments. The name of an agent may go first, in the place of
            `agent=`, if no tool has this name.
        agent: count the calls of this agent only; of all agents unless given.
        order: `exact`: these calls, in this order, and no others; `in_order`: others may come between;
            `any_order`: others may be there, and the order does not matter.

    Raises:
        ScriptError: if no call is given, for an agent that is not in the trace, for an unknown order.
        MatchError: if a condition cannot be evaluated.
    """
    if agent is None:
        agent, tools = _agent_first(trace, tools)
    if not tools:
        raise ScriptError(
            "no tool call is expected", hint="name the calls; check_no_tool(trace, NAME) for none"
        )
    compare = comparison(order)
    wanted = [_wanted(item) for item in tools]
    uses = _uses(trace, agent)
    lists = ComparedLists(
        what="tool call",
        expected=[item.describe() for item in wanted],
        seen=[_called(use) for use in uses],
        positions=[use.asked_at for use in uses],
        explain=lambda left, right: wanted[left].explain(uses[right]),
    )
    return compare(lists, hint=_hint(trace, tools, wanted, agent))


def _agent_first(trace: Trace, tools: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The agent, if one is named first, and the calls. As the name of an unknown tool it could only fail."""
    first = tools[0] if tools else None
    if not isinstance(first, str) or not first:
        return None, tools
    name = same_text(first)
    named = any(map(name.matches, trace.agents)) and not any(map(name.matches, _known_tools(trace)))
    return (first, tools[1:]) if named else (None, tools)


def _hint(trace: Trace, tools: tuple[Any, ...], wanted: list[_WantedCall], agent: Any) -> str:
    """Help with a name that no tool has; the first one may also be that of an agent."""
    known = (*_known_tools(trace), *(trace.agents if agent is None else ()))
    names = [item[0] if isinstance(item, tuple) else item for item in tools]
    pairs = zip(names, wanted, strict=True)
    unknown = (name for name, item in pairs if not any(map(item.name.matches, known)))
    return did_you_mean(next(unknown, None), known)


def check_tool_count(trace: Trace, tool: Any, times: int, agent: Any = None) -> Finding:
    """A tool was called exactly so many times.

    Args:
        trace: the trace.
        tool: its name (upper and lower case alike), or another condition on names.
        times: how many calls, from 0.
        agent: count the calls of this agent only; of all agents unless given.

    Raises:
        ScriptError: for a tool that was never offered nor called, an agent that is not in the trace, a
            number below 0.
    """
    if isinstance(times, bool) or not isinstance(times, int) or times < 0:
        raise ScriptError("a tool is called a whole number of times", expected="0, 1, 2...", seen=repr(times))
    name = _offered_or_called(trace, tool)
    uses = [use for use in _uses(trace, agent) if name.matches(use.name)]
    calls = "\n".join(f"@{use.asked_at} {_called(use)}" for use in uses[:10])
    shown = name.describe()
    at = uses[times].asked_at if len(uses) > times else None
    return Finding(
        passed=len(uses) == times,
        message=f"{shown} was called {_times(len(uses))}"
        + ("" if len(uses) == times else f", expected {_times(times)}"),
        expected=f"{times or 'no'} call{'' if times == 1 else 's'} of {shown}",
        seen=calls or "no call",
        at=at,
    )


def check_no_tool(trace: Trace, tool: Any, agent: Any = None) -> Finding:
    """A tool was not called, although it was there.

    Args:
        trace: the trace.
        tool: its name (upper and lower case alike), or another condition on names.
        agent: look at the calls of this agent only; of all agents unless given.

    Raises:
        ScriptError: for a tool that was never offered nor called, or an agent that is not in the trace.
    """
    return check_tool_count(trace, tool, 0, agent)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times" if number else "never"


def _offered_or_called(trace: Trace, tool: Any) -> Matcher:
    """The condition for a tool that exists; a misspelt name would hold by accident."""
    need_records(trace)
    name = name_condition(tool, "the tool")
    known = _known_tools(trace)
    if any(name.matches(one) for one in known):
        return name
    raise ScriptError(
        f"no tool {name.describe()} was ever offered or called",
        expected="one of " + listed(known),
        hint=did_you_mean(tool, known) or "trace.format() shows the calls",
    )


def check_tools_offered(trace: Trace, step_index: int, *names: Any) -> Finding:
    """A step offered these tools to the model; it may have offered more.

    Args:
        trace: the trace.
        step_index: which of the agents' own steps, from 0; -1 is the last one.
        names: names of tools (upper and lower case alike), or other conditions on names.

    Raises:
        ScriptError: if no tool is given, or there is no such step.
    """
    if not names:
        raise ScriptError("no tool is expected", hint="name the tools that the step has to offer")
    steps = trace.main_steps
    if not -len(steps) <= step_index < len(steps):
        raise ScriptError(
            f"there is no step {step_index}",
            expected=f"an index from 0 to {len(steps) - 1}" if steps else "a trace with steps",
            seen=f"{len(steps)} steps, side requests not counted",
        )
    step = steps[step_index]
    offered = tuple(tool.name for tool in step.request.tools)
    wanted = [name_condition(name, "the tool") for name in names]
    missing = [name for name in wanted if not any(name.matches(one) for one in offered)]
    return Finding(
        passed=not missing,
        message=f"step {step_index} offers {_all_or(missing)}",
        expected=", ".join(name.describe() for name in wanted),
        seen=listed(offered),
        hint=did_you_mean(getattr(missing[0], "text", None), offered) if missing else "",
        at=step.position,
    )


def _all_or(missing: list[Matcher]) -> str:
    return "all of them" if not missing else "no " + ", no ".join(name.describe() for name in missing)


assert_tool_calls = asserting(check_tool_calls)
assert_tool_count = asserting(check_tool_count)
assert_no_tool = asserting(check_no_tool)
assert_tools_offered = asserting(check_tools_offered)
