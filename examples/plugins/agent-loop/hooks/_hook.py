"""The input of a hook, and the ways to answer. Every plugin is installed alone and has its own copy.

A hook gets one JSON object on its standard input. It blocks with exit code 2 and the reason on standard error;
any other failure would let the action through, so that a guard that breaks has to block as well.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

BLOCKED = 2


def guard(check: Callable[[dict[str, Any]], None]) -> NoReturn:
    """Run a check on the payload. It returns to allow; whatever it raises blocks."""
    try:
        check(_payload())
    except Exception as error:  # noqa: BLE001  (any other exit code than 2 would allow)
        block(
            f"{Path(sys.argv[0]).name} cannot tell whether this is allowed: {type(error).__name__}: {error}"
        )
    sys.exit(0)


def block(reason: str) -> NoReturn:
    """Refuse the action; the agent is told why."""
    print(reason, file=sys.stderr)
    sys.exit(BLOCKED)


def tell(event: str, text: str) -> NoReturn:
    """Let it be, and add a remark to the conversation."""
    print(json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}))
    sys.exit(0)


def folder(payload: dict[str, Any]) -> Path:
    """Where the action happens."""
    return Path(str(payload.get("cwd") or os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd()))


def _payload() -> dict[str, Any]:
    payload = json.loads(sys.stdin.buffer.read().decode())
    if not isinstance(payload, dict):
        raise TypeError(f"the payload is no JSON object: {str(payload)[:80]}")
    return payload
