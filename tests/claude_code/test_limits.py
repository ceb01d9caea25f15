"""Forks, budgets, faults of the API, MCP servers: what the real CLI makes of them."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.claude_code import PERMISSION_MODES, SessionOptions, bundled_cli
from soundstage.claude_code._binary import TESTED_VERSION, too_old
from soundstage.claude_code._options import arguments
from soundstage.errors import ScriptError, SoundstageError
from soundstage.journal import RunAborted
from soundstage.models import CallSpec

pytestmark = pytest.mark.skipif(
    bundled_cli() is None, reason="needs the Claude Code CLI: pip install 'soundstage[claude]'"
)

Play = Callable[..., Any]
Make = Callable[..., Path]
SERVER = """
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if method == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "adder", "version": "1.2.3"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "add", "description": "adds", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": str(sum(asked["params"]["arguments"]["numbers"]))}]}
    else:
        result = None
    if "id" in asked:
        answer = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
SILENT = "import sys\nfor line in sys.stdin: pass\n"


# --- sessions


def test_a_fork_goes_on_with_the_history_under_an_id_of_its_own(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        first = await run.claude.prompt("remember me", within=30)
        async with await run.claude.open(resume=first.session_id, fork=True) as fork:
            turn = await fork.prompt("who?", within=30)
        assert turn.session_id == fork.id != first.session_id
        assert "remember me" in "\n".join(message.text for message in turn.requests[0].messages)
        assert turn.cost_usd <= turn.result.total_cost_usd
        again = await run.claude.prompt("and you?", within=30)
        assert again.session_id == first.session_id
        assert "who?" not in "\n".join(message.text for message in again.requests[0].messages)

    with_claude(body)


def test_a_resumed_session_counts_its_cost_from_the_beginning_and_a_turn_does_not(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        first = await run.claude.prompt("one", within=30)
        await run.claude.end()
        async with await run.claude.open(resume=first.session_id) as resumed:
            second = await resumed.prompt("two", within=30)
            third = await resumed.prompt("three", within=30)
        assert second.result.total_cost_usd > first.result.total_cost_usd
        assert second.cost_usd == pytest.approx(second.result.total_cost_usd - first.result.total_cost_usd)
        assert third.cost_usd == pytest.approx(third.result.total_cost_usd - second.result.total_cost_usd)

    with_claude(body)


def test_the_permission_mode_of_a_running_session_can_be_changed(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        path = run.workspace.root / "new.txt"
        write = CallSpec(name="Write", arguments={"file_path": str(path), "content": "x"})
        run.script.on(user="/one|two/", iteration=1).reply(tool_calls=[write])
        run.script.on(user="one", times=1).reply(tool_calls=[write])
        run.script.on(user="two", times=1, priority=1).reply(tool_calls=[write])
        assert [use.is_error for use in (await run.claude.prompt("one", within=30)).tool_uses][:1] == [True]
        await run.claude.session.set_permission_mode("acceptEdits")
        turn = await run.claude.prompt("two", within=30)
        assert turn.init.permission_mode == "acceptEdits"
        assert path.read_text() == "x"

    with_claude(body, permission_mode="dontAsk")


# --- limits and faults


def test_a_budget_is_checked_after_it_is_overrun(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="loop").reply(
            tool_calls=[CallSpec(name="Bash", arguments={"command": "true", "description": "d"})]
        )
        turn = await run.claude.prompt("loop", within=30)
        assert (turn.is_error, turn.subtype) == (True, "error_max_budget_usd")
        assert turn.cost_usd > 0.001
        assert len(turn.requests) == 1
        assert [event.reason for event in run.journal.events(RunAborted)] == ["budget"]

    with_claude(body, max_budget_usd=0.001, allowed_tools=["Bash"])


@pytest.mark.parametrize(
    ("status", "word"), [(429, "rate"), (529, "overload"), (401, "auth"), (400, "invalid")]
)
def test_an_error_of_the_api_is_told_by_is_error_and_never_by_the_subtype(
    with_claude: Play, status: int, word: str
) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="first").error(status, f"{word} it is")
        turn = await run.claude.prompt("first", within=30)
        assert (turn.is_error, turn.subtype, turn.result.terminal_reason) == (True, "success", "api_error")
        assert turn.result.api_error_status == status
        assert f"{word} it is" in turn.text

    with_claude(body)


def test_a_stream_that_is_cut_is_asked_for_again_without_a_stream(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        run.script.on(user="go", times=1).fault("cut", "half of an answer", after=1)
        run.script.on(user="go").reply("whole answer")
        turn = await run.claude.prompt("go", within=30)
        assert (turn.text, turn.is_error) == ("whole answer", False)
        assert [request.stream for request in turn.requests] == [True, False]

    with_claude(body)


# --- MCP


def test_servers_are_there_before_the_first_turn_and_their_tools_run(
    with_claude: Play, make_plugin: Make, tmp_path: Path
) -> None:
    files = {
        "server.py": SERVER,
        ".mcp.json": {
            "mcpServers": {"adder": {"command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"]}}
        },
    }
    folder = make_plugin(tmp_path / "demo", files)

    async def body(run: Any) -> None:
        call = CallSpec(name="mcp__plugin_demo_adder__add", arguments={"numbers": [1, 2, 4]})
        run.script.on(user="add", times=1).reply(tool_calls=[call])
        run.script.on(tool_result="7").reply("seven")
        turn = await run.claude.prompt("add", within=30)
        assert turn.text == "seven"
        assert call.name in turn.init.tools
        servers = {server.name: server for server in await run.claude.session.mcp_servers()}
        assert servers["plugin:demo:adder"].status == "connected"
        assert servers["plugin:demo:adder"].version == "1.2.3"
        assert servers["plugin:demo:adder"].tools == ("add",)
        assert servers["plugin:demo:adder"].prefix == "mcp__plugin_demo_adder__"
        assert servers["gone"].status == "failed"
        assert servers["gone"].error

    with_claude(
        body,
        plugin_dirs=[folder],
        mcp_servers={"gone": {"command": "no-such-program"}},
        allowed_tools=["mcp__plugin_demo_adder__add"],
    )


@pytest.mark.parametrize(("nonblocking", "status"), [("0", "connected"), ("1", "pending")])
def test_the_first_turn_waits_for_a_slow_server_only_because_we_say_so(
    with_claude: Play, tmp_path: Path, nonblocking: str, status: str
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "slow.py").write_text(f"open({str(gate)!r}).read()\n{SERVER}")

    async def body(run: Any) -> None:
        turn = asyncio.create_task(run.claude.prompt("hello", within=30))
        if nonblocking == "1":
            await turn  # it goes on without the server, which is let through afterwards
        await asyncio.to_thread(gate.write_text, "go")  # waits until the server is there
        done = await turn
        assert [server["status"] for server in done.init.mcp_servers] == [status]
        assert ("mcp__slow__add" in done.init.tools) == (status == "connected")

    slow = {"command": sys.executable, "args": [str(tmp_path / "slow.py")]}
    wait = {"MCP_CONNECTION_NONBLOCKING": nonblocking, "CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "1"}
    with_claude(body, mcp_servers={"slow": slow}, environment=wait if nonblocking == "1" else {})


def test_a_server_that_never_answers_is_failed_after_its_time(with_claude: Play, tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text(SILENT)

    async def body(run: Any) -> None:
        turn = await run.claude.prompt("hello", within=30)
        assert not turn.is_error
        assert [(server["name"], server["status"]) for server in turn.init.mcp_servers] == [
            ("silent", "failed")
        ]

    silent = {"command": sys.executable, "args": [str(tmp_path / "silent.py")]}
    with_claude(body, mcp_servers={"silent": silent}, mcp_timeout=0.4)


# --- options


def test_options_become_arguments() -> None:
    options = SessionOptions(
        agent="zed",
        agents={"zed": {"prompt": "p"}},
        disallowed_tools=("Bash",),
        max_budget_usd=0.5,
        max_turns=0,
        mcp_servers={"a": {"command": "b"}},
        permission=lambda _: True,
        setting_sources=(),
        resume="old",
        fork=True,
    )
    found = arguments(options, "new")
    pairs = dict(itertools.pairwise(found))
    assert pairs["--agent"] == "zed"
    assert pairs["--agents"] == '{"zed":{"prompt":"p"}}'
    assert pairs["--disallowedTools"] == "Bash"
    assert pairs["--max-budget-usd"] == "0.5"
    assert pairs["--max-turns"] == "0"
    assert pairs["--mcp-config"] == '{"mcpServers":{"a":{"command":"b"}}}'
    assert pairs["--permission-prompt-tool"] == "stdio"
    assert pairs["--setting-sources"] == ""
    assert (pairs["--resume"], pairs["--session-id"]) == ("old", "new")
    assert "--fork-session" in found


@pytest.mark.parametrize("wrong", [{"fork": True}, {"disallowed_tools": "Bash"}, {"permission_mode": "root"}])
def test_options_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ScriptError):
        SessionOptions(**wrong)


def test_without_settings_of_the_user_no_installed_plugin_counts(
    with_claude: Play, make_plugin: Make, make_marketplace: Make, tmp_path: Path
) -> None:
    market = make_marketplace(tmp_path / "market", "demo")
    make_plugin(market / "demo", {"commands/greet.md": "Hello.\n"})

    async def body(run: Any) -> None:
        await run.claude.plugins.install("demo", marketplace=market)
        for sources, there in ((None, True), ((), False)):
            async with await run.claude.open(setting_sources=sources) as session:
                names = [command.name for command in await session.commands()]
                assert ("demo:greet" in names) is there

    with_claude(body)


def test_the_permission_modes_are_those_of_the_cli(with_claude: Play) -> None:
    async def body(run: Any) -> None:
        for mode in PERMISSION_MODES:
            if mode != "bypassPermissions":
                await run.claude.session.set_permission_mode(mode)
        with pytest.raises(SoundstageError, match="set_permission_mode") as refused:
            await run.claude.session.set_permission_mode("root")
        named = sorted(set(PERMISSION_MODES) - {"manual"})  # which it takes, and does not name
        assert str(refused.value).endswith("must be one of " + ", ".join(named))

    with_claude(body)


def test_versions_are_compared_by_their_numbers() -> None:
    assert too_old("2.1.99")
    assert too_old("1.0.999")
    assert not too_old(TESTED_VERSION)
    assert not too_old("3.0.0")
    assert not too_old("")
