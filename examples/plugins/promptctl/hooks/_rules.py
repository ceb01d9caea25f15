"""The rules: where they are, what they look like, and which of them hold for an event. Pure, but for reading files.

The plugin's own are in `rules/default.json`. A project adds its own in `promptctl.json`; a rule there replaces the
one of the same name here, and `"action": "off"` switches it off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Notification",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "SessionEnd",
)
CAN = {
    "block": frozenset(["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop"]),
    "add": frozenset(["SessionStart", "UserPromptSubmit", "PostToolUse"]),
    "note": frozenset(EVENTS),
    "off": frozenset(EVENTS),
}
KEYS = frozenset(["name", "on", "tool", "pattern", "action", "message"])
TEXTS = {  # what a rule looks at, where it is one field
    "SessionStart": "source",
    "UserPromptSubmit": "prompt",
    "Notification": "message",
    "Stop": "last_assistant_message",
    "SubagentStop": "last_assistant_message",
    "PreCompact": "custom_instructions",
    "SessionEnd": "reason",
}


class Rule(NamedTuple):
    """On an event, and for a tool, where a pattern is found: do something."""

    name: str
    on: str
    action: str
    pattern: re.Pattern[str]
    tool: re.Pattern[str]
    message: str


def load(files: list[Path]) -> dict[str, Rule]:
    """The rules of some files by name; later ones win. A file that is not there has none.

    Raises:
        ValueError: if a file or a rule is not what it should be; it names both.
    """
    rules: dict[str, Rule] = {}
    for file in files:
        if not file.is_file():
            continue
        try:
            content = json.loads(file.read_text())
            shaped = isinstance(content, dict) and isinstance(content.get("rules"), list)
            if not shaped:
                raise ValueError('it should be {"rules": [...]}')
            for number, entry in enumerate(content["rules"], start=1):
                rule = _rule(entry, number)
                rules[rule.name] = rule
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
    return rules


def _rule(entry: Any, number: int) -> Rule:
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise ValueError(f"rule {number} should be an object of texts")
    name = entry.get("name", "")
    where = f"rule {number} ({name or 'without a name'})"
    unknown = sorted(set(entry) - KEYS)
    if unknown or not name:
        raise ValueError(f"{where}: {f'unknown key {unknown[0]!r}' if unknown else 'a rule needs a name'}")
    on, action = entry.get("on", ""), entry.get("action", "")
    if on not in EVENTS:
        raise ValueError(f"{where}: 'on' is one of {', '.join(EVENTS)}, not {on!r}")
    if on not in CAN.get(action, frozenset()):
        fitting = [known for known, events in CAN.items() if on in events]
        raise ValueError(f"{where}: 'action' on {on} is one of {', '.join(fitting)}, not {action!r}")
    if action in ("block", "add") and not entry.get("message"):
        raise ValueError(f"{where}: to {action} needs a message")
    try:
        pattern, tool = (
            re.compile(entry.get("pattern", ""), re.MULTILINE),
            re.compile(entry.get("tool", ".*")),
        )
    except re.error as error:
        raise ValueError(f"{where}: {error} in {error.pattern!r}") from None
    return Rule(name, on, action, pattern, tool, entry.get("message", ""))


def matching(rules: Mapping[str, Rule], payload: Mapping[str, Any]) -> list[Rule]:
    """The rules that hold for an event."""
    event, tool, text = payload["hook_event_name"], str(payload.get("tool_name", "")), text_of(payload)
    return [
        rule
        for rule in rules.values()
        if rule.on == event
        and rule.action != "off"
        and rule.tool.fullmatch(tool)
        and rule.pattern.search(text)
    ]


def text_of(payload: Mapping[str, Any]) -> str:
    """The texts that the rules look at: the prompt, a tool's arguments, its answer."""
    event = payload["hook_event_name"]
    if event in TEXTS:
        return str(payload.get(TEXTS[event]) or "")
    return "\n".join(_texts(payload.get("tool_input" if event == "PreToolUse" else "tool_response")))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [value] if isinstance(value, str) else []
