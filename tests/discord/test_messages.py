"""Messages and what hangs on them, between users of the test and a real discord.py bot."""

from __future__ import annotations

import asyncio
import io
import urllib.request

import discord
import pytest

from soundstage.discord import (
    DiscordChannelChanged,
    DiscordMessageChanged,
    DiscordReacted,
    DiscordTyped,
)
from soundstage.errors import ExpectationError, ScriptError, WaitTimeout
from soundstage.journal import MessageReceived, MessageSent, event


def answering(bot, answer):
    """Have `bot` call `answer(message)` for what others write."""

    async def on_message(message):
        if message.author.id != bot.user.id:
            await answer(message)

    bot.event(on_message)
    return bot


def collecting(bot, *names):
    """A queue of the arguments of events of the bot."""
    queue = asyncio.Queue()

    def listen(name):
        async def listener(*args):
            queue.put_nowait((name, *args))

        bot.add_listener(listener, f"on_{name}")

    for name in names:
        listen(name)
    return queue


def test_a_bot_answers_a_user_and_both_are_in_the_journal(bot, on_discord):
    answering(bot, lambda message: message.channel.send(f"hi {message.author.name}"))

    async def body(world, _):
        said = await world.user("ann").says("hello", channel="general")
        answer = await world.expect("hi", channel="general")
        return said, answer, world.journal

    said, answer, journal = on_discord(bot, body)
    assert (said.content, answer.content) == ("hello", "hi ann")
    received, sent = journal.read(type=(MessageReceived, MessageSent))
    assert received.event == MessageReceived(text="hello", channel="#general", sender="ann")
    assert sent.event == MessageSent(text="hi ann", channel="#general", sender="bot")
    assert sent.cause == received.position


def test_prefix_commands_work_and_other_bots_are_ignored_as_the_library_does(bot, on_discord):
    @bot.command()
    async def ping(context):
        await context.send("pong")

    async def body(world, _):
        await world.user("helper", bot=True).says("!ping")
        await world.expect_nothing(within=0.05)
        await world.user("ann").says("!ping")
        return (await world.expect("pong")).text

    assert on_discord(bot, body) == "pong"


def test_a_reply_names_its_message_and_is_caused_by_it_not_by_the_newest(bot, on_discord):
    first = asyncio.Event()

    async def answer(message):
        if message.content == "first":
            await first.wait()
            await message.reply("answer to the first")

    answering(bot, answer)

    async def body(world, _):
        ann = world.user("ann")
        asked = await ann.says("first")
        await ann.says("second")
        first.set()
        reply = await world.expect("answer")
        sent = world.journal.read(type=MessageSent)[0]
        received = world.journal.read(type=MessageReceived)[0]
        return reply.reply_to == asked.id, ann.id in reply.mentions, sent.cause == received.position

    assert on_discord(bot, body) == (True, True, True)


def test_a_user_replies_and_the_bot_sees_to_what(bot, on_discord):
    queue = collecting(bot, "message")

    async def body(world, _):
        ann = world.user("ann")
        asked = await ann.says("question")
        await ann.says("answer", reply_to=asked)
        await queue.get()
        _, message = await queue.get()
        return message.type, message.reference.resolved.content, message.mentions[0].name

    assert on_discord(bot, body) == (discord.MessageType.reply, "question", "ann")


def test_a_bot_edits_and_deletes_what_it_wrote(bot, on_discord):
    async def answer(message):
        sent = await message.channel.send("draft")
        await sent.edit(content="final")
        await sent.delete()

    answering(bot, answer)

    async def body(world, _):
        await world.user("ann").says("go")
        sent = await world.expect("draft")
        await world.journal.wait_for(event(DiscordMessageChanged, change="deleted"), within=5)
        return sent, world.messages("general"), world.journal

    sent, left, journal = on_discord(bot, body)
    assert sent.text == "draft"
    assert [message.content for message in left] == ["go"]
    [position] = [record.position for record in journal.read(type=MessageSent)]
    changes = journal.read(type=DiscordMessageChanged)
    assert [(record.event.change, record.event.text, record.cause) for record in changes] == [
        ("edited", "final", position),
        ("deleted", "final", position),
    ]


def test_a_user_edits_and_deletes_and_the_bot_is_told(bot, on_discord):
    queue = collecting(bot, "message", "message_edit", "message_delete")

    async def body(world, _):
        ann = world.user("ann")
        said = await ann.says("helo")
        said = await ann.edits(said, "hello")
        await ann.deletes(said)
        _, message = await queue.get()
        _, before, after = await queue.get()
        _, deleted = await queue.get()
        return message.id, before.content, after.content, deleted.content

    number, before, after, deleted = on_discord(bot, body)
    assert (before, after, deleted) == ("helo", "hello", "hello")
    assert discord.utils.snowflake_time(number).year >= 2026


