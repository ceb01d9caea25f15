"""The team: who is in it, and how it is put to work on any model, scripted or live."""

from __future__ import annotations

from soundstage.agents.runtime import AgentDefinition, AgentLoop, AgentRegistry
from soundstage.agents.teams import (
    ConversationCoordinator,
    RetryingModel,
    TurnRouter,
    flow_tools,
    routing_prompt,
)
from soundstage.clock import IdSource
from soundstage.journal import Journal
from soundstage.models import JournaledModel, Model

WORKERS = (
    AgentDefinition(
        slug="executor",
        description="Implements what the user wants.",
        prompt="You are the executor. Implement what the user wants, then call `continue`.",
        tools=("continue",),
    ),
    AgentDefinition(
        slug="test-pm",
        description="Verifies what the executor has implemented.",
        prompt=(
            "You are the test-pm. Verify the work of the executor. Call `continue` with your feedback if it is not "
            "right yet, and `complete` if it is."
        ),
        tools=("continue", "complete"),
    ),
)
ORCHESTRATOR = AgentDefinition(
    slug="orchestrator",
    description="Decides who works next.",
    prompt=routing_prompt(WORKERS),
    tools=("complete",),
)
TEAM = (ORCHESTRATOR, *WORKERS)


def make_router(
    model: Model, journal: Journal, *, name: str = "gpt-4.1", ids: IdSource | None = None
) -> TurnRouter:
    """The team on a model. All that is said and done goes into the journal.

    Args:
        model: what answers.
        journal: the record of the run.
        name: the model to ask for.
        ids: where ids come from.
    """
    ids = ids if ids is not None else IdSource()
    journaled = model if isinstance(model, JournaledModel) else JournaledModel(model, journal)
    loop = AgentLoop(
        RetryingModel(journaled),
        AgentRegistry(TEAM, flow_tools()),
        journal=journal,
        ids=ids,
        default_model=name,
    )
    return TurnRouter(ConversationCoordinator(journal, ids=ids), loop, TEAM)
