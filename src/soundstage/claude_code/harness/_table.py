"""The table of tools: eight categories, thirty-four functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from soundstage.claude_code.harness import (
    _agents,
    _assertions,
    _commands,
    _conversations,
    _environment,
    _hooks,
    _mcp,
    _plugins,
)
from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._paths import plugin_roots
from soundstage.mcp.server import McpOptions, ServedTool, ToolFunction, Toolset, describe

CATEGORIES: Final[Mapping[str, tuple[ToolFunction, ...]]] = {
    "Plugin Management": (
        _plugins.install_plugin,
        _plugins.uninstall_plugin,
        _plugins.list_plugins,
        _plugins.get_plugin_status,
    ),
    "Command Execution": (
        _commands.execute_command,
        _commands.get_command_output,
        _commands.list_available_commands,
        _commands.verify_command_expansion,
    ),
    "Conversation": (
        _conversations.send_prompt,
        _conversations.get_response,
        _conversations.get_conversation_history,
        _conversations.start_conversation,
        _conversations.end_conversation,
    ),
    "Agent State": (
        _agents.get_agent_mode,
        _agents.get_agent_guidance,
        _agents.get_workflow_stage,
        _agents.verify_agent_transition,
    ),
    "Hook Verification": (
        _hooks.list_active_hooks,
        _hooks.trigger_hook,
        _hooks.get_hook_execution_log,
        _hooks.verify_hook_blocked_action,
    ),
    "Test Environment": (
        _environment.create_test_project,
        _environment.setup_git_repo,
        _environment.create_sample_files,
        _environment.reset_test_environment,
        _environment.capture_test_artifacts,
    ),
    "Assertion Helpers": (
        _assertions.assert_contains_keywords,
        _assertions.assert_workflow_transition,
        _assertions.assert_command_suggested,
        _assertions.assert_error_handled_gracefully,
    ),
    "MCP Integration": (
        _mcp.start_mcp_server,
        _mcp.stop_mcp_server,
        _mcp.verify_mcp_communication,
        _mcp.mock_mcp_tool_response,
    ),
}

FAILED: Final[Mapping[str, Mapping[str, Any]]] = {
    "end_conversation": {"ended": False},
    "reset_test_environment": {
        "status": False,
        "projects_cleaned": False,
        "volumes_cleaned": False,
        "sessions_cleaned": False,
    },
    "stop_mcp_server": {"status": False, "stopped": False, "cleaned": False},
    "verify_mcp_communication": {"responding": False},
}
"""The keys of an error envelope besides `status` and `error`."""

TOOLS: Final[tuple[ServedTool, ...]] = tuple(
    describe(category, function, FAILED.get(function.__name__))
    for category, functions in CATEGORIES.items()
    for function in functions
)


INSTRUCTIONS: Final = """\
Tests Claude Code plugins end to end: the real Claude Code CLI in a throw-away home, offline; only the model's
words are scripted, by you.

The usual order:
1. create_test_project, setup_git_repo, create_sample_files: something to work on.
2. install_plugin (or plugin_dirs of a conversation), then get_plugin_status.
3. start_conversation with a script that says what the model replies; it returns a session id.
4. execute_command or send_prompt in that session; get_response, get_workflow_stage, list_active_hooks,
   get_hook_execution_log and get_conversation_history look at what happened.
5. assert_* check it; capture_test_artifacts keeps it.
6. end_conversation, uninstall_plugin, reset_test_environment.

Every result has `status`. When a tool fails, it is "error" (false for reset_test_environment and
stop_mcp_server), and `error` says what was expected, what was seen and what to do next.
"""


def open_harness(options: McpOptions) -> Callable[[int], Harness]:
    """Make the harness of each client of one server; they know each other."""
    peers: set[Harness] = set()

    def connect(number: int) -> Harness:
        return Harness(
            projects=options.projects,
            plugins=plugin_roots(options.plugins, Path.cwd()),
            artifacts=options.artifacts,
            number=number,
            peers=peers,
            isolation=options.isolation,
        )

    return connect


TOOLSET: Final = Toolset("Claude Code Test Harness", INSTRUCTIONS, TOOLS, open_harness)
