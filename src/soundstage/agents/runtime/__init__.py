"""A small agent runtime: tools with permissions, the agent loop, and what a team is made of."""

from soundstage.agents.runtime._contract import (
    PERMISSIONS,
    AgentDefinition,
    AgentOutcome,
    AgentTask,
    Permission,
    RunsAgents,
)
from soundstage.agents.runtime._errors import (
    AgentDefinitionError,
    AgentProblem,
    ToolDefinitionError,
    ToolError,
    UnknownAgentError,
    UnknownToolError,
)
from soundstage.agents.runtime._registry import AgentRegistry
from soundstage.agents.runtime._tool import Tool, ToolContext, ToolRegistry, tool

__all__ = [
    "PERMISSIONS",
    "AgentDefinition",
    "AgentDefinitionError",
    "AgentOutcome",
    "AgentProblem",
    "AgentRegistry",
    "AgentTask",
    "Permission",
    "RunsAgents",
    "Tool",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "ToolRegistry",
    "UnknownAgentError",
    "UnknownToolError",
    "tool",
]
