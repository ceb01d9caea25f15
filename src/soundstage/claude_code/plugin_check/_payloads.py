"""The input that Claude Code hands to hooks: a payload for each event, and for each tool that a matcher fits. Pure.

Fields and values are those of CLI 2.1.330. A hook gets one payload for every kind of occasion: `SessionStart` for
a new session, `PreToolUse` for each tool that its matcher fits among those that it knows, at most `MOST`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.claude_code import fits, matches
from soundstage.errors import ScriptError

MOST: Final = 6  # tools that a hook without a matcher is run with
USE: Final = "toolu_soundstage_1"
AGENT: Final = "a0000000000000001"


class Payload(NamedTuple):
    """One occasion: what it is called, and what the hook reads on its standard input."""

    name: str
    data: dict[str, Any]


class PayloadContext(NamedTuple):
    """Where the hook runs: a project with a file, a session, the plugin's own MCP tools."""

    project: Path
    file: Path
    transcript: Path
    session: str
    tools: tuple[str, ...] = ()


def _tool_inputs(scene: PayloadContext) -> dict[str, dict[str, Any]]:
    file = str(scene.file)
    return {
        "Bash": {"command": "ls -la", "description": "List the files"},
        "Edit": {"file_path": file, "old_string": "hello", "new_string": "hello there", "replace_all": False},
        "Write": {"file_path": file, "content": "hello\n"},
        "Read": {"file_path": file},
        "MultiEdit": {"file_path": file, "edits": [{"old_string": "hello", "new_string": "hello there"}]},
        "NotebookEdit": {
            "notebook_path": str(scene.project / "notes.ipynb"),
            "new_source": "1 + 1",
            "cell_type": "code",
            "edit_mode": "replace",
        },
        "Glob": {"pattern": "**/*.py"},
        "Grep": {"pattern": "hello", "path": str(scene.project)},
        "Agent": {"description": "look", "prompt": "Look at the code.", "subagent_type": "general-purpose"},
        "Task": {"description": "look", "prompt": "Look at the code.", "subagent_type": "general-purpose"},
        "WebFetch": {"url": "https://example.com/", "prompt": "What is it about?"},
        "WebSearch": {"query": "hello"},
        "Skill": {"skill": "verify", "args": ""},
        "TodoWrite": {"todos": [{"content": "look", "status": "pending", "activeForm": "looking"}]},
        **{tool: {} for tool in scene.tools},
    }


def _response(tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
    if tool == "Bash":
        return {"stdout": "hello.py", "stderr": "", "interrupted": False, "isImage": False}
    path = given.get("file_path") or given.get("notebook_path")
    return {"filePath": path, "success": True} if path else {"success": True}


_EXTRAS: Final[dict[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]]] = {
    "PreToolUse": lambda _tool, _given: {"tool_use_id": USE},
    "PostToolUse": lambda tool, given: {
        "tool_use_id": USE,
        "tool_response": _response(tool, given),
        "duration_ms": 12,
    },
    "PostToolUseFailure": lambda _tool, _given: {
        "tool_use_id": USE,
        "error": "it did not work",
        "is_interrupt": False,
        "duration_ms": 12,
    },
    "PermissionRequest": lambda _tool, _given: {"permission_suggestions": []},
    "PermissionDenied": lambda _tool, _given: {"tool_use_id": USE, "reason": "nobody has allowed it"},
}
_COMPACT: Final = (
    {"trigger": "manual", "custom_instructions": None},
    {"trigger": "auto", "custom_instructions": None},
)
_MODEL: Final = {
    "from_model": "claude-sonnet-5",
    "to_model": "claude-opus-5",
    "requested_model": "opus",
    "source": "command",
    "context_tokens": 1000,
    "prompt_cache_warm": False,
    "cache_ttl": "5m",
    "estimated_cache_write_usd": 0.01,
    "pricing": "catalog",
}
_TASK: Final = {"task_id": "1", "task_subject": "look", "task_description": "Look at the code."}


