"""Two runs of the real CLI: alike but for what differs by nature, and the first divergence where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from soundstage.claude_code import bundled_cli
from soundstage.differences import compare_runs, context_of
from soundstage.models import CallSpec
from soundstage.trace import Trace

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

Play = Callable[..., Any]


def read(with_claude: Play, *, text: str = "4 C", prompt: str = "what does note.txt say?") -> Trace:
    """A run in which the agent reads a file and answers."""

    async def body(run: Any) -> Trace:
        run.workspace.write("note.txt", text)
        path = str(run.workspace.root / "note.txt")
        run.script.on(tool_result=text).reply("It is read.")
        run.script.on(user="note.txt").reply(
            tool_calls=[CallSpec(name="Read", arguments={"file_path": path})]
        )
        await run.claude.prompt(prompt, within=30)
        return Trace.of(run.journal)

    found: Trace = with_claude(body)
    return found


def test_two_runs_of_the_cli_are_alike_and_a_file_that_differs_is_named(with_claude: Play) -> None:
    one, other, changed = read(with_claude), read(with_claude), read(with_claude, text="5 C")
    assert [str(step.found[0]) for step in compare_runs(one, other).found] == []
    diff = compare_runs(one, changed)
    assert diff.first is not None
    assert (diff.first.cause, diff.first.lane) == ("tool result differs", "main")
    assert [found.lane for found in diff.others if found.step] == []
    last = one.main_steps[-1]
    context = context_of(one, last.position)
    assert {message.change for message in context.messages} <= {"KEPT", "NEW", "INJECTED"}
    assert context.previous == one.main_steps[-2].position
