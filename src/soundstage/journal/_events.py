"""Event classes: every kind of fact that a run can hold.

An app may add its own: subclass `Event`, frozen and keyword-only, and append instances. The class name is
the type in the file, so it must be unique.

`str(event)` is the event in words, for traces, pages and error messages. A class that can say it better than
the list of its fields overrides `__str__`: no field can have that name, whatever an app calls its fields.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from soundstage.journal._words import (
    call_text,
    chunk_words,
    field_words,
    joined_facts,
    request_words,
    response_words,
    said,
)
from soundstage.messages import ModelChunk, ModelRequest, ModelResponse


class Event(
    msgspec.Struct, gc=False, frozen=True, kw_only=True, tag_field="type", tag=True, omit_defaults=True
):
    """Base of all facts. Subclasses are frozen records; the class name is the type in files.

    `str(event)` reads well in one line; override `__str__` where the list of fields does not.

    Attributes:
        routine: whether events of this class come by the dozen and say nothing that others do not: pieces of
            a stream, acknowledgements. The trace as text leaves them out; the page shows all.

    Example:
        >>> class TeaServed(Event, frozen=True, kw_only=True):
        ...     text: str
        ...     sender: str = ""
        ...     cups: int = 1
        >>> str(TeaServed(text="green", sender="ann", cups=2))
        'ann: green · cups=2'
    """

    routine: ClassVar[bool] = False

    def __str__(self) -> str:
        return field_words(self)


class RunStarted(Event, frozen=True, kw_only=True):
    """A run begins. `wall` is the date and time (ISO 8601, UTC) at time 0 of the journal."""

    name: str = ""
    wall: str = ""
    seed: int = 0

    def __str__(self) -> str:
        return joined_facts(self.name, self.wall, f"seed {self.seed}")


class RunFinished(Event, frozen=True, kw_only=True):
    """A run is over."""

    outcome: Literal["passed", "failed", "aborted"] = "passed"
    reason: str = ""

    def __str__(self) -> str:
        return joined_facts(self.outcome, self.reason)


class DaemonChanged(Event, frozen=True, kw_only=True):
    """A daemon of the run took another status, or failed (`error`) without changing it."""

    daemon: str
    status: str
    error: str = ""

    def __str__(self) -> str:
        return joined_facts(self.daemon, self.status.lower(), self.error)


class ModelRequested(Event, frozen=True, kw_only=True):
    """The app asked a model. `model_kind` names the peer behind the protocol: scripted, replay, live..."""

    request: ModelRequest
    model_kind: str = ""

    def __str__(self) -> str:
        return request_words(self.request)


class ModelChunked(Event, frozen=True, kw_only=True):
    """The model sent a piece of its reply."""

    routine: ClassVar[bool] = True

    chunk: ModelChunk

    def __str__(self) -> str:
        return chunk_words(self.chunk)


class ModelResponded(Event, frozen=True, kw_only=True):
    """The reply is complete. The record's `cause` is the position of the request."""

    response: ModelResponse

    def __str__(self) -> str:
        return response_words(self.response)


class ModelFailed(Event, frozen=True, kw_only=True):
    """There was no complete reply: an error status, a cut, no matching rule, the app went away...

    `served_by` names the rule that made it so, if one did.
    """

    reason: Literal["error", "cut", "no_match", "replay_mismatch", "client_gone", "script", "harness"]
    message: str
    status: int = 0
    kind: str = ""
    served_by: str = ""

    def __str__(self) -> str:
        facts = [self.reason.replace("_", " "), str(self.status) if self.status else "", self.kind]
        return " ".join(fact for fact in facts if fact) + f": {self.message}"


class RequestRefused(Event, frozen=True, kw_only=True):
    """A request on the wire that the provider would reject; `body` is its beginning."""

    format: str
    path: str
    status: int
    message: str
    body: str = ""

    def __str__(self) -> str:
        return f"{self.status} {self.path}: {self.message}"


class RequestServed(Event, frozen=True, kw_only=True):
    """A request on the wire that no model answers: token counts, model lists, embeddings."""

    format: str
    path: str
    what: str
    status: int = 200
    detail: dict[str, Any] = {}

    def __str__(self) -> str:
        return joined_facts(str(self.status), self.what, self.path)


class ToolCalled(Event, frozen=True, kw_only=True):
    """An agent runs a tool. `parent` is the id of the call that it works in, if another agent has started it."""

    call_id: str
    name: str
    arguments: dict[str, Any] = {}
    agent: str = ""
    conversation: str = ""
    parent: str = ""

    def __str__(self) -> str:
        return call_text(self.name, self.arguments)


