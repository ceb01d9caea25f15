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
    HookFired,
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
from soundstage.messages import StartChunk
from soundstage.trace._tools import ToolUseCollector
from soundstage.trace._turns import StepDraft, TurnGrouping
from soundstage.trace._types import Failure, MessageLine, Step, ToolUse, Wrong, shown

_SIGNALLED: Final = 128  # exit codes from here on say that a signal ended the program


def _frozen(draft: StepDraft, frozen: dict[int, ToolUse]) -> Step:
    caller = draft.request.caller
    return Step(
        position=draft.record.position,
        cause=draft.record.cause,
        source=draft.record.source,
        agent=shown(caller.agent),
        conversation=caller.conversation,
        parent=caller.parent,
        phase=caller.phase,
        purpose=draft.request.purpose,
        request=draft.request,
        started=draft.record.time,
        tools=tuple(frozen[id(use)] for use in draft.uses),
        **draft.facts,
    )


class TraceBuilder:
    """Takes records in order; `fields` gives what a `Trace` is made of."""

    def __init__(self) -> None:
        self._join = ToolUseCollector()
        self._turns = TurnGrouping()
        self._steps: dict[int, StepDraft] = {}  # by position of the request
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
        steps = {position: _frozen(draft, frozen) for position, draft in self._steps.items()}
        asked = [use for step in steps.values() for use in step.tools]
        loose = [frozen[id(use)] for use in self._join.uses if use.reply is None]
        return {
            "records": records,
            "steps": tuple(steps.values()),
            "runs": tuple(run.freeze(steps) for run in self._turns.runs),
            "tools": tuple(sorted([*asked, *loose], key=lambda use: use.asked_at)),
            "agents": self._agents_seen(),
            "messages": tuple(self._messages),
            "failures": tuple(self._failures),
            "orphans": tuple(use.freeze() for use in self._join.orphans.values()),
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
        draft = self._steps[record.position] = StepDraft(record, request)
        self._join.sent(record, request)
        if request.purpose == "main":
            self._agents.setdefault(shown(request.caller.agent), record.position)
            self._turns.asked(draft)

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
        self._turns.answered(draft, record)

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

    def hook_fired(self, record: Record, event: HookFired) -> None:
        self._join.hooked(record, event)

    def agent_started(self, record: Record, event: AgentStarted) -> None:
        self._agents.setdefault(shown(event.agent), record.position)
        self._turns.started(record, event)

    def agent_finished(self, record: Record, event: AgentFinished) -> None:
        agent = shown(event.agent)
        self._agents.setdefault(agent, record.position)
        self._turns.finished(record, event)
        if event.outcome != "success":
            self._fail(
                record, "agent", f"{agent}: {event.outcome}" + (f": {event.text}" if event.text else "")
            )

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


_HANDLERS: Final[dict[type[msgspec.Struct], Callable[[TraceBuilder, Record, Any], None]]] = {
    ModelRequested: TraceBuilder.requested,
    ModelChunked: TraceBuilder.chunked,
    ModelResponded: TraceBuilder.responded,
    ModelFailed: TraceBuilder.failed,
    ToolCalled: TraceBuilder.tool_called,
    ToolReturned: TraceBuilder.tool_returned,
    HookFired: TraceBuilder.hook_fired,
    AgentStarted: TraceBuilder.agent_started,
    AgentFinished: TraceBuilder.agent_finished,
    MessageReceived: TraceBuilder.message,
    MessageSent: TraceBuilder.message,
    DaemonChanged: TraceBuilder.daemon,
    RequestRefused: TraceBuilder.refused,
    ProcessExited: TraceBuilder.exited,
    RunFinished: TraceBuilder.run_finished,
}


def fields_of(records: Iterable[Record]) -> dict[str, Any]:
    """The fields of the trace of `records`."""
    kept = tuple(records)
    builder = TraceBuilder()
    for record in kept:
        builder.add(record)
    return builder.fields(kept)
