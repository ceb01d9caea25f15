"""Slash commands that an agent suggests."""

from __future__ import annotations

import re
from typing import Final

from soundstage.claude_code.semantics._verdict import SemanticResult
from soundstage.errors import ScriptError

AROUND: Final = 20  # characters that are shown on either side
_NAME: Final = re.compile(r"/?(?:(?P<plugin>[\w.-]+):)?(?P<command>[\w-]+)")


class Suggestion(SemanticResult, frozen=True, kw_only=True):
    """Whether a command is suggested.

    Args:
        command: the one that was looked for, with its slash.
        found: as it stands in the text: `/agent-loop:plan`; empty if it does not.
        position: where it begins, in characters; -1 if it does not.
        context: the text around it, up to 20 characters on either side.
    """

    command: str
    found: str
    position: int
    context: str


def suggested(response: str, command: str) -> Suggestion:
    """Look for a whole command: `/plan` is neither in `/planning` nor in `docs/plan` nor in `/plan.md`.

    A command without a plugin is found with any: `/plan` in `/agent-loop:plan`, because that is how the CLI calls
    it. A command with its plugin is found only so. Capitals count, as they do for the CLI.

    Args:
        response: what the agent has said.
        command: its name; a missing slash is added.

    Raises:
        ScriptError: if the name is empty, or none that a command can have.

    Example:
        >>> suggested("When you agree, run /plan next.", "plan").position
        20
    """
    named = _NAME.fullmatch(command.strip())
    if named is None:
        raise ScriptError(
            "that is no name of a command",
            expected="a name such as /plan or /agent-loop:plan",
            seen=repr(command),
        )
    plugin = re.escape(named["plugin"]) + ":" if named["plugin"] else r"(?:[\w.-]+:)?"
    whole = re.compile(rf"(?<![\w/.:~<-])/{plugin}{re.escape(named['command'])}(?![\w/:-]|\.\w)")
    match = whole.search(response)
    wanted = "/" + command.strip().removeprefix("/")
    if match is None:
        return Suggestion(
            passed=False,
            details=f"{wanted} is not suggested",
            command=wanted,
            found="",
            position=-1,
            context="",
        )
    start, end = match.span()
    return Suggestion(
        passed=True,
        details=f"{match[0]} at character {start}",
        command=wanted,
        found=match[0],
        position=start,
        context=response[max(0, start - AROUND) : end + AROUND],
    )
