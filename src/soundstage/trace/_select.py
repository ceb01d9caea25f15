"""A part of a trace: what belongs to one agent, one conversation, or both.

An event belongs to whom it names; an event that names nobody belongs to whom its cause belongs. What caused a
chosen step comes along. Events of the run as a whole (its start and end, daemons, attempts to reach the
network) belong to nobody and stay when nothing says that they are somebody else's, so that no assertion can
pass because its evidence was filtered away. Other events that belong to nobody are left out.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from soundstage.errors import ScriptError, did_you_mean
from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    DaemonChanged,
    EgressTried,
    FlowEnded,
    HostReached,
    ModelRequested,
    PhaseChanged,
    ProcessExited,
    Record,
    Routed,
    RunFinished,
    RunStarted,
    ToolCalled,
)
from soundstage.match import Matcher
from soundstage.trace._names import agent_condition, listed
from soundstage.trace._types import TraceFields, shown

_OF_THE_RUN: Final = (RunStarted, RunFinished, DaemonChanged, EgressTried, HostReached, ProcessExited)


class _Owner(NamedTuple):
    """Whom an event belongs to; `None` where nothing says so."""

    agent: str | None = None
    conversation: str | None = None


_NOBODY: Final = _Owner()


def _named(event: Any) -> _Owner:
    """Whom an event names."""
    if isinstance(event, ModelRequested):
        caller = event.request.caller
        return _Owner(shown(caller.agent), caller.conversation)
    if isinstance(event, AgentStarted | AgentFinished):
        return _Owner(shown(event.agent), event.conversation)
    if isinstance(event, ToolCalled):
        return _Owner(event.agent or None, event.conversation or None)
    if isinstance(event, Routed | PhaseChanged | FlowEnded):
        return _Owner(None, event.conversation)
    return _NOBODY


class _OwnerChoice:
    """The chosen owners."""

    def __init__(self, agent: Matcher | None, conversation: str | None) -> None:
        self.agent = agent
        self.conversation = conversation

    def fits(self, owner: _Owner) -> bool:
        if self.conversation is not None and owner.conversation != self.conversation:
            return False
        return self.agent is None or (owner.agent is not None and self.agent.matches(owner.agent))


def select(trace: TraceFields, agent: Any, conversation: str | None) -> dict[str, Any]:
    """The fields of the trace of what belongs to `agent` and `conversation`; see `Trace.only`."""
    choice = _OwnerChoice(agent_condition(trace, agent), _known(trace, conversation))
    if agent is None and conversation is None:
        raise ScriptError("only() without a choice", expected="an agent, a conversation, or both")
    records = _records(trace, choice)
    kept = {record.position for record in records}
    steps = tuple(step for step in trace.steps if step.position in kept)
    return {
        "records": records,
        "steps": steps,
        "runs": tuple(run for run in trace.runs if choice.fits(_Owner(run.agent, run.conversation))),
        "tools": tuple(use for use in trace.tools if choice.fits(_Owner(use.agent, use.conversation))),
        "agents": tuple(name for name in trace.agents if choice.agent is None or choice.agent.matches(name)),
        "messages": tuple(line for line in trace.messages if line.position in kept),
        "failures": tuple(failure for failure in trace.failures if failure.position in kept),
    }


def _known(trace: TraceFields, conversation: str | None) -> str | None:
    known = tuple(dict.fromkeys(step.conversation for step in trace.steps))
    if conversation is None or conversation in known:
        return conversation
    raise ScriptError(
        f"no conversation {conversation!r} is in the trace",
        expected="one of " + listed(known),
        hint=did_you_mean(conversation, known),
    )


def _records(trace: TraceFields, choice: _OwnerChoice) -> tuple[Record, ...]:
    owners: dict[int, _Owner] = {}
    fitting: set[int] = set()
    causes: set[int] = set()
    for record in trace.records:
        named = _named(record.event)
        inherited = owners.get(record.cause or 0, _NOBODY)
        owner = _Owner(
            named.agent if named.agent is not None else inherited.agent,
            named.conversation if named.conversation is not None else inherited.conversation,
        )
        owners[record.position] = owner
        if choice.fits(owner) or (owner == _NOBODY and isinstance(record.event, _OF_THE_RUN)):
            fitting.add(record.position)
            causes.add(record.cause or 0)
    causes = {position for position in causes if owners.get(position) == _NOBODY}
    return tuple(
        record for record in trace.records if record.position in fitting or record.position in causes
    )
