"""The messages of the CLI, as events of the journal.

Tool calls and their results are not told here: they are on the wire, in the requests and replies of the model.
Subagents are told with the reply that asked for them as their cause, found by the id of the tool call, so that
the trace has them as branches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soundstage.claude_code._agents import agent_id
from soundstage.claude_code._events import SubagentFinished, SubagentStarted
from soundstage.claude_code._messages import (
    ApiRetry,
    HookResponse,
    Init,
    StreamMessage,
    TaskChanged,
    TurnResult,
    UnknownMessage,
)
from soundstage.claude_code._notes import abort_of, note_init, note_result
from soundstage.claude_code._work import ToolsInWork
from soundstage.journal import Event, FactMissed, Journal, ModelRequested, ModelResponded, Noted
from soundstage.match import preview


class SessionLog:
    """Appends what one session says.

    Args:
        journal: where to.
        source: who says it.
    """

    def __init__(self, journal: Journal, source: str) -> None:
        self.journal = journal
        self.source = source
        self._init: dict[str, Any] = {}
        self._work = ToolsInWork()
        self._subagents: dict[str, int] = {}  # id -> position of its start

    def append(self, event: Event, cause: int | None) -> int:
        """Append an event of this session."""
        return self.journal.append(event, source=self.source, cause=cause)

    def note(self, text: str, data: Mapping[str, Any], cause: int | None) -> None:
        """Append a remark."""
        self.append(Noted(text=text, data=dict(data)), cause)

    def heard(self, message: StreamMessage, conversation: str, cause: int | None) -> None:
        """Append what a message says, if it says something that the wire does not have."""
        todos = self._work.heard(message)
        if todos is not None:
            self.append(todos, cause)
        match message:
            case Init():
                self._on_init(message, cause)
            case HookResponse():
                self.append(self._work.hook_fired(message), cause)
            case TaskChanged(change="started"):
                self._on_subagent(message, conversation, cause)
            case TaskChanged(change="notification"):
                self._on_subagent_end(message, conversation)
            case TurnResult():
                self.note("result", note_result(message), cause)
                aborted = abort_of(message)
                if aborted is not None and not message.origin:
                    self.append(aborted, cause)
            case ApiRetry():
                self.note("a request failed and is sent again", message.data, cause)
            case UnknownMessage(problem=problem) if problem:
                what = "hook" if message.type.startswith("hook") else "message"
                self.append(
                    FactMissed(what=what, reason=f"{problem} in {preview(repr(message.data))}"), cause
                )

    def _on_init(self, message: Init, cause: int | None) -> None:
        """Note what the session consists of; again only when it has changed."""
        noted = note_init(message)
        if noted != self._init:
            self._init = noted
            self.note("session", noted, cause)

    def _on_subagent(self, message: TaskChanged, conversation: str, cause: int | None) -> None:
        asked, parent = self._asked(message.call_id, cause)
        started = SubagentStarted(
            agent_id=message.task_id,
            agent=message.agent,
            call_id=message.call_id,
            conversation=conversation,
            parent=parent,
            task=str(message.data.get("prompt") or ""),
        )
        self._subagents[message.task_id] = self.append(started, asked)

    def _on_subagent_end(self, message: TaskChanged, conversation: str) -> None:
        started = self._subagents.get(message.task_id)
        if started is None:
            return  # a background command; the note of its start is on the wire
        finished = SubagentFinished(
            agent_id=message.task_id,
            conversation=conversation,
            status=message.status,
            text=str(message.data.get("summary") or ""),
        )
        self.append(finished, started)

    def _asked(self, call_id: str, since: int | None) -> tuple[int | None, str]:
        """The reply that made the call `call_id`, and who got it; `since` and the main agent if none is known."""
        requests: dict[int, str] = {}
        for record in self.journal.read(since or 0, (ModelRequested, ModelResponded)):
            event = record.event
            if isinstance(event, ModelRequested):
                requests[record.position] = agent_id(event.request)
            elif isinstance(event, ModelResponded) and any(
                call.id == call_id for call in event.response.tool_calls
            ):
                return record.position, requests.get(record.cause or 0, "")
        return since, ""
