"""A tool use in the making, as far as the records have told it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from soundstage.journal import HookFired, Record
from soundstage.messages import ToolCall
from soundstage.trace._types import ToolUse

BEFORE: Final = "PreToolUse"
AFTER: Final = (
    "PostToolUse",
    "PostToolUseFailure",
)  # the events of hooks after a tool; the first is for its success


class ToolUseDraft:
    """A tool use in the making."""

    __slots__ = ("by_hook", "call", "called", "conversation", "facts", "hooked", "reply")

    def __init__(self, call: ToolCall, agent: str, conversation: str, record: Record) -> None:
        self.call = call
        self.conversation = conversation
        self.reply: int | None = None  # position of the reply that asked
        self.called: int | None = None  # position of the `ToolCalled`
        self.by_hook = False  # whether a hook alone has told of it
        self.hooked: tuple[HookFired, Record] | None = None  # the hook after it
        self.facts: dict[str, Any] = {"agent": agent, "asked_at": record.position, "started": record.time}

    @property
    def agent(self) -> str:
        agent: str = self.facts["agent"]
        return agent

    @property
    def answered(self) -> bool:
        return "result" in self.facts

    def answer(self, text: str, record: Record, *, is_error: bool) -> None:
        self.facts.update(result=text, is_error=is_error, returned_at=record.position, ended=record.time)

    def freeze(self) -> ToolUse:
        if not self.answered and self.hooked is not None:
            event, record = self.hooked
            self.answer(_told_by_hook(event), record, is_error=event.event != AFTER[0])
        call = self.call
        return ToolUse(
            call_id=call.id,
            name=call.name,
            arguments=call.arguments,
            raw=call.raw,
            conversation=self.conversation,
            **self.facts,
        )


def _told_by_hook(event: HookFired) -> str:
    """The result of a tool as the hook after it was told."""
    told = event.input.get("tool_response", event.input.get("error", ""))
    return told if isinstance(told, str) else msgspec.json.encode(told).decode()
