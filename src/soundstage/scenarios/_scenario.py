"""The base class of scenarios: what is recorded, by whom, and what must come of it."""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from soundstage.models import Model, Script
from soundstage.trace import Finding
from soundstage.worlds import Workspace

if TYPE_CHECKING:
    from soundstage.runs import RunResult

HOOKS = (
    *("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("SubagentStart", "SubagentStop", "Stop"),
)
"""The hooks that the program of a scenario registers, unless it is another program."""


class ScenarioSheet(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a scenario for people. No field may be empty.

    Args:
        workspace: the files at the begin, in a sentence.
        prompt: what is asked, in a sentence.
        output: what must come of it.
        owner: who is asked when it fails.
    """

    workspace: str = ""
    prompt: str = ""
    output: str = ""
    owner: str = ""

    def empty_fields(self) -> tuple[str, ...]:
        """The names of fields without words."""
        return tuple(name for name in self.__struct_fields__ if not getattr(self, name).strip())


class Scenario(ABC):
    """A run that is recorded once with the real CLI: its workspace, its prompt, its model, and what must come of it.

    A subclass says `name`, `sheet`, and the three methods without a body; without one of those it cannot be made
    (`TypeError`). `soundstage scenario record NAME` finds it in the Python files of the folder of scenarios.

    Attributes:
        name: of the recording.
        version: counts up when the definition changes, so that older recordings are refused.
        sheet: what it is, for people.
        requires: hooks that must have fired.
        options: fields of `ClaudeAgentOptions`, for the program of this class.

    Example:
        ::

            class FixAdd(Scenario):
                name = "fix-add"
                sheet = ScenarioSheet(
                    workspace="calc.py with a wrong add", prompt="repair it", output="calc.py adds", owner="me"
                )

                def setup_workspace(self, workspace):
                    workspace.write("calc.py", "def add(a, b):\\n    return a - b\\n")

                def build_prompt(self):
                    return "Repair add() in calc.py"

                def script(self, workspace):
                    edit = {"file_path": f"{workspace}/calc.py", "old_string": "a - b", "new_string": "a + b"}
                    ...

                def assert_results(self, result):
                    assert [file.path for file in result.files] == ["calc.py"]
    """

    name: ClassVar[str] = ""
    version: ClassVar[int] = 1
    sheet: ClassVar[ScenarioSheet] = ScenarioSheet()
    requires: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[dict[str, Any]] = {"model": "claude-sonnet-4-5", "permission_mode": "acceptEdits"}

    @abstractmethod
    def setup_workspace(self, workspace: Workspace) -> None:
        """Write the files at the begin; `workspace.git()` and `workspace.commit(...)` make it a repository."""

    @abstractmethod
    def build_prompt(self) -> str:
        """The prompt that the program gets."""

    @abstractmethod
    def assert_results(self, result: RunResult) -> None:
        """Check what came of it; when it is recorded, and with `soundstage scenario check`."""

    def check_results(self, result: RunResult) -> Finding:
        """Whether `assert_results` holds; the finding has the line that does not."""
        try:
            self.assert_results(result)
        except AssertionError as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            return Finding(
                passed=False,
                message=f"assert_results of {self.name!r} does not hold",
                expected=place.line or "its assertions",
                seen=str(error) or f"{Path(place.filename).name}, line {place.lineno}",
                hint="correct the scenario, its script or its assertion",
            )
        return Finding(passed=True, message=f"assert_results of {self.name!r} holds")

    def script(self, workspace: Path) -> Script | Model:
        """The model: a script, or any `Model`, such as `LiveModel` or the model of a tape.

        Args:
            workspace: where the program works: tools of Claude Code want whole paths.
        """
        return Script()

    async def program(self, prompt: str, workspace: Path) -> None:
        """The program that is recorded, any on the SDK. Unless overridden: one prompt to a client with all hooks."""
        await ask_with_hooks(prompt, workspace, dict(self.options))

    @classmethod
    def problems(cls) -> Iterator[str]:
        """The mistakes of the definition, each in a line."""
        if not cls.name:
            yield f"{cls.__name__} has no name"
        if empty := cls.sheet.empty_fields():
            yield f"the sheet of {cls.name or cls.__name__} has no {', '.join(empty)}"


async def ask_with_hooks(prompt: str, workspace: Path, options: dict[str, Any]) -> None:
    """Send a prompt by `ClaudeSDKClient`, with hooks that let everything pass, and read to its result.

    Args:
        prompt: the prompt.
        workspace: where the CLI works.
        options: fields of `ClaudeAgentOptions`.
    """
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher

    async def pass_on(*_: object) -> Any:
        return {}

    hooks: Any = {name: [HookMatcher(hooks=[pass_on])] for name in HOOKS}
    made = ClaudeAgentOptions(**{"hooks": hooks, "cwd": str(workspace), "setting_sources": [], **options})
    async with ClaudeSDKClient(made) as client:
        await client.query(prompt)
        async for _ in client.receive_response():
            pass
