"""A scripted server, seen by a real client over both transports."""

from __future__ import annotations

import asyncio
import base64
import subprocess
import sys

import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

from soundstage.errors import NoMatchError, ScriptError
from soundstage.journal import DaemonChanged, Journal
from soundstage.mcp import (
    McpConnectionChanged,
    McpMessageRefused,
    McpNotified,
    McpScript,
    McpServed,
    McpServer,
    McpToolCalled,
    McpToolReturned,
    ToolAnswer,
)
from soundstage.testing import InboxProbe, verify_world

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


def texts(result):
    return [block.text for block in result.content]


def test_tools_answer_by_the_first_rule_whose_conditions_on_the_arguments_hold(serve, connect, transport):
    async def body(server):
        server.tool("search", description="Search the notes.", schema=SCHEMA)
        server.on_tool("search", arguments={"query": "/soup/i"}).returns("tomato soup")
        server.on_tool("search", arguments={"query": {"equals": "x"}}).returns({"hits": 1})
        server.on_tool("search").fails("the database is down")
        async with connect(server, transport) as (client, _):
            [tool] = (await client.list_tools()).tools
            assert (tool.name, tool.description, tool.input_schema) == ("search", "Search the notes.", SCHEMA)
            soup = await client.call_tool("search", {"query": "Soup of the day"})
            assert (texts(soup), soup.is_error) == (["tomato soup"], False)
            hits = await client.call_tool("search", {"query": "x"})
            assert (texts(hits), hits.structured_content) == (['{"hits":1}'], {"hits": 1})
            down = await client.call_tool("search", {"query": "y"})
            assert (texts(down), down.is_error) == (["the database is down"], True)

    serve(body)


def test_priority_times_and_queues_are_those_of_a_models_script(serve, connect, transport):
    async def body(server):
        server.on_tool("ask").returns("always")
        server.on_tool("ask", times=1, priority=1).returns("once, before the others")
        server.queue("next", "one", {"n": 2}, ToolAnswer(error="three"))
        async with connect(server, transport) as (client, _):
            assert [texts(await client.call_tool("ask")) for _ in range(2)] == [
                ["once, before the others"],
                ["always"],
            ]
            answers = [await client.call_tool("next") for _ in range(4)]
            assert [texts(answer)[0] for answer in answers] == [
                "one",
                '{"n":2}',
                "three",
                "nothing scripted for that",
            ]

    serve(body)


def test_a_python_function_is_a_tool_with_a_schema_of_its_types(serve, connect, transport):
    async def body(server):
        @server.function
        async def add(first: int, second: int = 2) -> int:
            """Add two numbers."""
            return first + second

        @server.function
        def fail(text: str) -> str:
            raise ValueError(text)

        async with connect(server, transport) as (client, _):
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["add"].description == "Add two numbers."
            assert tools["add"].input_schema["required"] == ["first"]
            assert tools["add"].input_schema["properties"]["second"] == {"type": "integer", "default": 2}
            assert texts(await client.call_tool("add", {"first": 3})) == ["5"]
            wrong = await client.call_tool("add", {"first": "three"})
            assert (wrong.is_error, texts(wrong)) == (
                True,
                ["Input validation error: argument 'first': expected a whole number, seen the text 'three'"],
            )
            failed = await client.call_tool("fail", {"text": "no luck"})
            assert (failed.is_error, texts(failed)) == (True, ["ValueError: no luck"])

    serve(body)


def test_a_function_of_the_arguments_can_answer_a_rule(serve, connect):
    async def body(server):
        async def answer(arguments):
            return {"echo": arguments}

        server.on_tool("echo").returns(answer)
        async with connect(server) as (client, _):
            result = await client.call_tool("echo", {"a": [1, None]})
            assert result.structured_content == {"echo": {"a": [1, None]}}

    serve(body)


