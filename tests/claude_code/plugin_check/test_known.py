"""Our tables about Claude Code against the CLI itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import ClaudeCode, bundled_cli
from soundstage.claude_code.plugin_check._known import (
    FRONT_MATTER,
    HOOK_TYPES,
    MANIFEST_KEYS,
    TOOL_EVENTS,
    TOOLS,
    nearest,
)
from soundstage.claude_code.plugin_check._payloads import EVENTS, PayloadContext, payloads
from soundstage.journal import Journal
from soundstage.models import Script, ScriptedModel
from soundstage.wire import ModelServer
from soundstage.worlds import Workspace
from support.plugins import Make, manifest

NEEDS_CLI = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)
SCENE = PayloadContext(Path("/p"), Path("/p/hello.py"), Path("/t"), "id", ("mcp__s__look",))


@NEEDS_CLI
def test_the_cli_knows_our_events_and_types_and_keys_and_has_no_tool_that_we_do_not_know(make: Make) -> None:
    entry = [{"hooks": [{"type": "command", "command": "true"}]}]
    strange = {"NoSuchEvent": entry}
    values: dict[str, Any] = {"keywords": [], "agents": [], "skills": [], "commands": [], "dependencies": []}
    keys = {key: values[key] for key in values}
    folder = make(
        {
            ".claude-plugin/plugin.json": manifest(**keys, no_such_key=1),
            "hooks/hooks.json": {"hooks": {**dict.fromkeys(sorted(EVENTS), entry), **strange}},
        }
    )

    async def main() -> None:
        journal = Journal()
        server, workspace = ModelServer(ScriptedModel(Script()), journal), Workspace(journal)
        claude = ClaudeCode(journal, server, workspace)
        for daemon in (server, workspace, claude):
            await daemon.start()
        try:
            found = await claude.plugins.validate(folder)
            unknown = [defect.message for defect in found.defects if "unknown hook event" in defect.message]
            assert len(unknown) == 1, unknown
            assert "NoSuchEvent" in unknown[0]
            assert {hook.event for hook in found.hooks} == EVENTS
            assert [defect.where for defect in found.defects if "Unknown field" in defect.message] == [
                "no_such_key"
            ]
            turn = await claude.prompt("hello", within=30)
            assert turn.init is not None
            assert set(turn.init.tools) <= TOOLS
        finally:
            for daemon in (claude, workspace, server):
                await daemon.stop()

    asyncio.run(main())


@pytest.mark.parametrize("event", sorted(EVENTS))
def test_every_event_has_payloads_that_say_where_and_what(event: str) -> None:
    found = payloads(event, "", SCENE)
    assert found
    assert len({item.name for item in found}) == len(found) or event == "Stop"
    for item in found:
        assert {"session_id", "transcript_path", "cwd", "permission_mode"} <= item.data.keys()
        assert item.data["hook_event_name"] == event
        assert ("tool_input" in item.data) == (event in TOOL_EVENTS)


@pytest.mark.parametrize(
    ("event", "matcher", "names"),
    [
        ("PreToolUse", "Bash", ["Bash"]),
        ("PostToolUse", "Edit|Write", ["Edit", "Write"]),
        ("PreToolUse", "mcp__s__.*", ["mcp__s__look"]),
        ("PreToolUse", "Unheard", ["Unheard"]),
        ("SessionStart", "startup|resume", ["startup", "resume"]),
        ("SessionEnd", "logout", ["logout"]),
        ("PreCompact", "auto", ["auto"]),
        ("SessionStart", "other", ["other"]),
    ],
)
def test_a_matcher_chooses_the_occasions(event: str, matcher: str, names: list[str]) -> None:
    assert [item.name for item in payloads(event, matcher, SCENE)] == names


def test_tables_agree_and_the_nearest_name_is_offered() -> None:
    assert TOOL_EVENTS <= EVENTS
    assert "command" in HOOK_TYPES
    assert "name" in MANIFEST_KEYS
    assert set(FRONT_MATTER) == {"command", "agent", "skill"}
    assert nearest("bash", TOOLS) == ": perhaps Bash"
    assert nearest("PreTool", EVENTS) == ": perhaps PreToolUse"
    assert nearest("zzz", EVENTS) == ""
