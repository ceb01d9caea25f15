"""The decision of a hook, as Claude Code reads its exit code and output. Pure.

How it works, measured with 2.1.330; `tests/claude_code/test_hook_verdicts.py` holds it against the CLI.
Output that begins with `{` and is JSON counts whatever the exit code; text before or after it makes all of it plain
text. A field of the wrong type makes the CLI ignore all of the output, and the exit code alone decides. A hook that
says `async` runs on in the background and decides nothing, not even by exit code 2. What is stopped differs by event:
after a tool has run nothing can be, and `"continue": false` lets a tool run, refuses a prompt, and lets an agent stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec

from soundstage.claude_code._plugin_types import PluginHook

BLOCK: Final = 2  # the exit code that blocks
Decision = Literal["", "allow", "deny", "ask", "defer", "block", "stop"]

OUTPUT_FIELDS: Final[Mapping[str, tuple[type, str]]] = {
    "continue": (bool, "true or false"),
    "suppressOutput": (bool, "true or false"),
    "stopReason": (str, "text"),
    "reason": (str, "text"),
    "systemMessage": (str, "text"),
    "terminalSequence": (str, "text"),
    "hookSpecificOutput": (dict, "an object"),
}
"""The fields of a hook's output with their types; one of another type makes the CLI ignore all of it."""

DECISIONS: Final = ("approve", "block")
PERMISSIONS: Final = ("allow", "deny", "ask", "defer")
_SPECIFIC_FIELDS: Final[Mapping[tuple[str, str], type]] = {
    ("PreToolUse", "permissionDecisionReason"): str,
    ("PreToolUse", "additionalContext"): str,
    ("PreToolUse", "updatedInput"): dict,
    ("UserPromptSubmit", "additionalContext"): str,
    ("UserPromptSubmit", "sessionTitle"): str,
    ("UserPromptSubmit", "suppressOriginalPrompt"): bool,
    ("Stop", "additionalContext"): str,
    ("PostToolUse", "additionalContext"): str,
}
SPECIFIC_EVENTS: Final = frozenset(
    (
        *("CwdChanged", "Elicitation", "ElicitationResult", "FileChanged", "MessageDisplay", "Notification"),
        *("PermissionDenied", "PermissionRequest", "PostModelSwitch", "PostToolBatch", "PostToolUse"),
        *("PostToolUseFailure", "PreModelSwitch", "PreToolUse", "SessionStart", "Setup", "Stop"),
        *("SubagentStart", "SubagentStop", "UserPromptExpansion", "UserPromptSubmit", "WorktreeCreate"),
    )
)
"""The events whose hooks may print `hookSpecificOutput`; for others it makes the CLI ignore the output."""

_AFTERWARDS: Final = frozenset(
    (
        *("PostToolUse", "PostToolUseFailure", "PostCompact", "PermissionDenied", "Notification"),
        *("SessionStart", "SessionEnd", "SubagentStart", "StopFailure", "CwdChanged", "FileChanged"),
        *("InstructionsLoaded", "WorktreeRemove"),
    )
)
_STOPS: Final = ("Stop", "SubagentStop")


class HookRun(msgspec.Struct, frozen=True, kw_only=True):
    """The exit code and the output of a hook, and what they mean.

    Args:
        hook: which one.
        outcome: `success`, `error`, or `cancelled` when it took too long.
        exit_code: `None` if it was cancelled.
        stdout: what it printed.
        stderr: its complaints; with exit code 2 the model is told.
        decision: what its JSON output says; empty if it says nothing that the CLI takes.
        reason: why.
        blocked: whether it stops what it was asked about. One that was cancelled does not, nor one that is
            asked when all is done, such as `PostToolUse`.
    """

    hook: PluginHook
    outcome: Literal["success", "error", "cancelled"]
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    decision: Decision = ""
    reason: str = ""
    blocked: bool = False


class _Output(NamedTuple):
    """The output of a hook, as the CLI takes it."""

    kind: Literal["text", "ignored", "background", "other event", "json"]
    data: Mapping[str, Any] = {}
    specific: Mapping[str, Any] = {}


