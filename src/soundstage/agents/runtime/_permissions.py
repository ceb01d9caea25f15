"""Whether a tool that changes something may run: always, or when a person says yes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Literal

from soundstage.agents.runtime._contract import AgentDefinition, Permission
from soundstage.agents.runtime._tool import Tool
from soundstage.errors import ToolDefinitionError
from soundstage.messages import ToolCall

Mode = Literal["auto", "suggest", "ask"]
MODES: Final[tuple[Mode, ...]] = ("auto", "suggest", "ask")
ASKED_FOR: Final[frozenset[Permission]] = frozenset({"write", "execute"})

Ask = Callable[[AgentDefinition, ToolCall], Awaitable[bool]]
"""Gets the agent and the call; True lets it happen."""


class PermissionMode:
    """Decides on tools that write or execute, once the agent's own permissions suffice.

    Args:
        mode: `auto` and `suggest` let every call happen; `ask` asks, and remembers a yes for this agent and tool.
        ask: what to ask, for the mode `ask`. Everything but True is a no.

    Raises:
        ToolDefinitionError: if there is no such mode, or `ask` is missing where it is needed.

    Example:
        >>> async def ask(agent, call):
        ...     return call.name == "write_file"
        >>> PermissionMode("ask", ask).mode
        'ask'
    """

    def __init__(self, mode: Mode = "auto", ask: Ask | None = None) -> None:
        if mode not in MODES:
            raise ToolDefinitionError("there is no such mode", expected=" or ".join(MODES), seen=repr(mode))
        if mode == "ask" and ask is None:
            raise ToolDefinitionError(
                "the permission mode 'ask' needs somebody to ask",
                expected="an async function of the agent and the call",
                seen="none",
                hint="PermissionMode('ask', ask), or the mode 'auto'",
            )
        self.mode = mode
        self._ask = ask
        self._granted: set[tuple[str, str]] = set()
        self._one_question = asyncio.Lock()  # two agents that want the same thing: a person is asked once

    async def refusal(self, agent: AgentDefinition, tool: Tool, call: ToolCall) -> str:
        """Why the call may not happen; empty if it may."""
        if self._ask is None or self.mode != "ask" or not tool.permissions & ASKED_FOR:
            return ""
        async with self._one_question:
            if (agent.slug, tool.name) in self._granted:
                return ""
            if await self._ask(agent, call) is True:
                self._granted.add((agent.slug, tool.name))
                return ""
        return f"Permission denied: {tool.name} was not allowed when asked"
