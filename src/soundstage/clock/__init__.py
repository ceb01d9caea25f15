"""Time and ids as arguments: nothing else in Soundstage asks the system for them.

`SystemClock` follows the machine. `VirtualClock` stands still while work is being done and jumps when every
task waits; `run(main(), clock=VirtualClock())` gives asyncio's own timers that time too.
"""

from soundstage.clock._clock import (
    Clock,
    Deadline,
    SystemClock,
    VirtualClock,
    running_clock,
    time_limit,
    validate_seconds,
)
from soundstage.clock._ids import IdSource
from soundstage.clock._loop import PendingTimer, VirtualLoop
from soundstage.clock._run import run
from soundstage.clock._schedule import current_schedule, scheduled
from soundstage.clock._tasks import where

__all__ = [
    "Clock",
    "Deadline",
    "IdSource",
    "PendingTimer",
    "SystemClock",
    "VirtualClock",
    "VirtualLoop",
    "current_schedule",
    "run",
    "running_clock",
    "scheduled",
    "time_limit",
    "validate_seconds",
    "where",
]
