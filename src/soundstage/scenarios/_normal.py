"""A recording without what a machine, a time or a random id has put there: equal for two recordings of one run. Pure.

Lines of different kinds, such as messages and hooks, come in tasks of their own in the CLI, so that their order among
each other is no property of the run. Nor is the order in which tools end that run at the same time. Within a kind, and
within a tool call, it is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from soundstage.scenarios._folder import ScenarioRecording, read_metadata
from soundstage.scenarios._frames import RecordedFrame
from soundstage.scenarios._places import map_texts
from soundstage.scenarios._verdicts import without_volatile

VOLATILE_FIELDS: Final = frozenset(
    {
        *("timestamp", "pid", "messaging_socket_path", "end_time"),
        *("total_tokens", "totalTokens"),  # of subagents: estimates, in which lengths of folders count
    }
)
_COUNTS: Final = re.compile(r"\b(total_tokens|subagent_tokens|duration_ms): \d+")
_TIMES: Final = ("_ms", "Ms")  # how names of durations end
_STATE: Final = "session_state_changed"


def same_content(one: Path, other: Path) -> bool:
    """Whether two folders hold the same recording, but for times and ids."""
    return normal_form(_loaded(one)) == normal_form(_loaded(other))


def _loaded(folder: Path) -> ScenarioRecording:
    return ScenarioRecording(folder, read_metadata(folder))


def normal_form(recording: ScenarioRecording) -> dict[str, Any]:
    """All of a recording that two runs of the same scenario have in common.

    Args:
        recording: of `load_recording`.
    """
    known = recording.metadata
    lanes: dict[str, list[Any]] = defaultdict(list)
    for frame in recording.frames:
        line = recording.line_of(frame)
        if (
            line.get("subtype") != _STATE and frame.kind != "exit"
        ):  # who goes first, program or CLI, is chance
            if (
                line.get("type") == "assistant"
            ):  # its tokens are an estimate, in which lengths of folders count
                line = {**line, "message": {**line["message"], "usage": None}}
            lanes[f"{frame.session} {_lane(recording, frame, line)}"].append(
                (
                    frame.kind,
                    frame.hook[4:],
                    _plain(line),
                    _plain([_file(one) for one in frame.files]),
                    frame.code,
                )
            )
    return {
        "scenario": (known.name, known.version, known.workspace, known.sdk, known.cli),
        "workspace": [_file(one) for one in recording.workspace],
        "input": _plain(recording.json("input")),
        "output": _plain(recording.json("output")),
        "assertions": _plain(recording.json("assertions")),
        "lanes": dict(lanes),
    }


def _lane(recording: ScenarioRecording, frame: RecordedFrame, line: dict[str, Any]) -> str:
    if frame.hook:  # tools that run at the same time end in any order
        asked = recording.hook(frame.hook).request
        event = str((asked.get("input") or {}).get("hook_event_name"))
        # That of another event is counted, behind all ids that the CLI has used before.
        return f"{frame.kind} {asked.get('tool_use_id') if 'Tool' in event else event}"
    content = (line.get("message") or {}).get("content")
    if line.get("type") == "user" and isinstance(content, list):  # and their results come in any order, too
        ids = [str(part.get("tool_use_id")) for part in content if isinstance(part, dict)]
        return f"results {' '.join(ids)}"
    if frame.kind == "say":
        return f"say {line['type']}" if str(line.get("type", "")).startswith("control") else "messages"
    return frame.kind


def _file(one: Any) -> dict[str, Any]:
    return {"path": one.path, "text": one.text, "base64": one.base64}


def _plain(value: Any) -> Any:
    """A value without fields of times, and with names for times and ids in its texts."""
    return map_texts(_without(value), lambda text: without_volatile(_COUNTS.sub(r"\1", text)))


def _without(value: Any) -> Any:
    if isinstance(value, list):
        return [_without(item) for item in value]
    if isinstance(value, dict):
        return {
            key: _without(item)
            for key, item in value.items()
            if key not in VOLATILE_FIELDS and not key.endswith(_TIMES)
        }
    return value
