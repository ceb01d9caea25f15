"""The call that an agent works in: one that another agent has started works within an open call of that one. Pure.

A request names the parent, and no call. With one open call of the parent there is no doubt. Of several it is the one
whose arguments have the name of the agent, or the text that the agent was asked with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from soundstage.messages import ModelRequest
from soundstage.trace._tool_drafts import ToolUseDraft
from soundstage.trace._types import shown


class ParentCalls:
    """The calls that agents work in, by agent and conversation, from their first request on."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], ToolUseDraft | None] = {}

    def asked(self, request: ModelRequest, unanswered: Mapping[str, Sequence[ToolUseDraft]]) -> None:
        """An agent with a parent asks; `unanswered` are the calls of its conversation without a result."""
        key = shown(request.caller.agent), request.caller.conversation
        known = self._calls.get(key)
        if known is not None and not known.answered:
            return
        calls = [
            use for uses in unanswered.values() for use in uses if use.agent == shown(request.caller.parent)
        ]
        self._calls[key] = calls[0] if len(calls) == 1 else _meant(calls, request)

    def call_of(self, request: ModelRequest) -> str:
        """The id of the call that the agent of a request works in; empty for none."""
        use = self._calls.get((shown(request.caller.agent), request.caller.conversation))
        return use.call.id if use is not None else ""


def _meant(calls: Sequence[ToolUseDraft], request: ModelRequest) -> ToolUseDraft | None:
    first = next((message.text for message in request.messages if message.role == "user"), "")
    found = [use for use in calls if _names(use, request.caller.agent, first)]
    return found[0] if len(found) == 1 else None


def _names(use: ToolUseDraft, agent: str, first: str) -> bool:
    values = [value for value in use.call.arguments.values() if isinstance(value, str) and value]
    return any(value == agent or value in first for value in values)