def test_history_comes_newest_first_and_in_parts(bot, on_discord):
    async def body(world, _):
        ann = world.user("ann")
        said = [await ann.says(f"m{number}") for number in range(7)]
        channel = bot.get_channel(world.channel("general").id)
        newest = [message.content async for message in channel.history(limit=3)]
        oldest = [message.content async for message in channel.history(limit=2, oldest_first=True)]
        before = [message.content async for message in channel.history(before=discord.Object(said[2].id))]
        around = [m.content async for m in channel.history(around=discord.Object(said[3].id), limit=3)]
        one = await channel.fetch_message(said[5].id)
        return newest, oldest, before, around, one.content

    assert on_discord(bot, body) == (
        ["m6", "m5", "m4"],
        ["m0", "m1"],
        ["m1", "m0"],
        ["m4", "m3", "m2"],
        "m5",
    )


def test_a_bot_cleans_up_many_messages_at_once(bot, on_discord):
    queue = collecting(bot, "raw_bulk_message_delete")

    async def body(world, _):
        ann = world.user("ann")
        for number in range(4):
            await ann.says(f"m{number}")
        channel = bot.get_channel(world.channel("general").id)
        gone = await channel.purge(limit=3)
        _, told = await queue.get()
        return len(gone), len(told.message_ids), [message.text for message in world.messages()]

    assert on_discord(bot, body) == (3, 3, ["m0"])


def test_typing_is_seen_in_both_directions(bot, on_discord):
    queue = collecting(bot, "typing")

    async def answer(message):
        async with message.channel.typing():
            await message.channel.send("done")

    answering(bot, answer)

    async def body(world, _):
        ann = world.user("ann")
        await ann.types(channel="general")
        _, channel, user, _ = await queue.get()
        await ann.says("go")
        await world.expect("done")
        return channel.name, user.name, world.journal.events(DiscordTyped)

    name, user, typed = on_discord(bot, body)
    assert (name, user) == ("general", "ann")
    assert typed == [
        DiscordTyped(channel="#general", sender="ann"),
        DiscordTyped(channel="#general", sender="bot"),
    ]


def test_reactions_go_both_ways_and_are_counted(bot, on_discord):
    queue = collecting(bot, "reaction_add", "reaction_remove")
    answering(bot, lambda message: message.add_reaction("👍"))

    async def body(world, _):
        ann = world.user("ann")
        said = await ann.says("nice?")
        await world.journal.wait_for(event(DiscordReacted, sender="bot"), within=5)
        await queue.get()  # the bot's own
        await ann.reacts("👍", said)
        _, reaction, user = await queue.get()
        counted = (str(reaction.emoji), reaction.count, user.name)
        users = sorted([user.name async for user in reaction.users()])
        await ann.takes_back("👍", said)
        await ann.takes_back("👍", said)  # harmless
        _, reaction, _ = await queue.get()
        await reaction.message.clear_reactions()
        return counted, users, world.messages()[0].reactions, world.journal.events(DiscordReacted)

    counted, users, left, noted = on_discord(bot, body)
    assert (counted, users, left) == (("👍", 2, "ann"), ["ann", "bot"], ())
    assert [(item.change, item.sender) for item in noted] == [
        ("added", "bot"),
        ("added", "ann"),
        ("removed", "ann"),
        ("removed", "bot"),
    ]


def test_a_bot_takes_reactions_away_one_by_one(bot, on_discord):
    async def body(world, _):
        ann = world.user("ann")
        said = await ann.says("hello")
        for emoji in ("a:1", "b:2", "c:3"):
            await ann.reacts(emoji)
        channel = bot.get_channel(world.channel("general").id)
        message = await channel.fetch_message(said.id)
        await message.add_reaction("<:a:1>")
        await message.remove_reaction("<:a:1>", bot.user)
        await message.remove_reaction("<:b:2>", discord.Object(ann.id))
        await message.clear_reaction("<:c:3>")
        return [(reaction.emoji, reaction.users) for reaction in world.messages()[0].reactions], ann.id

    left, ann = on_discord(bot, body)
    assert left == [("a:1", (ann,))]


