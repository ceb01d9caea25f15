"""Who asked the model, and what they had been told: views of the requests of a turn. Pure.

Claude Code names the caller in headers: the session always, the agent for subagents, its parent from the
second level on. What an agent was told is its system prompt: blocks of its own, without the system messages
in the conversation, which say what day it is and which skills there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from soundstage.claude_code._messages import StreamMessage, TaskChanged
from soundstage.messages import ModelRequest

AGENT_HEADER: Final = "x-claude-code-agent-id"
PARENT_HEADER: Final = "x-claude-code-parent-agent-id"


class AgentCalls(msgspec.Struct, frozen=True, kw_only=True):
    """The requests of one agent in a turn.

    Args:
        id: empty for the main agent.
        parent: id of the agent that started it; empty for the main agent and for those that it started.
        requests: what it asked, in order.
    """

    id: str
    parent: str
    requests: tuple[ModelRequest, ...]

    @property
    def guidance(self) -> str:
        """The system prompt that it worked under, in its last request."""
        return guidance_of(self.requests[-1])

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it was offered, in its last request."""
        return tuple(tool.name for tool in self.requests[-1].tools)

    @property
    def model(self) -> str:
        """The model that it asked."""
        return self.requests[-1].model


class Subagent(msgspec.Struct, frozen=True, kw_only=True):
    """A subagent of a turn, with its branch of the conversation.

    Args:
        id: as its requests carry it.
        agent: its type: `general-purpose`, `demo:reviewer`.
        call_id: the tool call that started it.
        parent: id of the agent that started it; empty for the main one.
        task: what it was asked to do.
        status: `completed`, `failed`...; empty while it works.
        text: what it reported at its end.
        background: whether the agent that started it went on meanwhile.
        calls: what it asked the model; `None` if it asked nothing, or the server writes elsewhere.
    """

    id: str
    agent: str
    call_id: str
    parent: str = ""
    task: str = ""
    status: str = ""
    text: str = ""
    background: bool = False
    calls: AgentCalls | None = None


def guidance_of(request: ModelRequest) -> str:
    """The system prompt of a request: its system messages before the first other one."""
    texts: list[str] = []
    for message in request.messages:
        if message.role != "system":
            break
        texts.append(message.text)
    return "\n".join(texts)


def agent_id(request: ModelRequest) -> str:
    """The id of the subagent that asks; empty for the main agent."""
    return request.caller.headers.get(AGENT_HEADER, "")


def agent_calls(requests: Iterable[ModelRequest]) -> tuple[AgentCalls, ...]:
    """The requests by agent, in the order of their first one."""
    found: dict[str, list[ModelRequest]] = {}
    for request in requests:
        found.setdefault(agent_id(request), []).append(request)
    return tuple(
        AgentCalls(
            id=identity,
            parent=asked[0].caller.headers.get(PARENT_HEADER, ""),
            requests=tuple(asked),
        )
        for identity, asked in found.items()
    )


def subagents(messages: Sequence[StreamMessage], requests: Iterable[ModelRequest]) -> tuple[Subagent, ...]:
    """The subagents of a turn, joined from the stream (tool call, type, end) and the wire (requests)."""
    calls = {called.id: called for called in agent_calls(requests)}
    changes = [message for message in messages if isinstance(message, TaskChanged)]
    ends = {change.task_id: change for change in changes if change.change == "notification"}
    return tuple(
        _subagent(change, ends.get(change.task_id), calls.get(change.task_id))
        for change in changes
        if change.change == "started" and change.data.get("task_type", "local_agent") == "local_agent"
    )


def _subagent(started: TaskChanged, end: TaskChanged | None, calls: AgentCalls | None) -> Subagent:
    return Subagent(
        id=started.task_id,
        agent=started.agent,
        call_id=started.call_id,
        parent=calls.parent if calls is not None else "",
        task=str(started.data.get("prompt") or ""),
        status=end.status if end is not None else "",
        text=str(end.data.get("summary") or "") if end is not None else "",
        background=started.data.get("is_backgrounded") is True,
        calls=calls,
    )
