"""One line for every event: what `str(event)` says, cut to fit. Pure.

What is a failure the trace says; `CONCERNS` adds what is worth a look without being one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from soundstage.journal import (
    Event,
    HookFired,
    ModelFailed,
    ModelResponded,
    RequestServed,
    ToolReturned,
    one_line,
)

_SAID, _BY = 115, 80  # characters of an answer, and of the rule that gave it


def line(event: Event) -> str:
    """The words of `event`, in one line; of an answer of a model also which rule gave it."""
    served_by = _served_by(event)
    if not served_by:
        return one_line(str(event))
    return f"{one_line(str(event), _SAID)} · by {one_line(served_by, _BY)}"


def _served_by(event: Event) -> str:
    if isinstance(event, ModelResponded):
        return event.response.served_by
    return event.served_by if isinstance(event, ModelFailed) else ""


def concerns(event: Event) -> bool:
    """Whether `event` is worth a look, although it is no failure."""
    concern = CONCERNS.get(type(event))
    return concern is not None and concern(event)


CONCERNS: Final[dict[type[Event], Callable[[Any], bool]]] = {
    ModelResponded: lambda e: any(call.raw for call in e.response.tool_calls),
    ToolReturned: lambda e: e.is_error,
    RequestServed: lambda e: e.status >= 400,
    HookFired: lambda e: bool(e.exit_code),
}
