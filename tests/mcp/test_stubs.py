"""Stubs under the names that an agent knows."""

from __future__ import annotations

import asyncio
import json

import pytest

from soundstage.claude_code import ClaudeCode, bundled_cli
from soundstage.errors import InvalidStateError, ScriptError
from soundstage.journal import EgressTried, Journal, ModelRequested
from soundstage.lifecycle import Supervisor
from soundstage.mcp import (
    McpServer,
    McpStubs,
    claude_tool,
    mcp_json,
    server_entries,
    split_claude_tool,
)
from soundstage.models import CallSpec, Script, ScriptedModel
from soundstage.testing import verify_daemon
from soundstage.wire import ModelServer
from soundstage.worlds import Workspace

SHOT = claude_tool("browser-tools", "screenshot", plugin="visual-iteration")


def test_names_of_claude_code_are_made_and_taken_apart():
    assert SHOT == "mcp__plugin_visual-iteration_browser-tools__screenshot"
    assert split_claude_tool(SHOT) == ("plugin_visual-iteration_browser-tools", "screenshot")
    assert split_claude_tool("mcp__notes__a__b") == ("notes", "a__b")
    assert claude_tool("my server", "x") == "mcp__my_server__x"
    for wrong in ("Read", "mcp__notes", "mcp____x", ""):
        with pytest.raises(ScriptError, match="mcp__<server>__<tool>"):
            split_claude_tool(wrong)


def test_entries_of_a_file_with_and_without_the_wrapper():
    entry = {"command": "x"}
    assert server_entries({"mcpServers": {"a": entry}}) == server_entries({"a": entry}) == {"a": entry}
    with pytest.raises(ScriptError, match=r"no \.mcp\.json"):
        server_entries({"mcpServers": [entry]})


def test_the_text_of_a_file_for_several_servers(run_server):
    async def main():
        async with run_server(McpServer(Journal(), name="one")) as one:
            async with run_server(McpServer(Journal(), name="two")) as two:
                over_http = json.loads(mcp_json(one, two, transport="http"))["mcpServers"]
                assert over_http == {
                    name: {"type": "http", "url": s.url} for name, s in (("one", one), ("two", two))
                }
                over_stdio = json.loads(mcp_json(one))["mcpServers"]["one"]
                assert set(over_stdio) == {"command", "args", "env"}
                with pytest.raises(ScriptError, match="different names"):
                    mcp_json(one, one)
                with pytest.raises(ScriptError, match="stdio or http"):
                    mcp_json(one, transport="pigeon")

    asyncio.run(main())


def test_stubs_are_set_changed_called_and_cleared(connect):
    async def main():
        stubs = McpStubs(Journal())
        with pytest.raises(InvalidStateError, match="start it first"):
            await stubs.set(SHOT, "x")
        await stubs.start()
        try:
            with pytest.raises(ScriptError):
                await stubs.set("", "x")
            assert await stubs.set(SHOT, {"saved": "shot.png"}) == SHOT
            assert (
                await stubs.set("click", error="no such button", server="plugin_a_b")
                == "mcp__plugin_a_b__click"
            )
            await stubs.set("mcp__plugin_a_b__type", lambda arguments: arguments["text"].upper())
            assert stubs.tools == (SHOT, "mcp__plugin_a_b__click", "mcp__plugin_a_b__type")
            servers = {
                name: entry["url"]
                for name, entry in json.loads(stubs.mcp_json(transport="http"))["mcpServers"].items()
            }
            assert set(servers) == {"plugin_visual-iteration_browser-tools", "plugin_a_b"}
            server = stubs._servers["plugin_a_b"]
            async with connect(server) as (client, told):
                assert (await client.call_tool("click")).is_error
                assert (await client.call_tool("type", {"text": "hi"})).content[0].text == "HI"
                await stubs.set("mcp__plugin_a_b__click", "clicked")
                assert (await client.call_tool("click")).content[0].text == "clicked"
                assert len(stubs.calls("mcp__plugin_a_b__click")) == 2
                assert len(stubs.calls()) == 3
                stubs.clear()
                assert await told.get() == "notifications/tools/list_changed"
                assert (await client.list_tools()).tools == []
            assert stubs.tools == ()
        finally:
            await stubs.stop()

    asyncio.run(main())


def test_a_registry_keeps_what_daemons_guarantee():
    asyncio.run(verify_daemon(McpStubs))


PLUGIN = {
    ".claude-plugin/plugin.json": {"name": "visual-iteration", "version": "1.0.0", "description": "x"},
    ".mcp.json": {"browser-tools": {"command": "no-such-browser", "args": []}},
}


@pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)
def test_the_stub_takes_the_place_of_a_plugins_tool_in_the_real_cli(tmp_path):
    for name, content in PLUGIN.items():
        path = tmp_path / "visual-iteration" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    journal = Journal()

    async def main():
        script, workspace, stubs = Script(), Workspace(journal), McpStubs(journal)
        model = ModelServer(ScriptedModel(script), journal)
        outside = Supervisor([model, workspace, stubs], clock=journal.clock)
        await outside.start()
        try:
            await stubs.set(SHOT, {"saved": "shot.png"})
            claude = ClaudeCode(
                journal,
                model,
                workspace,
                plugin_dirs=(tmp_path / "visual-iteration",),
                environment=stubs.environment(),
                allowed_tools=stubs.tools,
                extra_args=("--mcp-config", stubs.mcp_json()),
            )
            await claude.start()
            try:
                script.on(user="look", step=1).reply(
                    tool_calls=[CallSpec(name=SHOT, arguments={"page": "/"})]
                )
                script.on(tool_result="shot.png").reply("seen")
                turn = await claude.prompt("look at the page", within=40)
                assert (turn.text, [use.name for use in turn.tool_uses]) == ("seen", [SHOT])
            finally:
                await claude.stop()
            assert [call.arguments for call in stubs.calls(SHOT)] == [{"page": "/"}]
        finally:
            await outside.stop()

    asyncio.run(main())
    assert SHOT in [tool.name for tool in journal.events(ModelRequested)[0].request.tools]
    assert journal.events(EgressTried) == []
