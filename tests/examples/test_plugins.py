"""Our plugins in the real CLI: valid, loaded whole, and what they forbid is blocked in a session."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from soundstage.drivers import ClaudeCode
from soundstage.drivers.claude_code import ClaudeTurn, bundled_cli, find_cli
from soundstage.journal import EgressTried, HookFired, Journal, ModelRequested
from soundstage.lifecycle import Supervisor
from soundstage.messages import Text
from soundstage.models import CallSpec, Script, ScriptedModel
from soundstage.wire import ModelServer
from soundstage.worlds import Workspace

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

PLUGINS = Path(__file__).resolve().parents[2] / "examples" / "plugins"
COMMANDS = {
    "agent-loop": ["explore", "plan", "code", "commit"],
}
EVENTS = {
    "agent-loop": {"PreToolUse", "PostToolUse"},
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
        claude = ClaudeCode(journal, server, workspace, plugin_dirs=folders, **options)
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
    """What `claude plugin validate --strict` says."""
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
        assert codes == [2, 2, 2]  # without a plan the message is refused as well

    play(body, "agent-loop", permission_mode="acceptEdits", allowed_tools=["Bash"])
