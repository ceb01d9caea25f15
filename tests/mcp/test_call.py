"""A tool that tells, logs and asks back, and completions: seen by the SDK's client over both transports."""

from __future__ import annotations

import asyncio

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning

from soundstage.errors import ScriptError
from soundstage.journal import Journal
from soundstage.mcp import McpClientAnswered, McpClientAsked, McpNotified, McpScript, McpServer, this_call
from support.mcp_clients import connected

SEAT = {"seat": {"type": "string", "enum": ["window", "aisle"]}}


def texts(result):
    return [block.text for block in result.content]


class Person:
    """The user and the model behind a client."""

    def __init__(self, *, action="accept"):
        self.action = action
        self.asked = []

    async def elicit(self, _, params):
        self.asked.append((params.message, params.requested_schema))
        return types.ElicitResult(
            action=self.action, content={"seat": "aisle"} if self.action == "accept" else None
        )

    async def sample(self, _, params):
        self.asked.append(
            ([one.content.text for one in params.messages], params.system_prompt, params.max_tokens)
        )
        said = types.TextContent(type="text", text="seats are scarce")
        return types.CreateMessageResult(
            role="assistant", content=said, model="theirs", stop_reason="endTurn"
        )

    async def roots(self, _):
        return types.ListRootsResult(roots=[types.Root(uri="file:///home/ann/trip", name="trip")])


def booking(server):
    """A tool that asks for all that a client has."""

    @server.function
    async def book(flight: str) -> str:
        """Book a seat."""
        call = this_call()
        [root] = await call.roots()
        said = await call.sample(f"Seats on {flight}?", system="Be brief.", max_tokens=50)
        form = await call.elicit("Window or aisle?", SEAT, required=["seat"])
        if form["action"] != "accept":
            return form["action"]
        return f"{root['name']}: {said['content']['text']}: {form['content']['seat']}"


def test_a_tool_asks_the_client_for_its_folders_its_model_and_its_user(serve, connect, transport):
    person = Person()

    async def body(server):
        booking(server)
        callbacks = {
            "elicitation_callback": person.elicit,
            "sampling_callback": person.sample,
            "list_roots_callback": person.roots,
        }
        async with connect(server, transport, **callbacks) as (client, _):
            booked = await client.call_tool("book", {"flight": "LX 1"})
            assert texts(booked) == ["trip: seats are scarce: aisle"]

    server = serve(body)
    schema = {"type": "object", "properties": SEAT, "required": ["seat"]}
    assert person.asked == [(["Seats on LX 1?"], "Be brief.", 50), ("Window or aisle?", schema)]
    methods = ["roots/list", "sampling/createMessage", "elicitation/create"]
    asked, answered = server.journal.read(type=McpClientAsked), server.journal.read(type=McpClientAnswered)
    assert [one.event.method for one in asked] == [one.event.method for one in answered] == methods
    assert [one.cause for one in answered] == [one.position for one in asked]
    assert answered[-1].event.result == {"action": "accept", "content": {"seat": "aisle"}}


def test_what_the_user_declines_is_an_answer_and_what_the_client_lacks_an_error_of_the_tool(
    serve, connect, transport
):
    person = Person(action="decline")

    async def body(server):
        @server.function
        async def ask() -> str:
            return (await this_call().elicit("Sure?", {}))["action"]

        async with connect(server, transport, elicitation_callback=person.elicit) as (client, _):
            assert texts(await client.call_tool("ask")) == ["decline"]
        async with connect(server, transport) as (client, _):
            failed = await client.call_tool("ask")
            assert failed.is_error
            assert "the client has no elicitation" in texts(failed)[0]

    server = serve(body)
    assert len(server.journal.events(McpClientAsked)) == 1  # who cannot be asked is not asked


def test_an_error_of_the_client_is_what_the_tool_gets(serve, connect, transport):
    async def refuse(_, __):
        return types.ErrorData(code=-1, message="the user said no")

    async def body(server):
        @server.function
        async def ask() -> str:
            return str(await this_call().sample("hello"))

        async with connect(server, transport, sampling_callback=refuse) as (client, _):
            failed = await client.call_tool("ask")
            assert (failed.is_error, texts(failed)) == (True, ["RpcError: the user said no"])

    server = serve(body)
    assert [one.error for one in server.journal.events(McpClientAnswered)] == ["the user said no"]


def test_progress_comes_before_the_answer_to_who_asked_for_it_and_to_nobody_else(serve, connect, transport):
    async def body(server):
        @server.function
        async def count() -> str:
            call = this_call()
            call.progress(1, total=2, message="half")
            call.progress(2, total=2)
            return "done"

        heard = []

        async def hear(progress, total, message):
            heard.append((progress, total, message))

        async with connect(server, transport) as (client, _):
            assert texts(await client.call_tool("count", progress_callback=hear)) == ["done"]
            assert heard == [(1, 2, "half"), (2, 2, None)]
            assert texts(await client.call_tool("count")) == ["done"]

    server = serve(body)
    told = [one.params["progress"] for one in server.journal.events(McpNotified) if "progress" in one.method]
    assert told == [1, 2]


