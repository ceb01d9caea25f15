"""Real servers as processes: the SDK's own, and programs that are none."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from soundstage.clock import IdSource
from soundstage.drivers import isolation_problem
from soundstage.errors import AppError, EnvironmentProblem, InvalidStateError, ScriptError
from soundstage.journal import EgressTried, Journal, MessageSent, ProcessExited, ProcessStarted
from soundstage.mcp import McpProbed, McpProcess, McpStopped, RpcError, start_mcp_server
from soundstage.testing import verify_daemon

SDK_SERVER = """
import os, sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("calculator", version="3.1")
print("calculator starts", file=sys.stderr)

@server.tool()
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

@server.tool()
def variable(name: str) -> str:
    return os.environ.get(name, "none")

@server.tool()
def crash() -> str:
    os._exit(3)

server.run()
"""


REFUSES = """
import sys
print('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"not today"}}', flush=True)
sys.stdin.read()
"""

LEAVES = """
import json, socket, sys

for line in sys.stdin:
    asked = json.loads(line)
    try:
        socket.create_connection(("192.0.2.7", 4711), timeout=5)
        said = "it got out"
    except OSError as error:
        said = type(error).__name__
    result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": said, "version": ""}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
    break
sys.stdin.read()
"""


def config(code, **more):
    return {"command": sys.executable, "args": ["-c", code], **more}


def play(body, *args, **options):
    """Run `body(server)` with a server that has started; nothing of it is left. Returns its result."""
    journal = Journal()

    async def main():
        server = await start_mcp_server("calculator", *args, journal, **options)
        try:
            return await body(server)
        finally:
            await server.stop()

    return asyncio.run(main()), journal


def exists(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_real_server_is_started_probed_called_and_stopped():
    async def body(server):
        started = server.started
        assert (started.id, started.name) == (f"mcp_calculator_{IdSource().hex(8)}", "calculator")
        assert exists(started.pid)
        probe = await server.probe(within=20)
        assert (probe.responding, probe.tools, probe.tool_count) == (True, ("add", "variable", "crash"), 3)
        assert (probe.server, probe.error, probe.id) == ("calculator 3.1", "", started.id)
        assert probe.latency_ms > 1
        again = await server.probe()
        assert 0 < again.latency_ms < probe.latency_ms
        result = await server.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
        assert result["structuredContent"] == {"result": 3}
        with pytest.raises(RpcError) as caught:
            await server.request("no/such")
        assert caught.value.code == -32601
        ended = await server.end()
        assert (ended.id, ended.stopped, ended.cleaned) == (started.id, True, True)
        assert not exists(started.pid)
        assert (await server.end()).stopped

    _, journal = play(body, config(SDK_SERVER))
    [first, second] = journal.events(McpProbed)
    assert (first.responding, first.tools) == (True, ("add", "variable", "crash"))
    assert "responds: 3 tools" in str(second)
    assert "calculator starts" in [event.text for event in journal.events(MessageSent)]
    assert [len(journal.events(kind)) for kind in (ProcessStarted, ProcessExited)] == [1, 1]


def test_variables_come_from_the_entry_and_from_the_caller_and_from_nowhere_else(monkeypatch):
    monkeypatch.setenv("OURS", "secret")

    async def body(server):
        await server.handshake(within=20)
        found = {}
        for name in ("OWN", "ROOT", "OURS", "FALLBACK"):
            result = await server.request("tools/call", {"name": "variable", "arguments": {"name": name}})
            found[name] = result["content"][0]["text"]
        return found

    env = {"OWN": "${CLAUDE_PLUGIN_ROOT}/x", "FALLBACK": "${NOTHING:-default}"}
    found, _ = play(
        body, config(SDK_SERVER, env=env), environment={"CLAUDE_PLUGIN_ROOT": "/plugin", "ROOT": "r"}
    )
    assert found == {"OWN": "/plugin/x", "ROOT": "r", "OURS": "none", "FALLBACK": "default"}


def test_a_server_that_crashes_in_a_call_is_named_with_its_exit_code_and_last_words():
    async def body(server):
        await server.handshake(within=20)
        with pytest.raises(AppError, match=r"exit code 3(.|\n)*calculator starts"):
            await server.request("tools/call", {"name": "crash"})
        probe = await server.probe()
        assert (probe.responding, "exit code 3" in probe.error) == (False, True)

    _, journal = play(body, config(SDK_SERVER))
    assert [event.code for event in journal.events(ProcessExited)] == [3]


def test_a_server_that_ignores_the_proxy_is_refused_and_recorded_in_a_network_of_its_own():
    problem = isolation_problem("netns")
    if problem is not None:
        pytest.skip(str(problem))

    async def body(server):
        return await server.handshake(within=20)

    greeting, journal = play(body, config(LEAVES), isolation="netns")
    assert greeting["serverInfo"]["name"] == "ConnectionRefusedError"
    assert journal.events(EgressTried) == [EgressTried(host="192.0.2.7", port=4711, method="tcp")]


def test_an_isolation_level_that_does_not_exist_is_refused_by_its_name():
    with pytest.raises(ScriptError, match="there is no isolation level 'chroot'"):
        McpProcess({"command": "x"}, Journal(), isolation="chroot")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; sys.exit('no licence')", "no licence"),
        ("import sys; sys.stdin.read()", "did not answer initialize within 0.2 s"),
        ("print('hello'); import sys; sys.stdin.read()", "did not answer initialize within 0.2 s"),
        (REFUSES, "not today"),
    ],
)
def test_a_program_that_is_no_server_does_not_respond_and_the_probe_says_why(code, reason):
    async def body(server):
        return await server.probe(within=5 if "licence" in reason or "today" in reason else 0.2)

    probe, journal = play(body, config(code))
    assert not probe.responding
    assert reason in probe.error
    assert probe.tools == ()
    assert journal.events(McpProbed)[0].error == probe.error


def test_lines_that_are_no_messages_are_in_the_journal():
    async def body(server):
        await server.journal.wait_for(lambda event: "hello" in str(event), within=10)

    _, journal = play(body, config("print('hello', flush=True); import sys; sys.stdin.read()"))
    assert [(event.text, event.channel) for event in journal.events(MessageSent)] == [("hello", "stdout")]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "has no command"),
        ({"command": ""}, "has no command"),
        ({"url": "http://127.0.0.1:1/mcp"}, "use McpHttpClient"),
        ({"command": "x", "args": "y"}, "no text"),
        ({"command": "x", "args": [1]}, "no text"),
        ({"command": "x", "env": {"A": 1}}, "no text"),
        ({"command": "${NOTHING}/x"}, "needs the variable NOTHING"),
    ],
)
def test_an_entry_that_cannot_be_run_is_refused(entry, message):
    with pytest.raises(ScriptError, match=message):
        McpProcess(entry, Journal())


def test_a_program_that_is_not_there_cannot_be_started_and_leaves_nothing():
    with pytest.raises(EnvironmentProblem, match="no-such-program"):
        play(None, {"command": "no-such-program"})


def test_before_the_start_nothing_can_be_asked():
    async def main():
        server = McpProcess({"command": "x"}, Journal())
        with pytest.raises(InvalidStateError):
            await server.probe()
        assert await server.end() == McpStopped(id=server.id, stopped=True, cleaned=True)

    asyncio.run(main())


def test_it_keeps_what_daemons_guarantee():
    entry = config("import sys; sys.stdin.read()")
    asyncio.run(verify_daemon(lambda journal: McpProcess(entry, journal)))


def test_programs_that_are_no_servers_are_driven_without_loading_what_servers_need():
    code = "import sys, soundstage.drivers as d; d.Command; print('soundstage.mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
