"""Shared by the tests of the plugins: the plugins, a scripted agent, and a walk through a workflow.

The agent's words and tool calls are scripted; commands, hooks, servers, permissions, git and test runs are real.
"""

from __future__ import annotations

import shutil
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from soundstage.claude_code import ClaudeTurn
from soundstage.claude_code.semantics import WORKFLOWS, Transition, keywords_in, suggested, transition
from soundstage.models import CallSpec, Script

PLUGINS = Path(__file__).resolve().parents[3] / "examples" / "plugins"
COMMANDS: dict[str, tuple[str, ...]] = {
    "agent-loop": ("explore", "plan", "code", "commit"),
    "epti": ("write-tests", "verify-fail", "commit-tests", "implement", "iterate", "commit-code"),
    "visual-iteration": (
        "load-mock",
        "implement-design",
        "screenshot",
        "compare",
        "iterate",
        "visual-commit",
    ),
}
BROWSER = "mcp__plugin_visual-iteration_browser-tools__"
QUICK = (
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
)  # agents and hooks run pytest often; the plugins of ours cost 2 s a time
needs_browser = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="needs Chromium: apt install chromium"
)


def working(*plugins: str) -> pytest.MarkDecorator:
    """The mark of tests in which these plugins are loaded and their agent may edit files and use the shell."""
    return pytest.mark.claude_code(
        plugin_dirs=[PLUGINS / plugin for plugin in plugins],
        permission_mode="acceptEdits",
        allowed_tools=["Bash", f"{BROWSER}*"],
        allow=QUICK,
    )


# --- what an agent calls


def bash(command: str) -> CallSpec:
    return CallSpec(name="Bash", arguments={"command": command, "description": "test"})


def write(path: Path, text: str) -> CallSpec:
    return CallSpec(name="Write", arguments={"file_path": str(path), "content": text})


def edit(path: Path, old: str, new: str) -> CallSpec:
    return CallSpec(name="Edit", arguments={"file_path": str(path), "old_string": old, "new_string": new})


def read(path: Path) -> CallSpec:
    return CallSpec(name="Read", arguments={"file_path": str(path)})


def browser(tool: str, **arguments: Any) -> CallSpec:
    return CallSpec(name=f"{BROWSER}{tool}", arguments=arguments)


def delegate(agent: str, task: str) -> CallSpec:
    return CallSpec(name="Agent", arguments={"description": "task", "prompt": task, "subagent_type": agent})


class After(NamedTuple):
    """A step that the agent takes only if the result of its last call has this text."""

    result: str
    step: CallSpec | str


def play(script: Script, *steps: CallSpec | After | str) -> None:
    """Script the agent's turn: one call after the other, then its words. Each step has to be used."""
    for step in steps:
        condition, action = (
            ({"tool_result": step.result}, step.step) if isinstance(step, After) else ({}, step)
        )
        said = {"text": action} if isinstance(action, str) else {"tool_calls": [action]}
        script.on(times=1, **condition).reply(**said)


# --- what is looked at


def outcomes(turn: ClaudeTurn) -> list[tuple[str, bool]]:
    """The tools that were used, each with whether it worked."""
    return [(use.name.removeprefix(BROWSER), not use.is_error) for use in turn.tool_uses]


def blocked(turn: ClaudeTurn) -> list[str]:
    """Who blocked each tool call of a turn: `hook`, `permission`, or nobody."""
    return [turn.blocked_by(use.id) for use in turn.tool_uses]


def says(turn: ClaudeTurn, *keywords: str) -> None:
    """The agent's last words have all of these concepts, in whatever sentence."""
    assert not turn.is_error, turn.text
    keywords_in(turn.text, keywords, require_all=True).require()


class Walk:
    """A workflow that is gone through, command by command."""

    def __init__(self, session: Any, plugin: str) -> None:
        self.session, self.plugin = session, plugin
        self.workflow = WORKFLOWS[plugin]
        self.commands: list[str] = []
        self.turns: list[ClaudeTurn] = []

    @property
    def stage(self) -> str:
        """Where it is now."""
        return self.workflow.stage_after(self.commands)

    def take(self, command: str, arguments: str = "", *, to: str) -> Transition:
        """Run a command, check that it came to the model, and compare the stage with the one that it leads to."""
        before, name = self.stage, f"/{self.plugin}:{command}"
        turn = self.session.run_command(name, arguments)
        assert turn.expansion is not None
        assert f"/{turn.expansion.command}" == name
        self.commands.append(name)
        self.turns.append(turn)
        return transition(before, to, self.stage, workflow=self.plugin)

    def go(self, command: str, arguments: str = "", *, to: str, suggests: str = "") -> ClaudeTurn:
        """Like `take`, for a step that the workflow allows; the agent suggests the next command."""
        step = self.take(command, arguments, to=to)
        assert step, step.details
        assert step.valid, step.details
        turn = self.turns[-1]
        assert not turn.is_error, turn.text
        if suggests:
            suggested(turn.text, f"/{self.plugin}:{suggests}").require()
        return turn


# --- what agents work on


SUMS_TEST = "from sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
RIGHT, WRONG = (f"def add(a, b):\n    return a {sign} b\n" for sign in "+-")


def repository(session: Any, files: dict[str, str | bytes]) -> Path:
    """The agent's folder with these files in a first commit."""
    for path, content in files.items():
        session.workspace.write(path, content)
    session.workspace.git()
    session.workspace.commit("chore: begin")
    return Path(session.root)


def subjects(session: Any) -> list[str]:
    """The subjects of all commits, newest first."""
    return [commit.subject for commit in session.workspace.commits()]


def picture(width: int, height: int, colours: Iterable[tuple[int, int, int]]) -> bytes:
    """A PNG with a stripe for each colour, from the top to the bottom, of equal height."""
    stripes = list(colours)
    rows = [bytes([0]) + bytes(stripes[row * len(stripes) // height]) * width for row in range(height)]

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"".join(rows)))
        + chunk(b"IEND", b"")
    )
