"""Whether a hook has stopped something: read off what the CLI says about a turn. Pure.

A tool call that was refused carries the CLI's own decision with its result, whose source is `hook` or
`config`; a prompt that was refused comes back without any request, with an outcome of its own.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from soundstage.claude_code import ClaudeToolUse, ClaudeTurn

_HOOK: Final = re.compile(
    r"^(?P<hook>\w+(?::[^\s]+)?) hook error: (?:\[[^\]]*\]: )?(?P<reason>.*)", re.DOTALL
)
_FROM: Final = re.compile(r"\n\nThis hook comes from the .* plugin\.\s*$")


class HookVerdict(NamedTuple):
    """Whether a hook has stopped an action, which one, and why."""

    blocked: bool
    hook: str = ""
    reason: str = ""


def verdict(turn: ClaudeTurn, action_id: str) -> HookVerdict | None:
    """Return whether an action of a turn was stopped; `None` if the turn has no such action.

    Args:
        turn: the turn.
        action_id: id of the tool call; empty for the prompt itself.
    """
    if not action_id:
        return _prompt(turn)
    use = next((use for use in turn.tool_uses if use.id == action_id), None)
    return None if use is None else _tool(turn, use)


def _tool(turn: ClaudeTurn, use: ClaudeToolUse) -> HookVerdict:
    if turn.blocked_by(use.id) != "hook":
        return HookVerdict(blocked=False)
    said = _HOOK.match(use.text or "")
    if said is None:
        return HookVerdict(blocked=True, reason=use.text or "")
    return HookVerdict(blocked=True, hook=said["hook"], reason=_FROM.sub("", said["reason"]).strip())


def _prompt(turn: ClaudeTurn) -> HookVerdict:
    reason = turn.prompt_blocked
    return (
        HookVerdict(blocked=True, hook="UserPromptSubmit", reason=reason)
        if reason
        else HookVerdict(blocked=False)
    )
