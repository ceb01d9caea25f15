"""A second real client, the TypeScript SDK on node, over both transports: the same list of features."""

from __future__ import annotations

import asyncio
import json

import pytest

from soundstage.journal import Journal
from soundstage.mcp import McpClientAnswered, McpServer, this_call
from support.mcp_clients import TRANSPORTS, running
from support.node import need, run_client

pytestmark = pytest.mark.full  # programs on node
PROGRAM = """
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';

const config = JSON.parse(process.argv[2]);
const transport = config.url
  ? new StreamableHTTPClientTransport(new URL(config.url))
  : new StdioClientTransport({command: config.command, args: config.args, env: config.env ?? {}});
const client = new Client({name: 'ann', version: '1'}, {capabilities: {sampling: {}, elicitation: {}, roots: {}}});
const log = [], changed = [];
client.setRequestHandler(types.ListRootsRequestSchema, () => ({roots: [{uri: 'file:///trip', name: 'trip'}]}));
client.setRequestHandler(types.ElicitRequestSchema, () => ({action: 'accept', content: {seat: 'aisle'}}));
client.setRequestHandler(types.CreateMessageRequestSchema, (request) => ({
  role: 'assistant', model: 'theirs', content: {type: 'text', text: request.params.messages[0].content.text + '!'},
}));
client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({params}) => { log.push(params.data); });
client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => { changed.push('tools'); });
await client.connect(transport);
const found = {};
found.pages = [];
for (let cursor; ;) {
  const page = await client.listTools({cursor});
  found.pages.push(page.tools.map((tool) => tool.name));
  cursor = page.nextCursor;
  if (!cursor) break;
}
await client.setLoggingLevel('warning');
found.progress = [];
const onprogress = (one) => found.progress.push([one.progress, one.total, one.message]);
const booked = await client.callTool({name: 'book', arguments: {flight: 'LX 1'}}, undefined, {onprogress});
found.booked = booked.content[0].text;
found.log = log;
const gone = new AbortController();
const slow = client.callTool({name: 'slow', arguments: {}}, undefined, {signal: gone.signal});
setTimeout(() => gone.abort('enough'), 50);
found.cancelled = await slow.then(() => 'answered', (error) => String(error));
found.completed = (await client.complete({
  ref: {type: 'ref/prompt', name: 'cook'}, argument: {name: 'dish', value: 's'},
})).completion.values;
found.prompt = (await client.getPrompt({name: 'cook', arguments: {dish: 'soup'}})).messages[0].content.text;
found.resource = (await client.readResource({uri: 'map://Bern'})).contents[0].text;
await client.callTool({name: 'grow', arguments: {}});
found.tools = (await client.listTools()).tools.length;
found.changed = changed;
await client.close();
console.log(JSON.stringify(found));
process.exit(0);
"""


def trip(journal):
    """A server with all that a client of the SDK can use."""
    server = McpServer(journal, name="trip", page_size=2)

    @server.function
    async def book(flight: str) -> str:
        call = this_call()
        call.log("info", "below the level")
        call.log("error", "scarce")
        call.progress(1, total=2, message="asked")
        [root] = await call.roots()
        said = await call.sample(flight)
        call.progress(
            2, total=2
        )  # before a question: the client lets progress go that comes together with the answer
        form = await call.elicit("Seat?", {"seat": {"type": "string"}})
        return f"{root['name']}: {said['content']['text']}: {form['content']['seat']}"

    @server.function
    async def slow() -> str:
        await asyncio.get_running_loop().create_future()
        return "never"

    @server.function
    def grow() -> str:
        server.tool("more")
        return "grown"

    server.prompt(
        "cook", "Cook {dish}.", arguments={"dish*": ""}, completes={"dish": ["soup", "salad", "bread"]}
    )
    server.resource("map://{city}", lambda city: f"a map of {city}")
    return server


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_typescript_sdk_has_every_feature(tmp_path, transport):
    need("clients")

    async def main():
        server = trip(Journal())
        async with running(server):
            config = {"url": server.url} if transport == "http" else server.stdio_config()
            return await run_client(PROGRAM, tmp_path / "client", json.dumps(config)), server.journal

    found, journal = asyncio.run(main())
    assert found == {
        "pages": [["book", "slow"], ["grow"]],
        "progress": [[1, 2, "asked"], [2, 2, None]],
        "booked": "trip: LX 1!: aisle",
        "log": ["scarce"],
        "cancelled": found["cancelled"],
        "completed": ["soup", "salad"],
        "prompt": "Cook soup.",
        "resource": "a map of Bern",
        "tools": 2,
        "changed": ["tools"],
    }
    assert "enough" in found["cancelled"]
    assert [one.method for one in journal.events(McpClientAnswered)] == [
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
    ]
