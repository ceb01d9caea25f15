"""Turns and conversations as results of tools. Pure views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from soundstage.claude_code import AssistantMessage, ClaudeTurn
from soundstage.claude_code.harness._conversation import OpenConversation
from soundstage.messages import Text, ToolCall, ToolResult

T = TypeVar("T", bound=Mapping[str, Any])


def tool_calls(turn: ClaudeTurn) -> list[dict[str, Any]]:
    """The tool calls of a turn. `action_id` is what verify_hook_blocked_action takes."""
    return [
        {
            "action_id": use.id,
            "name": use.name,
            "arguments": use.arguments,
            "result": use.text,
            "is_error": use.is_error,
            **({"subagent_of": use.parent} if use.parent else {}),
        }
        for use in turn.tool_uses
    ]


def error_of(turn: ClaudeTurn, found: T) -> T:
    """`found`, as an error if the turn failed."""
    if not turn.is_error:
        return found
    return found | {"status": "error", "error": turn.text or turn.subtype}  # type: ignore[operator,no-any-return]


def history(conversation: OpenConversation) -> list[dict[str, Any]]:
    """The history, as the turns tell it: prompts, words and tools of the main agent; the turn that broke off, too."""
    turns = [answer.turn for answer in conversation.answers]
    if conversation.session.unfinished is not None:
        turns.append(conversation.session.unfinished)
    return [entry for turn in turns for entry in _turn(turn)]


def _turn(turn: ClaudeTurn) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "content": turn.prompt}
    said = False
    for message in turn.messages:
        parts = getattr(message, "parts", ())
        if getattr(message, "parent", ""):
            continue  # a subagent's
        for part in parts:
            match part:
                case Text(text=text) if isinstance(message, AssistantMessage):
                    said = said or text == turn.text
                    yield {"role": "assistant", "content": text}
                case ToolCall():
                    yield {
                        "role": "assistant",
                        "tool": part.name,
                        "arguments": part.arguments,
                        "action_id": part.id,
                    }
                case ToolResult():
                    yield {
                        "role": "tool",
                        "content": part.text,
                        "is_error": part.is_error,
                        "action_id": part.call_id,
                    }
    if not said and turn.text:
        yield {"role": "assistant", "content": turn.text}
