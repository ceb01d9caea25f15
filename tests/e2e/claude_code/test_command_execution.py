"""Command execution, 16 tests: every command of every plugin.

Of each: its text as the model server received it; a tool that its front matter allows runs, and one that it does
not allow is denied, although an earlier test had that one allowed in the same process; and the agent's answer
suggests a command that the workflow allows next.
"""

from __future__ import annotations

from typing import Any

import pytest

from e2e.claude_code.kit import (
    COMMANDS,
    PLUGINS,
    SUMS_TEST,
    WRONG,
    bash,
    blocked,
    browser,
    picture,
    repository,
    write,
)
from soundstage.claude_code import expand_command
from soundstage.claude_code.semantics import WORKFLOWS, suggested
from soundstage.models import CallSpec

pytestmark = pytest.mark.claude_code(plugin_dirs=[PLUGINS / plugin for plugin in COMMANDS])

TOUCH = bash("touch made-by-shell")
NEXT = {
    "explore": "plan",
    "plan": "code",
    "code": "commit",
    "commit": "explore",
    "write-tests": "verify-fail",
    "verify-fail": "commit-tests",
    "commit-tests": "implement",
    "implement": "iterate",
    "commit-code": "write-tests",
    "load-mock": "implement-design",
    "implement-design": "screenshot",
    "screenshot": "compare",
    "compare": "iterate",
    "visual-commit": "load-mock",
}
ALL = [(plugin, command) for plugin, commands in COMMANDS.items() for command in commands]


def tools(root: Any, command: str) -> tuple[CallSpec, CallSpec]:
    """A tool that a command allows, and one that it does not."""
    note = write(root / "notes.md", "seen\n")
    allowed: dict[str, CallSpec] = {
        "explore": bash("git log --oneline"),
        "plan": write(root / "PLAN.md", "1. step\n"),
        "commit": bash("git add spare.md"),
        "verify-fail": TOUCH,
        "commit-tests": bash("git add spare.md"),
        "commit-code": TOUCH,
        "load-mock": browser("load_mock", path="mock.png"),
        "screenshot": browser("list_images"),
        "compare": browser("list_images"),
        "visual-commit": bash("git add spare.md"),
    }
    call = allowed.get(command, note)
    return call, TOUCH if call == note else note


@pytest.mark.parametrize(("plugin", "command"), ALL, ids=[":".join(pair) for pair in ALL])
def test_a_command_is_expanded_and_runs_with_the_tools_that_it_allows(plugin, command, test_session, script):
    root = repository(test_session, {"sums.py": WRONG, "test_sums.py": SUMS_TEST, "mock.png": MOCK})
    test_session.workspace.write("spare.md", "not committed\n")
    allowed, denied = tools(root, command)
    arguments = "the parser, 'in one go'"
    following = NEXT.get(command, command)
    script.queue({"tool_calls": [allowed]}, {"tool_calls": [denied]}, f"Done. Next: /{plugin}:{following}.")

    turn = test_session.run_command(f"/{plugin}:{command}", arguments)

    file = (PLUGINS / plugin / "commands" / f"{command}.md").read_text()
    assert turn.expansion.command == f"{plugin}:{command}"
    assert turn.expansion.arguments == arguments
    assert turn.expansion.text == expand_command(file, arguments)
    assert (turn.is_error, turn.plugin_defects) == (False, ())
    if command in ("implement", "iterate") and plugin == "epti":  # they allow the shell as well as files
        assert blocked(turn) == ["", ""]
    else:
        assert blocked(turn) == ["", "permission"], [use.text for use in turn.tool_uses]
    assert not turn.tool_uses[0].is_error, turn.tool_uses[0].text
    suggested(turn.text, f"/{plugin}:{following}").require()
    assert WORKFLOWS[plugin].stage_after([f"/{plugin}:{command}"]) == WORKFLOWS[plugin].commands[command]


MOCK = picture(4, 4, [(0x33, 0x66, 0x99)])
