"""How Discord says no: permissions, things that are not there, bad requests, rate limits, a wrong token."""

from __future__ import annotations

import asyncio
import io
import json

import discord
import httpx
import pytest

from soundstage.discord import Discord, DiscordRateLimited
from soundstage.errors import ScriptError
from soundstage.journal import Journal, RequestRefused, RequestServed, read_journal


async def refused(request):
    """Status and code of the answer that the library raised."""
    with pytest.raises(discord.HTTPException) as caught:
        await request
    return caught.value.status, caught.value.code


def general(world, bot):
    return bot.get_channel(world.channel("general").id)


def test_a_bot_may_not_write_where_it_is_denied_and_may_again_when_allowed(bot, on_discord):
    async def body(world, _):
        world.add_channel("other")
        world.deny("SEND_MESSAGES", channel="general")
        channel = general(world, bot)
        no = await refused(channel.send("hello"))
        yes = await (await bot.fetch_channel(world.channel("other").id)).send("hello")
        world.allow("SEND_MESSAGES", channel="general")
        await channel.send("hello again")
        return no, yes.content, world.journal.events(RequestRefused)

    no, yes, [noted] = on_discord(bot, body)
    assert (no, yes) == ((403, 50013), "hello")
    assert (noted.format, noted.status, noted.message) == ("discord", 403, "50013: Missing Permissions")
    assert noted.path.startswith("POST /api/v10/channels/")


def test_a_channel_that_a_bot_may_not_see_is_missing_access_whatever_it_tries(bot, on_discord):
    async def body(world, _):
        said = await world.user("ann").says("secret")
        world.deny("VIEW_CHANNEL", channel="general")
        channel = general(world, bot)
        return [
            await refused(channel.send("hello")),
            await refused(channel.fetch_message(said.id)),
            await refused(bot.fetch_channel(channel.id)),
        ]

    assert on_discord(bot, body) == [(403, 50001)] * 3


def test_a_permission_can_be_denied_everywhere(bot, on_discord):
    async def body(world, _):
        thread = await world.user("ann").starts_thread("plan")
        world.deny("SEND_MESSAGES")
        in_channel = await refused(general(world, bot).send("hello"))
        plan = await bot.fetch_channel(thread.id)
        in_thread = await plan.send("allowed here")
        world.deny("SEND_MESSAGES_IN_THREADS")
        then = await refused(plan.send("hello"))
        world.allow("SEND_MESSAGES")
        await general(world, bot).send("hello")
        return in_channel, in_thread.content, then

    assert on_discord(bot, body) == ((403, 50013), "allowed here", (403, 50013))


def test_each_act_needs_its_permission(bot, on_discord):
    async def body(world, _):
        ann = world.user("ann")
        said = await ann.says("hello")
        channel = general(world, bot)
        message = await channel.fetch_message(said.id)
        found = {}
        for permission, act in {
            "ADD_REACTIONS": lambda: message.add_reaction("👍"),
            "MANAGE_MESSAGES": message.delete,
            "CREATE_PUBLIC_THREADS": lambda: message.create_thread(name="plan"),
            "MANAGE_CHANNELS": lambda: channel.edit(name="x"),
            "ATTACH_FILES": lambda: channel.send(file=discord.File(io.BytesIO(b"x"), "x")),
            "READ_MESSAGE_HISTORY": lambda: channel.fetch_message(said.id),
        }.items():
            world.deny(permission, channel="general")
            found[permission] = await refused(act())
            world.allow(permission, channel="general")
        world.deny("READ_MESSAGE_HISTORY", channel="general")
        history = [item async for item in channel.history()]
        world.deny("EMBED_LINKS", channel="general")
        sent = await channel.send("text", embed=discord.Embed(title="dropped"))
        return set(found.values()), history, sent.embeds

    assert on_discord(bot, body) == ({(403, 50013)}, [], [])


