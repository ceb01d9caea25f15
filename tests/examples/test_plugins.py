"""Our plugins in the real CLI: valid, loaded whole, and what they forbid is blocked in a session."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from soundstage.claude_code import ClaudeCode, ClaudeTurn, bundled_cli, find_cli
from soundstage.journal import EgressTried, HookFired, Journal, ModelRequested
from soundstage.lifecycle import Supervisor
from soundstage.messages import Text
from soundstage.models import CallSpec, Script, ScriptedModel
from soundstage.wire import ModelServer
from soundstage.worlds import Workspace

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # `python3` is the one that runs the tests
PLUGINS = Path(__file__).resolve().parents[2] / "examples" / "plugins"
COMMANDS: dict[str, list[str]] = {
    "promptctl": [],
    "agent-loop": ["explore", "plan", "code", "commit"],
    "epti": ["write-tests", "verify-fail", "commit-tests", "implement", "iterate", "commit-code"],
    "visual-iteration": [
        "screenshot",
        "implement-design",
        "iterate",
        "visual-commit",
        "compare",
        "load-mock",
    ],
}
EVENTS: dict[str, set[str]] = {
    "agent-loop": {"PreToolUse", "PostToolUse"},
    "epti": {"PreToolUse", "PostToolUse"},
    "visual-iteration": set(),
    "promptctl": {
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Notification",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "SessionEnd",
    },
}


class Stage(NamedTuple):
    journal: Journal
    script: Script
    workspace: Workspace
    claude: ClaudeCode

    def asked(self) -> str:
        """The last text that the user's side has sent."""
        request = self.journal.events(ModelRequested)[-1].request
        parts = [part for message in request.messages if message.role == "user" for part in message.parts]
        return "\n".join(part.text for part in parts if isinstance(part, Text))


def play(body: Callable[[Stage], Awaitable[None]], *plugins: str, **options: Any) -> None:
    """Run `body` with the CLI and some of our plugins; nothing may try to leave the machine."""
    journal = Journal()

    async def main() -> None:
        script = Script()
        server, workspace = ModelServer(ScriptedModel(script), journal), Workspace(journal)
        folders = [PLUGINS / plugin for plugin in plugins]
        claude = ClaudeCode(
            journal, server, workspace, plugin_dirs=folders, environment={"PATH": PATH}, **options
        )
        supervisor = Supervisor((server, workspace, claude), clock=journal.clock)
        await supervisor.start()
        try:
            await body(Stage(journal, script, workspace, claude))
        finally:
            await supervisor.stop()

    asyncio.run(main())
    assert journal.events(EgressTried) == []


def call(name: str, **arguments: Any) -> CallSpec:
    return CallSpec(name=name, arguments=arguments)


def bash(command: str) -> CallSpec:
    return call("Bash", command=command, description="test")


