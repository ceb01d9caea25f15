"""The parts of a trace: steps, turns of agents, tool calls, messages, failures. Frozen records."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from soundstage.journal import AgentFinished, Event, ModelFailed, Record
from soundstage.messages import MAIN, ModelRequest, ModelResponse, Usage
from soundstage.trace._error_classes import ErrorClass, error_class

Outcome = Literal["success", "failure", "aborted", "unfinished"]
Wrong = Literal["model", "request", "daemon", "agent", "process", "run"]


def shown(agent: str) -> str:
    """The name of an agent as a trace shows it: an agent without a name is `main`."""
    return agent or MAIN


class ToolUse(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool, from the wish of the model to its result.

    Args:
        call_id: the id that joins call and result.
        name: the tool.
        arguments: the decoded arguments; empty when they are not a JSON object.
        raw: the text of arguments that are not a JSON object.
        agent: who called; `main` for an agent without a name.
        conversation: in which conversation.
        result: what the tool returned, as the model was told; `None` when nobody answered.
        is_error: whether the result is an error.
        asked_at: position of the reply that asked, or of the `ToolCalled` when no reply is known.
        returned_at: position of the `ToolReturned`, or of the request that brought the result.
        parent: the id of the call that started the agent which called; empty for none, or where it is in doubt.
        orphan: whether it is a result alone, of a call that the journal does not have.
        started: seconds; of the `ToolCalled` if there is one, else of the reply that asked.
        ended: seconds; of the `ToolReturned` if there is one, else of the request that brought the result.
    """

    call_id: str
    name: str
    arguments: dict[str, Any]
    raw: str = ""
    agent: str = MAIN
    conversation: str = ""
    result: str | None = None
    is_error: bool = False
    parent: str = ""
    orphan: bool = False
    asked_at: int = 0
    returned_at: int | None = None
    started: float | None = None
    ended: float | None = None

    @property
    def duration(self) -> float | None:
        """Seconds from start to end; `None` while there is no result."""
        return None if self.started is None or self.ended is None else self.ended - self.started

    @property
    def error_class(self) -> ErrorClass | Literal[""]:
        """The kind of its error, by the words of its result: `denied`, `timeout`...; empty for none."""
        return error_class(self.result or "") if self.is_error else ""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange with a model: a request and what came of it.

    Args:
        position: position of the `ModelRequested`.
        cause: position of the event that led to it, if known.
        source: the name of the model in the journal.
        agent: who asked; `main` for an agent without a name.
        conversation: in which conversation.
        parent: the agent that started this one; empty for none.
        phase: the phase that the request was made in.
        purpose: `main` for an agent's own steps; side requests name what they are for.
        model: the model that answered, else the one that was asked.
        request: the request.
        response: the reply; `None` when there was none.
        failure: why there was none; `None` as long as the journal does not say.
        answered_at: position of the reply or of the failure.
        started: seconds; when the request was made.
        first_chunk: seconds; when the first piece of content came.
        ended: seconds; when reply or failure was complete.
        tools: the tools that the reply asked for, in order.
    """

    position: int
    cause: int | None
    source: str
    agent: str
    conversation: str
    parent: str
    phase: str
    purpose: str
    model: str
    request: ModelRequest
    response: ModelResponse | None = None
    failure: ModelFailed | None = None
    answered_at: int | None = None
    started: float
    first_chunk: float | None = None
    ended: float | None = None
    tools: tuple[ToolUse, ...] = ()

    @property
    def whole(self) -> str:
        """The conversation, or the one that it is a part of."""
        return self.request.caller.whole

    @property
    def text(self) -> str:
        """The text of the reply; empty when there is none."""
        return self.response.text if self.response is not None else ""

    @property
    def usage(self) -> Usage:
        """The tokens that the reply reports; all zero when there is no reply."""
        return self.response.usage if self.response is not None else Usage()

    @property
    def duration(self) -> float | None:
        """Seconds from request to the end of the reply; `None` while it is open."""
        return None if self.ended is None else self.ended - self.started


class AgentRun(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of one turn of an agent in one conversation. Side requests belong to no run.

    Others may be at work at the same time. A turn is what an agent asks between `AgentStarted` and
    `AgentFinished`. Without these it goes on with a request that brings results of its calls, and, as long as
    no other agent of the conversation has asked, with one that goes on with its history. It ends where the agent
    has another one work for it: what it does with the result is a new turn.

    Args:
        agent: who; `main` for an agent without a name.
        conversation: in which conversation.
        parent: the agent that started this one; empty for none.
        phase: the phase of the first step.
        steps: at least one.
        started: seconds; when the first step began.
        ended: seconds; when the last step, or the agent, was done; `None` while it is open.
        finished: the agent's own report on its end, if there is one.
    """

    agent: str
    conversation: str
    parent: str
    phase: str
    steps: tuple[Step, ...]
    started: float
    ended: float | None = None
    finished: AgentFinished | None = None

    @property
    def position(self) -> int:
        """Position of the first request."""
        return self.steps[0].position

    @property
    def text(self) -> str:
        """The text of the last step that has one, else what the agent reported at its end."""
        said = next((step.text for step in reversed(self.steps) if step.text), "")
        return said or (self.finished.text if self.finished is not None else "")

    @property
    def tools(self) -> tuple[ToolUse, ...]:
        """The tools that the run asked for, in order."""
        return tuple(use for step in self.steps for use in step.tools)

    @property
    def outcome(self) -> Outcome:
        """The outcome that the agent reported; without a report, that of its last step."""
        if self.finished is not None:
            return self.finished.outcome
        last = self.steps[-1]
        if last.failure is not None:
            return "aborted" if last.failure.reason == "client_gone" else "failure"
        return "unfinished" if last.response is None else "success"


class MessageLine(msgspec.Struct, frozen=True, kw_only=True):
    """A message between the app and a world. `in`: the app received it; `out`: the app sent it."""

    position: int
    time: float
    direction: Literal["in", "out"]
    source: str
    channel: str
    sender: str
    text: str


class HandOver(msgspec.Struct, frozen=True, kw_only=True):
    """One agent took over from another in a conversation: the last that was done when it began.

    Args:
        position: position of the receiver's first request.
        sender: who was at work before.
        receiver: who goes on.
        via: `routing` when a router named the receiver, else the tool that the sender's last step asked for,
            the one that names the receiver if there are several; empty when it asked for none.
        message: the reason of the router, or what the sender said last.
    """

    position: int
    sender: str
    receiver: str
    via: str
    message: str


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Something went wrong.

    `what` says where: `model` (no complete reply), `request` (the wire refused a request), `daemon`, `agent`,
    `process` (the program ended by itself with an exit code above zero), `run`. A tool that returns an error
    is no failure: models are there to deal with it.
    """

    position: int
    time: float
    what: Wrong
    message: str
    source: str
    event: Event


class TraceFields(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The fields of a trace; `Trace` adds what can be asked of them."""

    records: tuple[Record, ...]
    steps: tuple[Step, ...]
    runs: tuple[AgentRun, ...]
    tools: tuple[ToolUse, ...]
    agents: tuple[str, ...]
    messages: tuple[MessageLine, ...]
    failures: tuple[Failure, ...]
    orphans: tuple[ToolUse, ...] = ()
