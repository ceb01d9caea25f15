"""Assertions on who was at work: the order of agents, and phases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from soundstage.errors import ScriptError, did_you_mean
from soundstage.journal import PhaseChanged
from soundstage.match import Matcher
from soundstage.trace._finding import Finding, asserting
from soundstage.trace._names import listed, name_condition, need_one_conversation, need_records
from soundstage.trace._sequences import ComparedLists, Order, comparison
from soundstage.trace._trace import Trace
from soundstage.trace._types import shown


def check_agent_sequence(trace: Trace, *agents: Any, order: Order = "exact") -> Finding:
    """The agents took turns in this order, routers and orchestrators included.

    A turn is a run of the trace, see `AgentRun`; turns that were taken at the same time are in the order of
    their first requests. With several conversations, choose one first: `trace.only(conversation=...)`.

    Args:
        trace: the trace.
        agents: names (upper and lower case alike), or other conditions on names; `main` is the agent
            without a name.
        order: `exact`: these turns and no others; `in_order`: others may come between; `any_order`: others may
            be there, and the order does not matter.

    Raises:
        ScriptError: if no agent is given, for an unknown order, or a trace of several conversations.
    """
    if not agents:
        raise ScriptError(
            "no agent is expected", hint="name the agents; assert_agent_count(trace, NAME, 0) for none"
        )
    need_one_conversation(trace, "sequences")
    names = [shown(agent) if isinstance(agent, str) else agent for agent in agents]
    wanted = [name_condition(name, "the agent") for name in names]
    pairs = zip(names, wanted, strict=True)
    unknown = (name for name, condition in pairs if not any(map(condition.matches, trace.agents)))
    return comparison(order)(
        ComparedLists(
            what="agent",
            expected=[condition.describe() for condition in wanted],
            seen=[repr(run.agent) for run in trace.runs],
            positions=[run.position for run in trace.runs],
            explain=lambda left, right: wanted[left].explain(trace.runs[right].agent),
        ),
        hint=did_you_mean(next(unknown, None), trace.agents),
    )


def check_agent_count(trace: Trace, agent: Any, times: int, *, known: Iterable[str] = ()) -> Finding:
    """An agent was at work exactly so many times: took so many turns, as `check_agent_sequence` counts them.

    Args:
        trace: the trace.
        agent: its name (upper and lower case alike), or another condition on names.
        times: how many turns, from 0.
        known: names that exist although they may have had no turn, such as those of a registry. With them,
            an agent that is neither known nor in the trace is an error; without, one whose name is much like
            that of an agent in the trace.

    Raises:
        ScriptError: for an agent that seems to be misspelt, a number below 0, or an empty trace.
    """
    if isinstance(times, bool) or not isinstance(times, int) or times < 0:
        raise ScriptError("turns are counted in whole numbers", expected="0, 1, 2...", seen=repr(times))
    need_records(trace)
    condition = _agent_that_may_be_away(trace, agent, tuple(known))
    turns = [run for run in trace.runs if condition.matches(run.agent)]
    return Finding(
        passed=len(turns) == times,
        message=f"{condition.describe()} had {_turns(len(turns))}"
        + ("" if len(turns) == times else f", expected {_turns(times)}"),
        expected=f"{_turns(times)} of {condition.describe()}",
        seen="the turns: " + listed(tuple(run.agent for run in trace.runs)),
        at=turns[times].position if len(turns) > times else None,
    )


def _turns(number: int) -> str:
    return f"{number or 'no'} turn{'' if number == 1 else 's'}"


def _agent_that_may_be_away(trace: Trace, agent: Any, known: tuple[str, ...]) -> Matcher:
    """The condition for an agent that need not be in the trace; a misspelt name would be away by accident."""
    name = shown(agent) if isinstance(agent, str) else agent
    condition = name_condition(name, "the agent")
    names = tuple(dict.fromkeys((*trace.agents, *known)))
    hint = did_you_mean(name, names)
    if any(map(condition.matches, names)) or not (known or hint):
        return condition
    raise ScriptError(
        f"no agent {condition.describe()} is known",
        expected="one of " + listed(names),
        hint=hint + ("" if known else " If not, say which names there are: known=(...)"),
    )


def check_phase_transitions(trace: Trace, *phases: Any, order: Order = "exact") -> Finding:
    """The run entered these phases, in this order. The phase that it began in may go first.

    Phases come from `PhaseChanged` events; where there are none, from the phases that the steps were in.

    Args:
        trace: the trace.
        phases: names (upper and lower case alike), or other conditions on names.
        order: `exact`: these phases and no others; `in_order`: others may come between; `any_order`: others
            may be there, and the order does not matter.

    Raises:
        ScriptError: if no phase is given, for an unknown order, or a trace of several conversations.
    """
    if not phases:
        raise ScriptError("no phase is expected", hint="name the phases that the run enters")
    compare = comparison(order)
    need_one_conversation(trace, "phases")
    start, entered = _phases(trace)
    finding = _compare_phases(phases, entered, compare)
    if finding.passed or not start:
        return finding
    with_start = _compare_phases(phases, [*start, *entered], compare)
    wanted_first = name_condition(phases[0], "the phase").matches(start[0][1])
    return with_start if with_start.passed or wanted_first else finding


_Phases = list[tuple[int, str]]


def _compare_phases(phases: tuple[Any, ...], seen: _Phases, compare: Callable[..., Finding]) -> Finding:
    wanted = [name_condition(phase, "the phase") for phase in phases]
    names = tuple(name for _, name in seen)
    pairs = zip(phases, wanted, strict=True)
    unknown = next((phase for phase, condition in pairs if not any(map(condition.matches, names))), None)
    return compare(
        ComparedLists(
            what="phase",
            expected=[condition.describe() for condition in wanted],
            seen=[repr(name) for name in names],
            positions=[position for position, _ in seen],
            explain=lambda left, right: wanted[left].explain(names[right]),
        ),
        hint=did_you_mean(unknown, names)
        if seen
        else "nothing was entered; phases come from PhaseChanged events and from Caller.phase",
    )


def _phases(trace: Trace) -> tuple[_Phases, _Phases]:
    """The phase at the beginning, if it is known, and those entered since, with their positions."""
    from_events = [(position, event) for position, event in _events(trace) if event.entered != event.left]
    if from_events:
        first_position, first = from_events[0]
        begin = [(first_position, first.left)] if first.left else _from_steps(trace)[0]
        return begin, [(position, event.entered) for position, event in from_events]
    return _from_steps(trace)


def _events(trace: Trace) -> list[tuple[int, PhaseChanged]]:
    return [
        (record.position, record.event) for record in trace.records if isinstance(record.event, PhaseChanged)
    ]


def _from_steps(trace: Trace) -> tuple[_Phases, _Phases]:
    latest: dict[str, str] = {}
    begin: _Phases = []
    entered: _Phases = []
    for step in trace.main_steps:
        before = latest.get(step.conversation)
        if not step.phase or step.phase == before:
            continue
        latest[step.conversation] = step.phase
        if before is not None:
            entered.append((step.position, step.phase))
        elif not begin:
            begin.append((step.position, step.phase))
    return begin, entered


assert_agent_sequence = asserting(check_agent_sequence)
assert_agent_count = asserting(check_agent_count)
assert_phase_transitions = asserting(check_phase_transitions)
