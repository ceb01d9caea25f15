"""Scenarios in which files are edited."""

from __future__ import annotations

from pathlib import Path

from _steps import OWNER, steps

from soundstage.models import Script
from soundstage.runs import RunResult
from soundstage.scenarios import Scenario, ScenarioSheet
from soundstage.worlds import Workspace


class SimpleFileEdit(Scenario):
    name = "simple-file-edit"
    sheet = ScenarioSheet(
        workspace="calc.py, whose add() subtracts",
        prompt="repair add()",
        output="calc.py adds; one file read, one edited",
        owner=OWNER,
    )
    requires = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")

    def setup_workspace(self, workspace: Workspace) -> None:
        workspace.write("calc.py", "def add(a, b):\n    return a - b\n")

    def build_prompt(self) -> str:
        return "add() in calc.py subtracts. Repair it."

    def script(self, workspace: Path) -> Script:
        path = f"{workspace}/calc.py"
        return steps(
            ("I look at it first.", ("Read", {"file_path": path})),
            ("", ("Edit", {"file_path": path, "old_string": "a - b", "new_string": "a + b"})),
            ("add() adds now.",),
        )

    def assert_results(self, result: RunResult) -> None:
        assert [tool.name for tool in result.tools] == ["Read", "Edit"]
        assert {file.path: file.change for file in result.files} == {"calc.py": "modified"}
        assert result.output == "add() adds now."
