"""A small agent runtime: tools with permissions, the agent loop, and what a team is made of."""

from soundstage.agents.runtime._contract import (
    PERMISSIONS,
    AgentDefinition,
    AgentOutcome,
    AgentTask,
    Permission,
    RunsAgents,
)

__all__ = ["PERMISSIONS", "AgentDefinition", "AgentOutcome", "AgentTask", "Permission", "RunsAgents"]
