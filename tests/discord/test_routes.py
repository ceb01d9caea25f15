"""Routes that a library rarely takes, asked for by hand, and the rest of what channels and commands can do."""

from __future__ import annotations

import discord
import httpx
import pytest

from soundstage.discord import Discord, DiscordCommandsRegistered, DiscordGatewayChanged
from soundstage.journal import DaemonChanged, Journal


def asked(on_discord, body, **options):
    """Run `body(ask, world)`; `await ask("GET", path, json)` gives the status and the JSON of the answer."""

    async def run(world):
        headers = {"authorization": f"Bot {world.token}"}
        async with httpx.AsyncClient(headers=headers, base_url=world.api_url) as client:

            async def ask(method, path, json=None):
                answer = await client.request(method, path, json=json)
                return answer.status_code, answer.json() if answer.content else None

            return await body(ask, world)

    return on_discord(None, run, **options)


def test_a_bot_changes_who_may_do_what_in_a_channel(bot, on_discord):
    async def body(world, _):
        channel = bot.get_channel(world.channel("general").id)
        everyone = bot.get_guild(world.guild.id).default_role
        await channel.set_permissions(everyone, send_messages=False)
        denied = world.channel("general").overwrites[0].deny
        await channel.set_permissions(everyone, overwrite=None)
        return denied == discord.Permissions(send_messages=True).value, world.channel("general").overwrites

    assert on_discord(bot, body) == (True, ())


def test_a_bot_leaves_a_thread_and_learns_who_is_in_it(bot, on_discord):
    async def body(world, _):
        ann, bob = world.user("ann"), world.user("bob")
        thread = await ann.starts_thread("plan")
        plan = await bot.fetch_channel(thread.id)
        member = await plan.fetch_member(ann.id)
        with pytest.raises(discord.NotFound):
            await plan.fetch_member(bob.id)
        await plan.leave()
        await plan.join()
        await plan.add_user(discord.Object(bob.id))
        await plan.remove_user(discord.Object(ann.id))
        with pytest.raises(discord.HTTPException) as twice:
            await plan.parent.get_partial_message(1).create_thread(name="no")
        await plan.delete()
        with pytest.raises(discord.NotFound):
            await bot.fetch_channel(thread.id)
        return member.id == ann.id, twice.value.code

    assert on_discord(bot, body) == (True, 10008)


def test_threads_that_cannot_be_are_refused(on_discord):
    async def body(ask, world):
        said = await world.user("ann").says("hello")
        general = f"/channels/{said.channel_id}"
        voice = world.add_channel("talk", kind="voice")
        under = f"{general}/messages/{said.id}/threads"
        return [
            (await ask("POST", under, {"name": "plan"}))[0],
            (await ask("POST", under, {"name": "plan"}))[1]["code"],
            (await ask("POST", f"{general}/threads", {"name": "x", "type": 0}))[1]["code"],
            (await ask("POST", f"{general}/threads", {"name": "", "type": 11}))[1]["code"],
            (await ask("POST", f"{general}/threads", {"name": "x", "auto_archive_duration": 7}))[1]["code"],
            (await ask("POST", f"/channels/{voice.id}/threads", {"name": "x", "type": 11}))[1]["code"],
            (await ask("PUT", f"{general}/thread-members/@me"))[1]["code"],
            (await ask("POST", f"{general}/threads", {"name": "private"}))[1]["type"],
        ]

    assert asked(on_discord, body) == [200, 160004, 50035, 50035, 50035, 50024, 50024, 12]


def test_a_locked_thread_takes_no_more_messages(on_discord):
    async def body(ask, world):
        thread = await world.user("ann").starts_thread("plan")
        path = f"/channels/{thread.id}"
        await ask("PATCH", path, {"archived": True, "locked": True})
        return (await ask("POST", f"{path}/messages", {"content": "hello"}))[1]["code"]

    assert asked(on_discord, body) == 50083