def validate(path: Path, home: Path) -> dict[str, Any]:
    """The answer of `claude plugin validate --strict`."""
    done = subprocess.run(
        [str(find_cli()), "plugin", "validate", str(path), "--json", "--strict"],
        env={"HOME": str(home), "PATH": os.environ["PATH"], "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=50,
        check=False,
    )
    report = json.loads(done.stdout)
    assert done.returncode == (0 if report["success"] else 1)
    return report


def test_the_marketplace_is_valid_and_lists_every_plugin_with_its_own_version(tmp_path):
    report = validate(PLUGINS, tmp_path)
    assert report["success"], report["manifest"]
    listed = json.loads((PLUGINS / ".claude-plugin/marketplace.json").read_text())["plugins"]
    folders = sorted(path.parents[1] for path in PLUGINS.glob("*/.claude-plugin/plugin.json"))
    manifests = [json.loads((folder / ".claude-plugin/plugin.json").read_text()) for folder in folders]
    assert sorted((entry["name"], entry["version"], entry["description"]) for entry in listed) == sorted(
        (manifest["name"], manifest["version"], manifest["description"]) for manifest in manifests
    )
    assert [(PLUGINS / entry["source"]).is_dir() for entry in listed] == [True] * len(listed)
    assert sorted(COMMANDS) == [folder.name for folder in folders]


@pytest.mark.parametrize("plugin", sorted(COMMANDS))
def test_a_plugin_is_valid_and_provides_its_commands_and_hooks(plugin, tmp_path):
    report = validate(PLUGINS / plugin, tmp_path)
    assert report["success"], report
    assert [entry for entry in report["contents"] if entry["errors"]] == []
    provides = report["provides"]
    assert sorted(provides["commands"]) == sorted(f"{plugin}:{command}" for command in COMMANDS[plugin])
    assert {hook["event"] for hook in provides["hooks"]} == EVENTS[plugin]


def test_agent_loop_blocks_a_commit_until_there_are_a_plan_and_a_conventional_message():
    async def body(stage: Stage) -> None:
        script, workspace = stage.script, stage.workspace
        workspace.write("a.py", "x = 1\n")
        workspace.git()
        workspace.commit("first")
        workspace.write("a.py", "x = 2\n")
        plan = call("Write", file_path=str(workspace.root / "PLAN.md"), content="1. x is 2\n")
        script.on(user="agent-loop:commit", iteration=1).reply(tool_calls=[bash("git commit -qam 'x is 2'")])
        script.on(tool_result="There is no plan").reply(tool_calls=[plan])
        script.on(tool_result="PLAN.md").reply(tool_calls=[bash("git commit -qam 'x is 2'")])
        script.on(tool_result="begins with 'x is 2'", priority=1, times=1).reply(
            tool_calls=[bash("git commit -qam 'fix: x is 2' && git log -1 --format=%s")]
        )
        script.on(tool_result="/^fix: x is 2/m", priority=2).reply("committed")
        turn = await stage.claude.prompt("/agent-loop:commit the value", within=40)
        assert isinstance(turn, ClaudeTurn)
        assert (turn.text, turn.is_error) == ("committed", False)
        assert "To mention: the value" in stage.asked()
        uses = turn.tool_uses
        assert [(use.name, use.is_error) for use in uses] == [
            ("Bash", True),
            ("Write", False),
            ("Bash", True),
            ("Bash", False),
        ]
        assert [commit.subject for commit in workspace.commits()] == ["fix: x is 2", "first"]
        codes = [event.exit_code for event in stage.journal.events(HookFired) if event.exit_code]
        assert codes == [2, 2]

    play(body, "agent-loop", permission_mode="acceptEdits", allowed_tools=["Bash"])


def test_epti_refuses_code_before_tests_and_a_commit_on_red():
    test = "from sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"

    async def body(stage: Stage) -> None:
        script, workspace = stage.script, stage.workspace
        workspace.write("README.md", "sums")
        workspace.git()
        workspace.commit("first")
        root = workspace.root
        right, wrong = (f"def add(a, b):\n    return a {sign} b\n" for sign in "+-")
        code = call("Write", file_path=str(root / "sums.py"), content=wrong)
        fixed = call("Edit", file_path=str(root / "sums.py"), old_string=wrong, new_string=right)
        tests = call("Write", file_path=str(root / "test_sums.py"), content=test)
        commit = bash("git add -A && git commit -qm 'feat: sums' && git log -1 --format=%s")
        script.on(user="epti:implement", iteration=1).reply(tool_calls=[code])
        script.on(tool_result="would be code without a test").reply(tool_calls=[tests])
        script.on(tool_result="test_sums.py").reply(tool_calls=[code])
        script.on(tool_result="sums.py", times=1).reply(tool_calls=[commit])
        script.on(tool_result="assert -1 == 5", priority=1, times=1).reply(tool_calls=[fixed])
        script.on(tool_result="has been updated", priority=2).reply(tool_calls=[commit])
        script.on(tool_result="/^feat: sums/m", priority=3).reply("done")
        turn = await stage.claude.prompt("/epti:implement", within=50)
        assert (turn.text, turn.is_error) == ("done", False)
        assert [(use.name, use.is_error) for use in turn.tool_uses] == [
            ("Write", True),
            ("Write", False),
            ("Write", False),
            ("Bash", True),
            ("Edit", False),
            ("Bash", False),
        ]
        remarks = [event.output for event in stage.journal.events(HookFired) if event.event == "PostToolUse"]
        assert ["Tests fail" in remarks[1], "All tests pass" in remarks[2]] == [True, True]
        assert workspace.commits()[0].files == ("sums.py", "test_sums.py")

    play(body, "epti", permission_mode="acceptEdits", allowed_tools=["Bash"])


TOOL = "mcp__plugin_visual-iteration_browser-tools__"


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium: apt install chromium")
def test_visual_iteration_works_with_its_browser_and_shows_nothing_of_other_machines():
    async def body(stage: Stage) -> None:
        script, workspace = stage.script, stage.workspace
        workspace.write("page.html", '<body style="margin:0;background:#336699">')
        away = call(f"{TOOL}screenshot", source="https://example.com/")
        outside = call(f"{TOOL}load_mock", path="../mock.png")
        here = call(f"{TOOL}screenshot", source="page.html", width=32, height=24)
        colour = call(f"{TOOL}colour_at", x=31, y=23)
        script.on(user="visual-iteration:screenshot", iteration=1).reply(tool_calls=[away])
        script.on(tool_result="example.com is not this machine").reply(tool_calls=[outside])
        script.on(tool_result="is outside of the project").reply(tool_calls=[here])
        script.on(tool_result=".visual/page.png").reply(tool_calls=[colour])
        script.on(tool_result="#336699").reply("pictured")
        turn = await stage.claude.prompt("/visual-iteration:screenshot page.html", within=50)
        assert turn.init is not None
        assert [(server["name"], server["status"]) for server in turn.init.mcp_servers] == [
            ("plugin:visual-iteration:browser-tools", "connected")
        ]
        assert (turn.text, turn.is_error) == ("pictured", False)
        assert [use.is_error for use in turn.tool_uses] == [True, True, False, False]
        assert (workspace.root / ".visual/page.png").is_file()

    play(body, "visual-iteration")


def test_promptctl_stops_a_prompt_with_a_key_before_the_model_sees_it_and_a_forced_push():
    async def body(stage: Stage) -> None:
        stage.script.on(user="publish", iteration=1).reply(tool_calls=[bash("git push --force")])
        stage.script.on(tool_result="no-forced-push").reply("not pushed")
        turn = await stage.claude.prompt("use sk-abcdefghijklmnopqrstuv to publish", within=40)
        assert stage.journal.events(ModelRequested) == []
        turn = await stage.claude.prompt("publish", within=40)
        assert (turn.text, turn.is_error) == ("not pushed", False)
        fired = {event.event: event.exit_code for event in stage.journal.events(HookFired)}
        assert fired["PreToolUse"] == 2
        assert fired["Stop"] == 0
        (kept_in,) = stage.claude.home.rglob("events.jsonl")
        kept = [json.loads(line) for line in kept_in.read_text().splitlines()]
        assert [(line["event"], line["rules"]) for line in kept if line["rules"]] == [
            ("UserPromptSubmit", ["no-keys-in-prompts"]),
            ("PreToolUse", ["no-forced-push"]),
        ]

    play(body, "promptctl", allowed_tools=["Bash"])
