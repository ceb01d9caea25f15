"""The table of tools: eight categories, thirty-four functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from soundstage.mcp_server import (
    _agents,
    _assertions,
    _commands,
    _conversations,
    _environment,
    _hooks,
    _mcp,
    _plugins,
)
from soundstage.mcp_server._tool import Function, Tool, describe

CATEGORIES: Final[Mapping[str, tuple[Function, ...]]] = {
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
"""What an error envelope has besides `status` and `error`."""

TOOLS: Final[tuple[Tool, ...]] = tuple(
    describe(category, function, FAILED.get(function.__name__))
    for category, functions in CATEGORIES.items()
    for function in functions
)
