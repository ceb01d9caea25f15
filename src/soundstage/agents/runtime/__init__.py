"""A small agent runtime: tools with permissions, the agent loop, and the records of tasks and outcomes.

It runs agents against any model, in a test or for real:

    >>> from soundstage.clock import run
    >>> from soundstage.messages import call
    >>> from soundstage.models import Script, ScriptedModel
    >>> @tool(permissions="read")
    ... def weather(city: str) -> str:
    ...     "Tell the weather."
    ...     return f"{city}: 4 C"
    >>> guide = AgentDefinition(slug="guide", tools=("weather",), permissions=frozenset({"read"}))
    >>> script = Script()
    >>> _ = script.on(user="Oslo", tool_result=False).reply(tool_calls=[call("weather", {"city": "Oslo"})])
    >>> _ = script.on(tool_result="4 C").reply("Take a coat.")
    >>> async def main():
    ...     loop = AgentLoop(ScriptedModel(script), AgentRegistry([guide], [weather]))
    ...     return await loop.run(AgentTask(id="1", agent="guide", prompt="How is Oslo?"))
    >>> run(main()).output
    'Take a coat.'
"""

from soundstage.agents.runtime._contract import (
    PERMISSIONS,
    AgentDefinition,
    AgentOutcome,
    AgentTask,
    Permission,
    TaskRunner,
)
from soundstage.agents.runtime._errors import (
    AgentDefinitionError,
    TaskError,
    ToolError,
    UnknownAgentError,
    UnknownToolError,
)
from soundstage.agents.runtime._executor import ToolExecution, ToolExecutor
from soundstage.agents.runtime._hooks import ShellHook, ShellHooks
from soundstage.agents.runtime._listen import listening
from soundstage.agents.runtime._loop import AgentLoop
from soundstage.agents.runtime._permissions import PermissionMode
from soundstage.agents.runtime._registry import AgentRegistry
from soundstage.agents.runtime._tool import Tool, ToolContext, ToolRegistry, tool
from soundstage.agents.runtime._workspace import workspace_tools

__all__ = [
    "PERMISSIONS",
    "AgentDefinition",
    "AgentDefinitionError",
    "AgentLoop",
    "AgentOutcome",
    "AgentRegistry",
    "AgentTask",
    "Permission",
    "PermissionMode",
    "ShellHook",
    "ShellHooks",
    "TaskError",
    "TaskRunner",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolExecution",
    "ToolExecutor",
    "ToolRegistry",
    "UnknownAgentError",
    "UnknownToolError",
    "listening",
    "tool",
    "workspace_tools",
]