def test_what_is_not_there_is_discords_404(bot, on_discord):
    async def body(world, _):
        channel, guild = general(world, bot), bot.get_guild(world.guild.id)
        return [
            await refused(bot.fetch_channel(1)),
            await refused(channel.fetch_message(1)),
            await refused(bot.fetch_guild(1)),
            await refused(guild.fetch_member(1)),
            await refused(bot.fetch_user(1)),
            await refused(bot.tree.fetch_command(1)),
        ]

    assert on_discord(bot, body) == [
        (404, 10003),
        (404, 10008),
        (404, 10004),
        (404, 10007),
        (404, 10013),
        (404, 10063),
    ]


def test_messages_that_cannot_be_are_discords_400_and_403(bot, on_discord):
    async def body(world, _):
        said = await world.user("ann").says("mine")
        helper = world.user("helper", bot=True)
        channel = general(world, bot)
        message = await channel.fetch_message(said.id)
        return [
            await refused(channel.send("")),
            await refused(channel.send("x" * 2001)),
            await refused(channel.send(embed=discord.Embed(description="x" * 4097))),
            await refused(message.edit(content="not mine")),
            await refused(
                channel.send("to nothing", reference=discord.PartialMessage(channel=channel, id=1))
            ),
            await refused((await bot.fetch_user(helper.id)).send("hello")),
            await refused(channel.delete_messages([message, discord.Object(1)])),
        ]

    assert on_discord(bot, body) == [
        (400, 50006),
        (400, 50035),
        (400, 50035),
        (403, 50005),
        (400, 50035),
        (403, 50007),
        (400, 50034),
    ]


def test_a_field_that_is_wrong_is_named_as_discord_does(bot, on_discord):
    async def body(world, _):
        with pytest.raises(discord.HTTPException) as caught:
            await general(world, bot).send("x" * 2001)
        return caught.value.text

    assert on_discord(bot, body) == "Invalid Form Body\nIn content: Must be 2000 or fewer in length."


@pytest.mark.parametrize("route", ["POST /channels/{channel_id}/messages", None])
def test_a_rate_limit_is_a_429_after_which_the_bot_tries_again(bot, on_discord, route):
    async def body(world, _):
        world.rate_limit(route, times=2, retry_after=0.01)
        sent = await general(world, bot).send("at last")
        return sent.content, world.journal.events(DiscordRateLimited)

    content, limited = on_discord(bot, body)
    assert content == "at last"
    scope = "user" if route else "global"
    wanted = DiscordRateLimited(route="POST /channels/{channel_id}/messages", scope=scope, retry_after=0.01)
    assert limited == [wanted] * 2


def test_a_rate_limit_of_one_route_leaves_the_others_alone(bot, on_discord):
    async def body(world, _):
        world.rate_limit("POST /channels/{channel_id}/messages", retry_after=60)
        await bot.fetch_guild(world.guild.id)
        return world.journal.events(DiscordRateLimited)

    assert on_discord(bot, body) == []


def test_the_headers_of_a_429_say_whose_limit_it_is_and_for_how_long(on_discord):
    async def body(world):
        async with httpx.AsyncClient(headers={"authorization": f"Bot {world.token}"}) as client:
            world.rate_limit("GET /users/@me", retry_after=1.5)
            own = await client.get(f"{world.api_url}/users/@me")
            world.rate_limit(retry_after=2)
            shared = await client.get(f"{world.api_url}/users/@me")
            good = await client.get(f"{world.api_url}/users/@me")
            return own, shared, good

    own, shared, good = on_discord(None, body)
    assert own.status_code == shared.status_code == 429
    assert own.json() == {"message": "You are being rate limited.", "retry_after": 1.5, "global": False}
    assert own.headers["retry-after"] == own.headers["x-ratelimit-reset-after"] == "1.5"
    assert (own.headers["x-ratelimit-remaining"], own.headers["x-ratelimit-scope"]) == ("0", "user")
    assert own.headers["x-ratelimit-bucket"] == good.headers["x-ratelimit-bucket"]
    assert shared.json()["global"] is True
    assert (shared.headers["x-ratelimit-global"], shared.headers["x-ratelimit-scope"]) == ("true", "global")
    assert good.status_code == 200
    assert "via" in own.headers


