"""The place where a task waits, in words. Pure."""

from __future__ import annotations

import asyncio
from types import FrameType
from typing import Any, Final

# the frame of a coroutine, async generator or generator, and what it awaits
_LINKS: Final = (("cr_frame", "cr_await"), ("ag_frame", "ag_await"), ("gi_frame", "gi_yieldfrom"))


def where(task: asyncio.Task[Any]) -> str:
    """The name of a task and the lines at which it waits, from its own coroutine inwards."""
    places = _places(task.get_coro())
    return f"{task.get_name()} waits at {' -> '.join(places)}" if places else f"{task.get_name()} is over"


def _places(waiting: Any) -> list[str]:
    """One place for each coroutine of the chain that ends in a future, the outermost first."""
    places: list[str] = []
    while (link := _link(waiting)) is not None:
        frame, waiting = link
        if frame is not None:
            places.append(_place(frame))
    return places


def _link(waiting: Any) -> tuple[FrameType | None, Any] | None:
    for frame, inner in _LINKS:
        if hasattr(waiting, frame):
            return getattr(waiting, frame), getattr(waiting, inner)
    return None


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_qualname})"
