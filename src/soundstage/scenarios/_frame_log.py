"""Frames as events of a journal, when they happen: in a replay, and when a recording is read as a run.

The messages of the CLI go the way that those of the driver go (`claude_code`). A recording has no wire, on which the
tools of a driven session stand, so they are taken from the messages themselves; hooks and permissions from the
questions and answers, files from what the tools left.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from soundstage.claude_code import (
    AssistantMessage,
    SessionLog,
    TurnResult,
    UserMessage,
    decode_line,
    fits,
)
from soundstage.journal import (
    Event,
    HookFired,
    Journal,
    MessageReceived,
    MessageSent,
    ProcessExited,
    ToolCalled,
    ToolReturned,
    UsageReported,
    file_changed,
)
from soundstage.messages import ToolCall, ToolResult
from soundstage.scenarios._folder import ScenarioRecording
from soundstage.scenarios._frames import PERMISSION, FileEffect, RecordedFrame

SOURCE: Final = "claude-code"


class FrameLog:
    """Appends what the frames of one recording say.

    Args:
        journal: where to.
        recording: where the hooks are.
    """

    def __init__(self, journal: Journal, recording: ScenarioRecording) -> None:
        self._journal = journal
        self._recording = recording
        self._logs: dict[int, SessionLog] = {}
        self._prompts: dict[int, int] = {}  # session -> position of its last prompt
        self._calls: dict[str, int] = {}
        self._costs: dict[int, float] = {}
        self._files = {one.path: one for one in recording.workspace}

    def played(self, frame: RecordedFrame, line: dict[str, Any]) -> None:
        """Append what a frame says. `line` is its line, as it came or as it was sent."""
        match frame.kind:
            case "send" if line.get("type") == "user":
                self._on_prompt(frame, line)
            case "say":
                self._on_line(frame, line)
            case "answer":
                self._on_answer(frame, line)
            case "change":
                for effect in frame.files:
                    self._on_file(frame, effect)
                for commit in frame.commits:
                    self._append(frame, commit)
            case "exit" if frame.code:
                self._append(frame, ProcessExited(code=frame.code))

    def _append(self, frame: RecordedFrame, event: Event, cause: int | None = None) -> int:
        source = SOURCE if frame.session == 1 else f"{SOURCE}-{frame.session}"
        cause = self._prompts.get(frame.session) if cause is None else cause
        return self._journal.append(event, source=source, cause=cause)

    def _on_prompt(self, frame: RecordedFrame, line: dict[str, Any]) -> None:
        content = (line.get("message") or {}).get("content")
        text = content if isinstance(content, str) else msgspec.json.encode(content).decode()
        received = MessageReceived(text=text, channel=_channel(frame), sender="program")
        self._prompts[frame.session] = self._append(frame, received)

    def _on_line(self, frame: RecordedFrame, line: dict[str, Any]) -> None:
        message = decode_line(msgspec.json.encode(line))
        source = SOURCE if frame.session == 1 else f"{SOURCE}-{frame.session}"
        log = self._logs.setdefault(frame.session, SessionLog(self._journal, source))
        log.heard(message, _channel(frame), self._prompts.get(frame.session))
        if isinstance(message, AssistantMessage | UserMessage):
            for part in message.parts:
                if isinstance(part, ToolCall):
                    called = ToolCalled(
                        call_id=part.id,
                        name=part.name,
                        arguments=part.arguments,
                        conversation=_channel(frame),
                    )
                    self._calls[part.id] = self._append(frame, called, self._calls.get(message.parent))
                elif isinstance(part, ToolResult):
                    returned = ToolReturned(call_id=part.call_id, text=part.text, is_error=part.is_error)
                    self._append(frame, returned, self._calls.get(part.call_id))
        elif isinstance(message, TurnResult) and not message.origin:
            self._append(frame, MessageSent(text=message.text, channel=_channel(frame), sender=SOURCE))
            cost = message.total_cost_usd - self._costs.get(frame.session, 0.0)
            self._costs[frame.session] = message.total_cost_usd
            self._append(frame, UsageReported(usage=message.usage, cost=max(cost, 0.0)))

    def _on_answer(self, frame: RecordedFrame, line: dict[str, Any]) -> None:
        response = line.get("response") or {}
        failed = response.get("subtype") == "error"
        request = self._recording.hook(frame.hook).request
        asked: dict[str, Any] = request.get("input") or {}
        event = str(asked.get("hook_event_name") or PERMISSION)
        tool = str(request.get("tool_name") or asked.get("tool_name") or "")
        said = response.get("error") or response.get("response") or ""
        fired = HookFired(
            hook=f"{event}:{tool}" if tool else event,
            event=event,
            outcome="error" if failed else "success",
            output=said if isinstance(said, str) else msgspec.json.encode(said).decode(),
            call_id=str(request.get("tool_use_id") or asked.get("tool_use_id") or ""),
            input={"tool_name": tool, "tool_input": asked.get("tool_input") or asked} if tool else {},
            paired=event == "PreToolUse" and self._has_post_hook(frame.session, asked),
        )
        self._append(frame, fired)

    def _has_post_hook(self, session: int, asked: dict[str, Any]) -> bool:
        """Whether the program has registered a hook for the end of this tool use."""
        return any(
            fits("PostToolUse", str(matcher or ""), asked) for matcher in self._recording.matchers(session)
        )

    def _on_file(self, frame: RecordedFrame, effect: FileEffect) -> None:
        before, data = self._files.get(effect.path), effect.data
        self._files[effect.path] = effect
        old = before.data if before is not None else None
        event = file_changed(self._journal.contents, effect.path, old, data)
        if event is not None:
            self._append(frame, event)


def _channel(frame: RecordedFrame) -> str:
    return f"session-{frame.session}"
