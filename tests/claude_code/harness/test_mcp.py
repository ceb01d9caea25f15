"""Category 8 through a client: real servers are started, probed and stopped, stubs take their tools' places."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code.harness._harness import Harness
from soundstage.claude_code.harness._mcp import start_mcp_server, verify_mcp_communication
from soundstage.drivers import isolation_problem
from soundstage.errors import ScriptError
from soundstage.mcp.server import McpOptions, serve_mcp

SCREENSHOT = "mcp__plugin_visual-iteration_browser-tools__screenshot"


def test_a_real_server_is_started_probed_and_stopped(tools: Any, marketplace: Path) -> None:
    plugin = marketplace / "visual-iteration"
    config = {"command": "python3", "args": ["-B", "${CLAUDE_PLUGIN_ROOT}/server/browser_tools.py"]}

    async def body(call: Any) -> None:
        assert "CLAUDE_PLUGIN_ROOT" in await call.bad(
            "start_mcp_server", server_name="browser-tools", server_config=config
        )
        started = await call.good(
            "start_mcp_server", server_name="browser-tools", server_config=config, plugin_root=str(plugin)
        )
        assert started["server_id"].startswith("mcp_browser-tools_")
        assert len(started["server_id"]) == len("mcp_browser-tools_") + 8
        os.kill(started["pid"], 0)
        server = {"server_id": started["server_id"]}
        found = await call.good("verify_mcp_communication", **server)
        assert found["responding"] is True
        assert found["latency_ms"] > 0
        assert found["tools_available"] == len(found["tools"]) >= 3
        stopped = await call.good("stop_mcp_server", **server)
        assert stopped["stopped"] is stopped["cleaned"] is True
        again = await call("stop_mcp_server", **server)
        assert (again["status"], again["stopped"], again["cleaned"]) == (False, False, False)
        gone = await call("verify_mcp_communication", **server)
        assert (gone["status"], gone["responding"]) == ("error", False)

    tools(body)


def test_a_server_that_is_no_server_does_not_respond(tools: Any) -> None:
    async def body(call: Any) -> None:
        dead = {"command": sys.executable, "args": ["-c", "raise SystemExit('no such database')"]}
        started = await call.good("start_mcp_server", server_name="dead", server_config=dead)
        found = await call("verify_mcp_communication", server_id=started["server_id"])
        assert (found["status"], found["responding"]) == ("error", False)
        assert "no such database" in found["error"]
        assert "no command" in await call.bad("start_mcp_server", server_name="x", server_config={})
        missing = {"command": "no-such-program-anywhere"}
        assert "no-such-program" in await call.bad("start_mcp_server", server_name="x", server_config=missing)

    tools(body)


def test_a_stub_serves_under_the_name_of_the_plugins_tool_until_a_reset(
    tools: Any, marketplace: Path
) -> None:
    use = {"name": SCREENSHOT, "arguments": {"url": "http://example.test"}}
    config = {
        "script": [{"tool_calls": [use]}, "I saw it."],
        "plugin_dirs": [str(marketplace / "visual-iteration")],
        "allowed_tools": [SCREENSHOT],
    }

    async def used(call: Any) -> dict[str, Any]:
        started = await call.good("start_conversation", config=config)
        prompted = await call.good("send_prompt", prompt="look", session_id=started["session_id"])
        (found,) = (await call.good("get_response", response_id=prompted["response_id"]))["tool_calls"]
        return dict(found)

    async def body(call: Any) -> None:
        mocked = await call.good(
            "mock_mcp_tool_response", tool_name=SCREENSHOT, mock_response={"image_path": "stub.png"}
        )
        assert (mocked["mock_registered"], mocked["tool_name"]) == (True, SCREENSHOT)
        assert "stub.png" in (await used(call))["result"]
        failing = {"content": [{"type": "text", "text": "no browser"}], "isError": True}
        await call.good("mock_mcp_tool_response", tool_name=SCREENSHOT, mock_response=failing)
        failed = await used(call)
        assert (failed["is_error"], failed["result"]) == (True, "no browser")
        assert "minLength 1" in await call.bad("mock_mcp_tool_response", tool_name="", mock_response={})
        assert "no name" in await call.bad("mock_mcp_tool_response", tool_name="mcp__x", mock_response={})

    tools(body)


def test_a_bare_name_is_a_tool_of_the_only_server(tools: Any, marketplace: Path) -> None:
    async def body(call: Any) -> None:
        alone = await call.good("mock_mcp_tool_response", tool_name="search", mock_response={})
        assert alone["tool_name"] == "mcp__mock__search"
        await call.good("install_plugin", plugin_name="visual-iteration", marketplace_path=str(marketplace))
        found = await call.good("mock_mcp_tool_response", tool_name="screenshot", mock_response={})
        assert found["tool_name"] == SCREENSHOT

    tools(body)


def test_servers_are_kept_apart_as_the_harness_is_told() -> None:
    problem = isolation_problem("sandbox")
    if problem is not None:
        pytest.skip(str(problem))
    code = "import os, sys; sys.exit(f'read-only: {os.statvfs(chr(47)).f_flag & os.ST_RDONLY}')"

    async def main() -> str:
        harness = Harness(isolation="sandbox")
        try:
            config = {"command": sys.executable, "args": ["-c", code]}
            started = await start_mcp_server(harness, server_name="dead", server_config=config)
            return str((await verify_mcp_communication(harness, started["server_id"]))["error"])
        finally:
            await harness.close()

    assert "read-only: 1" in asyncio.run(main())


def test_a_level_that_there_is_not_is_refused_at_the_start() -> None:
    said: list[str] = []
    with pytest.raises(ScriptError, match="there is no isolation level 'chroot'"):
        serve_mcp(McpOptions(http=True, port=0, isolation="chroot"), say=said.append, warn=said.append)
    assert said == []
