"""The team at work: registry, agent loop and planner over one folder and any model."""

from __future__ import annotations

from pathlib import Path

import msgspec

from examples.coding_team.agents import AGENTS, ORCHESTRATOR
from examples.coding_team.web import fetch
from soundstage.agents.prompts import PromptAssembler, trim_history
from soundstage.agents.runtime import (
    AgentDefinition,
    AgentLoop,
    AgentRegistry,
    PermissionMode,
    Tool,
    workspace_tools,
)
from soundstage.agents.teams import PlanOrchestrator, RetryingModel
from soundstage.clock import IdSource
from soundstage.journal import Journal
from soundstage.models import JournaledModel, Model

PATIENCE = 3  # times an agent's maximum is the most that a task may take
CONTEXT = ("AGENTS.md", "README.md")  # the first that is there
CONVENTIONS = ("CONVENTIONS.md", "CONTRIBUTING.md")


def team_tools(folder: Path) -> tuple[Tool, ...]:
    """The tools that there are, with a way out to public pages."""
    return workspace_tools(folder, fetch=fetch)


def team_registry(folder: Path) -> AgentRegistry:
    """The eight agents, checked against the tools."""
    return AgentRegistry(AGENTS, team_tools(folder))


def make_loop(
    model: Model,
    folder: Path,
    journal: Journal,
    *,
    model_name: str,
    suffixes: bool = True,
    mode: PermissionMode | None = None,
) -> AgentLoop:
    """Runs the agents and the orchestrator.

    Args:
        model: what answers; failures that may pass are tried again. One that is journaled already stays as it is.
        folder: the project.
        journal: the record of the run.
        model_name: the model to ask for.
        suffixes: whether the provider knows suffixes like `:online`.
        mode: whether to ask before files are written and commands run.
    """
    agents = list(AGENTS)
    if not suffixes:
        agents = [msgspec.structs.replace(agent, model_suffix="") for agent in agents]
    if mode is not None and mode.mode == "ask":  # the time in which a person thinks counts
        agents = [msgspec.structs.replace(agent, timeout=PATIENCE * agent.max_timeout) for agent in agents]
    # It plans and has no tool for which it could use its permission, so the registry would refuse that.
    planner = msgspec.structs.replace(ORCHESTRATOR, permissions=frozenset())
    journaled = model if isinstance(model, JournaledModel) else JournaledModel(model, journal)
    return AgentLoop(
        RetryingModel(journaled),
        AgentRegistry([*agents, planner], team_tools(folder)),
        journal=journal,
        ids=IdSource(),
        default_model=model_name,
        mode=mode,
        assemble=PromptAssembler(
            project_context=first_text(folder, CONTEXT), conventions=first_text(folder, CONVENTIONS), cut=True
        ),
        trim=trim_history,
    )


def make_planner(loop: AgentLoop) -> PlanOrchestrator:
    """Plans a request and has the eight agents carry it out."""
    return PlanOrchestrator(loop, AGENTS, loop.journal)


def first_text(folder: Path, names: tuple[str, ...]) -> str:
    """The text of the first of the files that is there."""
    found = next((path for name in names if (path := folder / name).is_file()), None)
    return found.read_text(errors="replace") if found else ""


def describe(agent: AgentDefinition) -> str:
    """An agent in one line."""
    return f"{agent.slug:<10} {', '.join(sorted(agent.permissions)):<22} {agent.description}"
