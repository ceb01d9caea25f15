"""Category 1 through a client: plugins are installed, listed and removed by the real CLI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_a_plugin_is_installed_listed_and_removed(tools: Any, marketplace: Path) -> None:
    async def body(call: Any) -> None:
        installed = await call.good(
            "install_plugin", plugin_name="agent-loop", marketplace_path=str(marketplace)
        )
        assert installed["plugin_id"].startswith("agent-loop@")
        assert installed["loaded"] is True
        listed = await call.good("list_plugins")
        assert [plugin["name"] for plugin in listed["plugins"]] == ["agent-loop"]
        assert listed["total"] == 1
        status = await call("get_plugin_status", plugin_name="agent-loop")
        assert (status["status"], status["enabled"]) == ("loaded", True)
        assert "/agent-loop:plan" in (await call.good("list_available_commands"))["commands"]
        removed = await call.good("uninstall_plugin", plugin_name="agent-loop")
        assert (removed["plugin_name"], removed["uninstalled"]) == ("agent-loop", True)
        assert (await call.good("list_plugins"))["plugins"] == []
        assert "/agent-loop:plan" not in (await call.good("list_available_commands"))["commands"]

    tools(body)


def test_what_is_wrong_with_a_plugin_is_an_envelope(tools: Any, marketplace: Path, tmp_path: Path) -> None:
    manifest = marketplace / "agent-loop" / ".claude-plugin" / "plugin.json"
    manifest.write_text('{"name": 3}')

    async def body(call: Any) -> None:
        where = str(marketplace)
        assert "unknown plugin" in await call.bad(
            "install_plugin", plugin_name="agent-lop", marketplace_path=where
        )
        assert "agent-loop" in await call.bad(
            "install_plugin", plugin_name="agent-loop", marketplace_path=where
        )
        assert "no such folder" in await call.bad(
            "install_plugin", plugin_name="x", marketplace_path=str(tmp_path / "nowhere")
        )
        assert "not installed" in await call.bad("uninstall_plugin", plugin_name="epti")
        assert "not installed" in await call.bad("get_plugin_status", plugin_name="epti")
        assert "minLength 1" in await call.bad("install_plugin", plugin_name="")

    tools(body)


def test_a_part_that_does_not_load_is_the_status_of_the_plugin(tools: Any, marketplace: Path) -> None:
    hooks = marketplace / "agent-loop" / "hooks" / "hooks.json"
    hooks.write_text(json.dumps([{"event": "pre-commit"}]))

    async def body(call: Any) -> None:
        installed = await call.good(
            "install_plugin", plugin_name="agent-loop", marketplace_path=str(marketplace)
        )
        assert installed["loaded"] is False
        assert installed["defects"]
        status = await call("get_plugin_status", plugin_name="agent-loop")
        assert status["status"] == "error"
        assert "hooks" in status["error"]

    tools(body)


def test_a_machine_without_the_cli_is_told_what_to_install_and_who_needs_it(tmp_path: Path) -> None:
    import asyncio

    from mcp import Client

    from soundstage.claude_code.harness._harness import Harness
    from soundstage.claude_code.harness._table import TOOLSET
    from soundstage.mcp.server._server import build_server
    from soundstage.mcp.server._toolset import ServerTools

    def make(_: int) -> Harness:
        return Harness(projects=tmp_path, artifacts=tmp_path, cli=tmp_path / "claude")

    async def main() -> None:
        offered = TOOLSET._replace(open=lambda options: make)
        async with Client(build_server(ServerTools([offered]))) as client:
            result = await client.call_tool("list_plugins", {})
            assert result.is_error is True
            assert result.structured_content["status"] == "error"
            error = result.structured_content["error"]
            assert "soundstage[claude]" in error
            assert "needed by: list_plugins" in error

    asyncio.run(main())