def test_calls_that_do_not_fit_the_schema_are_answered_with_what_is_wrong(serve, connect, refused):
    schema = {**SCHEMA, "additionalProperties": False}
    schema["properties"] = {**SCHEMA["properties"], "kind": {"enum": ["a", "b"]}, "n": {"type": "integer"}}
    schema["properties"]["tags"] = {"type": "array", "items": {"type": "string"}}

    async def body(server):
        server.tool("search", schema=schema, returns="fine")
        async with connect(server) as (client, _):
            for arguments, reason in (
                ({}, "argument 'query' is missing: expected a text"),
                ({"query": 1}, "argument 'query': expected a text, seen the number 1"),
                ({"query": "q", "n": True}, "argument 'n': expected a whole number, seen true"),
                ({"query": "q", "kind": "c"}, "argument 'kind': expected one of 'a', 'b', seen the text 'c'"),
                ({"query": "q", "x": 1}, "argument 'x' is not known; known are query, kind, n, tags"),
                ({"query": "q", "tags": [1]}, "argument 'tags[0]': expected a text, seen the number 1"),
            ):
                result = await client.call_tool("search", arguments)
                assert (result.is_error, texts(result)) == (True, [f"Input validation error: {reason}"])
            assert texts(await client.call_tool("search", {"query": "q", "n": 1})) == ["fine"]
            error = await refused(client.call_tool("serach", {}))
            assert (error.code, error.message) == (-32602, "Unknown tool: serach")

    serve(body)


def test_resources_templates_and_prompts(serve, connect, refused, transport):
    async def body(server):
        server.resource("notes://1", "one", mime_type="text/plain", description="the first")
        server.resource("notes://logo", b"\x00\xff", name="logo")
        server.resource("notes://by/{author}", lambda author: f"by {author}")
        server.prompt("review", "Review {topic}, {tone}", arguments={"topic*": "what", "tone": "how"})
        server.prompt("chat", [("user", "hi"), ("assistant", "hello")])
        async with connect(server, transport) as (client, _):
            listed = (await client.list_resources()).resources
            assert [(item.uri, item.name) for item in listed] == [
                ("notes://1", "notes://1"),
                ("notes://logo", "logo"),
            ]
            [template] = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "notes://by/{author}"
            assert (await client.read_resource("notes://1")).contents[0].text == "one"
            blob = (await client.read_resource("notes://logo")).contents[0].blob
            assert base64.b64decode(blob) == b"\x00\xff"
            assert (await client.read_resource("notes://by/ann")).contents[0].text == "by ann"
            assert (await refused(client.read_resource("notes://by/a/b"))).code == -32002

            prompts = (await client.list_prompts()).prompts
            assert [(item.name, item.required) for item in prompts[0].arguments] == [
                ("topic", True),
                ("tone", False),
            ]
            said = (await client.get_prompt("review", {"topic": "tea"})).messages
            assert [(message.role, message.content.text) for message in said] == [
                ("user", "Review tea, {tone}")
            ]
            assert len((await client.get_prompt("chat")).messages) == 2
            assert "topic" in (await refused(client.get_prompt("review"))).message
            assert "Unknown prompt" in (await refused(client.get_prompt("nothing"))).message

    serve(body)


def test_long_lists_come_in_pages(serve, connect, refused):
    async def body(server):
        for number in range(5):
            server.tool(f"tool_{number}")
        async with connect(server) as (client, _):
            pages, cursor = [], None
            while True:
                page = await client.list_tools(cursor=cursor)
                pages.append([tool.name for tool in page.tools])
                cursor = page.next_cursor
                if cursor is None:
                    break
            assert pages == [["tool_0", "tool_1"], ["tool_2", "tool_3"], ["tool_4"]]
            assert (await refused(client.list_tools(cursor="nonsense"))).code == -32602

    serve(body, page_size=2)


def test_a_client_is_told_what_changes_between_calls(serve, connect, transport):
    async def body(server):
        server.tool("search", schema=SCHEMA, returns="old")
        server.resource("notes://1", "one")
        async with connect(server, transport) as (client, told):
            with pytest.warns(MCPDeprecationWarning):
                await client.session.subscribe_resource("notes://1")
            await client.call_tool("search", {"query": "q"})
            server.change_tool("search", schema={"type": "object", "required": ["q2"]}, description="other")
            assert await told.get() == "notifications/tools/list_changed"
            [tool] = (await client.list_tools()).tools
            assert (tool.description, tool.input_schema["required"]) == ("other", ["q2"])
            assert (await client.call_tool("search", {"query": "q"})).is_error
            server.resource("notes://1", "changed")
            assert await told.get() == "notifications/resources/updated"
            server.remove_tool("search")
            assert await told.get() == "notifications/tools/list_changed"
            assert (await client.list_tools()).tools == []

    serve(body)


