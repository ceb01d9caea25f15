"""Programs whose models call tools of MCP servers: both on one tape, replayed without either."""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer

from soundstage.errors import TapeError
from soundstage.tapes import Tape
from soundstage.tapes._accept import accept
from soundstage.tapes._run import RunOptions, run_with_tape

SECRET = "swordfish-0123456789-swordfish"
SERVER = """
import os
from mcp.server.mcpserver import MCPServer
server = MCPServer("counter", version="1")
count = 0

@server.tool()
def bump(by: int) -> str:
    "Count."
    global count
    count += by
    return f"{count} so far. key: {os.environ['COUNTER_API_KEY']}"

server.run()
"""
AGENT = """
import asyncio, json, os, sys
import httpx
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

how, prompt, more = sys.argv[1:]

def ask(messages, tools):
    functions = [{"name": tool.name, "parameters": tool.input_schema} for tool in tools]
    offered = [{"type": "function", "function": function} for function in functions]
    body = {"model": "m", "messages": messages, "tools": offered}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    reply = httpx.post(url, json=body, headers={"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    return reply.json()["choices"][0]["message"] if reply.status_code == 200 else {"content": "no answer"}

async def main():
    http = os.environ["SOUNDSTAGE_MCP_COUNTER_URL"]
    stdio = stdio_client(StdioServerParameters(command="soundstage-mcp-counter"))
    messages = [{"role": "user", "content": prompt}]
    async with Client(http if how == "http" else stdio) as client:
        tools = (await client.list_tools()).tools
        print("tools:", [tool.name for tool in tools])
        while (reply := ask(messages, tools)).get("tool_calls"):
            messages.append(reply)
            for call in reply["tool_calls"]:
                arguments = json.loads(call["function"]["arguments"])
                arguments["by"] += int(more)
                try:
                    text = (await client.call_tool("bump", arguments)).content[0].text
                except Exception as error:
                    text = f"failed: {error}"
                print("result:", text.partition(" key:")[0])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    print(reply["content"])

asyncio.run(main())
"""
SCRIPT = """
rules:
  - when: {tool_result: 5 so far}
    reply: It is five.
  - when: {tool_result: 2 so far}
    reply: {tool_calls: [{name: bump, arguments: {by: 3}}]}
  - when: {user: count}
    reply: {tool_calls: [{name: bump, arguments: {by: 2}}]}
"""
SAID = "tools: ['bump']\nresult: 2 so far.\nresult: 5 so far.\nIt is five.\n"
STDIO = {"counter": {"command": sys.executable, "args": ["server.py"]}}


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """A folder with an agent, its server and a script of its model; the server has a secret."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNTER_API_KEY", SECRET)
    for name, text in {"agent.py": AGENT, "server.py": SERVER, "script.yaml": SCRIPT}.items():
        Path(name).write_text(text)
    return tmp_path


@contextmanager
def server_at_a_url():
    """The SDK's server on loopback, over streamable HTTP; its address."""
    server = MCPServer("counter", version="1")
    count = 0

    @server.tool()
    def bump(by: int) -> str:
        nonlocal count
        count += by
        return f"{count} so far."

    sock = socket.create_server(("127.0.0.1", 0))
    serving = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error"))
    thread = threading.Thread(target=serving.run, args=([sock],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
    finally:
        serving.should_exit = True
        thread.join(10)


def run(how, mode, *, more=0, **options):
    command = (sys.executable, "agent.py", how, "please count", str(more))
    script = Path("script.yaml") if mode != "none" else None
    return run_with_tape(
        RunOptions(Path("t.tape"), command, mode=mode, script=script, isolation="process", **options)
    )


def test_a_program_runs_without_its_models_and_without_its_server_and_a_changed_argument_is_told(
    agent, capfd
):
    recorded = run("stdio", "all", mcp=STDIO)
    assert (recorded.code, recorded.recorded, recorded.mcp_recorded, recorded.problems) == (0, 3, 4, ())
    assert capfd.readouterr().out == SAID
    assert SECRET not in Path("t.tape").read_text()
    assert recorded.redacted == tuple(f"counter, line {number}: a secret in the answer" for number in (3, 4))
    assert {(line.server, line.transport) for line in Tape.load("t.tape").mcp_lines} == {("counter", "stdio")}

    Path("server.py").unlink()
    played = run("stdio", "none")
    assert (played.code, played.played, played.mcp_played, played.verdicts) == (0, 3, 3, ())
    assert capfd.readouterr().out == SAID

    changed = run("http", "none", more=10)
    assert (changed.code, changed.played) == (0, 1)
    assert [verdict.cause for verdict in changed.verdicts] == ["tool call differs", "tool result differs"]
    first = changed.verdicts[0].text().splitlines()
    assert first[0] == ("divergence: tool call differs: counter, bump, arguments.by: recorded 2, seen 12")
    assert "  at: request 2 to the MCP server counter; nearest: MCP line 3 of 4 (t.tape)" in first
    with pytest.raises(TapeError, match="tool call differs"):
        accept(Path("t.tape"))


def test_a_server_at_a_url_is_on_the_same_tape(agent, capfd):
    with server_at_a_url() as url:
        recorded = run("http", "all", mcp={"counter": {"type": "http", "url": url}})
    assert (recorded.code, recorded.recorded, recorded.problems) == (0, 3, ())
    assert recorded.mcp_recorded == len(Tape.load("t.tape").mcp_lines)
    assert {line.transport for line in Tape.load("t.tape").mcp_lines} == {"http"}
    assert capfd.readouterr().out == SAID


def test_a_server_that_the_program_does_not_find_is_told(agent):
    Path("agent.py").write_text("")
    ended = run("http", "all", mcp={"my-notes": {"url": "http://127.0.0.1:9/mcp"}})
    (told,) = ended.problems
    assert "nothing arrived at the MCP server my-notes: let the program start soundstage-mcp-my-notes" in told
    assert "SOUNDSTAGE_MCP_MY_NOTES_URL" in told
