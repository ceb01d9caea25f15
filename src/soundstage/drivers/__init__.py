"""Drivers: real programs and agents, started for one run and gone after it."""

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
from soundstage.drivers._isolation import (
    AnyIsolation,
    InContainer,
    InSandbox,
    InService,
    Isolation,
    Sandbox,
    as_isolation,
    isolation_problem,
)
from soundstage.drivers._program import Program
from soundstage.drivers._protocol import Driver, Session, Turn
from soundstage.drivers._terminal import Terminal
from soundstage.drivers._terminal_console import TerminalConsole
from soundstage.drivers.claude_code import ClaudeCode

__all__ = [
    "AnyIsolation",
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
    "InService",
    "Isolation",
    "Mount",
    "Network",
    "Output",
    "Program",
    "Sandbox",
    "Session",
    "Terminal",
    "TerminalConsole",
    "Turn",
    "as_isolation",
    "engine_problem",
    "isolation_problem",
]
