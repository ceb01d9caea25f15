"""The real Claude Code CLI finds and fixes a bug in a git workspace.

Nothing is simulated but the model's words: the CLI reads the file, edits it, runs the project's tests and
commits. Each scripted answer depends on what the tool before it really returned.
"""

from __future__ import annotations

import os
from typing import Final

from soundstage.claude_code import ClaudeCode, find_cli
from soundstage.demo._scenario import DemoScenario
from soundstage.errors import EnvironmentProblem, ExpectationError
from soundstage.host import Host, HostBuilder
from soundstage.models import CallSpec, Script
from soundstage.net import EgressProxy
from soundstage.trace import assert_no_egress, assert_text, assert_tool_calls

VARIABLE: Final = "SOUNDSTAGE_CLAUDE"
PROMPT: Final = "The tests of this project fail. Find the bug, fix it, and commit the fix."
CALCULATOR: Final = """def add(a, b):
    return a - b
"""
TESTS: Final = """import unittest

from calculator import add


class AddTest(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(2, 3), 5)
"""
RUN_TESTS: Final = "python3 -B -m unittest -q test_calculator.py 2>&1"
COMMIT: Final = "git commit -q -a -m 'fix: add adds' && git log -1 --format=%s"


def missing() -> str:
    """The programs to install before this can run; a named CLI that is not there is a failure instead."""
    try:
        find_cli(environment={"PATH": os.environ.get("PATH", os.defpath)})
    except EnvironmentProblem as problem:
        return "" if os.environ.get(VARIABLE) else f"{problem.summary}: {problem.hint}"
    return ""


def _bash(command: str, description: str) -> CallSpec:
    return CallSpec(name="Bash", arguments={"command": command, "description": description})


def write_script(script: Script, folder: str) -> None:
    """The model's script, step by step; `folder` is where the project is."""
    source = f"{folder}/calculator.py"
    edit = {"file_path": source, "old_string": "return a - b", "new_string": "return a + b"}
    script.strict = True
    script.on(user=PROMPT, iteration=1).reply(
        text="I will run the tests first.", tool_calls=[_bash(RUN_TESTS, "Run the tests")]
    )
    script.on(tool_result="AssertionError: -1 != 5").reply(
        tool_calls=[CallSpec(name="Read", arguments={"file_path": source})]
    )
    script.on(tool_result="return a - b").reply(
        text="It subtracts.", tool_calls=[CallSpec(name="Edit", arguments=edit)]
    )
    script.on(tool_result="has been updated").reply(tool_calls=[_bash(RUN_TESTS, "Run the tests again")])
    script.on(tool_result="/^OK/m").reply(tool_calls=[_bash(COMMIT, "Commit the fix")])
    script.on(tool_result="fix: add adds").reply(
        "Fixed: `add` subtracted. The tests pass, the fix is committed."
    )


def setup(builder: HostBuilder) -> HostBuilder:
    """A git workspace, the wire, a proxy that refuses every way out, the CLI."""
    return (
        builder.with_workspace()
        .with_server()
        .with_daemon(lambda host: EgressProxy(host.journal))
        .with_daemon(_prepared)
    )


def _prepared(host: Host) -> ClaudeCode:
    return ClaudeCode(
        host.journal,
        host.server,
        host.workspace,
        ids=host.ids,
        proxy=host.get(EgressProxy),
        permission_mode="acceptEdits",
        allowed_tools=("Bash", "Read", "Edit"),
    )


async def body(host: Host) -> None:
    """One prompt; then the files, the commit, the trace and the hosts that were contacted."""
    workspace = host.workspace
    workspace.write("calculator.py", CALCULATOR)
    workspace.write("test_calculator.py", TESTS)
    workspace.git()
    workspace.commit("a calculator")
    write_script(host.scripted.script, str(workspace.root))
    turn = await host.get(ClaudeCode).prompt(PROMPT, within=120)
    workspace.record_changes()
    if turn.is_error:
        raise ExpectationError("Claude Code reported an error", seen=turn.text)
    if "return a + b" not in workspace.read("calculator.py"):
        raise ExpectationError("the bug is still there", seen=workspace.read("calculator.py"))
    newest = workspace.commits()[0]
    if newest.subject != "fix: add adds" or newest.files != ("calculator.py",):
        raise ExpectationError("the commit is not the expected one", seen=repr(newest))
    assert_tool_calls(host.trace, "Bash", "Read", "Edit", "Bash", "Bash")
    assert_text(host.trace, "the fix is committed")
    assert_no_egress(host.trace)


SCENARIO = DemoScenario(
    "the real Claude Code CLI fixes a bug",
    "It reads, edits, runs the project's tests and commits; the model's words are scripted, the rest is real.",
    setup,
    body,
    missing,
)
