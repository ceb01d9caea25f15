"""What a hook's exit code and output mean to Claude Code, and what is wrong with them. Pure.

Source: the schema that CLI 2.1.330 checks the output against, and runs of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from soundstage.match import preview
from soundstage.plugin_check._known import nearest
from soundstage.plugin_check._stage import Ran

BLOCK: Final = 2  # the exit code that blocks
_KEYS: Final = frozenset(
    (
        *("continue", "suppressOutput", "stopReason", "decision", "reason", "systemMessage"),
        *("terminalSequence", "hookSpecificOutput", "async", "asyncTimeout"),
    )
)
_TYPES: Final[dict[str, tuple[type, str]]] = {
    "continue": (bool, "true or false"),
    "suppressOutput": (bool, "true or false"),
    "stopReason": (str, "text"),
    "reason": (str, "text"),
    "systemMessage": (str, "text"),
    "hookSpecificOutput": (dict, "an object"),
}
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
_DECISIONS: Final = ("allow", "deny", "ask", "defer")
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


class Fault(NamedTuple):
    """A rule that was broken, and how."""

    rule: str
    message: str


def faults(event: str, ran: Ran) -> Iterator[Fault]:
    """What is wrong with what a hook did.

    >>> [fault.rule for fault in faults("Stop", Ran(1, "", "oops", 0.1))]
    ['hook-fails']
    """
    complaint = _last_line(ran.stderr)
    if ran.code == BLOCK:
        if not complaint:
            yield Fault("hook-silent", "blocks without a word on standard error")
    elif ran.code != 0:
        yield Fault("hook-fails", f"exits with code {ran.code}{_meaning(ran.code)}: {complaint or 'no word'}")
    else:
        if complaint:
            yield Fault("hook-noise", f"succeeds, and complains: {complaint}")
        yield from _of_output(event, ran.stdout.strip())


def _meaning(code: int | None) -> str:
    if code is not None and code < 0:
        return f" (signal {-code})"
    return {_NOT_FOUND: " (command not found)", _NOT_EXECUTABLE: " (not executable)"}.get(code or 0, "")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return preview(lines[-1], 200) if lines else ""


def _of_output(event: str, text: str) -> Iterator[Fault]:
    if not text.startswith("{"):
        return  # plain text is for the transcript, or for the model
    try:
        output = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        yield Fault("hook-output", f"prints what begins like JSON and is none: {error}")
        return
    for key, value in output.items():
        wanted = _TYPES.get(key)
        if key not in _KEYS:
            yield Fault("hook-output-keys", f"prints the key {key!r}, which is unknown{nearest(key, _KEYS)}")
        elif wanted is not None and not isinstance(value, wanted[0]):
            yield Fault("hook-output", f"prints {key!r} as {preview(repr(value))}; it is {wanted[1]}")
    decision = output.get("decision")
    if decision not in (None, "approve", "block"):
        yield Fault("hook-output", f"prints the decision {decision!r}; there are approve and block")
    specific = output.get("hookSpecificOutput")
    if isinstance(specific, dict):
        yield from _of_specific(event, specific)


def _of_specific(event: str, output: dict[str, Any]) -> Iterator[Fault]:
    named = output.get("hookEventName")
    if named != event:
        said = "no hookEventName" if named is None else f"hookEventName {named!r}"
        yield Fault("hook-output", f"prints hookSpecificOutput with {said}; the event is {event}")
    decision = output.get("permissionDecision")
    if decision is not None and decision not in _DECISIONS:
        known = ", ".join(_DECISIONS)
        yield Fault("hook-output", f"prints the permissionDecision {decision!r}; there are {known}")
    for key in output.keys() - _SPECIFIC.get(event, output.keys()):
        known = nearest(key, _SPECIFIC[event])
        yield Fault("hook-output-keys", f"prints hookSpecificOutput.{key}, which is unknown{known}")
