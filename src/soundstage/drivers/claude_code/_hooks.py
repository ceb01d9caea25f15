"""Hooks of plugins and settings: which there are, and what one does with a payload.

`run_hook` starts a hook's command as the CLI does: through a shell, with the payload on standard input and
the CLI's variables. What it decided is read off its exit code and output by the rules that were measured.
Traps: a hook that takes too long is cancelled, and the tool runs anyway; any exit code but 2 lets it run too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from soundstage.drivers.claude_code._plugin_types import PluginHook

BLOCK: Final = 2  # the exit code that blocks
TIMEOUT: Final = 60.0  # seconds; the CLI's own limit for a command

Decision = Literal["", "allow", "deny", "ask", "block", "stop"]

_DECISIONS: Final[dict[str, Decision]] = {
    "allow": "allow",
    "approve": "allow",
    "deny": "deny",
    "ask": "ask",
    "block": "block",
    "stop": "stop",
}


class HookRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook did.

    Args:
        hook: which one.
        outcome: `success`, `error`, or `cancelled` when it took too long.
        exit_code: `None` if it was cancelled.
        stdout: what it printed.
        stderr: its complaints; with exit code 2 the model is told.
        decision: what its JSON output says; empty if it says nothing.
        reason: why.
    """

    hook: PluginHook
    outcome: Literal["success", "error", "cancelled"]
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    decision: Decision = ""
    reason: str = ""

    @property
    def blocked(self) -> bool:
        """Whether it stops what it was asked about. One that was cancelled, or failed otherwise, does not."""
        if self.exit_code == BLOCK:
            return True
        return self.exit_code == 0 and self.decision in ("deny", "block", "ask")


def settings_hooks(settings: Mapping[str, Any]) -> tuple[PluginHook, ...]:
    """The hooks of a settings file, or of a `hooks.json`, by their content."""
    events = settings.get("hooks")
    return tuple(
        PluginHook(
            event=str(event),
            command=str(hook.get("command") or ""),
            matcher=str(entry.get("matcher") or ""),
            type=str(hook.get("type", "command")),
            timeout=hook.get("timeout"),
        )
        for event, entries in (events.items() if isinstance(events, Mapping) else ())
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, Mapping)
        for hook in (entry.get("hooks") or ())
        if isinstance(hook, Mapping)
    )


def judge(hook: PluginHook, code: int | None, stdout: str, stderr: str) -> HookRun:
    """What a hook decided. Pure; `code` is `None` for one that was cancelled.

    >>> judge(PluginHook(event="PreToolUse"), 2, "", "no").blocked
    True
    >>> judge(PluginHook(event="PreToolUse"), 1, "", "oops").blocked
    False
    """
    decision, reason = _decision(stdout) if code == 0 else ("", "")
    return HookRun(
        hook=hook,
        outcome="cancelled" if code is None else "error" if code else "success",
        exit_code=code,
        stdout=stdout,
        stderr=stderr,
        decision=decision,
        reason=stderr.strip() if code == BLOCK else reason,
    )


def _decision(stdout: str) -> tuple[Decision, str]:
    try:
        output = msgspec.json.decode(stdout)
    except msgspec.DecodeError:
        return "", ""
    if not isinstance(output, dict):
        return "", ""
    specific = output.get("hookSpecificOutput")
    specific = specific if isinstance(specific, dict) else {}
    said = str(specific.get("permissionDecision") or output.get("decision") or "")
    if not said and output.get("continue") is False:
        said = "stop"
    reason = specific.get("permissionDecisionReason") or output.get("reason") or output.get("stopReason")
    return _DECISIONS.get(said, ""), str(reason or "")


def hook_input(hook: PluginHook, payload: Mapping[str, Any], common: Mapping[str, Any]) -> bytes:
    """What the hook reads on standard input."""
    return msgspec.json.encode({**common, "hook_event_name": hook.event, **payload})
