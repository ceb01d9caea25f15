"""Progress of the demo: one line for each event that a person would want to see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from soundstage.discord import DiscordInteracted, DiscordMessageChanged, DiscordReacted
from soundstage.journal import (
    EgressTried,
    Event,
    FileChanged,
    MessageReceived,
    MessageSent,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    ProcessStarted,
    Record,
    ScreenChanged,
)
from soundstage.match import preview

WIDTH: Final = 68
WHO: Final = 12  # columns


class Line(NamedTuple):
    """Who did what; nothing is shown without a text."""

    who: str
    text: str


def _responded(event: ModelResponded) -> Line:
    calls = [f"{call.name} {call.arguments_json}" for call in event.response.tool_calls]
    if not calls:
        return Line("", preview(event.response.text, WIDTH))
    return Line("", preview(" ".join(filter(None, [event.response.text, *calls])), WIDTH)[1:-1])


def _received(event: MessageReceived) -> Line:
    return Line("in" if event.sender in ("", "test") else event.sender, preview(event.text, WIDTH))


def _interacted(event: DiscordInteracted) -> Line:
    label = event.values.get("label")
    if event.kind == "command":
        given = " ".join(f"{name}={value}" for name, value in event.values.items())
        return Line(event.sender, f"runs {event.name} {given}".rstrip())
    return Line(event.sender, f"uses the {event.kind} {label or event.name}")


_LINES: Final[dict[type[Event], Callable[[Any], Line]]] = {
    DiscordInteracted: _interacted,
    DiscordMessageChanged: lambda event: Line(
        event.by, f"{event.change} a message: {preview(event.text, WIDTH)}"
    ),
    DiscordReacted: lambda event: Line(event.sender, f"{event.change} {event.emoji}"),
    EgressTried: lambda event: Line("refused", f"{event.host}:{event.port}"),
    FileChanged: lambda event: Line("file", f"{event.path} {event.change}"),
    MessageReceived: _received,
    MessageSent: lambda event: Line(event.sender or "out", preview(event.text, WIDTH) if event.text else ""),
    ModelFailed: lambda event: Line("", f"failed: {preview(event.message, WIDTH)}"),
    ModelResponded: _responded,
    ProcessStarted: lambda event: Line("start", event.command[0].rpartition("/")[2]),
    ScreenChanged: lambda event: Line("screen", event.label),
}


class Progress:
    """The lines of one run. A model's words are shown as those of the agent that asked it, if it has a name."""

    def __init__(self) -> None:
        self._askers: dict[int, str] = {}

    def line(self, record: Record) -> str:
        """The line for a record; empty for what needs none."""
        event = record.event
        if isinstance(event, ModelRequested):
            self._askers[record.position] = event.request.caller.agent
        make = _LINES.get(type(event))
        who, text = make(event) if make is not None else Line("", "")
        who = who or self._askers.get(record.cause or 0, "") or "model"
        return f"    {record.time:7.2f} s  {who:<{WHO}} {text}" if text else ""
