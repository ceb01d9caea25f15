"""A real server is recorded, and the tape is played in its place."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from soundstage.errors import TapeError
from soundstage.journal import Journal, Redactor
from soundstage.mcp import (
    McpHttpClient,
    McpMismatched,
    McpProcess,
    McpServer,
    McpToolReturned,
)
from soundstage.tapes import (
    DivergenceError,
    McpTapeLine,
    RecordingMcpServer,
    ReplayMcpServer,
    Tape,
)
from soundstage.testing import InboxProbe, verify_world
from support.mcp_clients import connected as connect
from support.mcp_clients import rejected as refused
from support.mcp_clients import running as run_server

SDK_SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("counter", version="1", instructions="count")
count = 0

@server.tool()
def bump(by: int) -> int:
    "Count."
    global count
    count += by
    return count

@server.resource("counter://now")
def now() -> str:
    return str(count)

server.run()
"""


def texts(result):
    return [block.text for block in result.content]


def real_server(kind, journal):
    """A real server as a process, or a server of ours at a URL that plays one."""
    if kind == "process":
        entry = {"command": sys.executable, "args": ["-c", SDK_SERVER]}
        return McpProcess(entry, journal, name="real"), None
    server = McpServer(Journal(), name="counter", instructions="count")
    count = 0

    @server.function
    def bump(by: int) -> int:
        """Count."""
        nonlocal count
        count += by
        return count

    server.resource("counter://now", "3")
    return None, server


async def talk(server, *, transport="http", calls=(1, 2)):
    """Everything that a client sees of a server that counts."""
    async with connect(server, transport) as (client, _):
        seen = [client.instructions, [tool.name for tool in (await client.list_tools()).tools]]
        seen += [texts(await client.call_tool("bump", {"by": by})) for by in calls]
        seen.append((await client.read_resource("counter://now")).contents[0].text)
        wrong = await client.call_tool("bump", {"by": "x"})
        seen.append(wrong.is_error)
        return seen


SEEN = ["count", ["bump"], ["1"], ["3"], "3", True]


@pytest.fixture(params=["process", "url"])
def recorded(request, tmp_path):
    """The path of a tape, with what was seen when it was recorded."""
    path = tmp_path / "tapes" / "counter.jsonl"
    journal = Journal()

    async def main():
        process, server = real_server(request.param, journal)
        if server is not None:
            await server.start()
        upstream = process or McpHttpClient(server.url)
        async with run_server(RecordingMcpServer(journal, upstream, path, name="counter")) as recording:
            seen = await talk(recording, transport="stdio")
        if server is not None:
            await server.stop()
        return seen

    return path, asyncio.run(main()), journal


def test_a_client_sees_the_real_server_and_the_tape_can_be_read(recorded):
    path, seen, journal = recorded
    assert seen == SEEN
    head, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert head["line"] == "tape"
    assert {(line["line"], line["server"]) for line in lines} == {("mcp", "counter")}
    assert [line["method"] for line in lines] == [
        "initialize",
        "tools/list",
        "tools/call",
        "tools/call",
        "resources/read",
        "tools/call",
    ]
    assert lines[2]["params"] == {"name": "bump", "arguments": {"by": 1}}
    assert lines[2]["result"]["content"][0]["text"] == "1"
    assert all(line["latency_ms"] >= 0 for line in lines)
    returned = [event for event in journal.events(McpToolReturned) if event.outcome == "result"]
    assert [event.served_by for event in returned] == ["the real server"] * 2


@pytest.mark.parametrize("strict", [True, False])
def test_a_replay_cannot_be_told_from_the_recording(recorded, strict):
    path, seen, _ = recorded

    async def main():
        async with run_server(ReplayMcpServer(Journal(), path, strict=strict, name="counter")) as replay:
            assert await talk(replay) == seen
            assert (replay.unplayed, replay.verdicts) == ((), ())

    asyncio.run(main())