def test_files_travel_both_ways(bot, on_discord):
    async def answer(message):
        content = await message.attachments[0].read()
        file = discord.File(io.BytesIO(content[::-1]), "rückwärts / ?.bin", description="backwards")
        await message.channel.send("here", file=file)

    answering(bot, answer)
    data = bytes(range(256)) + b"\r\n--\r\n\n\r"

    async def body(world, _):
        ann = world.user("ann")
        said = await ann.says("take this", attachments=[("data.txt", data)])
        answer = await world.expect("here")
        [file] = answer.attachments
        content = await asyncio.to_thread(lambda: urllib.request.urlopen(file.url).read())
        return said, answer.text, file, content

    said, text, file, content = on_discord(bot, body)
    assert (said.text, said.attachments[0].content_type) == ("take this\n[file data.txt]", "text/plain")
    assert text == "here\n[file rückwärts / ?.bin]"
    assert (file.filename, file.size, file.description) == ("rückwärts / ?.bin", len(data), "backwards")
    assert content == data[::-1]


def test_a_bot_changes_the_files_of_a_message(bot, on_discord):
    async def answer(message):
        sent = await message.channel.send(
            files=[discord.File(io.BytesIO(b"1"), "one"), discord.File(io.BytesIO(b"2"), "two")]
        )
        await sent.edit(attachments=[sent.attachments[1], discord.File(io.BytesIO(b"3"), "three")])

    answering(bot, answer)

    async def body(world, _):
        await world.user("ann").says("go")
        await world.journal.wait_for(event(DiscordMessageChanged, change="edited"), within=5)
        return [file.filename for file in world.messages()[-1].attachments]

    assert on_discord(bot, body) == ["two", "three"]


def test_embeds_are_kept_and_their_texts_are_part_of_what_a_reader_sees(bot, on_discord):
    embed = discord.Embed(title="Weather", description="mostly sunny", colour=0xFFAA00)
    embed.add_field(name="high", value="21°").set_footer(text="today")
    answering(bot, lambda message: message.channel.send("Look:", embed=embed))

    async def body(world, _):
        await world.user("ann").says("weather?")
        return await world.expect("mostly sunny")

    message = on_discord(bot, body)
    assert message.content == "Look:"
    assert message.text == "Look:\nWeather\nmostly sunny\nhigh: 21°\ntoday"
    assert message.embeds[0]["color"] == 0xFFAA00


def test_pins_are_set_listed_and_taken_away(bot, on_discord):
    async def body(world, _):
        said = await world.user("ann").says("remember")
        channel = bot.get_channel(world.channel("general").id)
        message = await channel.fetch_message(said.id)
        await message.pin()
        pinned = [message.content async for message in channel.pins()]
        await message.unpin()
        left = [message.content async for message in channel.pins()]
        return pinned, left, [noted.change for noted in world.journal.events(DiscordMessageChanged)]

    assert on_discord(bot, body) == (["remember"], [], ["pinned", "unpinned"])


def test_a_bot_answers_in_a_thread_that_a_user_started(bot, on_discord):
    async def on_thread_create(thread):
        await thread.send(f"welcome to {thread.name}")

    bot.event(on_thread_create)
    answering(
        bot, lambda message: message.channel.send("noted") if message.content == "a step" else _nothing()
    )

    async def body(world, _):
        ann = world.user("ann")
        said = await ann.says("let us plan")
        thread = await ann.starts_thread("plan", message=said)
        await world.expect("welcome to plan", channel="#general/plan")
        await ann.says("a step", channel="plan")
        await world.expect("noted", channel=thread)
        return thread.id == said.id, [message.text for message in world.messages("plan")]

    assert on_discord(bot, body) == (True, ["welcome to plan", "a step", "noted"])


async def _nothing():
    return


def test_a_bot_starts_threads_under_a_message_and_on_their_own(bot, on_discord):
    async def answer(message):
        under = await message.create_thread(name="under")
        await under.send("in the first")
        alone = await message.channel.create_thread(name="alone", type=discord.ChannelType.public_thread)
        await alone.add_user(message.author)
        await alone.send("in the second")
        await alone.edit(archived=True)

    answering(bot, answer)

    async def body(world, _):
        ann = world.user("ann")
        await ann.says("go", channel="general")
        await world.expect("first", channel="#general/under")
        await world.expect("second", channel="#general/alone")
        await world.journal.wait_for(
            lambda e: isinstance(e, DiscordChannelChanged) and world.channel("alone").archived, within=5
        )
        alone = world.channel("alone")
        channel = bot.get_channel(world.channel("general").id)
        archived = [thread.name async for thread in channel.archived_threads()]
        active = [thread.name for thread in await channel.guild.active_threads()]
        members = [member.id for member in await (await bot.fetch_channel(alone.id)).fetch_members()]
        return archived, active, set(members) == {ann.id, world.bot.id}

    assert on_discord(bot, body) == (["alone"], ["under"], True)


