"""Drivers: real programs and agents, started for one run and gone after it."""

from soundstage.drivers._argv import checked_argv
from soundstage.drivers._command import Command
from soundstage.drivers._isolation import (
    PROCESS,
    AnyIsolation,
    Level,
    ProcessLevel,
    Sandbox,
    as_isolation,
    isolation_problem,
    level_names,
    own_folders,
)
from soundstage.drivers._program import Program, ProgramOptions
from soundstage.drivers._protocol import Driver, DriverSession, DriverTurn

__all__ = [
    "PROCESS",
    "AnyIsolation",
    "Command",
    "Driver",
    "DriverSession",
    "DriverTurn",
    "Level",
    "ProcessLevel",
    "Program",
    "ProgramOptions",
    "Sandbox",
    "as_isolation",
    "checked_argv",
    "isolation_problem",
    "level_names",
    "own_folders",
]