def exchange(number, by, text):
    params = {"name": "bump", "arguments": {"by": by}}
    return McpTapeLine(
        number=number,
        server="mcp",
        method="tools/call",
        params=params,
        result={"content": [{"type": "text", "text": text}]},
    )


TAPE = [exchange(1, 1, "one"), exchange(2, 2, "two")]


def test_strict_calls_may_come_in_any_order_but_only_as_often_as_recorded():
    async def main():
        replay = ReplayMcpServer(Journal(), Tape(mcp_lines=TAPE), strict=True)
        with pytest.raises(DivergenceError, match="divergence: already played: mcp, bump"):
            async with run_server(replay), connect(replay) as (client, _):
                answers = [texts(await client.call_tool("bump", {"by": by})) for by in (2, 1)]
                assert answers == [["two"], ["one"]]
                error = await refused(client.call_tool("bump", {"by": 1}))
                assert error.message.startswith("not on the tape: divergence: already played: mcp, bump")
        return replay

    replay = asyncio.run(main())
    assert [verdict.cause for verdict in replay.verdicts] == ["already played"]
    assert [event.reason for event in replay.journal.events(McpMismatched)] == [replay.verdicts[0].line]


def test_a_strict_miss_says_what_was_recorded_instead():
    async def main():
        replay = ReplayMcpServer(Journal(), Tape(mcp_lines=TAPE), strict=True)
        async with run_server(replay), connect(replay) as (client, _):
            await refused(client.call_tool("bump", {"by": 7}))

    with pytest.raises(
        DivergenceError, match=r"tool call differs: mcp, bump, arguments.by: recorded 1, seen 7"
    ):
        asyncio.run(main())


def test_a_relaxed_miss_gets_the_next_answer_of_the_tool_and_is_on_record():
    async def main():
        replay = ReplayMcpServer(Journal(), Tape(mcp_lines=TAPE))
        async with run_server(replay), connect(replay) as (client, _):
            answers = [texts(await client.call_tool("bump", {"by": by})) for by in (7, 2, 8, 2)]
            assert answers == [["one"], ["two"], ["two"], ["two"]]
            await refused(client.call_tool("other"))
            assert [tool.name for tool in (await client.list_tools()).tools] == ["bump"]
            assert (await refused(client.read_resource("counter://now"))).code == -32603
        return replay

    replay = asyncio.run(main())
    assert [(event.method, event.played) for event in replay.journal.events(McpMismatched)] == [
        ("tools/call", 1),
        ("tools/call", 2),
        ("tools/call", 2),
        ("tools/call", 0),
        ("resources/read", 0),
    ]
    assert [verdict.cause for verdict in replay.verdicts] == [
        "tool call differs",
        "extra call",
        "already played",
        "extra call",
        "extra call",
    ]


def test_what_the_real_server_tells_is_passed_on_recorded_and_told_again(tmp_path):
    path = tmp_path / "tape.jsonl"

    async def record():
        real = McpServer(Journal(), name="real")
        real.tool("search", description="old", returns="x")
        async with run_server(real):
            async with run_server(RecordingMcpServer(Journal(), McpHttpClient(real.url), path)) as recording:
                async with connect(recording) as (client, told):
                    await client.call_tool("search")
                    real.change_tool("search", description="new")
                    assert await told.get() == "notifications/tools/list_changed"
                    assert (await client.list_tools()).tools[0].description == "new"

    async def replay():
        async with run_server(ReplayMcpServer(Journal(), path, strict=True)) as server:
            async with connect(server) as (client, told):
                await client.call_tool("search")
                assert await told.get() == "notifications/tools/list_changed"
                assert (await client.list_tools()).tools[0].description == "new"

    asyncio.run(record())
    assert [json.loads(line).get("kind") for line in path.read_text().splitlines()[1:]] == [
        None,
        None,
        None,
        "told",
        None,
    ]
    asyncio.run(replay())