def test_private_messages_go_both_ways(bot, on_discord):
    answering(bot, lambda message: message.author.send(f"in private: {message.content}"))

    async def body(world, _):
        ann, bob = world.user("ann"), world.user("bob")
        await ann.says("from the guild")
        await world.expect("in private: from the guild", channel="@ann")
        await bob.says_privately("psst")
        await world.expect("in private: psst", channel="@bob")
        return [message.text for message in world.messages("@bob")]

    assert on_discord(bot, body) == ["psst", "in private: psst"]


def test_a_bot_makes_changes_and_deletes_channels(bot, on_discord):
    queue = collecting(bot, "guild_channel_create", "guild_channel_update", "guild_channel_delete")

    async def body(world, _):
        guild = bot.get_guild(world.guild.id)
        channel = await guild.create_text_channel("plans", topic="what next")
        await channel.edit(name="ideas")
        made = world.channel("ideas")
        await channel.delete()
        world.add_channel("by-the-test")
        seen = [(await queue.get())[0].removeprefix("guild_channel_") for _ in range(4)]
        return (
            made.topic,
            seen,
            [(item.change, item.channel) for item in world.journal.events(DiscordChannelChanged)],
        )

    topic, seen, noted = on_discord(bot, body)
    assert topic == "what next"
    assert seen == ["create", "update", "delete", "create"]
    assert noted == [
        ("created", "#plans"),
        ("changed", "#ideas"),
        ("deleted", "#ideas"),
        ("created", "#by-the-test"),
    ]


def test_a_bot_knows_guild_members_and_itself(bot, on_discord):
    async def body(world, _):
        ann = world.user("ann")
        guild = await bot.fetch_guild(world.guild.id)
        member = await guild.fetch_member(ann.id)
        user = await bot.fetch_user(ann.id)
        everybody = sorted([member.name async for member in guild.fetch_members()])
        found = [member.name for member in await bot.guilds[0].query_members("an")]
        names = [channel.name for channel in await guild.fetch_channels()]
        roles = [role.name for role in await guild.fetch_roles()]
        mine = [guild.name async for guild in bot.fetch_guilds()]
        await bot.user.edit(username="robot")
        return member.name, user.name, everybody, found, names, roles, mine, world.bot.name

    assert on_discord(bot, body) == (
        "ann",
        "ann",
        ["ann", "bot", "owner"],
        ["ann"],
        ["general"],
        ["@everyone", "bot"],
        ["Soundstage"],
        "robot",
    )


def test_a_missed_expectation_shows_what_the_bot_wrote_instead(bot, on_discord):
    answering(bot, lambda message: message.channel.send("something else"))

    async def body(world, _):
        await world.user("ann").says("hello")
        await world.expect("something")
        await world.user("ann").says("again")
        with pytest.raises(WaitTimeout, match="#general: 'something else'") as caught:
            await world.expect("hello", within=1)
        with pytest.raises(ExpectationError, match="quiet"):
            await world.expect_nothing(within=1)
        return str(caught.value)

    assert on_discord(bot, body).count("something else") == 1


def test_waiting_for_a_bot_that_is_not_there_says_so(on_discord):
    async def body(world):
        with pytest.raises(WaitTimeout, match="no bot connected"):
            await world.wait_for_bot(within=0.01)
        with pytest.raises(WaitTimeout, match="the bot is not connected"):
            await world.expect("hi", within=0.01)

    on_discord(None, body)


def test_mistakes_of_the_test_are_named(on_discord):
    async def body(world):
        ann, bob = world.user("ann"), world.user("bob")
        said = await ann.says("hello")
        with pytest.raises(ScriptError, match="there is no channel 'nowhere'"):
            await ann.says("hello", channel="nowhere")
        with pytest.raises(ScriptError, match="a message needs a text"):
            await ann.says("  ")
        with pytest.raises(ScriptError, match="bob cannot edit a message of ann"):
            await bob.edits(said, "no")
        with pytest.raises(ScriptError, match="no user that a test can play"):
            world.user("bot")
        with pytest.raises(ScriptError, match="no user that a test can play"):
            world.user("ann", bot=True)
        with pytest.raises(ScriptError, match="there is a channel 'general' already"):
            world.add_channel("general")
        with pytest.raises(ScriptError, match="no channels of kind 'tv'"):
            world.add_channel("new", kind="tv")
        await ann.deletes(said)
        with pytest.raises(ExpectationError, match="not there any more"):
            await bob.reacts("👍", said)

    on_discord(None, body)
