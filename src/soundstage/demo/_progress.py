"""What the demo prints while a scenario runs: one line for each thing that a person would want to see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from soundstage.journal import (
    EgressTried,
    Event,
    FileChanged,
    MessageReceived,
    MessageSent,
    ModelFailed,
    ModelResponded,
    ProcessStarted,
    Record,
)
from soundstage.match import preview

WIDTH: Final = 72


def _responded(event: ModelResponded) -> str:
    calls = ", ".join(f"{call.name} {call.arguments_json}" for call in event.response.tool_calls)
    return (
        f"model: {preview(calls, WIDTH)[1:-1]}" if calls else f"model: {preview(event.response.text, WIDTH)}"
    )


_LINES: Final[dict[type[Event], Callable[..., str]]] = {
    EgressTried: lambda event: f"refused: {event.host}:{event.port}",
    FileChanged: lambda event: f"file {event.change}: {event.path}",
    MessageReceived: lambda event: f"in:    {preview(event.text, WIDTH)}",
    MessageSent: lambda event: f"out:   {preview(event.text, WIDTH)}" if event.text else "",
    ModelFailed: lambda event: f"model failed: {preview(event.message, WIDTH)}",
    ModelResponded: _responded,
    ProcessStarted: lambda event: f"start: {event.command[0].rpartition('/')[2]}",
}


def progress_line(record: Record) -> str:
    """The line for a record; empty for what needs none."""
    line = _LINES.get(type(record.event))
    text = line(record.event) if line is not None else ""
    return f"    {record.time:7.2f} s  {text}" if text else ""
