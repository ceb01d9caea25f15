"""Plugins that tests make: one folder each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Make = Callable[..., Path]
PYTHON = sys.executable
GREET = "---\ndescription: greets\nargument-hint: NAME\n---\nSay hello to $ARGUMENTS.\n"
SERVER = """
import json, sys

TOOLS = [{"name": "look", "description": "looks", "inputSchema": {"type": "object"}}]
ANSWERS = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "looker", "version": "1"},
    },
    "tools/list": {"tools": TOOLS},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer = ANSWERS.get(asked["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""


def hooks(event: str, command: str, **more: Any) -> dict[str, Any]:
    """A hooks file with one hook. Its command is in line 8."""
    return {"hooks": {event: [{"hooks": [{"type": "command", "command": command, **more}]}]}}


def servers(**entries: Any) -> dict[str, Any]:
    return {"mcpServers": entries}


def write(folder: Path, files: Mapping[str, Any]) -> Path:
    """A plugin: its manifest and other files, as text or as what becomes JSON of several lines."""
    manifest = {
        "name": folder.name,
        "version": "1.0.0",
        "description": "a plugin for tests",
        "author": {"name": "me"},
    }
    for path, content in {".claude-plugin/plugin.json": manifest, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def manifest(name: str = "mine", **more: Any) -> dict[str, Any]:
    """A manifest; what is added begins in line 5."""
    return {"name": name, "version": "1.0.0", "description": "a plugin for tests", **more}
