"""Where the project of a payload is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from _hook import folder


def project_of(payload: dict[str, Any]) -> Path:
    """The root of the repository around the folder of the payload; else the project that the CLI works in."""
    start = folder(payload).resolve()
    for place in (start, *start.parents):
        if (place / ".git").exists():
            return place
    return Path(os.environ.get("CLAUDE_PROJECT_DIR") or start).resolve()


def edited(payload: dict[str, Any]) -> Path:
    """The file that a tool edits."""
    given = payload["tool_input"].get("file_path") or payload["tool_input"]["notebook_path"]
    return (folder(payload) / str(given)).resolve()
