"""How agents of a team hand on: the tools `continue` and `complete`.

An agent that has handed on has nothing more to say, so both tools end its task. A refused call (an unknown phase)
goes to the model like any other error, and the turn goes on.
"""

from __future__ import annotations

from soundstage.agents.runtime import AgentOutcome, Tool, ToolError, tool
from soundstage.agents.teams._conversation import HAND_OVERS, Phases
from soundstage.agents.teams._errors import UnknownPhaseError
from soundstage.messages import ToolResult

CONTINUE, COMPLETE = HAND_OVERS


def flow_tools(phases: Phases | None = None) -> tuple[Tool, Tool]:
    """The tools `continue` and `complete`.

    Args:
        phases: those that `continue` may propose; the usual ones unless given.

    Example:
        >>> [one.name for one in flow_tools()]
        ['continue', 'complete']
    """
    known = phases if phases is not None else Phases()

    async def hand_on(phase: str = "", feedback: str = "", summary: str = "") -> str:
        """End your turn and hand back to the orchestrator, who decides who goes next.

        Args:
            phase: the phase that you propose to go on in.
            feedback: what the next agent has to know.
            summary: what you have done.
        """
        try:
            proposed = known.resolve(phase) if phase else ""
        except UnknownPhaseError as error:
            raise ToolError(f"{error.summary}; {error.expected}") from None
        return _told("handed on", proposed and f"{proposed} proposed", feedback, summary)

    async def finish(summary: str = "") -> str:
        """End the whole conversation: everything is done.

        Args:
            summary: what has been achieved.
        """
        return _told("completed", summary)

    return tool(name=CONTINUE, ends=True)(hand_on), tool(name=COMPLETE, ends=True)(finish)


def _told(*words: str) -> str:
    return ": ".join(filter(None, words))


def called(outcome: AgentOutcome, name: str) -> bool:
    """Whether a tool was called, and the call was not refused."""
    refused = {
        part.call_id
        for message in outcome.messages
        for part in message.parts
        if isinstance(part, ToolResult) and part.is_error
    }
    return any(call.name == name and call.id not in refused for call in outcome.tool_calls)