def test_the_journal_has_the_connection_every_call_and_its_result(serve, connect, transport):
    async def body(server):
        async with connect(server, transport) as (client, _):
            await client.list_tools()
            await client.call_tool("search", {"query": "soup"})
        await server.journal.wait_for(
            lambda event: isinstance(event, McpConnectionChanged) and event.change == "closed", within=5
        )

    script = McpScript()
    script.on_tool("search", name="soup").returns("tomato soup")
    server = serve(body, script=script)
    own = [record for record in server.journal.read() if not isinstance(record.event, DaemonChanged)]
    assert {record.source for record in own} == {"notes"}
    opened = own[0].position
    assert [(type(record.event), record.cause) for record in own] == [
        (McpConnectionChanged, None),
        (McpNotified, opened),
        (McpConnectionChanged, opened),
        (McpServed, opened),
        (McpToolCalled, opened),
        (McpToolReturned, opened + 4),
        (McpConnectionChanged, opened),
    ]
    assert own[2].event == McpConnectionChanged(
        change="initialized", connection=1, transport=transport, client="mcp 0.1.0", protocol="2025-11-25"
    )
    assert own[3].event.names == ("search",)
    assert str(own[4].event) == 'search(query="soup")'
    assert own[5].event == McpToolReturned(
        tool="search", text="tomato soup", served_by="rule 1 'soup' [tool 'search']"
    )
    assert (own[6].event.change, own[6].event.by) == ("closed", "client")


def test_a_newer_client_falls_back_to_the_handshake(serve, connect, transport):
    async def body(server):
        server.tool("ping", returns="pong")
        async with connect(server, transport, mode="auto") as (client, _):
            assert texts(await client.call_tool("ping")) == ["pong"]

    serve(body)


def test_two_clients_at_once_are_two_connections(serve, connect):
    async def body(server):
        server.function(lambda text: text, name="echo")
        async with connect(server, "http") as (one, _), connect(server, "stdio") as (other, _):
            both = await asyncio.gather(
                one.call_tool("echo", {"text": "one"}), other.call_tool("echo", {"text": "other"})
            )
            assert [texts(result) for result in both] == [["one"], ["other"]]
        assert {call.connection for call in server.calls()} == {1, 2}

    serve(body)


def test_a_test_waits_for_calls_and_finds_each_once(serve, connect):
    async def body(server):
        server.tool("search", returns="found")
        async with connect(server) as (client, _):
            await server.wait_for_client(within=5)
            for query in ("tea", "soup"):
                await client.call_tool("search", {"query": query})
            assert (await server.expect("search", arguments={"query": "soup"})).arguments == {"query": "soup"}
            assert (await server.expect()).arguments == {"query": "tea"}
            await server.expect_nothing(within=0.01)
            assert (await server.returns.expect("search")).text == "found"
            with pytest.raises(AssertionError, match="no such call of notes") as caught:
                await server.expect("search", arguments={"query": "bread"}, within=0.01)
            assert "arguments.query 'bread'" in str(caught.value)
            assert "soup" in str(caught.value)

    serve(body)


def test_a_strict_server_names_the_nearest_rule_and_the_rules_that_were_never_used(serve, connect, refused):
    async def body(server):
        server.on_tool("search", arguments={"query": "soup"}, name="soup").returns("tomato")
        async with connect(server) as (client, _):
            error = await refused(client.call_tool("search", {"query": "tea"}))
            assert "no rule answers the call search" in error.message

    rule = r"rule 1 'soup' \[tool 'search', arguments.query 'soup'\]: arguments.query: "
    with pytest.raises(NoMatchError, match=rule):
        serve(body, strict=True)

    async def nothing(server):
        server.on_tool("search", name="soup").returns("tomato")

    seen = r"1 rule\(s\) of the strict script of notes were never used(.|\n)*rule 1 'soup' \[tool 'search'\]"
    with pytest.raises(ScriptError, match=seen):
        serve(nothing, strict=True)


