"""The definition of an agent, the task that it gets, and the outcome.

Whoever decides who goes next (`TurnRouter`, `PlanOrchestrator`) sees only `TaskRunner`: a task in, an outcome out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

import msgspec

from soundstage.messages import Message, ToolCall, Usage

Permission = Literal["read", "write", "execute", "web"]
PERMISSIONS: tuple[Permission, ...] = ("read", "write", "execute", "web")


class AgentDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """An agent, as data.

    Args:
        slug: its name in scripts, traces and plans: lower case, no spaces.
        name: its name for people.
        description: what it is for; orchestrators read it.
        prompt: its system prompt, without what the prompt builder adds.
        permissions: what it may do. A tool that needs more is refused.
        tools: the names of the tools that it is offered.
        max_turns: requests to the model within one task.
        timeout: seconds for one task, unless the task says otherwise.
        max_timeout: the most that a task may ask for; three times this is the cap of any override.
        model_suffix: added to the default model's name, if there is one.
        max_output_tokens: the limit of one answer, if there is one.
        project_context: whether its prompt has the project's context.
        conventions: whether its prompt ends with the project's conventions.
    """

    slug: str
    name: str = ""
    description: str = ""
    prompt: str = ""
    permissions: frozenset[Permission] = frozenset()
    tools: tuple[str, ...] = ()
    max_turns: int = 25
    timeout: float = 120.0
    max_timeout: float = 300.0
    model_suffix: str = ""
    max_output_tokens: int | None = None
    project_context: bool = True
    conventions: bool = False


class AgentTask(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work for one agent.

    Args:
        id: unique within the run.
        agent: the slug of the agent that does it.
        prompt: what it is asked; empty if the history says it all.
        conversation: the conversation to which it belongs.
        within: the conversation that this one is a part of, if it is: the plan's, for one of its tasks.
        phase: the phase that the conversation is in.
        parent: the agent that asks, if an agent does.
        history: what was said before, oldest first.
        context: results of other tasks, by name: they are shown to the agent before the prompt.
        timeout: seconds, instead of the agent's own.
    """

    id: str
    agent: str
    prompt: str = ""
    conversation: str = ""
    within: str = ""
    phase: str = ""
    parent: str = ""
    history: tuple[Message, ...] = ()
    context: Mapping[str, str] = {}
    timeout: float | None = None


class AgentOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a task. A failure is data: `success` is False, and `error` says why.

    Args:
        task: the task's id.
        agent: who did it.
        success: whether it came to an end of its own.
        output: the agent's answer, partial ones before a cut-off included. Words that came with tool calls are
            only in `messages`, unless one of those calls has ended the task.
        error: why it failed.
        reason: how it ended.
        turns: requests that it made.
        tool_calls: the tools that it called, in order.
        messages: what this task has added to the history: answers and tool results.
        files: paths that its tools have written.
        usage: tokens, all turns together.
    """

    task: str
    agent: str
    success: bool
    output: str = ""
    error: str = ""
    reason: Literal["stop", "max_turns", "timeout", "aborted", "error"] = "stop"
    turns: int = 0
    tool_calls: tuple[ToolCall, ...] = ()
    messages: tuple[Message, ...] = ()
    files: tuple[str, ...] = ()
    usage: Usage = Usage()


class TaskRunner(Protocol):
    """Runs one task of one agent: the agent loop, or whatever takes its place."""

    async def run(self, task: AgentTask) -> AgentOutcome:
        """Do the task.

        Raises:
            UnknownAgentError: if there is no such agent.
            asyncio.CancelledError: when it is aborted from outside.
        """
        ...