def test_commands_are_made_fetched_edited_and_deleted_one_by_one(on_discord):
    async def body(ask, world):
        path = f"/applications/{world.bot.id}/commands"
        spec = {"name": "ask", "description": "ask something"}
        _, made = await ask("POST", path, spec)
        _, again = await ask("POST", path, {**spec, "description": "newer"})
        _, edited = await ask("PATCH", f"{path}/{made['id']}", {"description": "newest"})
        _, fetched = await ask("GET", f"{path}/{made['id']}")
        await ask("POST", path, {"name": "Look up", "type": 2})
        gone, _ = await ask("DELETE", f"{path}/{made['id']}")
        names = [event.commands for event in world.journal.events(DiscordCommandsRegistered)]
        return made["id"] == again["id"], edited["description"], fetched == edited, gone, names

    assert asked(on_discord, body) == (
        True,
        "newest",
        True,
        204,
        [("/ask",), ("/ask",), ("/ask",), ("/ask", "Look up"), ("Look up",)],
    )


def test_commands_that_cannot_be_are_refused(on_discord):
    async def body(ask, world):
        path = f"/applications/{world.bot.id}/commands"
        answers = [
            await ask("POST", path, {"name": "ask"}),
            await ask("POST", path, {"name": "x" * 33, "description": "d"}),
            await ask("POST", path, ["ask"]),
            await ask("PUT", path, {"name": "ask"}),
            await ask("PUT", path, ["ask"]),
            await ask("GET", f"{path}/1"),
            await ask("GET", "/applications/1/commands"),
            await ask("GET", f"/applications/{world.bot.id}/guilds/1/commands"),
        ]
        return [answer["code"] for _, answer in answers]

    assert asked(on_discord, body) == [50035] * 5 + [10063, 10002, 10004]


def test_members_are_listed_in_parts_and_searched(on_discord):
    async def body(ask, world):
        ann = world.user("ann")
        path = f"/guilds/{world.guild.id}/members"
        _, first = await ask("GET", f"{path}?limit=2")
        _, rest = await ask("GET", f"{path}?limit=1000&after={first[-1]['user']['id']}")
        _, found = await ask("GET", f"{path}/search?query=AN&limit=5")
        return (
            len(first),
            [member["user"]["username"] for member in rest],
            found[0]["user"]["id"] == str(ann.id),
        )

    assert asked(on_discord, body) == (2, ["ann"], True)


def test_small_things_are_refused_in_discords_words(on_discord):
    async def body(ask, world):
        general = f"/channels/{world.channel('general').id}"
        things = world.add_channel("things", kind="category")
        private = (await world.user("ann").says_privately("hi")).channel_id
        answers = [
            await ask("POST", "/users/@me/channels", {"recipient_id": str(world.bot.id)}),
            await ask("POST", "/users/@me/channels", {"recipient_id": "me"}),
            await ask("POST", f"/channels/{things.id}/messages", {"content": "hello"}),
            await ask("PATCH", f"/channels/{private}", {"name": "x"}),
            await ask("POST", f"{general}/messages/bulk-delete", {"messages": ["1"]}),
            await ask("POST", f"{general}/messages/bulk-delete", {}),
            await ask("POST", f"/guilds/{world.guild.id}/channels", {"name": "x", "type": 99}),
            await ask("POST", f"/webhooks/1/{'x' * 8}", {"content": "hi"}),
            await ask("POST", f"/interactions/1/{'x' * 8}/callback", {"type": 4}),
        ]
        closed, _ = await ask("DELETE", f"/channels/{private}")
        world.deny("MANAGE_CHANNELS")
        answers.append(await ask("POST", f"/guilds/{world.guild.id}/channels", {"name": "x"}))
        return [answer["code"] for _, answer in answers], closed

    codes = [50007, 50035, 50008, 50024, 50016, 50035, 50035, 10015, 10062, 50013]
    assert asked(on_discord, body) == (codes, 200)


def test_a_request_that_is_too_large_is_a_413(on_discord, monkeypatch):
    monkeypatch.setattr("soundstage.net._http.MAX_BODY", 1000)

    async def body(ask, world):
        path = f"/channels/{world.channel('general').id}/messages"
        return await ask("POST", path, {"content": "x" * 2000})

    assert asked(on_discord, body) == (413, {"message": "Request entity too large", "code": 40005})


def test_a_discord_that_stops_while_a_bot_is_connected_journals_the_end(make_bot, running):
    import asyncio

    async def main():
        world = Discord(Journal())
        await world.start()
        async with running(world, make_bot()):
            await world.stop()
        return world.journal

    journal = asyncio.run(main())
    closed = journal.events(DiscordGatewayChanged)[-1]
    assert (closed.change, closed.code, closed.by) == ("closed", 1012, "discord")
    assert [event.error for event in journal.events(DaemonChanged) if event.error] == []
