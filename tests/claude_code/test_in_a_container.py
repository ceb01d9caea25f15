"""The real CLI in a container: its model, its tools and a plugin with a hook."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from soundstage.claude_code import ClaudeCode
from soundstage.errors import InvalidStateError
from soundstage.journal import EgressTried, HookFired, Journal, ProcessExited
from soundstage.models import CallSpec, Script, ScriptedModel
from soundstage.wire import ModelServer


def write_plugin(folder: Path) -> Path:
    hooks = {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo seen by the hook"}]}
        ]
    }
    files = {
        ".claude-plugin/plugin.json": json.dumps({"name": "demo", "version": "1.0.0"}),
        "commands/look.md": "---\ndescription: looks around\n---\nLook at $ARGUMENTS.\n",
        "hooks/hooks.json": json.dumps({"hooks": hooks}),
    }
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return folder


def write_marketplace(folder: Path) -> Path:
    listed = {
        "name": "market",
        "owner": {"name": "me"},
        "plugins": [{"name": "demo", "source": "./demo"}],
    }
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin/marketplace.json").write_text(json.dumps(listed))
    write_plugin(folder / "demo")
    return folder


def test_a_session_that_was_opened_before_a_marketplace_was_added_says_that_it_does_not_see_it(
    debian, tmp_path
):
    journal = Journal()
    (tmp_path / "project").mkdir()

    async def main() -> None:
        server = ModelServer(ScriptedModel(Script()), journal)
        await server.start()
        claude = ClaudeCode(journal, server, tmp_path / "project", isolation=debian)
        try:
            await claude.start()
            market = write_marketplace(tmp_path / "market")
            assert (await claude.plugins.add_marketplace(market)).name == "market"
            await claude.plugins.install("demo@market")
            with pytest.raises(InvalidStateError, match="none can be added") as caught:
                await claude.session.reload_plugins()
            assert str(market) in caught.value.seen
            async with await claude.open() as later:
                assert "demo:look" in [command.name for command in await later.commands()]
        finally:
            await claude.stop()
            await server.stop()

    asyncio.run(main())


def test_the_real_cli_works_in_a_container_as_it_does_outside(debian, tmp_path):
    journal = Journal()
    script = Script()
    look = CallSpec(
        name="Bash", arguments={"command": "cat /etc/os-release > seen.txt; ls", "description": "look"}
    )
    script.on(user="Look at the files", iteration=1).reply(tool_calls=[look])
    script.on(tool_result="seen.txt").reply("Done.")
    project = tmp_path / "project"
    project.mkdir()

    async def main() -> None:
        server = ModelServer(ScriptedModel(script), journal)
        await server.start()
        claude = ClaudeCode(
            journal,
            server,
            project,
            isolation=debian,
            plugin_dirs=[write_plugin(tmp_path / "demo")],
            allowed_tools=["Bash"],
        )
        try:
            await claude.start()
            turn = await claude.prompt("/demo:look the files", within=50)
            assert not turn.is_error
            assert turn.text == "Done."
        finally:
            await claude.stop()
            await server.stop()

    asyncio.run(main())
    assert "Debian" in (project / "seen.txt").read_text()
    assert [event.output.strip() for event in journal.events(HookFired)] == ["seen by the hook"]
    assert journal.events(EgressTried) == []
    assert journal.events(ProcessExited)[-1].code == 0
