"""A cast: agents that say what they are told to, one line after the other, and keep what they were asked."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

from soundstage.agents.runtime import AgentDefinition, AgentOutcome, AgentTask
from soundstage.messages import Message, ToolCall, ToolResult, assistant

TEAM = (
    AgentDefinition(slug="orchestrator", description="Decides."),
    AgentDefinition(slug="executor", description="Writes code."),
    AgentDefinition(slug="test-pm", description="Tests.", tools=("continue", "complete")),
)


class Cast:
    """Runs agents by their lines: a text, an outcome's fields, an exception, or a function of the task."""

    def __init__(self, **lines: list[Any]) -> None:
        self.lines = {name.replace("_", "-"): list(said) for name, said in lines.items()}
        self.tasks: list[AgentTask] = []

    async def run(self, task: AgentTask) -> AgentOutcome:
        self.tasks.append(task)
        await asyncio.sleep(0)
        line = self.lines[task.agent].pop(0)
        line = line(task) if callable(line) else line
        line = await line if inspect.isawaitable(line) else line
        if isinstance(line, BaseException):
            raise line
        fields = {"output": line} if isinstance(line, str) else line
        return AgentOutcome(task=task.id, agent=task.agent, **{"success": True, **fields})

    @property
    def order(self) -> list[str]:
        return [task.agent for task in self.tasks]


def saying(text: str, *calls: ToolCall, refused: bool = False) -> dict[str, Any]:
    """The fields of an outcome with tool calls."""
    results = tuple(
        Message(role="tool", parts=(ToolResult(call_id=c.id, text="no", is_error=refused, name=c.name),))
        for c in calls
    )
    return {"output": text, "tool_calls": calls, "messages": (assistant(text, *calls), *results)}


def route(*agents: str, phase: str = "", reason: str = "") -> str:
    return json.dumps({"agents": agents, "phase": phase, "reason": reason})