def test_requests_that_are_none_are_answered_in_discords_words(on_discord):
    async def body(world):
        good = {"authorization": f"Bot {world.token}"}
        general = f"/channels/{world.channel('general').id}"
        tries = [
            ("GET", "/api/v10/users/@me", {}, b""),
            ("GET", "/api/v10/users/@me", {"authorization": world.token}, b""),
            ("GET", "/api/v3/users/@me", good, b""),
            ("GET", "/api/v10/nothing/like/it", good, b""),
            ("GET", "/elsewhere", good, b""),
            ("DELETE", "/api/v10/users/@me", good, b""),
            ("GET", "/api/v10/channels/abc", good, b""),
            ("POST", f"/api/v10{general}/messages", good, b"{nonsense"),
            ("POST", f"/api/v10{general}/messages", good, b"[]"),
            ("POST", f"/api/v10{general}/messages", good, b'{"content": 5}'),
            ("GET", f"/api/v10{general}/messages?limit=1000", good, b""),
            ("PUT", f"/api/v10/applications/{world.bot.id}/commands", good, b'[{"name": "No Spaces"}]'),
            ("GET", "/attachments/1/2/x", good, b""),
        ]
        async with httpx.AsyncClient() as client:
            answers = [
                await client.request(method, world.url + path, headers=headers, content=content)
                for method, path, headers, content in tries
            ]
        return [(answer.status_code, answer.json()["code"]) for answer in answers], world.journal

    answers, journal = on_discord(None, body)
    assert answers == [
        (401, 0),
        (401, 0),
        (400, 50041),
        (404, 0),
        (404, 0),
        (405, 0),
        (400, 50035),
        (400, 50109),
        (400, 50035),
        (400, 50035),
        (400, 50035),
        (400, 50035),
        (404, 0),
    ]
    assert [noted.status for noted in journal.events(RequestRefused)] == [status for status, _ in answers]


def test_a_request_that_changes_nothing_is_journaled_by_its_name(on_discord):
    async def body(world):
        async with httpx.AsyncClient(headers={"authorization": f"Bot {world.token}"}) as client:
            answer = await client.get(f"{world.url}/api/gateway/bot")
        return answer.json(), world.gateway_url, world.journal.events(RequestServed)

    answer, gateway, [served] = on_discord(None, body)
    assert (answer["url"], answer["shards"]) == (gateway, 1)
    assert (served.format, served.what, served.path) == ("discord", "get_gateway_bot", "/api/gateway/bot")


def test_a_bot_with_a_wrong_token_cannot_log_in(bot, on_discord, running):
    async def body(world):
        bot_world = type(
            "Wrong", (), {"api_url": world.api_url, "token": "no", "wait_for_bot": world.wait_for_bot}
        )
        with pytest.raises(discord.LoginFailure):
            async with running(bot_world, bot):
                pass

    on_discord(None, body)


def test_the_token_does_not_reach_a_journal_file(tmp_path):
    async def main():
        journal = Journal(tmp_path / "journal.jsonl")
        world = Discord(journal, token="very-secret-token")
        await world.start()
        await world.user("ann").says("the token is very-secret-token")
        await world.stop()
        journal.close()

    asyncio.run(main())
    text = (tmp_path / "journal.jsonl").read_text()
    assert "very-secret-token" not in text
    assert [json.loads(line) for line in text.splitlines()]
    assert read_journal(tmp_path / "journal.jsonl")


def test_mistakes_with_controls_are_named(on_discord):
    async def body(world):
        with pytest.raises(ScriptError, match=r"POST /channels/\{channel_id\}/messages"):
            world.rate_limit("POST /channels/{channel_id}/message")
        with pytest.raises(ValueError, match="at least one"):
            world.rate_limit(times=0)
        with pytest.raises(ValueError, match="retry_after"):
            world.rate_limit(retry_after=-1)
        with pytest.raises(ScriptError, match="'FLY' is not a permission"):
            world.deny("FLY")

    on_discord(None, body)
    with pytest.raises(ScriptError, match="'general' cannot be the name of a channel"):
        Discord(Journal(), channels=("general", "general"))
    with pytest.raises(ScriptError, match="'bot' cannot be the name of a user"):
        Discord(Journal(), users=("bot",))
