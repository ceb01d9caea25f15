"""A plugin for Claude Code, tested as a whole: installed, its commands run in the real CLI, its work looked at.

Everything goes through the harness's MCP tools, as an agent that tests plugins would call them.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from soundstage.drivers.claude_code import bundled_cli

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
    ),
]
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


def test_the_agent_loop_goes_from_exploring_to_a_commit(harness_client: Any) -> None:
    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = harness_client.call_tool(tool, arguments)
        assert answer["status"] == "success", (tool, answer)
        return answer

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
