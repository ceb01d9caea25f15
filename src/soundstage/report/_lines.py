"""One line for every event. Pure.

`LINES` is the table: event class and the words. An event class that is not in it (an app's own) shows its
fields. What is a failure the trace says; `CONCERNS` adds what is worth a look without being one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    DaemonChanged,
    EgressTried,
    Event,
    FileChanged,
    HookFired,
    MessageReceived,
    MessageSent,
    ModelChunked,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    Noted,
    PhaseChanged,
    ProcessExited,
    ProcessStarted,
    RequestRefused,
    RequestServed,
    Routed,
    RunFinished,
    RunStarted,
    ScreenChanged,
    ToolCalled,
    ToolReturned,
    UnknownEvent,
)
from soundstage.messages import Message, Text, Thinking, ToolCall, ToolResult

LENGTH: Final = 200  # characters of a line; the page cuts it at the window's width


def one_line(text: str, length: int = LENGTH) -> str:
    """The beginning of `text`, its white space squeezed, on one line."""
    squeezed = " ".join(text[: 4 * length].split())
    return squeezed if len(squeezed) <= length else squeezed[: length - 1] + "…"


def line(event: Event) -> str:
    """What `event` says, in one line."""
    return one_line(LINES.get(type(event), _fields)(event))


def concerns(event: Event) -> bool:
    """Whether `event` is worth a look, although it is no failure."""
    concern = CONCERNS.get(type(event))
    return concern is not None and concern(event)


def call_text(name: str, arguments: dict[str, Any], raw: str = "") -> str:
    """A tool call as a programmer would write it: `read(path="a.txt")`."""
    inside = raw or ", ".join(f"{key}={_value(value)}" for key, value in arguments.items())
    return f"{name}({inside})"


def _value(value: Any) -> str:
    return one_line(msgspec.json.encode(value).decode(), 60)


def _fields(event: Event) -> str:
    shown = ((name, getattr(event, name)) for name in event.__struct_fields__)
    return ", ".join(f"{name}={value}" for name, value in shown if value not in ("", None, (), {}))


def _part(part: Any) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Thinking):
        return f"(thinking) {one_line(part.text, 60)}"
    if isinstance(part, ToolCall):
        return "→ " + call_text(part.name, part.arguments, part.raw)
    if isinstance(part, ToolResult):
        what = "error" if part.is_error else "result"
        return f"{what} of {part.name}: {part.text}" if part.name else f"{what}: {part.text}"
    return f"[{part.type}]"


def _parts(parts: Iterable[Any]) -> str:
    """The parts in a row; the arrow of a call is its separator."""
    return " · ".join(one_line(_part(part)) for part in parts).replace(" · → ", " → ")


def _message(message: Message) -> str:
    return f"{message.role}: {_parts(message.parts)}"


def _requested(event: ModelRequested) -> str:
    request = event.request
    who = request.caller.agent
    purpose = "" if request.purpose == "main" else f" ({request.purpose})"
    asked = _message(request.messages[-1]) if request.messages else "no messages"
    return f"{who + ' → ' if who else ''}{request.model}{purpose} · {asked}"


def _chunked(event: ModelChunked) -> str:
    chunk = event.chunk
    for name in ("text", "arguments", "signature", "data", "type"):
        value = getattr(chunk, name, "")
        if value:
            return repr(value)
    return getattr(chunk, "name", "") or type(chunk).__name__


def _responded(event: ModelResponded) -> str:
    response = event.response
    words = _parts(response.parts) or "(empty reply)"
    return words if response.finish in ("stop", "tool_calls") else f"[{response.finish}] {words}"


def _failed(event: ModelFailed) -> str:
    facts = [event.reason.replace("_", " "), str(event.status) if event.status else "", event.kind]
    return " ".join(fact for fact in facts if fact) + f": {event.message}"


def _named(name: str, *rest: str) -> str:
    return " · ".join(text for text in (name, *rest) if text)


def _said(event: MessageReceived | MessageSent) -> str:
    who = event.sender or event.channel
    return f"{who}: {event.text}" if who else event.text


LINES: Final[dict[type[Event], Callable[[Any], str]]] = {
    RunStarted: lambda e: _named(e.name, e.wall, f"seed {e.seed}"),
    RunFinished: lambda e: _named(e.outcome, e.reason),
    DaemonChanged: lambda e: _named(e.daemon, e.status.lower(), e.error),
    ModelRequested: _requested,
    ModelChunked: _chunked,
    ModelResponded: _responded,
    ModelFailed: _failed,
    RequestRefused: lambda e: f"{e.status} {e.path}: {e.message}",
    RequestServed: lambda e: _named(str(e.status), e.what, e.path),
    ToolCalled: lambda e: call_text(e.name, e.arguments),
    ToolReturned: lambda e: f"error: {e.text}" if e.is_error else e.text,
    AgentStarted: lambda e: _named(e.agent, f"started by {e.parent}" if e.parent else "", e.task),
    AgentFinished: lambda e: _named(e.agent, e.outcome, e.text),
    Routed: lambda e: _named("→ " + ", ".join(e.agents), e.phase, e.reason),
    PhaseChanged: lambda e: f"{e.left} → {e.entered}" if e.left else f"→ {e.entered}",
    MessageReceived: _said,
    MessageSent: _said,
    ScreenChanged: lambda e: _named(e.channel, e.label, e.text),
    HookFired: lambda e: _named(e.hook, e.event, e.outcome, e.output),
    FileChanged: lambda e: f"{e.change} {e.path}",
    EgressTried: lambda e: _named(f"{e.host}:{e.port}", e.method, "refused"),
    ProcessStarted: lambda e: " ".join(e.command),
    ProcessExited: lambda e: _named(f"exit {e.code}", e.stderr),
    Noted: lambda e: e.text,
    UnknownEvent: lambda e: f"{e.event_type}: an event of a newer version, or of an app that is not loaded",
}

CONCERNS: Final[dict[type[Event], Callable[[Any], bool]]] = {
    ToolReturned: lambda e: e.is_error,
    RequestServed: lambda e: e.status >= 400,
    HookFired: lambda e: bool(e.exit_code),
}
