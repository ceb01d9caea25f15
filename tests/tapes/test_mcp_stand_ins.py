"""Stand-ins for the MCP servers of a program: how the real ones are named, and how the program finds the others."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from mcp.shared.exceptions import MCPError

from soundstage.errors import ConfigError, ScriptError, TapeError, UnknownNameError
from soundstage.journal import Journal
from soundstage.mcp import McpHttpClient, McpServer
from soundstage.messages import ModelRequest, ModelResponse, Text, user
from soundstage.tapes import McpTapeLine, Playback, RecordedExchange, RecordingMcpServer, Tape
from soundstage.tapes._commands import record
from soundstage.tapes._fork import Fork
from soundstage.tapes._mcp_stand_ins import McpStandIns, entries_of
from soundstage.tapes._minimise_command import minimise
from soundstage.tapes._recorded_run import recorded_draft
from soundstage.tapes._taped_model import models_of_tape
from support.mcp_clients import connected, running


def test_servers_are_named_with_a_command_a_url_or_a_file(tmp_path):
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"web": {"url": "http://127.0.0.1:1/mcp"}}}))
    found = entries_of(["notes=npx -y 'the notes' --x=1", "far=https://x.example/mcp?a=b", str(file)])
    assert found == {
        "notes": {"command": "npx", "args": ["-y", "the notes", "--x=1"]},
        "far": {"type": "http", "url": "https://x.example/mcp?a=b"},
        "web": {"url": "http://127.0.0.1:1/mcp"},
    }


@pytest.mark.parametrize("given", ["notes", "notes=", "notes='half", "", "missing.json"])
def test_what_names_no_server_is_refused(given):
    with pytest.raises(ConfigError) as caught:
        entries_of([given])
    assert given in str(caught.value)


def test_a_server_is_named_once():
    with pytest.raises(ConfigError, match="notes, twice"):
        entries_of(["notes=a", "notes=b"])


def stand_ins(tape, entries=None, *, playback=None, environment=None):
    return McpStandIns(
        tape,
        Journal(),
        playback=playback,
        entries=entries or {},
        recording=playback is None,
        environment=environment or {},
        cwd=Path.cwd(),
    )


@pytest.mark.parametrize("name", ["", "a b", "-x", "../x", "a/b", "a=b"])
def test_a_name_that_cannot_be_a_command_is_refused(name):
    with pytest.raises(ConfigError, match="no name of an MCP server"):
        stand_ins(Tape(), {name: {"command": "x"}})


def test_names_with_one_variable_are_refused_and_so_is_an_entry_that_is_none():
    with pytest.raises(ConfigError, match=r"a-b and a_b: SOUNDSTAGE_MCP_A_B_URL"):
        stand_ins(Tape(), {"a-b": {"command": "x"}, "a_b": {"command": "x"}})
    with pytest.raises(ScriptError, match="has no command"):
        stand_ins(Tape(), {"notes": {}})


def played_tape():
    answer = {"content": [{"type": "text", "text": "tomatoes"}]}
    params = {"name": "search", "arguments": {}}
    return Tape(
        mcp_lines=[
            McpTapeLine(number=1, server="my-notes", method="tools/call", params=params, result=answer)
        ]
    )


def test_a_replay_has_the_servers_of_its_tape_and_refuses_another():
    tape = played_tape()
    with pytest.raises(TapeError, match="nothing of an MCP server 'web'"):
        stand_ins(tape, {"web": {"command": "x"}}, playback=Playback(tape))


def test_a_program_finds_a_server_by_variable_by_command_and_by_configuration():
    tape = played_tape()
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}

    async def main():
        servers = stand_ins(tape, playback=Playback(tape), environment={"PATH": "/usr/bin:/bin"})
        assert servers.environment() == {}
        async with running(servers):
            found = servers.environment()
            config = json.loads(found["SOUNDSTAGE_MCP_CONFIG"])["mcpServers"]
            assert list(config) == ["my-notes"]
            assert found["PATH"].endswith(":/usr/bin:/bin")
            command = await asyncio.create_subprocess_exec(
                "/usr/bin/env",
                "soundstage-mcp-my-notes",
                env={"PATH": found["PATH"]},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            command.stdin.write(json.dumps(hello).encode() + b"\n")
            answer = json.loads(await command.stdout.readline())
            assert answer["result"]["serverInfo"]["name"] == "my-notes"
            command.stdin.close()
            assert await command.wait() == 0
            assert servers.url("my-notes") == found["SOUNDSTAGE_MCP_MY_NOTES_URL"]
            with pytest.raises(UnknownNameError, match="my-notes"):
                servers.url("my-note")
            folder = Path(found["PATH"].split(":")[0])
            assert servers.reads[0] == folder
        assert not folder.exists()
        return found["SOUNDSTAGE_MCP_MY_NOTES_URL"]

    assert asyncio.run(main()).startswith("http://127.0.0.1:")


def test_what_is_on_the_tape_is_played_and_the_rest_is_asked_and_recorded():
    tape = played_tape()

    async def main():
        real = McpServer(Journal(), name="real")
        real.tool("search", returns="basil")
        async with running(real):
            recording = RecordingMcpServer(
                Journal(), McpHttpClient(real.url), tape, name="my-notes", playback=Playback(tape)
            )
            async with running(recording), connected(recording) as (client, _):
                answers = [await client.call_tool("search", {}) for _ in "ab"]
        return [answer.content[0].text for answer in answers], len(real.calls("search")), recording.recorded

    answers, asked, recorded = asyncio.run(main())
    assert (answers, asked) == (["tomatoes", "basil"], 1)
    assert [line.method for line in tape.mcp_lines][-1:] == ["tools/call"]
    assert recorded == len(tape.mcp_lines) - 1


def test_the_command_record_refuses_a_server_that_is_none(tmp_path):
    with pytest.raises(ConfigError, match="no MCP server"):
        record(["true"], tmp_path / "t.tape", mcp=["notes"])
    assert not (tmp_path / "t.tape").exists()


def forked_tape():
    """A tape of a model call, with a server that was greeted, searched, and told something behind its answer."""
    asked = ModelRequest(model="m", messages=(user("soup?"),))
    line = {"server": "my-notes", "transport": "stdio"}
    found = {"content": [{"type": "text", "text": "tomatoes"}]}
    greeting = {"capabilities": {"tools": {}}, "serverInfo": {"name": "n", "version": "1"}}
    search = {"name": "search", "arguments": {"q": "soup"}}
    lines = [
        McpTapeLine(number=1, method="initialize", result=greeting, **line),
        McpTapeLine(number=2, method="tools/call", params=search, result=found, **line),
        McpTapeLine(number=3, kind="told", method="notifications/tools/list_changed", **line),
    ]
    return Tape(
        [RecordedExchange(number=1, request=asked, response=ModelResponse(parts=(Text(text="search"),)))],
        mcp_lines=lines,
        name="soup.tape",
    )


def on_a_fork(question, *, real=None, change="llm.reply=look it up"):
    """Ask the server of a tape that is left; the answer or error, the fork, the branch, the stand-ins' problems."""
    fork = Fork(forked_tape(), 1, change)
    branch = fork.branch()

    async def main():
        entries = {"my-notes": {"url": real.url}} if real is not None else {}
        servers = McpStandIns(
            fork.playback.tape,
            Journal(),
            playback=fork.playback,
            entries=entries,
            recording=True,
            environment={},
            cwd=Path.cwd(),
            branch=branch,
        )
        async with running(servers), connected(servers._named("my-notes")) as (client, _):
            try:
                answer = await client.call_tool("search", {"q": question})
            except MCPError as error:
                return str(error), servers.problems
            return answer.content[0].text, servers.problems

    if real is None:
        return *asyncio.run(main()), fork, branch

    async def with_real():
        async with running(real):
            return await main()

    return *asyncio.run(with_real()), fork, branch


