"""The work of Claude Code besides asking its model, as events: hooks, to-do lists, notifications. Pure.

The CLI's stream does not say which tool use a command of a hook is about. It is known where just one call of the tool
is open then; with several it stays empty. Hooks that are functions are told all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from soundstage.claude_code._messages import AssistantMessage, HookResponse, StreamMessage, UserMessage
from soundstage.journal import HookFired, Notified, Todo, TodosChanged, TodoStatus
from soundstage.messages import ToolCall, ToolResult

_AROUND: Final = (
    frozenset(  # of a hook's input: what differs from run to run, or stands elsewhere in the event
        {"session_id", "transcript_path", "cwd", "prompt_id", "permission_mode", "effort", "hook_event_name"}
    )
)
_ABOUT_TOOLS: Final = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest")
_STATUSES: Final = get_args(TodoStatus)


def hook_fired(
    hook: str, event: str, payload: Mapping[str, Any], *, outcome: str, output: str = "", paired: bool = False
) -> HookFired:
    """The event of a hook whose input is known.

    Args:
        hook: its name.
        event: `PreToolUse`, ...
        payload: its input, whole.
        outcome: `success`, `error`, ...
        output: what it returned, as text.
        paired: whether a hook after the same tool use has to follow.
    """
    return HookFired(
        hook=hook,
        event=event,
        outcome=outcome,
        output=output,
        call_id=str(payload.get("tool_use_id") or ""),
        input={name: value for name, value in payload.items() if name not in _AROUND},
        paired=paired,
    )


def notification(payload: Mapping[str, Any]) -> Notified:
    """The event of a notification, by the input of its hook."""
    return Notified(
        text=str(payload.get("message") or ""),
        title=str(payload.get("title") or ""),
        kind=str(payload.get("notification_type") or ""),
    )


class ToolsInWork:
    """The tool uses of a session that have no result yet, and the to-do list that they make."""

    def __init__(self) -> None:
        self._open: dict[str, ToolCall] = {}
        self._todos: dict[str, Todo] = {}

    def hook_fired(self, message: HookResponse) -> HookFired:
        """The event of a hook of the stream, with its tool use if there is no doubt which it is."""
        tool = message.hook.partition(":")[2] if message.event in _ABOUT_TOOLS else ""
        uses = [call for call in self._open.values() if call.name == tool]
        call = uses[0] if len(uses) == 1 else None
        asked = call is not None and message.event == "PreToolUse"
        return HookFired(
            hook=message.hook,
            event=message.event,
            outcome=message.outcome,
            exit_code=message.exit_code,
            output=message.output,
            call_id=call.id if call is not None else "",
            input={"tool_name": tool, "tool_input": call.arguments} if asked and call is not None else {},
        )

    def heard(self, message: StreamMessage) -> TodosChanged | None:
        """Follow a message; the new to-do list if it changes that."""
        before = tuple(self._todos.values())
        if isinstance(message, AssistantMessage):
            calls = [part for part in message.parts if isinstance(part, ToolCall)]
            self._open.update((call.id, call) for call in calls)
        elif isinstance(message, UserMessage):
            for result in (part for part in message.parts if isinstance(part, ToolResult)):
                call = self._open.pop(result.call_id, None)
                if call is not None and not result.is_error:
                    self._done(call, message.data.get("tool_use_result"))
        after = tuple(self._todos.values())
        return TodosChanged(todos=after) if after != before else None

    def _done(self, call: ToolCall, result: object) -> None:
        told = result if isinstance(result, dict) else {}
        given = call.arguments
        if call.name == "TodoWrite":
            items = given.get("todos")
            listed = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
            self._todos = {str(number): _todo(item, "content") for number, item in enumerate(listed)}
        elif call.name == "TaskCreate" and isinstance(told.get("task"), dict):
            task = told["task"]
            self._todos[str(task.get("id"))] = _todo(task, "subject", str(task.get("id")))
        elif call.name == "TaskUpdate":
            self._update(str(given.get("taskId")), given)

    def _update(self, task: str, given: Mapping[str, Any]) -> None:
        known = self._todos.get(task)
        if known is None:
            return
        if given.get("status") == "deleted":
            del self._todos[task]
            return
        now = {"subject": known.text, "status": known.status, **given}
        self._todos[task] = _todo(now, "subject", task)


def _todo(item: Mapping[str, Any], text: str, identity: str = "") -> Todo:
    status = item.get("status", "pending")
    return Todo(
        text=str(item.get(text) or ""), status=status if status in _STATUSES else "pending", id=identity
    )
