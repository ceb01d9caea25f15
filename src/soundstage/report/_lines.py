"""One line for every event: what `str(event)` says, cut to fit. Pure.

What is a failure the trace says; `CONCERNS` adds what is worth a look without being one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from soundstage.journal import Event, HookFired, RequestServed, ToolReturned, one_line


def line(event: Event) -> str:
    """What `event` says, in one line."""
    return one_line(str(event))


def concerns(event: Event) -> bool:
    """Whether `event` is worth a look, although it is no failure."""
    concern = CONCERNS.get(type(event))
    return concern is not None and concern(event)


CONCERNS: Final[dict[type[Event], Callable[[Any], bool]]] = {
    ToolReturned: lambda e: e.is_error,
    RequestServed: lambda e: e.status >= 400,
    HookFired: lambda e: bool(e.exit_code),
}