@pytest.mark.parametrize("change", ["llm.reply=look it up", "llm.system=Be brief."])
def test_a_fork_plays_the_servers_of_its_tape_and_its_branch_has_them_each_line_once(change):
    answer, problems, fork, branch = on_a_fork("soup", change=change)
    assert (answer, problems) == ("tomatoes", ())
    assert [msgspec.structs.replace(line, number=0) for line in branch.mcp_lines] == [
        msgspec.structs.replace(line, number=0) for line in fork.playback.tape.mcp_lines
    ]
    assert fork.playback.verdicts == []


def test_a_fork_asks_the_real_server_for_what_its_tape_has_not_and_the_branch_has_the_answer():
    real = McpServer(Journal(), name="real")
    real.tool("search", returns="basil")
    answer, problems, fork, branch = on_a_fork("herbs", real=real)
    assert (answer, problems, len(real.calls("search"))) == ("basil", (), 1)
    asked = [line.params["arguments"] for line in branch.mcp_lines if line.method == "tools/call"]
    assert asked == [{"q": "herbs"}]
    assert len(fork.playback.tape.mcp_lines) == 3  # the tape that was left stays as it is


def test_a_fork_without_the_real_server_tells_what_its_tape_has_not():
    answer, _, fork, branch = on_a_fork("herbs")
    assert "not on the tape" in answer
    assert [verdict.cause for verdict in fork.playback.verdicts] == ["tool call differs"]
    assert [line.method for line in branch.mcp_lines] == ["initialize"]


def refuses(tape):
    """Ways to run a program on a tape that have no servers for it."""
    program = [sys.executable, "-c", "raise SystemExit('it was started')"]
    return {
        "minimise": lambda: minimise(tape, program),
        "faults": lambda: models_of_tape(tape),
        "codegen": lambda: recorded_draft(program, (), tape=tape),
    }


@pytest.mark.parametrize("way", ["minimise", "faults", "codegen"])
def test_a_way_that_has_no_servers_for_the_program_refuses_a_tape_with_servers(way, tmp_path):
    path = tmp_path / "soup.tape"
    forked_tape().save(path)
    with pytest.raises(TapeError, match=r"soup\.tape with lines of my-notes"):
        refuses(path)[way]()
