"""The list of tools, categories, arguments and return keys is the specification's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from soundstage.claude_code.harness._table import CATEGORIES, TOOLS

SPECIFICATION: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Plugin Management": {
        "install_plugin": ("plugin_name marketplace_path?", "status plugin_id loaded"),
        "uninstall_plugin": ("plugin_name", "status uninstalled"),
        "list_plugins": ("", "status plugins"),
        "get_plugin_status": ("plugin_name", "status plugin_id"),
    },
    "Command Execution": {
        "execute_command": (
            "command session_id timeout?",
            "status response content workflow_stage metadata command_id",
        ),
        "get_command_output": ("command_id", "status output"),
        "list_available_commands": ("session_id?", "status commands"),
        "verify_command_expansion": ("command session_id?", "status exists expands expansion"),
    },
    "Conversation": {
        "send_prompt": ("prompt session_id timeout?", "status response_id"),
        "get_response": ("response_id", "status response content"),
        "get_conversation_history": ("session_id", "status history"),
        "start_conversation": ("config?", "status session_id"),
        "end_conversation": ("session_id", "status ended"),
    },
    "Agent State": {
        "get_agent_mode": ("session_id", "status mode"),
        "get_agent_guidance": ("session_id", "status guidance"),
        "get_workflow_stage": ("session_id", "status stage"),
        "verify_agent_transition": (
            "session_id expected_stage",
            "status passed expected_stage actual_stage",
        ),
    },
    "Hook Verification": {
        "list_active_hooks": ("session_id?", "status hooks"),
        "trigger_hook": ("hook_name payload project_path? session_id?", "status output blocked"),
        "get_hook_execution_log": ("hook_name session_id? limit?", "status executions"),
        "verify_hook_blocked_action": ("action_id", "status blocked"),
    },
    "Test Environment": {
        "create_test_project": (
            "project_type language output_path project_name?",
            "status project_path project_type language files_created total_files",
        ),
        "setup_git_repo": ("project_path", "status commit_hash files_tracked"),
        "create_sample_files": ("project_path file_specs", "status files_created errors"),
        "reset_test_environment": (
            "system?",
            "status projects_cleaned volumes_cleaned sessions_cleaned",
        ),
        "capture_test_artifacts": (
            "test_name artifact_types? session_id? project_path?",
            "status artifacts_dir files_captured artifact_paths",
        ),
    },
    "Assertion Helpers": {
        "assert_contains_keywords": (
            "text keywords require_all?",
            "passed found_keywords missing_keywords match_ratio details",
        ),
        "assert_workflow_transition": (
            "from_stage to_stage actual_stage workflow?",
            "passed expected_transition actual_stage valid details",
        ),
        "assert_command_suggested": (
            "response command_name",
            "passed command_found location context details",
        ),
        "assert_error_handled_gracefully": (
            "response error_type",
            "passed graceful recovery_suggested error_acknowledged details",
        ),
    },
    "MCP Integration": {
        "start_mcp_server": (
            "server_name server_config plugin_root?",
            "status server_id server_name port pid details",
        ),
        "stop_mcp_server": ("server_id", "status stopped cleaned server_id"),
        "verify_mcp_communication": (
            "server_id timeout?",
            "status responding latency_ms tools_available server_id",
        ),
        "mock_mcp_tool_response": (
            "tool_name mock_response",
            "status mock_registered tool_name details",
        ),
    },
}
CASES = [
    pytest.param(category, name, *row, id=name)
    for category, rows in SPECIFICATION.items()
    for name, row in rows.items()
]


def test_there_are_34_tools_in_8_categories() -> None:
    assert {category: len(functions) for category, functions in CATEGORIES.items()} == {
        category: len(rows) for category, rows in SPECIFICATION.items()
    }
    assert [len(rows) for rows in SPECIFICATION.values()] == [4, 4, 5, 4, 4, 5, 4, 4]
    assert len({tool.name for tool in TOOLS}) == len(TOOLS) == 34


@pytest.mark.parametrize(("category", "name", "arguments", "keys"), CASES)
def test_a_tool_takes_and_returns_what_the_specification_says(
    category: str, name: str, arguments: str, keys: str
) -> None:
    (tool,) = (tool for tool in TOOLS if tool.name == name)
    assert tool.category == category
    schema = tool.input_schema()
    required = set(schema.get("required", []))
    taken = [argument if argument in required else f"{argument}?" for argument in schema["properties"]]
    assert set(taken) == set(arguments.split())
    assert set(keys.split()) <= set(tool.keys)
    assert set(tool.output_schema()["properties"]) == {*tool.keys, "error"}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_an_agent_is_told_what_a_tool_does_returns_and_how_it_is_called(tool: Any) -> None:
    assert "Returns " in tool.description
    assert f"Example: {tool.name}(" in tool.description
    assert ("Errors: " in tool.description) is (tool.name != "list_plugins")
    for name, schema in tool.input_schema()["properties"].items():
        assert schema.get("description"), f"{tool.name}({name}) says nothing about itself"
    for key in tool.keys:
        assert key in tool.description or key in ("status", "error", "session_id", "defects", "total"), key


@pytest.mark.parametrize(
    ("name", "seconds"), [("execute_command", 30), ("send_prompt", 60), ("verify_mcp_communication", 5)]
)
def test_a_tool_that_waits_has_the_limit_of_the_specification(name: str, seconds: int) -> None:
    (tool,) = (tool for tool in TOOLS if tool.name == name)
    assert tool.input_schema()["properties"]["timeout"]["default"] == seconds


def test_clients_see_the_same_list_with_categories(tools: Any) -> None:
    async def body(call: Any) -> None:
        listed = (await call.client.list_tools()).tools
        assert [tool.name for tool in listed] == [tool.name for tool in TOOLS]
        assert {tool.meta["category"] for tool in listed} == set(SPECIFICATION)
        assert all(tool.output_schema and tool.input_schema["type"] == "object" for tool in listed)
        assert call.client.server_info.name == "Claude Code Test Harness"

    tools(body)


def test_a_tool_that_there_is_not_is_named_with_those_that_there_are(tools: Any) -> None:
    async def body(call: Any) -> None:
        assert "install_plugin" in await call.bad("instal_plugin")

    tools(body)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_an_argument_that_there_is_not_is_an_envelope_for_every_tool(tool: Any) -> None:
    from soundstage.claude_code.harness._harness import Harness
    from soundstage.mcp.server._server import call

    async def main() -> None:
        result = await call(tool, Harness(), {"no_such_argument": 1})
        assert result.structured_content is not None
        assert result.structured_content["status"] in ("error", False)
        assert tool.signature() in result.structured_content["error"]
        assert result.is_error is False

    asyncio.run(main())
