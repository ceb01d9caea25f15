"""Event classes: every kind of fact that a run can hold.

An app may add its own: subclass `Event`, frozen and keyword-only, and append instances. The class name is
the type in the file, so it must be unique.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from soundstage.messages import ModelChunk, ModelRequest, ModelResponse


class Event(
    msgspec.Struct, gc=False, frozen=True, kw_only=True, tag_field="type", tag=True, omit_defaults=True
):
    """Base of all facts. Subclasses are frozen records; the class name is the type in files."""


class RunStarted(Event, frozen=True, kw_only=True):
    """A run begins. `wall` is the date and time (ISO 8601, UTC) at time 0 of the journal."""

    name: str = ""
    wall: str = ""
    seed: int = 0


class RunFinished(Event, frozen=True, kw_only=True):
    """A run is over."""

    outcome: Literal["passed", "failed", "aborted"] = "passed"
    reason: str = ""


class DaemonChanged(Event, frozen=True, kw_only=True):
    """A daemon of the run took another status, or failed (`error`) without changing it."""

    daemon: str
    status: str
    error: str = ""


class ModelRequested(Event, frozen=True, kw_only=True):
    """The app asked a model. `model_kind` names the peer behind the protocol: scripted, replay, live..."""

    request: ModelRequest
    model_kind: str = ""


class ModelChunked(Event, frozen=True, kw_only=True):
    """The model sent a piece of its reply."""

    chunk: ModelChunk


class ModelResponded(Event, frozen=True, kw_only=True):
    """The reply is complete. The record's `cause` is the position of the request."""

    response: ModelResponse


class ModelFailed(Event, frozen=True, kw_only=True):
    """There was no complete reply: an error status, a cut, no matching rule, the app went away..."""

    reason: Literal["error", "cut", "no_match", "replay_mismatch", "client_gone", "script", "harness"]
    message: str
    status: int = 0
    kind: str = ""


class RequestRefused(Event, frozen=True, kw_only=True):
    """A request on the wire that the provider would reject; `body` is its beginning."""

    format: str
    path: str
    status: int
    message: str
    body: str = ""


class RequestServed(Event, frozen=True, kw_only=True):
    """A request on the wire that no model answers: token counts, model lists, embeddings."""

    format: str
    path: str
    what: str
    status: int = 200
    detail: dict[str, Any] = {}


class ToolCalled(Event, frozen=True, kw_only=True):
    """An agent runs a tool."""

    call_id: str
    name: str
    arguments: dict[str, Any] = {}
    agent: str = ""
    conversation: str = ""


class ToolReturned(Event, frozen=True, kw_only=True):
    """A tool is done; its cause is the `ToolCalled`."""

    call_id: str
    text: str = ""
    is_error: bool = False


class AgentStarted(Event, frozen=True, kw_only=True):
    """An agent begins a piece of work. `parent` is the agent that started it."""

    agent: str
    conversation: str = ""
    parent: str = ""
    task: str = ""


class AgentFinished(Event, frozen=True, kw_only=True):
    """An agent is done."""

    agent: str
    conversation: str = ""
    outcome: Literal["success", "failure", "aborted"] = "success"
    text: str = ""


class Routed(Event, frozen=True, kw_only=True):
    """A router chose who goes next."""

    agents: tuple[str, ...]
    phase: str = ""
    reason: str = ""
    conversation: str = ""


class PhaseChanged(Event, frozen=True, kw_only=True):
    """A conversation entered another phase."""

    entered: str
    left: str = ""
    conversation: str = ""


class MessageReceived(Event, frozen=True, kw_only=True):
    """The app got a message from a world: a line on the console, a prompt. `sender` is who wrote it."""

    text: str
    channel: str = ""
    sender: str = ""


class MessageSent(Event, frozen=True, kw_only=True):
    """The app said something to a world: a line on the console, an answer."""

    text: str
    channel: str = ""
    sender: str = ""


class ScreenChanged(Event, frozen=True, kw_only=True):
    """A terminal shows something else.

    `text` is what can be read. `styles` says what does not look plain: the row, the first character in the row
    and the first one after it, and the look (`bold red on blue`). Characters count from 0, those after the end
    of a row's text are spaces. `cursor` is a row and a character; there is none if it is hidden. `label` is the
    name that a test has given to the screen.
    """

    text: str
    channel: str = ""
    label: str = ""
    columns: int = 0
    rows: int = 0
    cursor: tuple[int, int] | None = None
    styles: tuple[tuple[int, int, int, str], ...] = ()


class HookFired(Event, frozen=True, kw_only=True):
    """A hook of an agent ran."""

    hook: str
    event: str = ""
    outcome: str = ""
    exit_code: int | None = None
    output: str = ""


class FileChanged(Event, frozen=True, kw_only=True):
    """A file of a workspace is different now."""

    path: str
    change: Literal["added", "modified", "deleted"]
    before: str | None = None  # sha256
    after: str | None = None


class EgressTried(Event, frozen=True, kw_only=True):
    """The process tree tried to reach a host outside. It was refused."""

    host: str
    port: int
    method: str = ""


class ProcessStarted(Event, frozen=True, kw_only=True):
    """A driver started a program. The environment is listed by name only."""

    command: tuple[str, ...]
    pid: int = 0
    cwd: str = ""
    environment: tuple[str, ...] = ()


class ProcessExited(Event, frozen=True, kw_only=True):
    """The program ended; a negative `code` is the signal that ended it."""

    code: int
    stderr: str = ""


class Noted(Event, frozen=True, kw_only=True):
    """A remark: what a driver or a test wants to keep. `data` is any JSON."""

    text: str
    data: dict[str, Any] = {}


class UnknownEvent(Event, frozen=True, kw_only=True):
    """An event of a newer version, or of an app that is not loaded. `line` is the record as it was."""

    event_type: str
    line: bytes


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event in its envelope.

    Args:
        position: 1, 2, 3... in the order of the journal.
        time: seconds on the run's clock.
        run: id of the run.
        source: which model, world, agent or driver it comes from.
        cause: position of the event that led to it, if known.
        event: the fact.
        v: schema version of the line.
    """

    position: int
    time: float
    run: str
    source: str
    cause: int | None
    event: Event
    v: int = 1


def event_types() -> dict[str, type[Event]]:
    """All event classes that are loaded, by type name."""
    found: dict[str, type[Event]] = {}
    pending = Event.__subclasses__()
    while pending:
        cls = pending.pop()
        found[cls.__name__] = cls
        pending.extend(cls.__subclasses__())
    found.pop(UnknownEvent.__name__)
    return found