def test_errors_are_recorded_and_replayed_and_what_a_dead_server_does_is_not(
    tmp_path,
):
    path = tmp_path / "tape.jsonl"

    async def record():
        real = McpServer(Journal(), name="real")
        real.on_tool("search").rejects(-32050, "quota")
        await real.start()
        async with run_server(RecordingMcpServer(Journal(), McpHttpClient(real.url), path)) as recording:
            async with connect(recording) as (client, _):
                assert (await refused(client.call_tool("search"))).code == -32050
                await real.stop()
                assert (await refused(client.call_tool("search", {"again": True}))).code == -32603

    async def replay():
        async with run_server(ReplayMcpServer(Journal(), path)) as server, connect(server) as (client, _):
            error = await refused(client.call_tool("search"))
            assert (error.code, error.message) == (-32050, "quota")

    asyncio.run(record())
    assert [line.method for line in Tape.load(path).mcp_lines] == ["initialize", "tools/call"]
    asyncio.run(replay())


def test_no_secret_reaches_a_tape(tmp_path):
    path = tmp_path / "tape.jsonl"
    journal = Journal(redactor=Redactor(["hunter2-hunter2"]))

    async def main():
        real = McpServer(Journal(), name="real")
        real.function(lambda key: {"your key": key}, name="login")
        async with run_server(real):
            upstream = McpHttpClient(real.url, headers={"authorization": "Bearer hunter2-hunter2"})
            async with run_server(RecordingMcpServer(journal, upstream, path)) as recording:
                async with connect(recording) as (client, _):
                    result = await client.call_tool("login", {"key": "hunter2-hunter2"})
                    assert "hunter2" in texts(result)[0]

    asyncio.run(main())
    assert "hunter2" not in path.read_text()
    assert Tape.load(path).mcp_lines[1].params["arguments"] == {"key": "[redacted]"}


def test_one_tool_of_a_real_server_can_be_replaced():
    async def main():
        real = McpServer(Journal(), name="real")
        real.tool("search", returns="real")
        real.tool("delete", returns="really deleted")
        async with run_server(real):
            async with run_server(RecordingMcpServer(Journal(), McpHttpClient(real.url))) as proxy:
                proxy.stub("delete", "nothing happened")
                proxy.stub("extra", {"n": 1})
                async with connect(proxy) as (client, told):
                    names = [tool.name for tool in (await client.list_tools()).tools]
                    assert names == ["search", "delete", "extra"]
                    answers = [texts(await client.call_tool(name)) for name in names]
                    assert answers == [["real"], ["nothing happened"], ['{"n":1}']]
                    proxy.unstub()
                    assert await told.get() == "notifications/tools/list_changed"
                    assert texts(await client.call_tool("delete")) == ["really deleted"]
                assert real.calls("delete")[0].arguments == {}
                assert len(proxy.tape.mcp_lines) > 0

    asyncio.run(main())


def test_a_tape_without_the_server_is_refused_with_those_that_it_has():
    with pytest.raises(TapeError, match=r"nothing of an MCP server 'notes'(.|\n)*expected: 'mcp'"):
        ReplayMcpServer(Journal(), Tape(mcp_lines=TAPE), name="notes")


def test_a_replay_keeps_what_worlds_guarantee():
    async def use(server):
        async with connect(server) as (client, _):
            await client.call_tool("bump", {"by": 1})

    async def calls(server, text, source):
        async with connect(server) as (client, _):
            server.stub(("bump", "reset")[source], "done")
            await client.call_tool(("bump", "reset")[source], {"by": text})

    async def expects(server, text, source, within):
        await server.expect(("bump", "reset")[source], arguments={"by": text}, within=within)

    probe = InboxProbe(calls, expects, ordered=False)
    asyncio.run(verify_world(lambda journal: ReplayMcpServer(journal, Tape(mcp_lines=TAPE)), use, probe))
