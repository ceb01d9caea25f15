"""PreToolUse of Bash: both checks of a commit, the quick one first.

They share a process because the CLI runs the hooks of an event side by side: two refusals would race, and the agent
would read only one of them.
"""

from __future__ import annotations

from typing import Any

import commit_msg
import pre_commit
from _hook import guard


def check(payload: dict[str, Any]) -> None:
    """Block a commit that one of the checks refuses."""
    for part in (commit_msg, pre_commit):
        part.check(payload)


if __name__ == "__main__":
    guard(check)
