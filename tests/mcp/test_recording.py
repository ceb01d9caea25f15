"""A real server is recorded, and the tape is played in its place."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from soundstage.errors import EnvironmentProblem, ReplayMismatchError, TapeError
from soundstage.journal import Journal, Redactor
from soundstage.mcp import (
    McpHttpClient,
    McpMismatched,
    McpProcess,
    McpServer,
    McpTape,
    McpTapeLine,
    McpToolReturned,
    RecordingMcpServer,
    ReplayMcpServer,
)
from soundstage.testing import InboxProbe, verify_world

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


async def talk(connect, server, *, transport="http", calls=(1, 2)):
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
def recorded(request, tmp_path, connect, run_server):
    """The path of a tape, with what was seen when it was recorded."""
    path = tmp_path / "tapes" / "counter.jsonl"
    journal = Journal()

    async def main():
        process, server = real_server(request.param, journal)
        if server is not None:
            await server.start()
        upstream = process or McpHttpClient(server.url)
        async with run_server(RecordingMcpServer(journal, upstream, path, name="counter")) as recording:
            seen = await talk(connect, recording, transport="stdio")
        if server is not None:
            await server.stop()
        return seen

    return path, asyncio.run(main()), journal


def test_a_client_sees_the_real_server_and_the_tape_can_be_read(recorded):
    path, seen, journal = recorded
    assert seen == SEEN
    lines = [json.loads(line) for line in path.read_text().splitlines()]
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
def test_a_replay_cannot_be_told_from_the_recording(recorded, connect, run_server, strict):
    path, seen, _ = recorded

    async def main():
        async with run_server(ReplayMcpServer(Journal(), path, strict=strict, name="counter")) as replay:
            assert await talk(connect, replay) == seen
            assert (replay.unplayed, replay.mismatches) == ((), [])

    asyncio.run(main())


def exchange(number, by, text):
    params = {"name": "bump", "arguments": {"by": by}}
    return McpTapeLine(
        number=number,
        method="tools/call",
        params=params,
        result={"content": [{"type": "text", "text": text}]},
    )


TAPE = [exchange(1, 1, "one"), exchange(2, 2, "two")]


def test_strict_calls_may_come_in_any_order_but_only_as_often_as_recorded(connect, run_server, refused):
    async def main():
        replay = ReplayMcpServer(Journal(), McpTape(TAPE), strict=True)
        with pytest.raises(ReplayMismatchError, match="has been played already"):
            async with run_server(replay), connect(replay) as (client, _):
                answers = [texts(await client.call_tool("bump", {"by": by})) for by in (2, 1)]
                assert answers == [["two"], ["one"]]
                error = await refused(client.call_tool("bump", {"by": 1}))
                assert error.message == "not on the tape: tools/call"
        return replay

    replay = asyncio.run(main())
    assert [mismatch.reason for mismatch in replay.mismatches] == ["it has been played already"]
    assert replay.journal.events(McpMismatched) == replay.mismatches


def test_a_strict_miss_says_what_was_recorded_instead(connect, run_server, refused):
    async def main():
        replay = ReplayMcpServer(Journal(), McpTape(TAPE), strict=True)
        async with run_server(replay), connect(replay) as (client, _):
            await refused(client.call_tool("bump", {"by": 7}))

    with pytest.raises(ReplayMismatchError, match=r"'by': 7(.|\n)*line 1 has \{'by': 1\}"):
        asyncio.run(main())


def test_a_relaxed_miss_gets_the_next_answer_of_the_tool_and_is_on_record(connect, run_server, refused):
    async def main():
        replay = ReplayMcpServer(Journal(), McpTape(TAPE))
        async with run_server(replay), connect(replay) as (client, _):
            answers = [texts(await client.call_tool("bump", {"by": by})) for by in (7, 2, 8, 2)]
            assert answers == [["one"], ["two"], ["two"], ["two"]]
            await refused(client.call_tool("other"))
            assert [tool.name for tool in (await client.list_tools()).tools] == ["bump"]
            assert (await refused(client.read_resource("counter://now"))).code == -32603
        return replay

    replay = asyncio.run(main())
    assert [(miss.method, miss.played) for miss in replay.mismatches] == [
        ("tools/call", 1),
        ("tools/call", 2),
        ("tools/call", 0),
        ("resources/read", 0),
    ]


def test_what_the_real_server_tells_is_passed_on_recorded_and_told_again(tmp_path, connect, run_server):
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
    assert [json.loads(line).get("kind") for line in path.read_text().splitlines()] == [
        None,
        None,
        None,
        "told",
        None,
    ]
    asyncio.run(replay())


def test_errors_are_recorded_and_replayed_and_what_a_dead_server_does_is_not(
    tmp_path, connect, run_server, refused
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
    assert [line.method for line in McpTape.load(path).lines] == ["initialize", "tools/call"]
    asyncio.run(replay())


def test_no_secret_reaches_a_tape(tmp_path, connect, run_server):
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
    assert McpTape.load(path).lines[1].params["arguments"] == {"key": "[redacted]"}


def test_one_tool_of_a_real_server_can_be_replaced(connect, run_server):
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
                assert len(proxy.tape.lines) > 0

    asyncio.run(main())


@pytest.mark.parametrize("line", [b"nonsense", b"{}", b'{"number":1,"method":"m","v":9}', b"\xff"])
def test_a_tape_that_is_none_is_refused_with_its_line(tmp_path, line):
    path = tmp_path / "tape.jsonl"
    path.write_bytes(b'{"number":1,"method":"ping"}\n\n' + line + b"\n")
    with pytest.raises(TapeError, match="line 3"):
        ReplayMcpServer(Journal(), path)


def test_a_tape_that_is_missing_or_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(TapeError, match="RecordingMcpServer"):
        ReplayMcpServer(Journal(), tmp_path / "missing.jsonl")
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        McpTape.create(tmp_path / "file" / "tape.jsonl")


def test_a_replay_keeps_what_worlds_guarantee(connect):
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
    asyncio.run(verify_world(lambda journal: ReplayMcpServer(journal, McpTape(TAPE)), use, probe))
