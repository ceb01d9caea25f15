"""PreToolUse of Bash: a commit message has the conventional form.

Source of the form: Conventional Commits 1.0.0. The list of types is the usual one; the standard itself names two.
"""

from __future__ import annotations

import re
from typing import Any

from _commits import Commit, commits
from _hook import block, folder, guard

TYPES = ("feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert")
FORM = re.compile(rf"(?:{'|'.join(TYPES)})(?:\([^()\s][^()]*\))?!?: \S.*")


def check(payload: dict[str, Any]) -> None:
    """Block a commit whose message has another form, or cannot be seen."""
    for commit in commits(str(payload["tool_input"]["command"])):
        if commit.reuses:
            continue
        message = _message(commit, payload)
        if message is None:
            block(
                "The message of this commit cannot be seen. Give it in the command: git commit -m 'fix: ...'."
            )
        problem = problem_of(message)
        if problem:
            block(f"{problem} The form is 'type(scope): what it does', type one of {', '.join(TYPES)}.")


def _message(commit: Commit, payload: dict[str, Any]) -> str | None:
    if commit.message is not None or commit.file is None:
        return commit.message
    file = folder(payload) / commit.folder / commit.file
    return file.read_text() if file.is_file() else None


def problem_of(message: str) -> str:
    """The problem of a commit message; empty if there is none."""
    lines = [line for line in message.strip().splitlines() if not line.startswith("#")]
    if not lines:
        return "The commit message is empty."
    if not FORM.fullmatch(lines[0].strip()):
        return f"The commit message begins with {lines[0].strip()[:80]!r}."
    if len(lines) > 1 and lines[1].strip():
        return "The second line of the commit message is not empty."
    return ""


if __name__ == "__main__":
    guard(check)
