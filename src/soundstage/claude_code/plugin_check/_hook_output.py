"""The meaning of a hook's exit code and output to Claude Code, and the rules that they break. Pure.

Source: the schema that CLI 2.1.330 checks the output against, and runs of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.claude_code import (
    DECISIONS,
    OUTPUT_FIELDS,
    PERMISSIONS,
    SPECIFIC_EVENTS,
    PluginHook,
    judge,
)
from soundstage.claude_code.plugin_check._environment import ProgramExit
from soundstage.claude_code.plugin_check._known import nearest
from soundstage.match import objects_in, preview

_KEYS: Final = frozenset(
    (
        *("continue", "suppressOutput", "stopReason", "decision", "reason", "systemMessage"),
        *("terminalSequence", "hookSpecificOutput", "async", "asyncTimeout"),
    )
)
_SPECIFIC: Final[dict[str, frozenset[str]]] = {
    "PreToolUse": frozenset(
        (
            *("hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput"),
            *("additionalContext", "permissionDisplay"),
        )
    ),
    "UserPromptSubmit": frozenset(
        ("hookEventName", "additionalContext", "sessionTitle", "suppressOriginalPrompt")
    ),
}
BLOCKS, _NOT_EXECUTABLE, _NOT_FOUND = 2, 126, 127  # exit codes


class BrokenRule(NamedTuple):
    """A rule that was broken, and how."""

    rule: str
    message: str


def faults(event: str, ran: ProgramExit, *, again: bool = False) -> Iterator[BrokenRule]:
    """Return the rules that a run of a hook has broken.

    Args:
        event: when it was run.
        ran: how it ended.
        again: whether it was told that the agent goes on already because of it (`stop_hook_active`).

    >>> [fault.rule for fault in faults("Stop", ProgramExit(1, "", "oops", 0.1))]
    ['hook-fails']
    """
    complaint = _last_line(ran.stderr)
    verdict = judge(PluginHook(event=event), ran.code, ran.stdout, ran.stderr)
    if verdict.blocked and again:
        yield BrokenRule(
            "hook-endless", "blocks again, though it was told that the agent goes on because of it"
        )
    if ran.code == BLOCKS:
        if not verdict.reason:
            yield BrokenRule("hook-silent", "blocks without a word on standard error")
    elif ran.code != 0:
        yield BrokenRule(
            "hook-fails", f"exits with code {ran.code}{_meaning(ran.code)}: {complaint or 'no word'}"
        )
    else:
        if complaint:
            yield BrokenRule("hook-noise", f"succeeds, and complains: {complaint}")
        yield from _of_output(event, ran.stdout.strip())


def _meaning(code: int | None) -> str:
    if code is not None and code < 0:
        return f" (signal {-code})"
    return {_NOT_FOUND: " (command not found)", _NOT_EXECUTABLE: " (not executable)"}.get(code or 0, "")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return preview(lines[-1], 200) if lines else ""


def _of_output(event: str, text: str) -> Iterator[BrokenRule]:
    if not text.startswith("{"):  # plain text is for the transcript, or for the model
        if _hidden(text):
            yield BrokenRule("hook-output", "prints text before its JSON, so that all of it counts as text")
        return
    try:
        output = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        yield BrokenRule("hook-output", f"prints what begins like JSON and is none: {error}")
        return
    for key, value in output.items():
        wanted = OUTPUT_FIELDS.get(key)
        if key not in _KEYS:
            yield BrokenRule(
                "hook-output-keys", f"prints the key {key!r}, which is unknown{nearest(key, _KEYS)}"
            )
        elif wanted is not None and not isinstance(value, wanted[0]):
            yield BrokenRule("hook-output", f"prints {key!r} as {preview(repr(value))}; it is {wanted[1]}")
    decision = output.get("decision", "block")
    if decision not in DECISIONS:
        yield BrokenRule("hook-output", f"prints the decision {decision!r}; there are approve and block")
    specific = output.get("hookSpecificOutput")
    if isinstance(specific, dict):
        yield from _of_specific(event, specific)


def _hidden(text: str) -> bool:
    """Whether the output of a hook is in the text, among other words."""
    return any(not _KEYS.isdisjoint(output) for output in objects_in(text))


def _of_specific(event: str, output: dict[str, Any]) -> Iterator[BrokenRule]:
    if event not in SPECIFIC_EVENTS:
        yield BrokenRule("hook-output", f"prints hookSpecificOutput, which {event} does not have")
        return
    named = output.get("hookEventName")
    if named != event:
        said = "no hookEventName" if named is None else f"hookEventName {named!r}"
        yield BrokenRule("hook-output", f"prints hookSpecificOutput with {said}; the event is {event}")
    decision = output.get("permissionDecision", "allow")
    if decision not in PERMISSIONS:
        known = ", ".join(PERMISSIONS)
        yield BrokenRule("hook-output", f"prints the permissionDecision {decision!r}; there are {known}")
    for key in output.keys() - _SPECIFIC.get(event, output.keys()):
        known = nearest(key, _SPECIFIC[event])
        yield BrokenRule("hook-output-keys", f"prints hookSpecificOutput.{key}, which is unknown{known}")
