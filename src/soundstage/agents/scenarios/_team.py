"""The team of the packaged scenarios, and the words that its scripts share."""

from __future__ import annotations

import json
from typing import Any

from soundstage.agents.runtime import AgentDefinition
from soundstage.agents.teams import routing_prompt
from soundstage.messages import ToolCall
from soundstage.models import Script


def team(*tools: str, executor: str = "executor", verifier: str = "test-pm") -> tuple[AgentDefinition, ...]:
    """An orchestrator, an executor with `tools`, and a verifier.

    Args:
        tools: what the executor is offered besides `continue`; none of them needs a permission.
        executor: its slug.
        verifier: the slug of who may end a conversation.
    """
    workers = (
        AgentDefinition(
            slug=executor,
            description="Does the work.",
            prompt=f"You are the {executor}. Do what you are asked.",
            tools=("continue", *tools),
        ),
        AgentDefinition(
            slug=verifier,
            description="Verifies the work.",
            prompt=f"You are the {verifier}. Verify the work of others.",
            tools=("continue", "complete"),
        ),
    )
    router = AgentDefinition(
        slug="orchestrator", description="Decides.", prompt=routing_prompt(workers), tools=("complete",)
    )
    return (router, *workers)


def introduce(script: Script, *agents: AgentDefinition) -> None:
    """Let the model know who asks, where a request does not say so: over a wire."""
    for agent in agents:
        first = agent.prompt.partition(".")[0].split(" of ")[0]
        script.agent(agent.slug, system=first, router=agent.slug == "orchestrator")


def route(*agents: str, phase: str = "", reason: str = "") -> str:
    """Write the answer of an orchestrator.

    Args:
        agents: slugs, in order; `END` ends the conversation.
        phase: the phase to enter; none to stay.
        reason: why.

    Example:
        >>> route("executor", phase="execute")
        '{"agents": ["executor"], "phase": "execute"}'
    """
    given: dict[str, Any] = {"agents": agents, "phase": phase, "reason": reason}
    return json.dumps({name: value for name, value in given.items() if value})


def hand_on(phase: str = "", feedback: str = "") -> ToolCall:
    """A call of `continue`."""
    given = {"phase": phase, "feedback": feedback}
    return ToolCall(id="", name="continue", arguments={name: value for name, value in given.items() if value})


def complete(summary: str = "") -> ToolCall:
    """A call of `complete`."""
    return ToolCall(id="", name="complete", arguments={"summary": summary} if summary else {})
