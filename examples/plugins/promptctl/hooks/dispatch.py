"""Every event comes here: the rules that hold for it are found, and the strictest of them decides.

A broken file of rules blocks prompts and tools until it is corrected, because nobody can say what it would have
forbidden. Each event leaves one line in `events.jsonl` in the plugin's data folder: which one, which tool, which
rules. Texts are not kept: they may hold what the rules are there to keep out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from _hook import block, folder, guard, tell
from _rules import CAN, EVENTS, Rule, load, matching

OWN = Path(__file__).resolve().parents[1] / "rules" / "default.json"
GATES = frozenset(["UserPromptSubmit", "PreToolUse"])


def check(payload: dict[str, Any]) -> None:
    """Apply the rules to an event."""
    event = payload["hook_event_name"]
    if event not in EVENTS:
        raise ValueError(f"unknown event {event!r}")
    project = Path(os.environ.get("CLAUDE_PROJECT_DIR") or folder(payload))
    try:
        found = matching(load([OWN, project / "promptctl.json"]), payload)
    except ValueError as error:
        if event in GATES:
            block(f"The rules cannot be read: {error}")
        return  # what has happened already cannot be blocked, and a session must be able to end
    _keep(payload, found)
    blocking = [rule for rule in found if rule.action == "block"]
    if blocking and not payload.get("stop_hook_active"):  # else the agent could never stop
        block(_lines(blocking))
    adding = [rule for rule in found if rule.action == "add"]
    if adding and event in CAN["add"]:
        tell(event, _lines(adding))


def _lines(rules: Iterable[Rule]) -> str:
    return "\n".join(f"{rule.message} [promptctl: {rule.name}]" for rule in rules)


def _keep(payload: dict[str, Any], found: Iterable[Rule]) -> None:
    data = os.environ.get("CLAUDE_PLUGIN_DATA")
    if not data:
        return
    line = {
        "event": payload["hook_event_name"],
        "session": payload.get("session_id", ""),
        "tool": payload.get("tool_name", ""),
        "rules": [rule.name for rule in found],
    }
    Path(data).mkdir(parents=True, exist_ok=True)
    with (Path(data) / "events.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    guard(check)
