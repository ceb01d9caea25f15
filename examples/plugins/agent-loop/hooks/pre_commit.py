"""PreToolUse of Bash: no `git commit` without a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from _commits import commits
from _hook import block, folder, guard

PLANS = ("PLAN.md", ".plan.md", ".agent_planning")


def check(payload: dict[str, Any]) -> None:
    """Block a commit in a folder that has no plan, neither in it nor above it up to the root of the repository."""
    for commit in commits(str(payload["tool_input"]["command"])):
        start = folder(payload) / commit.folder
        if not has_plan(start):
            block(
                f"There is no plan in {start}: one of {', '.join(PLANS)} is needed before a commit. "
                "Run /agent-loop:plan, or write down in PLAN.md what this change is for."
            )


def has_plan(start: Path) -> bool:
    """Whether a plan is in `start` or in a folder above it, up to the one with `.git`."""
    for place in (start, *start.parents):
        if any((place / plan).exists() for plan in PLANS):
            return True
        if (place / ".git").exists():
            return False
    return False


if __name__ == "__main__":
    guard(check)
