"""Drivers: real programs and agents, started for one run and gone after it."""

from soundstage.drivers._command import Command
from soundstage.drivers._isolation import (
    AnyIsolation,
    InSandbox,
    InService,
    Isolation,
    Level,
    Sandbox,
    as_isolation,
    isolation_problem,
    level_names,
)
from soundstage.drivers._netns import RunServers, name_files
from soundstage.drivers._program import Program
from soundstage.drivers._protocol import Driver, DriverSession, DriverTurn
from soundstage.drivers._terminal import Terminal
from soundstage.drivers._terminal_console import TerminalConsole

__all__ = [
    "AnyIsolation",
    "Command",
    "Driver",
    "DriverSession",
    "DriverTurn",
    "InSandbox",
    "InService",
    "Isolation",
    "Level",
    "Program",
    "RunServers",
    "Sandbox",
    "Terminal",
    "TerminalConsole",
    "as_isolation",
    "isolation_problem",
    "level_names",
    "name_files",
]
