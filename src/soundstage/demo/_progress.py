"""Progress of the demo: one line for each event that a person would want to see."""

from __future__ import annotations

import textwrap
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
    Noted,
    ProcessStarted,
    Record,
    ScreenChanged,
)
from soundstage.match import preview
from soundstage.workflows import StageFinished, StageStarted, WorkflowStarted

WIDTH: Final = 68
WHO: Final = 12  # columns
INDENT: Final = WHO + 16
WIDE: Final = 100


class ProgressLine(NamedTuple):
    """Who did what; nothing is shown without a text."""

    who: str
    text: str


def _responded(event: ModelResponded) -> ProgressLine:
    calls = [f"{call.name} {call.arguments_json}" for call in event.response.tool_calls]
    if not calls:
        return ProgressLine("", preview(event.response.text, WIDTH))
    return ProgressLine("", preview(" ".join(filter(None, [event.response.text, *calls])), WIDTH)[1:-1])


def _failed(event: ModelFailed) -> ProgressLine:
    """A failure in a line; the verdict of a replay whole, for a person has to read it."""
    if event.reason != "replay_mismatch":
        return ProgressLine("", f"failed: {preview(event.message, WIDTH)}")
    lines = [part for line in event.message.splitlines() for part in _wrapped(line)]
    return ProgressLine("replay", f"\n{'':{INDENT}}".join(lines))


def _wrapped(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line, WIDE, subsequent_indent=f"{indent}  ", break_on_hyphens=False)


def _received(event: MessageReceived) -> ProgressLine:
    return ProgressLine("in" if event.sender in ("", "test") else event.sender, preview(event.text, WIDTH))


def _interacted(event: DiscordInteracted) -> ProgressLine:
    label = event.values.get("label")
    if event.kind == "command":
        given = " ".join(f"{name}={value}" for name, value in event.values.items())
        return ProgressLine(event.sender, f"runs {event.name} {given}".rstrip())
    return ProgressLine(event.sender, f"uses the {event.kind} {label or event.name}")


_LINES: Final[dict[type[Event], Callable[[Any], ProgressLine]]] = {
    DiscordInteracted: _interacted,
    DiscordMessageChanged: lambda event: ProgressLine(
        event.by, f"{event.change} a message: {preview(event.text, WIDTH)}"
    ),
    DiscordReacted: lambda event: ProgressLine(event.sender, f"{event.change} {event.emoji}"),
    EgressTried: lambda event: ProgressLine("refused", f"{event.host}:{event.port}"),
    FileChanged: lambda event: ProgressLine("file", f"{event.path} {event.change}"),
    MessageReceived: _received,
    MessageSent: lambda event: ProgressLine(
        event.sender or "out", preview(event.text, WIDTH) if event.text else ""
    ),
    ModelFailed: _failed,
    ModelResponded: _responded,
    Noted: lambda event: ProgressLine("note", "" if event.data else event.text),  # with data: of a driver
    ProcessStarted: lambda event: ProgressLine("start", event.command[0].rpartition("/")[2]),
    ScreenChanged: lambda event: ProgressLine("screen", event.label),
    StageFinished: lambda event: ProgressLine("stage", str(event)),
    StageStarted: lambda event: ProgressLine("stage", f"{event.stage} begins"),
    WorkflowStarted: lambda event: ProgressLine("workflow", str(event)),
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
        who, text = make(event) if make is not None else ProgressLine("", "")
        who = who or self._askers.get(record.cause or 0, "") or "model"
        return f"    {record.time:7.2f} s  {who:<{WHO}} {text}" if text else ""