class ToolReturned(Event, frozen=True, kw_only=True):
    """A tool is done; its cause is the `ToolCalled`."""

    call_id: str
    text: str = ""
    is_error: bool = False

    def __str__(self) -> str:
        return f"error: {self.text}" if self.is_error else self.text


class AgentStarted(Event, frozen=True, kw_only=True):
    """An agent begins a piece of work. `parent` is the agent that started it."""

    agent: str
    conversation: str = ""
    parent: str = ""
    task: str = ""

    def __str__(self) -> str:
        return joined_facts(self.agent, f"started by {self.parent}" if self.parent else "", self.task)


class AgentFinished(Event, frozen=True, kw_only=True):
    """An agent is done. `task_id` is the id of what it was asked to do, if it has one."""

    agent: str
    task_id: str = ""
    conversation: str = ""
    outcome: Literal["success", "failure", "aborted"] = "success"
    text: str = ""

    def __str__(self) -> str:
        return joined_facts(self.agent, self.outcome, self.text)


class Routed(Event, frozen=True, kw_only=True):
    """A router chose who goes next. `left` is the phase before, `iteration` counts its rounds from 1."""

    agents: tuple[str, ...]
    phase: str = ""
    reason: str = ""
    conversation: str = ""
    left: str = ""
    iteration: int = 0

    def __str__(self) -> str:
        return joined_facts("→ " + ", ".join(self.agents), self.phase, self.reason)


class PhaseChanged(Event, frozen=True, kw_only=True):
    """A conversation entered another phase."""

    entered: str
    left: str = ""
    conversation: str = ""

    def __str__(self) -> str:
        return f"{self.left} → {self.entered}" if self.left else f"→ {self.entered}"


class FlowEnded(Event, frozen=True, kw_only=True):
    """The agents of a conversation stopped taking turns: `end`, `complete`, `max_iterations`, or an `error`."""

    reason: str
    conversation: str = ""
    iterations: int = 0
    detail: str = ""

    def __str__(self) -> str:
        turns = f"after {self.iterations} turns" if self.iterations else ""
        return joined_facts(self.reason.replace("_", " "), turns, self.detail)


class MessageReceived(Event, frozen=True, kw_only=True):
    """The app got a message from a world: a line on the console, a prompt. `sender` is who wrote it."""

    text: str
    channel: str = ""
    sender: str = ""

    def __str__(self) -> str:
        return said(self.text, sender=self.sender, channel=self.channel)


class MessageSent(Event, frozen=True, kw_only=True):
    """The app said something to a world: a line on the console, an answer."""

    text: str
    channel: str = ""
    sender: str = ""

    def __str__(self) -> str:
        return said(self.text, sender=self.sender, channel=self.channel)


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

    def __str__(self) -> str:
        return joined_facts(self.channel, self.label, self.text)


class EgressTried(Event, frozen=True, kw_only=True):
    """The process tree tried to reach a host outside. It was refused."""

    host: str
    port: int
    method: str = ""

    def __str__(self) -> str:
        return joined_facts(f"{self.host}:{self.port}", self.method, "refused")


class HostReached(Event, frozen=True, kw_only=True):
    """The process of the test reached a host that is no part of the run, and may: on this machine, or listed."""

    host: str
    port: int
    method: str = ""

    def __str__(self) -> str:
        return joined_facts(f"{self.host}:{self.port}", self.method)


class ProcessStarted(Event, frozen=True, kw_only=True):
    """A driver started a program. The environment is listed by name only."""

    command: tuple[str, ...]
    pid: int = 0
    cwd: str = ""
    environment: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(self.command)


class ProcessExited(Event, frozen=True, kw_only=True):
    """The program ended; a negative `code` is the signal that ended it."""

    code: int
    stderr: str = ""

    def __str__(self) -> str:
        return joined_facts(f"exit {self.code}", self.stderr)


class Noted(Event, frozen=True, kw_only=True):
    """A remark: what a driver or a test wants to keep. `data` is any JSON."""

    text: str
    data: dict[str, Any] = {}

    def __str__(self) -> str:
        return self.text


class UnknownEvent(Event, frozen=True, kw_only=True):
    """An event of a newer version, or of an app that is not loaded; or a line that cannot be read.

    `line` is the record as it was. `problem` says why a line cannot be read; it is empty for the others.
    """

    event_type: str
    line: bytes
    problem: str = ""

    def __str__(self) -> str:
        if self.problem:
            return f"a line that cannot be read: {self.problem}"
        return f"{self.event_type}: an event of a newer version, or of an app that is not loaded"


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