def test_progress_that_does_not_grow_is_a_mistake_of_the_script():
    async def main():
        server = McpServer(Journal(), name="notes")

        @server.function
        async def count() -> str:
            this_call().progress(1)
            this_call().progress(1)
            return "done"

        await server.start()
        async with connected(server) as (client, _):
            with pytest.raises(Exception, match="progress only grows"):
                await client.call_tool("count")
        with pytest.raises(ScriptError, match="progress only grows"):
            await server.stop()

    asyncio.run(main())


@pytest.mark.parametrize("level", [None, "warning"])
def test_the_log_reaches_the_client_from_its_level_on(serve, connect, transport, level):
    async def body(server):
        @server.function
        async def work() -> str:
            this_call().log("info", "begun", logger="work")
            this_call().log("error", {"code": 5})
            return "done"

        lines = []

        async def hear(params):
            lines.append((params.level, params.data, params.logger))

        async with connect(server, transport, logging_callback=hear) as (client, told):
            if level is not None:
                with pytest.warns(MCPDeprecationWarning):
                    await client.set_logging_level(level)
            await client.call_tool("work")
            server.log("critical", "the disk is full")
            while not lines or lines[-1][1] != "the disk is full":
                await asyncio.wait_for(told.get(), 10)
        below = [] if level else [("info", "begun", "work")]
        assert lines == [*below, ("error", {"code": 5}, None), ("critical", "the disk is full", None)]

    serve(body)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_level_that_does_not_exist_is_refused_on_both_sides(serve, connect, refused):
    async def body(server):
        with pytest.raises(ScriptError, match="no such level"):
            server.log("loud", "hello")
        async with connect(server) as (client, _):
            params = types.SetLevelRequestParams.model_construct(level="loud")
            asked = types.SetLevelRequest.model_construct(method="logging/setLevel", params=params)
            error = await refused(client.session.send_request(asked, types.EmptyResult))
            assert "Invalid log level: 'loud'" in str(error)

    serve(body)


def test_arguments_of_prompts_and_templates_are_completed(serve, connect, transport):
    async def streets(typed, others):
        return [f"{others.get('city', 'any')} street {number}" for number in range(150)]

    async def body(server):
        server.prompt(
            "cook", "Cook {dish}.", arguments={"dish*": ""}, completes={"dish": ["Soup", "salad", "stew"]}
        )
        server.resource("map://{city}/{street}", lambda city, street: "x", completes={"street": streets})
        cook = types.PromptReference(type="ref/prompt", name="cook")
        place = types.ResourceTemplateReference(type="ref/resource", uri="map://{city}/{street}")
        async with connect(server, transport) as (client, _):
            found = (await client.complete(cook, {"name": "dish", "value": "s"})).completion
            assert (found.values, found.total, found.has_more) == (["Soup", "salad", "stew"], 3, False)
            found = (await client.complete(cook, {"name": "dish", "value": "SO"})).completion
            assert found.values == ["Soup"]
            found = (
                await client.complete(
                    place, {"name": "street", "value": "Bern"}, context_arguments={"city": "Bern"}
                )
            ).completion
            assert (len(found.values), found.total, found.has_more) == (100, 150, True)
            assert found.values[0] == "Bern street 0"
            assert (await client.complete(place, {"name": "city", "value": ""})).completion.values == []

    serve(body)


def test_completions_of_what_is_not_there_are_refused(serve, connect, refused):
    with pytest.raises(ScriptError, match="no argument 'topic' to complete"):
        McpScript().prompt("cook", "Cook.", arguments={"dish": ""}, completes={"topic": []})
    with pytest.raises(ScriptError, match="no argument 'town' to complete"):
        McpScript().resource("map://{city}", "x", completes={"town": []})

    async def body(server):
        server.prompt("cook", "Cook.")
        async with connect(server) as (client, _):
            gone = types.PromptReference(type="ref/prompt", name="bake")
            error = await refused(client.complete(gone, {"name": "dish", "value": ""}))
            assert "Unknown reference" in str(error)

    serve(body)


def test_a_call_that_is_over_leaves_no_question_open(serve, connect):
    """The client gives up while it is asked: its late answer is a message that nobody waits for."""
    begun = asyncio.Event

    async def body(server):
        started, ended = begun(), begun()

        @server.function
        async def ask() -> str:
            started.set()
            try:
                return str(await this_call().elicit("Well?", {}))
            finally:
                ended.set()

        async def never(_, __):
            await asyncio.get_running_loop().create_future()

        async with connect(server, "stdio", elicitation_callback=never) as (client, _):
            call = asyncio.create_task(client.call_tool("ask"))
            await asyncio.wait_for(started.wait(), 10)
            call.cancel()
            await asyncio.wait_for(ended.wait(), 10)

    serve(body)


def test_outside_of_a_call_there_is_none():
    with pytest.raises(ScriptError, match="no tool is being called"):
        this_call()
