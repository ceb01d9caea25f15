"""Connections of a real discord.py bot: compressed and plain, broken, resumed, invalidated, refused."""

from __future__ import annotations

import asyncio
import sys

import discord
import pytest
from discord.gateway import DiscordWebSocket

from soundstage.discord import DiscordGatewayChanged, pointed_at
from soundstage.discord._transport import GRACE
from soundstage.errors import EnvironmentProblem
from soundstage.journal import event


def changes(world):
    return [noted.change for noted in world.journal.events(DiscordGatewayChanged)]


def echoing(bot):
    async def on_message(message):
        if not message.author.bot:
            await message.channel.send(f"echo {message.content}")

    bot.event(on_message)
    return bot


@pytest.mark.parametrize(
    "transport", ["zstd-stream", "plain"]
)  # the library no longer asks for zlib where zstd is
def test_a_bot_connects_compressed_and_plain(bot, on_discord, monkeypatch, transport):
    defaults = DiscordWebSocket.from_client.__func__.__kwdefaults__
    monkeypatch.setitem(defaults, "compress", transport != "plain")

    async def body(world, _):
        await world.user("ann").says("hello " + "ä🎭" * 500)
        answer = await world.expect("echo hello")
        return answer.content.count("🎭"), world.journal.events(DiscordGatewayChanged)[0].detail["transport"]

    assert on_discord(echoing(bot), body) == (500, transport)


@pytest.mark.parametrize("code", [None, 4000])
def test_a_bot_resumes_after_a_broken_connection_without_losing_a_message(bot, on_discord, code):
    async def body(world, _):
        ann = world.user("ann")
        world.drop_connections(code=code)
        for number in range(3):
            await ann.says(f"m{number}")
        answers = [(await world.expect(f"echo m{number}")).text for number in range(3)]
        return answers, changes(world)

    answers, seen = on_discord(echoing(bot), body)
    assert answers == ["echo m0", "echo m1", "echo m2"]
    assert "resumed" in seen
    assert seen.count("identified") == 1


def test_a_bot_that_cannot_resume_identifies_again(bot, on_discord):
    async def body(world, _):
        world.drop_connections(resumable=False)
        await world.wait_for_bot()
        await world.user("ann").says("hello")
        await world.expect("echo hello")
        return changes(world)

    seen = on_discord(echoing(bot), body)
    assert seen.count("identified") == 2
    assert seen[seen.index("cut") :] == ["cut", "opened", "invalidated", "closed", "opened", "identified"]


def test_a_bot_that_is_asked_to_reconnect_resumes(bot, on_discord):
    async def body(world, _):
        world.reconnect_request()
        await world.journal.wait_for(event(DiscordGatewayChanged, change="resumed"), within=5)
        await world.user("ann").says("hello")
        await world.expect("echo hello")
        return changes(world)

    seen = on_discord(echoing(bot), body)
    assert seen[2:] == ["asked to reconnect", "closed", "opened", "resumed"]


@pytest.mark.parametrize(("resumable", "then"), [(True, "resumed"), (False, "identified")])
def test_an_invalid_session_is_resumed_or_begun_anew(bot, on_discord, resumable, then):
    async def body(world, _):
        here = len(world.journal)
        world.invalidate_session(resumable=resumable)
        await world.journal.wait_for(event(DiscordGatewayChanged, change=then), within=5, after=here)
        await world.user("ann").says("hello")
        await world.expect("echo hello")
        return changes(world)

    assert "invalidated" in on_discord(echoing(bot), body)


def test_a_bot_beats_by_itself_and_stays_connected(bot, on_discord):
    async def body(world, _):
        await world.expect_nothing(within=1.2 * GRACE)
        return changes(world)

    assert on_discord(bot, body, heartbeat=1) == ["opened", "identified"]


def test_a_bot_that_was_held_up_with_the_loop_stays_connected(bot, on_discord, monkeypatch):
    async def body(world, _):
        loop = asyncio.get_running_loop()
        now = loop.time
        monkeypatch.setattr(loop, "time", lambda: now() + 10)  # as after a breakpoint
        await world.user("ann").says("hello")
        await world.expect("echo hello")
        return changes(world)

    assert on_discord(echoing(bot), body, heartbeat=5) == ["opened", "identified"]


def test_a_bot_whose_intents_are_not_allowed_is_told_so_by_its_library(bot, on_discord, running):
    async def body(world):
        with pytest.raises(discord.PrivilegedIntentsRequired):
            async with running(world, bot):
                pass
        return world.journal.events(DiscordGatewayChanged)[-1]

    noted = on_discord(None, body, privileged_intents=[])
    assert (noted.code, noted.by) == (4014, "discord")


def test_without_privileged_intents_a_bot_reads_only_what_is_meant_for_it(make_bot, on_discord):
    intents = discord.Intents.default()
    seen = asyncio.Queue()
    bot = make_bot(intents=intents)
    bot.add_listener(seen.put, "on_message")

    async def body(world, _):
        ann = world.user("ann")
        await ann.says("secret")
        await ann.says(f"{world.bot.mention} hello")
        return [(await seen.get()).content for _ in range(2)], world.bot.mention

    contents, mention = on_discord(bot, body, privileged_intents=[])
    assert contents == ["", f"{mention} hello"]


def test_a_sharded_bot_asks_where_the_gateway_is(on_discord, running):
    class Sharded(discord.AutoShardedClient):
        errors = ()

    bot = Sharded(intents=discord.Intents.all(), guild_ready_timeout=0.01)

    async def body(world):
        async with running(world, bot):
            await world.user("ann").says("hello")
            return [
                noted.detail["shard"]
                for noted in world.journal.events(DiscordGatewayChanged)
                if noted.detail.get("shard")
            ]

    assert on_discord(None, body) == [[0, 1]]


def test_the_library_is_pointed_elsewhere_for_a_block_and_back():
    before = (discord.http.Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY)
    with pointed_at("http://127.0.0.1:9/api/v10/"):
        assert discord.http.Route.BASE == "http://127.0.0.1:9/api/v10"
        assert str(DiscordWebSocket.DEFAULT_GATEWAY) == "ws://127.0.0.1:9/gateway"
    assert before == (discord.http.Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY)


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "discord", None)
    with pytest.raises(EnvironmentProblem, match=r"discord\.py is not installed"), pointed_at("http://x/api"):
        pass
