"""A conversation of a team, and how each of its agents sees it. Frozen records and pure functions.

Everybody sees the user's words once. An agent sees its own turns as its own messages, and what other agents did as
reports, marked as reminders, because the role is the user's and the words are not; the orchestrator's decisions are for
the orchestrator alone, an agent gets the reason of its own with its task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

from soundstage.agents.runtime import AgentOutcome
from soundstage.agents.teams._errors import UnknownPhaseError
from soundstage.errors import UnknownNameError
from soundstage.match import preview
from soundstage.messages import Message, Part, Text, ToolCall, ToolResult, reminder, user

PHASES: Final = (
    "discovery",
    "chat",
    "brainstorm",
    "plan",
    "execute",
    "verification",
    "chores",
    "reflection",
)

HAND_OVERS: Final = ("continue", "complete")


class Phases(msgspec.Struct, frozen=True):
    """The phases that a conversation can be in, and the one in which it begins.

    Raises:
        UnknownNameError: if it begins in a phase that it does not have; also a `ValueError`.
    """

    names: tuple[str, ...] = PHASES
    start: str = "discovery"

    def __post_init__(self) -> None:
        if self.start not in self.names:
            raise UnknownNameError(
                f"conversations cannot begin in the phase {self.start!r}",
                expected="one of " + (", ".join(self.names) or "at least one phase"),
                hint="Phases((...), start=...)",
            )

    def resolve(self, phase: str) -> str:
        """The phase as it is written here; upper and lower case are alike.

        Raises:
            UnknownPhaseError: naming the phases that there are.
        """
        for name in self.names:
            if name.casefold() == phase.casefold():
                return name
        raise UnknownPhaseError(phase, self.names)


class TeamTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One contribution to a conversation.

    Args:
        role: who contributes: the user, an agent, or the router with a correction for the orchestrator.
        agent: the slug, if it is an agent.
        phase: the phase at that time.
        text: the words.
        messages: what the agent's own history has of it: answers and tool results.
        tool_calls: the tools that it called.
        error: why the agent failed, if it did.
    """

    role: Literal["user", "agent", "router"]
    agent: str = ""
    phase: str = ""
    text: str = ""
    messages: tuple[Message, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    error: str = ""


class TeamConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation at one moment.

    Args:
        id: unique in its coordinator.
        message: the user's first words.
        phase: the phase that it is in.
        turns: what has been said so far, oldest first.
        runs: how often each agent was at work.
        iterations: how often the orchestrator's decision was asked for.
    """

    id: str
    message: str
    phase: str
    turns: tuple[TeamTurn, ...] = ()
    runs: Mapping[str, int] = {}
    iterations: int = 0

    def with_turn(self, turn: TeamTurn) -> TeamConversation:
        """The conversation with one more turn."""
        runs = dict(self.runs)
        if turn.role == "agent":
            runs[turn.agent] = runs.get(turn.agent, 0) + 1
        return msgspec.structs.replace(self, turns=(*self.turns, turn), runs=runs)


def turn_of(outcome: AgentOutcome, phase: str) -> TeamTurn:
    """The turn that an outcome of an agent makes."""
    return TeamTurn(
        role="agent",
        agent=outcome.agent,
        phase=phase,
        text=outcome.output or _last_words(outcome.messages),
        messages=outcome.messages,
        tool_calls=outcome.tool_calls,
        error="" if outcome.success else outcome.error or outcome.reason,
    )


def _last_words(messages: tuple[Message, ...]) -> str:
    said = (message.text for message in reversed(messages) if message.role == "assistant")
    return next(filter(None, said), "")


def history_for(conversation: TeamConversation, viewer: str, orchestrator: str) -> tuple[Message, ...]:
    """The conversation as messages, seen by one agent. Neighbouring messages of the user's role are one."""
    found: list[Message] = []
    for turn in conversation.turns:
        for message in _seen(turn, viewer, orchestrator):
            if found and found[-1].role == "user" and message.role == "user":
                found[-1] = user(f"{found[-1].text}\n\n{message.text}")
            else:
                found.append(message)
    return tuple(found)


def _seen(turn: TeamTurn, viewer: str, orchestrator: str) -> Iterator[Message]:
    if turn.role == "user":
        yield user(turn.text)
    elif turn.role == "router" and viewer == orchestrator:
        yield user(reminder(turn.text))
    elif turn.role == "agent" and turn.agent == viewer:
        yield from _own(turn)
    elif turn.role == "agent" and turn.agent != orchestrator:
        yield user(reminder(report(turn)))


def _own(turn: TeamTurn) -> Iterator[Message]:
    """An agent's own messages. The last one is in its own words, so that no old tool result looks like a new one.

    Calls that nobody answered are left out, because providers refuse such a history. So are hand-overs: they are
    over, and what they said is part of the words.
    """
    answered = {
        part.call_id for message in turn.messages for part in message.parts if isinstance(part, ToolResult)
    }
    kept = answered - {call.id for call in turn.tool_calls if call.name in HAND_OVERS}
    own = []
    for message in turn.messages:
        parts = tuple(part for part in message.parts if _stays(part, kept))
        if parts:
            own.append(msgspec.structs.replace(message, parts=parts))
    handed = tuple(Text(text=words) for words in _handed(turn))
    if own and own[-1].role == "assistant":
        own[-1] = msgspec.structs.replace(own[-1], parts=(*own[-1].parts, *handed))
    else:
        said = turn.text if not own else ""
        words = handed or (Text(text=said or turn.error or "Done."),)
        own.append(Message(role="assistant", parts=words))
    yield from own


def _stays(part: Part, kept: set[str]) -> bool:
    if isinstance(part, ToolCall):
        return part.id in kept
    return not isinstance(part, ToolResult) or part.call_id in kept


def _handed(turn: TeamTurn) -> Iterator[str]:
    """The words that an agent passed on with its hand-overs."""
    for call in turn.tool_calls:
        if call.name in HAND_OVERS:
            words = (call.arguments.get(name) for name in ("feedback", "summary"))
            yield from (word for word in words if isinstance(word, str) and word)


def report(turn: TeamTurn) -> str:
    """Report a turn to other agents: the words, the tools, and a failure."""
    lines = [turn.text] if turn.text else []
    lines += [f"(called {call.name} {_shown(call)})" for call in turn.tool_calls]
    lines += [f"(failed: {turn.error})"] if turn.error else []
    return f"[{turn.agent}] " + ("\n".join(lines) or "(said nothing)")


def _shown(call: ToolCall) -> str:
    """The arguments; those of a hand-over are for the others, and stay whole."""
    return call.arguments_json if call.name in HAND_OVERS else preview(call.arguments_json)