def judge(hook: PluginHook, code: int | None, stdout: str, stderr: str) -> HookRun:
    """Read the decision of a hook; `code` is `None` for one that was cancelled.

    >>> judge(PluginHook(event="PreToolUse"), 2, "", "no").blocked
    True
    >>> judge(PluginHook(event="PreToolUse"), 1, "", "oops").blocked
    False
    """
    output = _Output("background") if code is None or hook.background else _output(hook.event, stdout)
    decision = _decision(hook.event, output)
    by_code = code == BLOCK and _code_counts(hook.event, output)
    return HookRun(
        hook=hook,
        outcome="cancelled" if code is None else "error" if code else "success",
        exit_code=code,
        stdout=stdout,
        stderr=stderr,
        decision=decision,
        reason=stderr.strip() if by_code and decision in ("", "allow") else _reason(decision, output),
        blocked=_blocks(hook.event, decision, output, by_code=by_code),
    )


def _output(event: str, stdout: str) -> _Output:
    text = stdout.strip().strip("\ufeff").strip()
    if not text.startswith("{"):
        return _Output("text")
    try:
        data = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return _Output("text")
    if data.get("async") is True:
        return _Output("background")
    specific = data.get("hookSpecificOutput", {})
    if not _well_formed(data) or ("hookSpecificOutput" in data and not _well_specified(specific)):
        return _Output("ignored")
    if specific and specific["hookEventName"] != event:
        return _Output("other event", data)
    return _Output("json", data, specific)


def _well_formed(data: Mapping[str, Any]) -> bool:
    typed = all(type(data[name]) is kind for name, (kind, _) in OUTPUT_FIELDS.items() if name in data)
    return typed and data.get("decision", "block") in DECISIONS


def _well_specified(specific: Mapping[str, Any]) -> bool:
    event = specific.get("hookEventName")
    if not isinstance(event, str) or event not in SPECIFIC_EVENTS:
        return False
    typed = all(
        type(specific[name]) is kind
        for (of, name), kind in _SPECIFIC_FIELDS.items()
        if of == event and name in specific
    )
    return typed and (event != "PreToolUse" or specific.get("permissionDecision", "allow") in PERMISSIONS)


def _decision(event: str, output: _Output) -> Decision:
    """Read the output; where it says several things, the one that counts for this event."""
    stops = output.data.get("continue") is False
    if stops and event != "PreToolUse":
        return "stop"
    permission = _permission(event, output.specific)
    if output.data.get("decision") == "block":
        return "deny" if permission == "deny" else "block"
    if permission:
        return permission
    return "stop" if stops else "allow" if output.data.get("decision") == "approve" else ""


def _permission(event: str, specific: Mapping[str, Any]) -> Decision:
    found = specific.get("permissionDecision") if event == "PreToolUse" else None
    if event == "PermissionRequest" and isinstance(specific.get("decision"), Mapping):
        found = specific["decision"].get("behavior")
    permissions: dict[object, Decision] = {"allow": "allow", "deny": "deny", "ask": "ask", "defer": "defer"}
    return permissions.get(found, "")


def _reason(decision: Decision, output: _Output) -> str:
    """The words that belong to a decision."""
    if decision == "stop":
        return str(output.data.get("stopReason", ""))
    permission = str(output.specific.get("permissionDecisionReason", ""))
    other = str(output.data.get("reason", ""))
    return other or permission if decision == "block" else permission or other


def _code_counts(event: str, output: _Output) -> bool:
    if output.kind == "background":
        return False
    return output.kind != "other event" or event == "PreToolUse"


def _blocks(event: str, decision: Decision, output: _Output, *, by_code: bool) -> bool:
    if event in _AFTERWARDS:
        return False
    if event in _STOPS:  # to go on is what is stopped here; a remark makes the agent go on as well
        goes_on = decision == "block" or by_code or bool(output.specific.get("additionalContext"))
        return goes_on and decision != "stop"
    if decision == "stop":
        return event != "PreToolUse" or by_code
    return by_code or decision in ("deny", "block", "ask", "defer")
