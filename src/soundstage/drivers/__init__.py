"""Drivers: real programs and agents, started for one run and gone after it."""

from soundstage.drivers._command import Command
from soundstage.drivers._isolation import InContainer, Isolation, isolation_problem
from soundstage.drivers._protocol import Driver, Session, Turn
from soundstage.drivers._terminal import Terminal
from soundstage.drivers._terminal_console import TerminalConsole
from soundstage.drivers.claude_code import ClaudeCode

__all__ = [
    "ClaudeCode",
    "Command",
    "Driver",
    "InContainer",
    "Isolation",
    "Session",
    "Terminal",
    "TerminalConsole",
    "Turn",
    "isolation_problem",
]
