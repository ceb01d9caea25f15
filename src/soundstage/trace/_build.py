"""From records to steps, runs and tool calls: one pass, each record looked at once.

Which event does what is the table `_HANDLERS`; events that are not in it, an app's own among them, stay in
`Trace.records` and change nothing. A journal may be cut off anywhere, and may be only a part of a run: an
event whose cause is not among the records is left where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from soundstage.journal import (
    AgentFinished,
    AgentStarted,
    DaemonChanged,
    MessageReceived,
    MessageSent,
    ModelChunked,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    ProcessExited,
    Record,
    RequestRefused,
    RunFinished,
    ToolCalled,
    ToolReturned,
)
from soundstage.messages import ModelRequest, StartChunk
from soundstage.trace._tools import ToolJoin, UseDraft
from soundstage.trace._types import AgentRun, Failure, MessageLine, Step, ToolUse, Wrong, shown

_SIGNALLED: Final = 128  # exit codes from here on say that a signal ended the program


class _StepDraft:
    """A step in the making."""

    __slots__ = ("facts", "record", "request", "uses")

    def __init__(self, record: Record, request: ModelRequest) -> None:
        self.record = record
        self.request = request
        self.uses: list[UseDraft] = []
        self.facts: dict[str, Any] = {"model": request.model}

    @property
    def closed(self) -> bool:
        return "answered_at" in self.facts

    def close(self, record: Record, **facts: Any) -> None:
        self.facts.update(facts, answered_at=record.position, ended=record.time)

    def freeze(self, frozen: dict[int, ToolUse]) -> Step:
        caller = self.request.caller
        return Step(
            position=self.record.position,
            cause=self.record.cause,
            source=self.record.source,
            agent=shown(caller.agent),
            conversation=caller.conversation,
            parent=caller.parent,
            phase=caller.phase,
            purpose=self.request.purpose,
            request=self.request,
            started=self.record.time,
            tools=tuple(frozen[id(use)] for use in self.uses),
            **self.facts,
        )


class _RunDraft:
    """A run in the making."""

    __slots__ = ("agent", "conversation", "finished", "finished_at", "parent", "steps")

    def __init__(self, agent: str, conversation: str, parent: str) -> None:
        self.agent = agent
        self.conversation = conversation
        self.parent = parent
        self.steps: list[_StepDraft] = []
        self.finished: AgentFinished | None = None
        self.finished_at: float | None = None

    def freeze(self, steps: dict[int, Step]) -> AgentRun:
        own = tuple(steps[draft.record.position] for draft in self.steps)
        return AgentRun(
            agent=self.agent,
            conversation=self.conversation,
            parent=self.parent,
            phase=own[0].phase,
            steps=own,
            started=own[0].started,
            ended=self.finished_at if self.finished is not None else own[-1].ended,
            finished=self.finished,
        )


class Builder:
    """Takes records in order; `fields` gives what a `Trace` is made of."""

    def __init__(self) -> None:
        self._join = ToolJoin()
        self._steps: dict[int, _StepDraft] = {}  # by position of the request
        self._runs: list[_RunDraft] = []
        self._current: dict[str, _RunDraft] = {}  # by conversation; the run that the next step may go on with
        self._latest: dict[tuple[str, str], _RunDraft] = {}  # by conversation and agent
        self._parents: dict[tuple[str, str], str] = {}  # by conversation and agent, from `AgentStarted`
        self._agents: dict[str, int] = {}  # where each was seen first
        self._messages: list[MessageLine] = []
        self._failures: list[Failure] = []

    def add(self, record: Record) -> None:
        """Take the next record."""
        handle = _HANDLERS.get(type(record.event))
        if handle is not None:
            handle(self, record, record.event)

    def fields(self, records: tuple[Record, ...]) -> dict[str, Any]:
        """The fields of the trace of the records so far."""
        frozen = {id(use): use.freeze() for use in self._join.uses}
        steps = {position: draft.freeze(frozen) for position, draft in self._steps.items()}
        asked = [use for step in steps.values() for use in step.tools]
        loose = [frozen[id(use)] for use in self._join.uses if use.reply is None]
        return {
            "records": records,
            "steps": tuple(steps.values()),
            "runs": tuple(run.freeze(steps) for run in self._runs),
            "tools": tuple(sorted([*asked, *loose], key=lambda use: use.asked_at)),
            "agents": self._agents_seen(),
            "messages": tuple(self._messages),
            "failures": tuple(self._failures),
        }

    def _agents_seen(self) -> tuple[str, ...]:
        """Names in the order of their first appearance; tools may be called by an agent without a model."""
        seen = dict(self._agents)
        for use in self._join.uses:
            if use.reply is None:
                seen[use.agent] = min(use.facts["asked_at"], seen.get(use.agent, use.facts["asked_at"]))
        return tuple(sorted(seen, key=lambda name: seen[name]))

    def requested(self, record: Record, event: ModelRequested) -> None:
        request = event.request
        draft = self._steps[record.position] = _StepDraft(record, request)
        self._join.sent(record, request)
        if request.purpose == "main":
            self._run_of(request, record.position).steps.append(draft)

    def _run_of(self, request: ModelRequest, position: int) -> _RunDraft:
        """The run that a request belongs to: the conversation's current one, unless another agent asks."""
        agent, conversation = shown(request.caller.agent), request.caller.conversation
        current = self._current.get(conversation)
        if current is not None and current.agent == agent:
            return current
        parent = request.caller.parent or self._parents.get((conversation, agent), "")
        current = _RunDraft(agent, conversation, parent)
        self._agents.setdefault(agent, position)
        self._runs.append(current)
        self._current[conversation] = self._latest[conversation, agent] = current
        return current

    def chunked(self, record: Record, event: ModelChunked) -> None:
        draft = self._steps.get(record.cause or 0)
        if draft is not None and "first_chunk" not in draft.facts and type(event.chunk) is not StartChunk:
            draft.facts["first_chunk"] = record.time

    def responded(self, record: Record, event: ModelResponded) -> None:
        draft = self._steps.get(record.cause or 0)
        if draft is None or draft.closed:
            return
        response = event.response
        draft.close(record, response=response, model=response.model or draft.request.model)
        for call in response.tool_calls:
            draft.uses.append(self._join.asked(record, call, draft.request, draft.record.position))

    def failed(self, record: Record, event: ModelFailed) -> None:
        draft = self._steps.get(record.cause or 0)
        if draft is not None and not draft.closed:
            draft.close(record, failure=event)
        status = f" {event.status}" if event.status else ""
        self._fail(record, "model", f"{event.reason}{status}: {event.message}")

    def tool_called(self, record: Record, event: ToolCalled) -> None:
        self._join.called(record, event)

    def tool_returned(self, record: Record, event: ToolReturned) -> None:
        self._join.returned(record, event)

    def agent_started(self, record: Record, event: AgentStarted) -> None:
        agent = shown(event.agent)
        self._agents.setdefault(agent, record.position)
        self._parents[event.conversation, agent] = event.parent
        self._leave(agent, event.conversation)

    def agent_finished(self, record: Record, event: AgentFinished) -> None:
        agent = shown(event.agent)
        self._agents.setdefault(agent, record.position)
        run = self._latest.get((event.conversation, agent))
        if run is not None and run.finished is None:
            run.finished = event
            run.finished_at = record.time
        self._leave(agent, event.conversation)
        if event.outcome != "success":
            self._fail(
                record, "agent", f"{agent}: {event.outcome}" + (f": {event.text}" if event.text else "")
            )

    def _leave(self, agent: str, conversation: str) -> None:
        """Let the next step of `agent` begin a new run."""
        current = self._current.get(conversation)
        if current is not None and current.agent == agent:
            del self._current[conversation]

    def message(self, record: Record, event: MessageReceived | MessageSent) -> None:
        self._messages.append(
            MessageLine(
                position=record.position,
                time=record.time,
                direction="in" if isinstance(event, MessageReceived) else "out",
                source=record.source,
                channel=event.channel,
                sender=event.sender,
                text=event.text,
            )
        )

    def daemon(self, record: Record, event: DaemonChanged) -> None:
        if event.error:
            self._fail(record, "daemon", f"{event.daemon}: {event.error}")

    def refused(self, record: Record, event: RequestRefused) -> None:
        self._fail(record, "request", f"{event.status} for {event.path}: {event.message}")

    def exited(self, record: Record, event: ProcessExited) -> None:
        if 0 < event.code < _SIGNALLED:
            last = event.stderr.strip().rpartition("\n")[2]
            self._fail(record, "process", f"exit code {event.code}" + (f": {last}" if last else ""))

    def run_finished(self, record: Record, event: RunFinished) -> None:
        if event.outcome != "passed":
            self._fail(record, "run", event.outcome + (f": {event.reason}" if event.reason else ""))

    def _fail(self, record: Record, what: Wrong, message: str) -> None:
        self._failures.append(
            Failure(
                position=record.position,
                time=record.time,
                what=what,
                message=message,
                source=record.source,
                event=record.event,
            )
        )


_HANDLERS: Final[dict[type[msgspec.Struct], Callable[[Builder, Record, Any], None]]] = {
    ModelRequested: Builder.requested,
    ModelChunked: Builder.chunked,
    ModelResponded: Builder.responded,
    ModelFailed: Builder.failed,
    ToolCalled: Builder.tool_called,
    ToolReturned: Builder.tool_returned,
    AgentStarted: Builder.agent_started,
    AgentFinished: Builder.agent_finished,
    MessageReceived: Builder.message,
    MessageSent: Builder.message,
    DaemonChanged: Builder.daemon,
    RequestRefused: Builder.refused,
    ProcessExited: Builder.exited,
    RunFinished: Builder.run_finished,
}


def fields_of(records: Iterable[Record]) -> dict[str, Any]:
    """The fields of the trace of `records`."""
    kept = tuple(records)
    builder = Builder()
    for record in kept:
        builder.add(record)
    return builder.fields(kept)
