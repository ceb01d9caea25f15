"""Whether a tool was allowed to run, and who decided: the CLI's own records beside each tool result. Pure."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from soundstage.claude_code._messages import UserMessage


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of the CLI on one tool call.

    Args:
        call_id: which one.
        allowed: whether it might run.
        source: who decided, by the CLI's word: `hook`, `config`...
        reason: what kind of reason it had, by the CLI's word.
    """

    call_id: str
    allowed: bool
    source: str = ""
    reason: str = ""

    @property
    def blocked_by(self) -> Literal["", "hook", "permission"]:
        """Who stopped it: a hook, or the rules of permission; empty if it was allowed."""
        if self.allowed:
            return ""
        return "hook" if self.source == "hook" else "permission"


def decisions_of(message: UserMessage) -> tuple[Decision, ...]:
    """The decisions that come with tool results."""
    return tuple(
        _decision(item) for item in message.decisions if isinstance(item.get("permission_decision"), dict)
    )


def _decision(item: dict[str, Any]) -> Decision:
    found = item["permission_decision"]
    return Decision(
        call_id=str(item.get("id", "")),
        allowed=found.get("decision") in ("accept", "allow"),
        source=str(found.get("source") or ""),
        reason=str(found.get("reason_type") or ""),
    )
