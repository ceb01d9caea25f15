"""Shared by the definitions: a scenario as a table of files, prompt and replies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from soundstage.messages import Usage
from soundstage.models import CallSpec, Script
from soundstage.scenarios import Scenario
from soundstage.worlds import Workspace

OWNER = "the maintainers of Soundstage"
COMPLETE = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
Reply = tuple[str, *tuple[tuple[str, Mapping[str, Any]], ...]]
"""A text, and the tool calls that follow it: names with arguments."""


class TableScenario(Scenario):
    """A scenario whose files, prompt and replies are a table.

    Tokens of replies are said: estimates would count the length of folders.
    """

    files: ClassVar[Mapping[str, str]] = {}
    prompt: ClassVar[str] = ""
    git: ClassVar[bool] = False
    requires = COMPLETE

    def setup_workspace(self, workspace: Workspace) -> None:
        for path, text in self.files.items():
            workspace.write(path, text)
        if self.git:
            workspace.git()
            workspace.commit("first version")

    def build_prompt(self) -> str:
        return self.prompt

    @abstractmethod
    def replies(self, folder: Path) -> tuple[Reply, ...]:
        """The replies of the model, in order."""

    def script(self, workspace: Path) -> Script:
        return add_steps(Script(), *self.replies(workspace))


def add_steps(script: Script, *replies: Reply, **of: Any) -> Script:
    """Rules that answer one request after the other.

    Args:
        script: gets them.
        replies: in their order.
        of: conditions that all of them have, such as `user`.
    """
    for number, (text, *calls) in enumerate(replies, 1):
        made = [CallSpec(name=name, arguments=dict(arguments)) for name, arguments in calls]
        usage = Usage(input_tokens=1000 * number, output_tokens=50)
        script.on(iteration=number, **of).reply(text, tool_calls=made, usage=usage)
    return script


def edit(path: Path | str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    """A call of the tool Edit."""
    return "Edit", {"file_path": str(path), "old_string": old, "new_string": new}


def shell(command: str) -> tuple[str, dict[str, Any]]:
    """A call of the tool Bash."""
    return "Bash", {"command": command, "description": command.split(maxsplit=1)[0]}


def with_tools(*tools: str, **more: Any) -> dict[str, Any]:
    """Options that allow tools by name."""
    return {**Scenario.options, "allowed_tools": list(tools), **more}