def test_a_predicate_that_raises_is_on_record_and_stops_nothing_else(serve, connect, refused):
    async def body(server):
        server.on_tool("search", arguments=lambda arguments: arguments["query"]).returns("x")
        server.tool("other", returns="fine")
        async with connect(server) as (client, _):
            assert "raised KeyError" in (await refused(client.call_tool("search", {}))).message
            assert texts(await client.call_tool("other")) == ["fine"]

    with pytest.raises(ScriptError, match="raised KeyError"):
        serve(body)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda s: s.tool(" "), "a tool needs a name"),
        (lambda s: s.tool("a", schema={"type": "string"}), "the schema of 'a' describes an object"),
        (lambda s: s.on_tool("a", arguments=3), "conditions on arguments are given by name"),
        (lambda s: s.on_tool("a", arguments={"q": "/(/"}), "q: "),
        (lambda s: s.on_tool("a", times=0).returns("x"), "serves at least once"),
        (lambda s: s.on_tool("a").returns("x", colour="red"), "no answer of a tool"),
        (lambda s: s.on_tool("a").returns("x", error="y"), "text and error"),
        (lambda s: s.on_tool("a").returns(lambda a: a, delay=1), "a function makes the whole answer"),
        (lambda s: s.on_tool("a").garbles("strangely"), "strangely"),
        (lambda s: s.change_tool("b"), "there is no tool 'b'"),
        (lambda s: s.function(lambda *args: args), "parameters that can be given by name"),
        (lambda s: s.garble_calls("strangely"), "strangely"),
        (lambda s: s.hang_calls(times=0), "strikes at least once"),
    ],
)
def test_what_a_test_writes_wrong_is_refused_at_once(wrong, message):
    server = McpServer(Journal())
    with pytest.raises(ScriptError, match=message):
        wrong(server)


def test_scripts_can_be_shared_between_servers(serve, connect):
    script = McpScript(instructions="be kind")
    script.on_tool("search").returns("from the script")

    async def body(server):
        server.on_tool("search", priority=1, times=1).returns("from the server")
        async with connect(server) as (client, _):
            assert client.instructions == "be kind"
            answers = [texts(await client.call_tool("search")) for _ in range(2)]
            assert answers == [["from the server"], ["from the script"]]

    serve(body, script=script)
    assert len(script.unused()) == 1


def test_the_bridge_says_why_it_cannot_start():
    command = [sys.executable, "-m", "soundstage.mcp", "--connect", "http://127.0.0.1:9"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 1
    assert "the server at http://127.0.0.1:9 cannot be reached" in done.stderr


def test_messages_that_are_none_are_refused_and_on_record(serve):
    from soundstage.mcp._jsonrpc import parse

    async def body(server):
        config = server.stdio_config()
        process = await asyncio.create_subprocess_exec(
            config["command"], *config["args"], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        for line, code in (
            (b"this is not JSON", -32700),
            (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
            (b'{"id":1,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', -32600),
        ):
            process.stdin.write(line + b"\r\n\n")
            assert parse(await process.stdout.readline()).error["code"] == code
        process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
        assert parse(await process.stdout.readline()).result == {}
        process.stdin.close()
        assert await process.wait() == 0

    server = serve(body)
    assert len(server.journal.events(McpMessageRefused)) == 4


TOOLS = ("search", "read")


async def expects(server, text, source, within):
    await server.expect(TOOLS[source], arguments={"text": text}, within=within)


def test_a_world_of_tools_keeps_what_worlds_guarantee(connect):
    async def use(server):
        server.tool("ping", returns="pong")
        async with connect(server) as (client, _):
            await client.call_tool("ping")

    async def calls(server, text, source):
        server.stub(TOOLS[source], "found")
        async with connect(server) as (client, _):
            await client.call_tool(TOOLS[source], {"text": text})

    asyncio.run(verify_world(McpServer, use, InboxProbe(calls, expects, ordered=False)))
