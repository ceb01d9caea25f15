"""Drivers: real programs and agents, started for one run and gone after it.

What is about MCP servers is loaded when it is first asked for: most runs have none.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from soundstage.drivers._command import Command
from soundstage.drivers._container import (
    Compose,
    ComposeStage,
    Container,
    Health,
    HealthCheck,
    Mount,
    Network,
    Output,
    engine_problem,
)
from soundstage.drivers._isolation import InContainer, InSandbox, Isolation, isolation_problem
from soundstage.drivers._protocol import Driver, Session, Turn
from soundstage.drivers._terminal import Terminal
from soundstage.drivers._terminal_console import TerminalConsole
from soundstage.drivers.claude_code import ClaudeCode

if TYPE_CHECKING:
    from soundstage.drivers._mcp_process import McpProbe, McpProcess, McpStarted, McpStopped, start_mcp_server

__all__ = [
    "ClaudeCode",
    "Command",
    "Compose",
    "ComposeStage",
    "Container",
    "Driver",
    "Health",
    "HealthCheck",
    "InContainer",
    "InSandbox",
    "Isolation",
    "McpProbe",
    "McpProcess",
    "McpStarted",
    "McpStopped",
    "Mount",
    "Network",
    "Output",
    "Session",
    "Terminal",
    "TerminalConsole",
    "Turn",
    "engine_problem",
    "isolation_problem",
    "start_mcp_server",
]
_LATER: Final = ("McpProbe", "McpProcess", "McpStarted", "McpStopped", "start_mcp_server")


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module("soundstage.drivers._mcp_process"), name)
