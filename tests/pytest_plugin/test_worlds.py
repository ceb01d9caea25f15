"""Worlds as fixtures: programs and clients of a test are pointed at them."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

BOT = """
import os

import discord

bot = discord.Client(intents=discord.Intents.all())


@bot.event
async def on_message(message):
    if not message.author.bot:
        await message.channel.send(f"echo {message.content}")


bot.run(os.environ["DISCORD_TOKEN"], log_handler=None)
"""
FINE = """
import sys

async def test_bot(discord, command):
    await command([sys.executable, "-W", "ignore", "-m", "soundstage.discord", {bot!r}])
    await discord.wait_for_bot()
    await discord.user("ann").says("hello", channel="general")
    assert (await discord.expect("echo")).content == "echo hello"
"""
RELAY = """
async def test_relay(nostr_relay, journal):
    await nostr_relay.user("ann").publishes("hello", kind=1)
    [event] = nostr_relay.events()
    assert event.content == "hello"
    assert nostr_relay.url.startswith("ws://127.0.0.1:")
"""
TOOLS = """
from soundstage.mcp import McpHttpClient


async def test_tools(mcp_server):
    mcp_server.tool("search", returns="soup")
    client = McpHttpClient(mcp_server.url)
    await client.start()
    assert (await client.request("tools/list"))["tools"][0]["name"] == "search"
    await client.stop()
"""
SPANS = """
import json
import urllib.request

from soundstage.journal import AgentStarted


def test_spans(otlp, trace):
    span = {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "eee19b7ec3c1b174",
        "name": "invoke_agent searcher",
        "kind": 1,
        "startTimeUnixNano": "1000000000",
        "endTimeUnixNano": "2000000000",
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}},
            {"key": "gen_ai.agent.name", "value": {"stringValue": "searcher"}},
        ],
    }
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    url = otlp.environment()["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
    urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"})).close()
    assert "searcher" in trace().format()
    assert [event.agent for event in otlp.journal.events(AgentStarted)] == ["searcher"]
"""


@pytest.mark.parametrize(
    "source", [FINE, RELAY, TOOLS, SPANS], ids=["discord", "nostr_relay", "mcp_server", "otlp"]
)
def test_a_world_is_a_fixture(pytester, source):
    bot = pytester.makepyfile(bot=BOT)
    pytester.makepyfile(test_it=source.replace("{bot!r}", repr(str(bot))))
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
