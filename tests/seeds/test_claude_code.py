"""A plugin for Claude Code, tested as a whole: installed, its commands run in the real CLI, its work looked at.

Everything goes through the harness's MCP tools, as an agent that tests plugins would call them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import bundled_cli

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
    ),
]
Call = Callable[..., dict[str, Any]]
PLUGINS = str(Path(__file__).parents[2] / "examples/plugins")


def bash(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "Bash", "arguments": {"command": command, "description": "work"}}]}


AGENT = [
    "A systematic look at the codebase: add subtracts. I suggest /agent-loop:plan.",
    bash("printf '1. let add add\\n2. run the tests\\n' > PLAN.md"),
    "The plan has two steps, with the tests that show it. I suggest /agent-loop:code.",
    bash("sed -i 's/a - b/a + b/' src/calculator.py"),
    "I have implemented the fix. I suggest /agent-loop:commit.",
    bash("git add -A && git commit -qm 'fix(calculator): let add add' -m 'It subtracted.'"),
    "The commit is made, the work is complete.",
]
STAGES = [
    ("explore", "idle", "exploring", ["codebase", "systematic", "understanding"], "/plan"),
    ("plan", "exploring", "planning", ["plan", "steps", "strategy"], "/code"),
    ("code", "planning", "coding", ["implemented", "fix", "test"], "/commit"),
    ("commit", "coding", "complete", ["commit", "complete", "git"], ""),
]


@pytest.fixture
def call(harness_client: Any) -> Call:
    """Calls a tool of the harness, whose answer has this status."""

    def call(tool: str, status: object = "success", /, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = harness_client.call_tool(tool, arguments)
        assert answer["status"] == status, (tool, answer)
        return answer

    return call


def test_the_agent_loop_goes_from_exploring_to_a_commit(call: Call) -> None:
    # a project with a bug, under git, and the plugin
    call("install_plugin", plugin_name="agent-loop", marketplace_path=PLUGINS)
    made = call("create_test_project", project_type="cli", language="python", output_path="calculator")
    project = made["project_path"]
    files = {
        "src/calculator.py": "def add(a, b):\n    return a - b  # should be +\n",
        "tests/test_calculator.py": "from calculator import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    }
    specs = [{"path": path, "content": content} for path, content in files.items()]
    call("create_sample_files", project_path=project, file_specs=specs)
    call("setup_git_repo", project_path=project)

    config = {"script": AGENT, "project_path": project, "allowed_tools": ["Bash"]}
    session = call("start_conversation", config=config)["session_id"]
    try:
        for command, before, after, keywords, suggested in STAGES:
            done = call("execute_command", command=f"/{command}", session_id=session)
            assert call("assert_contains_keywords", text=done["response"], keywords=keywords)["passed"]
            step = call(
                "assert_workflow_transition",
                from_stage=before,
                to_stage=after,
                actual_stage=done["workflow_stage"],
            )
            assert (step["passed"], step["valid"]) == (True, True), step["details"]
            if suggested:
                assert call("assert_command_suggested", response=done["response"], command_name=suggested)[
                    "passed"
                ]

        # the commit is there, in the conventional form
        log = subprocess.run(
            ["git", "log", "--format=%s"], cwd=project, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert len(log) == 2
        assert log[0].startswith(("fix", "feat", "refactor"))
    finally:
        ended = call("end_conversation", session_id=session)
        call("uninstall_plugin", plugin_name="agent-loop")
    assert ended["unused_rules"] == []


# Plugin installation


@pytest.mark.parametrize("plugin_name", ["agent-loop", "epti", "visual-iteration"])
def test_plugin_installation(call: Call, plugin_name: str) -> None:
    """A plugin installs and loads without errors; afterwards it is gone."""
    call("install_plugin", plugin_name=plugin_name, marketplace_path=PLUGINS)
    try:
        assert any(plugin["name"] == plugin_name for plugin in call("list_plugins")["plugins"])
        status = call("get_plugin_status", "loaded", plugin_name=plugin_name)
        assert (status["enabled"], status["defects"]) == (True, [])
    finally:
        call("uninstall_plugin", plugin_name=plugin_name)
    assert not any(plugin["name"] == plugin_name for plugin in call("list_plugins")["plugins"])


# Test environment


def test_an_environment_is_set_up_looked_at_kept_and_reset(call: Call) -> None:
    project = call(
        "create_test_project",
        project_type="web-app",
        language="python",
        output_path="proj-1",
        project_name="Task Manager API",
    )
    assert Path(project["project_path"]).is_dir()
    files = [
        {"path": "src/calculator.py", "content": "def add(a, b):\n    return a - b  # Bug!"},
        {"path": "tests/test_calculator.py", "content": "def test_add():\n    assert add(2, 3) == 5"},
    ]
    call("create_sample_files", project_path=project["project_path"], file_specs=files)
    for file in files:
        assert (Path(project["project_path"]) / file["path"]).read_text() == file["content"]
    call("setup_git_repo", project_path=project["project_path"])
    log = subprocess.run(
        ["git", "log", "--format=%s"],
        cwd=project["project_path"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(log.stdout.splitlines()) == 1

    kept = call(
        "capture_test_artifacts",
        test_name="test_agent_loop_explore_command",
        artifact_types=["logs", "screenshots", "git_diffs"],
    )
    assert kept["files_captured"] == len(kept["artifact_paths"]) > 0
    assert all(Path(path).exists() for path in kept["artifact_paths"])
    assert set(kept["missing"]) == {"logs", "screenshots"}  # nothing was asked yet, no terminal was open

    call("reset_test_environment", True)
    assert not Path(project["project_path"]).exists()


# Assertions: meaning, not words


def test_keywords_are_found_in_any_phrasing(call: Call) -> None:
    text = "I'll systematically investigate the codebase using code-exploration skills..."
    keywords = ["systematic", "code-exploration", "investigation"]
    some = call("assert_contains_keywords", text=text, keywords=keywords, require_all=False)
    assert (some["passed"], some["found_keywords"]) == (True, ["systematic", "code-exploration"])
    every = call("assert_contains_keywords", text=text, keywords=keywords, require_all=True)
    assert (every["passed"], every["missing_keywords"]) == (False, ["investigation"])
    assert some["match_ratio"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(("actual", "passed"), [("planning", True), ("exploring", False)])
def test_a_transition_is_that_of_the_workflow(call: Call, actual: str, passed: bool) -> None:
    step = call(
        "assert_workflow_transition", from_stage="exploring", to_stage="planning", actual_stage=actual
    )
    assert (step["passed"], step["valid"]) == (passed, passed)
    assert (step["expected_transition"], step["actual_stage"]) == ("exploring -> planning", actual)


@pytest.mark.parametrize("name", ["/plan", "plan"])
def test_a_suggested_command_is_found_with_its_place(call: Call, name: str) -> None:
    response = "Next, run /plan to create an implementation strategy..."
    found = call("assert_command_suggested", response=response, command_name=name)
    assert (found["passed"], found["command_found"], found["location"]) == (True, "/plan", 10)
    assert "run /plan to create" in found["context"]
    assert not call("assert_command_suggested", response=response, command_name="/code")["passed"]


@pytest.mark.parametrize(
    ("response", "graceful", "recovers"),
    [
        ("I couldn't find that file. Let's check the project structure...", True, True),
        ("I couldn't find that file.", True, False),
        ("Traceback (most recent call last):\n  File 'a.py', line 1\nFileNotFoundError: b", False, False),
    ],
)
def test_an_error_is_handled_gracefully(call: Call, response: str, graceful: bool, recovers: bool) -> None:
    verdict = call("assert_error_handled_gracefully", response=response, error_type="file_not_found")
    assert (verdict["graceful"], verdict["recovery_suggested"]) == (graceful, recovers)
    assert verdict["passed"] is (graceful and recovers)


# MCP servers


def test_an_mcp_server_is_started_asked_and_stopped(call: Call) -> None:
    config = {"command": sys.executable, "args": ["-m", "soundstage.mcp.server"]}
    started = call("start_mcp_server", server_name="browser-tools", server_config=config)
    answers = call("verify_mcp_communication", server_id=started["server_id"], timeout=30)
    assert answers["responding"] is True
    assert answers["latency_ms"] > 0
    assert answers["tools_available"] == len(answers["tools"]) == 34
    stopped = call("stop_mcp_server", True, server_id=started["server_id"])
    assert stopped["stopped"] is True


def test_a_tool_of_a_server_can_be_mocked_for_the_agent(call: Call) -> None:
    tool = "mcp__browser-tools__screenshot"
    answer = {"status": "success", "image_path": "/tmp/mock-screenshot.png"}
    mocked = call("mock_mcp_tool_response", tool_name=tool, mock_response=answer)
    assert mocked["mock_registered"] is True
    script = [{"tool_calls": [{"name": tool, "arguments": {}}]}, "The page looks fine."]
    session = call("start_conversation", config={"script": script, "allowed_tools": [tool]})["session_id"]
    prompt = call("send_prompt", session_id=session, prompt="How does it look?")
    assert call("get_response", response_id=prompt["response_id"])["content"] == "The page looks fine."
    history = call("get_conversation_history", session_id=session)
    assert "mock-screenshot.png" in json.dumps(history)
    assert call("end_conversation", session_id=session)["unused_rules"] == []