def _occasions(scene: PayloadContext) -> dict[str, tuple[dict[str, Any], ...]]:
    """Payloads of events that are about no tool. The first field that differs names the occasion."""
    file, project = str(scene.file), str(scene.project)
    stop = {"stop_hook_active": False, "last_assistant_message": "Done.", "background_tasks": []}
    agent = {"agent_id": AGENT, "agent_type": "general-purpose"}
    call = {"tool_name": "Read", "tool_input": {"file_path": file}, "tool_use_id": USE}
    return {
        "SessionStart": tuple({"source": source} for source in ("startup", "resume", "clear", "compact")),
        "SessionEnd": tuple(
            {"reason": reason} for reason in ("clear", "logout", "prompt_input_exit", "other")
        ),
        "UserPromptSubmit": ({"prompt": "Say hello."},),
        "UserPromptExpansion": (
            {
                "expansion_type": "slash_command",
                "command_name": "plan",
                "command_args": "",
                "prompt": "/plan",
            },
        ),
        "Stop": (stop, {**stop, "stop_hook_active": True}),
        "StopFailure": ({"error": "server_error", "last_assistant_message": ""},),
        "SubagentStart": (agent,),
        "SubagentStop": ({**stop, **agent, "agent_transcript_path": str(scene.transcript)},),
        "PreCompact": _COMPACT,
        "PostCompact": ({"trigger": "manual", "compact_summary": "hello was said"},),
        "PreModelSwitch": (_MODEL,),
        "PostModelSwitch": (_MODEL,),
        "PostToolBatch": ({"tool_calls": [{**call, "tool_response": {"success": True}}]},),
        "Notification": (
            {"message": "Claude needs your permission", "notification_type": "permission_prompt"},
        ),
        "Setup": ({"trigger": "init"}, {"trigger": "maintenance"}),
        "TeammateIdle": ({"teammate_name": "reviewer", "team_name": "team"},),
        "TaskCreated": (_TASK,),
        "TaskCompleted": (_TASK,),
        "Elicitation": ({"mcp_server_name": "server", "message": "which one?", "mode": "form"},),
        "ElicitationResult": ({"mcp_server_name": "server", "action": "accept", "content": {}},),
        "ConfigChange": ({"source": "project_settings", "file_path": file},),
        "InstructionsLoaded": (
            {
                "file_path": f"{project}/CLAUDE.md",
                "memory_type": "Project",
                "load_reason": "session_start",
            },
        ),
        "WorktreeCreate": ({"name": "feature"},),
        "WorktreeRemove": ({"worktree_path": f"{project}/feature"},),
        "CwdChanged": ({"old_cwd": project, "new_cwd": project},),
        "FileChanged": ({"file_path": file, "event": "change"},),
        "DirectoryAdded": ({"directory": project, "source": "slash_command"},),
        "MessageDisplay": (
            {"turn_id": "turn-1", "message_id": "message-1", "index": 0, "final": True, "delta": "Done."},
        ),
    }


_NOWHERE: Final = PayloadContext(Path("/"), Path("/"), Path("/"), "")
EVENTS: Final = frozenset((*_EXTRAS, *_occasions(_NOWHERE)))
"""Every event that Claude Code has."""
_SAYS_WHICH: Final = ("source", "reason", "trigger", "notification_type")


def payloads(event: str, matcher: str, scene: PayloadContext) -> list[Payload]:
    """The payloads that a hook is run with.

    Args:
        event: one of `EVENTS`.
        matcher: as it is written; empty for everything.
        scene: where the hook runs.
    """
    found = _for_tools(event, matcher, scene) if event in _EXTRAS else _plain(event, matcher, scene)
    common = {
        "session_id": scene.session,
        "transcript_path": str(scene.transcript),
        "cwd": str(scene.project),
        "permission_mode": "default",
        "hook_event_name": event,
    }
    return [Payload(name, {**common, **data}) for name, data in found]


def _for_tools(event: str, matcher: str, scene: PayloadContext) -> list[tuple[str, dict[str, Any]]]:
    inputs = _tool_inputs(scene)
    names = [tool for tool in inputs if _fits(matcher, tool)]
    if not names and matcher:
        names = [matcher]  # a tool that we do not know: its hook is run all the same
    return [
        (tool, {"tool_name": tool, "tool_input": given, **_EXTRAS[event](tool, given)})
        for tool in names[:MOST]
        for given in [inputs.get(tool, {})]
    ]


def _plain(event: str, matcher: str, scene: PayloadContext) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for data in _occasions(scene)[event]:
        which = next((str(data[key]) for key in _SAYS_WHICH if key in data), "")
        if fits(event, matcher, data):
            found.append((which or event, data))
    return found or [(matcher, _occasions(scene)[event][0])]


def _fits(matcher: str, tool: str) -> bool:
    """Whether a hook is for a tool; one whose matcher only the CLI can read is run with every tool."""
    try:
        return matches(matcher, tool)
    except ScriptError:
        return True
