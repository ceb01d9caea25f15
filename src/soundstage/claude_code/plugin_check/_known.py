"""Tables of names in Claude Code 2.1.330; the conformance test compares them with the CLI."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from soundstage.errors import near_names

TOOL_EVENTS: Final = frozenset(
    ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied")
)
"""Events whose matcher is compared with the name of a tool."""

MANIFEST_KEYS: Final = frozenset(
    (
        *("$schema", "name", "displayName", "version", "description", "author", "homepage", "repository"),
        *("license", "keywords", "defaultEnabled", "dependencies", "metadata", "engines", "network", "hooks"),
        *("commands", "agents", "skills", "outputStyles", "themes", "workflows", "channels", "mcpServers"),
        *("lspServers", "monitors", "settings", "types", "userConfig", "binaries", "experimental", "icon"),
    )
)
_COMMAND: Final = (
    *("name", "description", "model", "allowed-tools", "disallowed-tools", "disallowedTools"),
    *(
        "argument-hint",
        "arguments",
        "disable-model-invocation",
        "user-invocable",
        "effort",
        "shell",
        "version",
    ),
)
_SKILL: Final = (
    *(*_COMMAND, "when_to_use", "paths", "hooks", "context", "agent", "background", "fallback", "license"),
    *("metadata", "author", "homepage", "repository", "keywords", "displayName", "compatibility"),
)
_AGENT: Final = (
    *("name", "description", "model", "tools", "disallowedTools", "color", "effort", "permissionMode"),
    *(
        "mcpServers",
        "hooks",
        "maxTurns",
        "autoCompactWindow",
        "skills",
        "initialPrompt",
        "memory",
        "background",
    ),
    *("omitClaudeMd", "isolation", "observer", "observerMessage", "observeToolResults", "observeSubagents"),
    "experimental",
)
FRONT_MATTER: Final = {
    "command": frozenset((*_SKILL, "hide-from-slash-command-tool")),
    "skill": frozenset(_SKILL),
    "agent": frozenset(_AGENT),
}
"""Keys of front matter, by kind of file. Commands are skills in one file, and take the same keys."""

TOOLS: Final = frozenset(
    (
        *("Agent", "Task", "Bash", "BashOutput", "Edit", "Glob", "Grep", "KillShell", "LS", "MultiEdit"),
        *(
            "NotebookEdit",
            "NotebookRead",
            "Read",
            "Skill",
            "SlashCommand",
            "TodoWrite",
            "WebFetch",
            "WebSearch",
        ),
        *(
            "Write",
            "AskUserQuestion",
            "EnterPlanMode",
            "ExitPlanMode",
            "EnterWorktree",
            "ExitWorktree",
            "LSP",
        ),
        *(
            "TaskCreate",
            "TaskGet",
            "TaskList",
            "TaskOutput",
            "TaskStop",
            "TaskUpdate",
            "ToolSearch",
            "Monitor",
        ),
        *("ListAgents", "SendMessage", "CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "Workflow"),
        *("ReportFindings", "StructuredOutput", "ListMcpResourcesTool", "ReadMcpResourceTool", "PowerShell"),
        *("Config", "TeamCreate", "TeamDelete", "PushNotification", "RemoteTrigger"),
    )
)
HOOK_TYPES: Final = {
    "command": "command",
    "prompt": "prompt",
    "agent": "prompt",
    "http": "url",
    "mcp_tool": "tool",
}
"""Types of hooks, and the field that each must have."""

VARIABLES: Final = frozenset(
    ("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_PROJECT_DIR", "HOME", "PATH")
)
"""Variables that a server's configuration can count on."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`: perhaps PreToolUse`, or nothing."""
    near = near_names(name, known, most=1)
    return f": perhaps {near[0]}" if near else ""
