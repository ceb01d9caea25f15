"""Prompts by which an orchestrator routes or plans. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from soundstage.agents.runtime import AgentDefinition
from soundstage.agents.teams._conversation import Phases
from soundstage.agents.teams._routing import END, FORM

_PLAN_FORM = '{"plan": "...", "tasks": [{"agent": "slug", "description": "...", "dependsOn": [0]}]}'


def routing_prompt(agents: Sequence[AgentDefinition], phases: Phases | None = None) -> str:
    """The system prompt of an orchestrator that routes every turn.

    Args:
        agents: the team, without the orchestrator.
        phases: those that there are; the usual ones unless given.

    Example:
        >>> prompt = routing_prompt([AgentDefinition(slug="executor", description="Writes code.")])
        >>> "- executor: Writes code." in prompt
        True
    """
    known = phases if phases is not None else Phases()
    return "\n".join(
        [
            "You are the orchestrator of a team. You do no work yourself: you decide who works next.",
            f"Answer with one JSON object and nothing else: {FORM}",
            f"The agents work in the order given. {END} in the list ends the conversation.",
            f"A conversation begins in the phase {known.start}. The phases are {', '.join(known.names)}.",
            "The agents are:",
            *_listed(agents),
        ]
    )


def planning_prompt(agents: Sequence[AgentDefinition]) -> str:
    """The system prompt of an orchestrator that plans once.

    Args:
        agents: the team, without the orchestrator.
    """
    return "\n".join(
        [
            "You are the orchestrator of a team. If you can answer the request directly, answer in plain text.",
            f"Otherwise answer with one JSON object and nothing else: {_PLAN_FORM}",
            "dependsOn has the indexes, from 0, of the tasks whose results a task needs. Tasks that do not need",
            "one another are done at the same time.",
            "The agents are:",
            *_listed(agents),
        ]
    )


def _listed(agents: Sequence[AgentDefinition]) -> list[str]:
    return [f"- {agent.slug}: {agent.description}" for agent in agents]
