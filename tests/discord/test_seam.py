"""The seam between an app and Discord: the same tests on the virtual peer and on discord.py."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import discord
import httpx
import pytest

from soundstage.clock import run
from soundstage.discord import (
    ChannelNotFoundError,
    Discord,
    DiscordGateway,
    DiscordInboundMessage,
    DiscordPyGateway,
    DiscordScriptedConversation,
    SentMessage,
    VirtualDiscordGateway,
)
from soundstage.discord._discordpy import _translated
from soundstage.errors import (
    AppError,
    DeadlockError,
    EnvironmentProblem,
    ExpectationError,
    InvalidStateError,
    ScriptError,
    WaitTimeout,
)
from soundstage.journal import DaemonChanged, Journal, MessageReceived, MessageSent, Noted
from soundstage.messages import ModelRequest, user
from soundstage.models import JournaledModel, Script, ScriptedModel, complete
from soundstage.testing import InboxProbe, verify_world


class OnVirtual:
    """The seam in process, on virtual time."""

    channel_id = 7

    def __init__(self, *, channels=lambda stage: None, **options):
        self.gateway = VirtualDiscordGateway(Journal(), channels=channels(self), **options)

    async def says(self, author, text, *, bot=False):
        return await self.gateway.simulate_message(self.channel_id, author, text, is_bot=bot)

    async def sent(self, count):
        for _ in range(count):
            await self.gateway.expect(lambda text: True)
        return [tuple(message) for message in self.gateway.sent_messages]

    async def read(self):
        """Nothing to wait for: what was simulated is there."""

    async def end(self):
        self.gateway.end_input()


class OnLibrary:
    """The seam on discord.py, against the virtual Discord on loopback."""

    def __init__(self, world, *, channels=lambda stage: None, **options):
        self.world = world
        self.channel_id = world.channel("general").id
        self.gateway = DiscordPyGateway(
            world.token, api_base=world.api_url, channels=channels(self), **options
        )

    async def says(self, author, text, *, bot=False):
        return await self.world.user(author, bot=bot).says(text, channel="general")

    async def sent(self, count):
        for _ in range(count):
            await self.world.expect(lambda text: True)
        mine = [message for message in self.world.messages() if message.author_id == self.world.bot.id]
        return [(message.channel_id, message.text) for message in mine]

    async def read(self):
        """Wait until the library has read what was sent to it."""
        await self.world.wait_for_bot()

    async def end(self):
        await self.gateway.disconnect()


def on_virtual(body, **options):
    async def main():
        return await body(OnVirtual(**options))

    return run(main())


def on_library(body, **options):
    async def main():
        world = Discord(Journal())
        await world.start()
        stage = OnLibrary(world, **options)
        try:
            return await body(stage)
        finally:
            await stage.gateway.disconnect()
            await world.stop()

    return asyncio.run(main())


@pytest.fixture(params=[on_virtual, on_library], ids=["virtual", "discord.py"])
def on_stage(request):
    """`on_stage(body)` runs `body(stage)` on one of the two peers."""
    return request.param


def test_both_peers_keep_the_protocol():
    assert isinstance(VirtualDiscordGateway(Journal()), DiscordGateway)
    assert isinstance(DiscordPyGateway("token"), DiscordGateway)


def test_messages_come_in_order_with_all_they_are_made_of_and_answers_go_out(on_stage):
    async def body(stage):
        gateway = stage.gateway
        await gateway.connect()
        said = [await stage.says("ann", f"m{number}") for number in range(3)]
        stream = gateway.inbound_messages
        assert isinstance(stream, AsyncIterator)
        got = [await anext(stream) for _ in range(3)]
        for message in got:
            await gateway.send_message(message.channel_id, f"{message.author}: {message.content}")
        sent = await stage.sent(3)
        await stage.end()
        rest = [message async for message in gateway.inbound_messages]
        ids = [str(getattr(message, "message_id", None) or message.id) for message in said]
        return got, ids, sent, rest, stage.channel_id

    got, ids, sent, rest, channel = on_stage(body)
    assert [(message.author, message.content) for message in got] == [("ann", f"m{n}") for n in range(3)]
    assert [message.message_id for message in got] == ids
    assert all(isinstance(message, DiscordInboundMessage) and not message.is_bot for message in got)
    assert all(message.timestamp.tzinfo is not None for message in got)
    assert {message.channel_id for message in got} == {channel}
    assert sent == [(channel, f"ann: m{n}") for n in range(3)]
    assert rest == []


def test_what_other_bots_write_is_dropped_unless_asked_for(on_stage):
    def body(count):
        async def main(stage):
            await stage.gateway.connect()
            await stage.says("helper", "from a bot", bot=True)
            await stage.says("ann", "from a person")
            stream = stage.gateway.inbound_messages
            return [((m := await anext(stream)).content, m.is_bot) for _ in range(count)]

        return main

    assert on_stage(body(1)) == [("from a person", False)]
    assert on_stage(body(2), include_bots=True) == [("from a bot", True), ("from a person", False)]


def test_an_app_can_listen_to_some_channels_only(on_stage):
    async def body(stage):
        await stage.gateway.connect()
        await stage.says("ann", "hello")
        await stage.read()
        await stage.end()
        return [message.content async for message in stage.gateway.inbound_messages]

    assert on_stage(body, channels=lambda stage: [stage.channel_id]) == ["hello"]
    assert on_stage(body, channels=lambda stage: [1]) == []


def test_an_app_does_not_hear_itself(on_stage):
    async def body(stage):
        await stage.gateway.connect()
        await stage.gateway.send_message(stage.channel_id, "mine")
        await stage.sent(1)
        await stage.says("ann", "hers")
        return (await anext(stage.gateway.inbound_messages)).content

    assert on_stage(body, include_bots=True) == "hers"


def test_sending_before_connect_and_connecting_twice_are_mistakes(on_stage):
    async def body(stage):
        with pytest.raises(InvalidStateError, match="not connected"):
            await stage.gateway.send_message(stage.channel_id, "too early")
        await stage.gateway.connect()
        with pytest.raises(InvalidStateError, match="connected"):
            await stage.gateway.connect()

    on_stage(body)


def test_blank_content_is_not_sent_and_a_negative_channel_is_a_mistake(on_stage):
    async def body(stage):
        await stage.gateway.connect()
        for blank in ("", "  ", "\n\t"):
            await stage.gateway.send_message(stage.channel_id, blank)
        with pytest.raises(ValueError, match="not negative"):
            await stage.gateway.send_message(-1, "hello")
        await stage.gateway.send_message(stage.channel_id, "real")
        return [text for _, text in await stage.sent(1)]

    assert on_stage(body) == ["real"]


def test_a_message_from_a_negative_channel_cannot_be_made():
    with pytest.raises(ValueError, match="got -5"):
        DiscordInboundMessage(
            channel_id=-5, author="ann", content="x", message_id="1", timestamp=datetime.now(UTC)
        )


# the virtual peer


def test_ids_and_times_are_generated_when_they_are_not_given_and_repeat_in_every_run():
    async def body(stage):
        moment = datetime(2026, 5, 1, tzinfo=UTC)
        generated = await stage.gateway.simulate_message(1, "ann", "a")
        given = await stage.gateway.simulate_message(1, "ann", "b", "id", moment, False)
        return generated, given.message_id, given.timestamp == moment

    first, second = on_virtual(body), on_virtual(body)
    assert first == second
    assert len(first[0].message_id) == 32
    assert first[0].timestamp == datetime(2026, 1, 1, tzinfo=UTC)
    assert first[1:] == ("id", True)


def test_after_the_end_nothing_can_be_simulated_and_what_was_is_still_read():
    async def body(stage):
        await stage.says("ann", "last words")
        stage.gateway.end_input()
        stage.gateway.end_input()
        with pytest.raises(InvalidStateError, match="have ended"):
            await stage.says("ann", "too late")
        return [message.content async for message in stage.gateway.inbound_messages]

    assert on_virtual(body) == ["last words"]


def test_a_reader_waits_on_virtual_time_and_a_stream_that_never_ends_is_a_deadlock():
    async def waiting(stage):
        asyncio.get_running_loop().call_later(3600, stage.gateway.end_input)
        return [
            message async for message in stage.gateway.inbound_messages
        ], asyncio.get_running_loop().time()

    async def stuck(stage):
        async for _ in stage.gateway.inbound_messages:
            pass

    assert on_virtual(waiting) == ([], 3600)
    with pytest.raises(DeadlockError):
        on_virtual(stuck)


def test_waiting_for_ready_really_waits():
    async def body(stage):
        with pytest.raises(WaitTimeout, match="did not connect"):
            await stage.gateway.wait_for_ready(within=5)
        asyncio.get_running_loop().call_later(2, lambda: asyncio.ensure_future(stage.gateway.connect()))
        await stage.gateway.wait_for_ready(within=5)
        await stage.gateway.disconnect()
        return asyncio.get_running_loop().time()

    assert on_virtual(body) == 7


def test_messages_are_journaled_and_a_dropped_one_is_noted():
    async def body(stage):
        await stage.gateway.connect()
        await stage.says("ann", "hello")
        await stage.says("helper", "beep", bot=True)
        await anext(stage.gateway.inbound_messages)
        await stage.gateway.send_message(3, "hi")
        return stage.gateway.journal

    journal = on_virtual(body)
    received, dropped, sent = journal.read()
    assert received.event == MessageReceived(text="hello", channel="7", sender="ann")
    assert dropped.event == Noted(text="a message of the bot helper was dropped", data={"content": "beep"})
    assert (sent.event, sent.cause) == (MessageSent(text="hi", channel="3"), received.position)


def test_what_an_app_asks_its_model_is_caused_by_the_message_that_it_works_on():
    script = Script()
    script.on(user="hello").reply("hi")

    async def body(stage):
        model = JournaledModel(ScriptedModel(script), stage.gateway.journal)
        await stage.says("ann", "hello")
        message = await anext(stage.gateway.inbound_messages)
        await complete(model, ModelRequest(model="m", messages=(user(message.content),)))
        return [record.cause for record in stage.gateway.journal.read()][:2]

    assert on_virtual(body) == [None, 1]


def test_expecting_a_message_of_the_app_shows_what_came_instead():
    async def body(stage):
        await stage.gateway.connect()
        await stage.gateway.send_message(1, "first")
        await stage.gateway.send_message(2, "second")
        found = await stage.gateway.expect("second", channel=2)
        await stage.gateway.send_message(1, "third")
        with pytest.raises(WaitTimeout, match="'third'"):
            await stage.gateway.expect("fourth", within=1)
        with pytest.raises(WaitTimeout, match="'third'"):
            await stage.gateway.expect("third", channel=2, within=1)
        return found

    assert on_virtual(body) == SentMessage(2, "second")


async def echo(gateway):
    await gateway.connect()
    async for message in gateway.inbound_messages:
        if "silence" not in message.content:
            await gateway.send_message(message.channel_id, f"you said {message.content}")


def conversing(steps, **options):
    async def body(stage):
        app = asyncio.create_task(echo(stage.gateway))
        await stage.gateway.start()
        await stage.gateway.wait_for_ready()
        try:
            return await DiscordScriptedConversation(steps, **options).run(stage.gateway, within=3)
        finally:
            await stage.gateway.stop()
            await app

    return on_virtual(body)


def test_a_scripted_conversation_says_and_expects_step_by_step():
    steps = [("ann", "one", "you said one"), ("bob", "silence", None), ("ann", "two", "/TWO/i")]
    assert conversing(steps, channel=9) == [
        SentMessage(9, "you said one"),
        None,
        SentMessage(9, "you said two"),
    ]


def test_a_step_that_is_not_answered_is_named_by_its_number():
    with pytest.raises(AssertionError, match="step 1 of the conversation: bob wrote 'silence'"):
        conversing([("ann", "one", "one"), ("bob", "silence", "anything")])


def test_a_step_at_which_the_app_fails_is_named_at_once():
    async def main():
        gateway = VirtualDiscordGateway(Journal())
        failed = DaemonChanged(daemon="app", status="running", error="KeyError: 'x'")
        asyncio.get_running_loop().call_later(1, gateway.journal.append, failed)
        with pytest.raises(
            ExpectationError, match=r"step 0 of the conversation[\s\S]*KeyError: 'x'"
        ) as caught:
            await DiscordScriptedConversation([("ann", "hello", "hi")]).run(gateway, within=60)
        return isinstance(caught.value, WaitTimeout), gateway.journal.clock.now()

    assert run(main()) == (False, 1)


def test_a_conversation_that_is_none_is_a_mistake():
    with pytest.raises(ScriptError, match="at least one step"):
        DiscordScriptedConversation([])
    with pytest.raises(ScriptError, match="step 1 of the conversation does not have three parts"):
        DiscordScriptedConversation([("ann", "hello", None), ("bob", "hello")])


# discord.py


def test_a_channel_is_looked_up_in_the_cache_first_and_then_asked_for():
    async def body(stage):
        world, gateway = stage.world, stage.gateway
        await gateway.connect()
        before = len(world.journal)
        await gateway.send_message(stage.channel_id, "known")
        known = [type(record.event).__name__ for record in world.journal.read(before)]
        gateway._client._connection._guilds.clear()
        gateway._client._connection._private_channels.clear()
        ann = world.user("ann")
        await ann.says_privately("hello")
        private = world.channel("@ann").id
        await anext(gateway.inbound_messages)
        await gateway.send_message(private, "fetched")
        await world.expect("fetched", channel="@ann")
        return known

    assert on_library(body) == ["MessageSent"]


def test_a_channel_that_is_not_there_or_holds_no_messages_is_named():
    async def body(stage):
        await stage.gateway.connect()
        category = stage.world.add_channel("things", kind="category")
        for number in (12345, category.id):
            with pytest.raises(ChannelNotFoundError):
                await stage.gateway.send_message(number, "hello")
        stage.world.deny("SEND_MESSAGES", channel="general")
        with pytest.raises(AppError, match="may not do that"):
            await stage.gateway.send_message(stage.channel_id, "hello")
        stage.world.allow("SEND_MESSAGES", channel="general")
        with pytest.raises(AppError, match="did not take it"):
            await stage.gateway.send_message(stage.channel_id, "x" * 2001)

    on_library(body)


@pytest.mark.parametrize(
    ("token", "intents", "words"),
    [
        ("wrong", ("MESSAGE_CONTENT",), "does not accept the token"),
        ("", (), "does not allow the bot's intents"),
    ],
)
def test_a_connection_that_discord_does_not_accept_says_why(token, intents, words):
    async def main():
        world = Discord(Journal(), privileged_intents=intents)
        await world.start()
        gateway = DiscordPyGateway(token or world.token, api_base=world.api_url)
        try:
            with pytest.raises(EnvironmentProblem, match=words):
                await gateway.connect()
        finally:
            await world.stop()

    asyncio.run(main())


def test_a_connection_that_is_lost_for_good_is_what_a_reader_learns():
    async def body(stage):
        await stage.gateway.connect()
        stage.world.drop_connections(code=4004)
        with pytest.raises(EnvironmentProblem, match="connection to Discord failed"):
            await anext(stage.gateway.inbound_messages)
        with pytest.raises(InvalidStateError):
            await stage.gateway.send_message(stage.channel_id, "hello")

    on_library(body)


def test_a_discord_that_cannot_be_reached_is_a_problem_of_the_environment():
    async def main():
        with pytest.raises(EnvironmentProblem, match="connection to Discord failed"):
            await DiscordPyGateway("token", api_base="http://127.0.0.1:9/api/v10").connect()

    asyncio.run(main())


def test_every_error_of_the_library_has_one_of_ours():
    classes = [
        thing
        for thing in vars(discord).values()
        if isinstance(thing, type) and issubclass(thing, discord.DiscordException)
    ]
    assert discord.NotFound in classes
    for kind in classes:
        error = kind.__new__(kind)
        assert isinstance(_translated(error), AppError | EnvironmentProblem)


def test_a_user_writes_in_private_and_sends_a_file_without_a_text(on_stage):
    async def body(stage):
        await stage.gateway.connect()
        user = stage.world.user("ann") if isinstance(stage, OnLibrary) else stage.gateway.user("ann")
        await user.says_privately("psst")
        await user.says("", channel="general", attachments=[("cat.png", b"meow")])
        with pytest.raises(ScriptError, match="a text or an attachment"):
            await user.says(" ", channel="general")
        stream = stage.gateway.inbound_messages
        first, second = await anext(stream), await anext(stream)
        await stage.gateway.send_message(first.channel_id, "yes?")
        side = stage.world if isinstance(stage, OnLibrary) else stage.gateway
        answer = await side.expect("yes?", channel="@ann")
        return (first.content, second.content), answer.text, [sent.text for sent in side.sent_messages]

    assert on_stage(body) == (("psst", ""), "yes?", ["yes?"])


def test_a_message_that_is_longer_than_discord_takes_is_the_fault_of_the_app(on_stage):
    async def body(stage):
        await stage.gateway.connect()
        await stage.gateway.send_message(stage.channel_id, "x" * 2000)
        with pytest.raises(AppError, match=r"did not take it[\s\S]*2000"):
            await stage.gateway.send_message(stage.channel_id, "x" * 2001)
        return await stage.sent(1)

    [(_, content)] = on_stage(body)
    assert content == "x" * 2000


@pytest.mark.parametrize("make", [VirtualDiscordGateway, Discord])
def test_a_run_that_continues_a_journal_does_not_see_what_was_written_and_ended_in_an_earlier_one(make):
    async def main():
        journal = Journal()
        journal.append(MessageSent(text="of yesterday", channel="1001"), source="discord")
        journal.append(
            DaemonChanged(daemon="app", status="running", error="KeyError: yesterday"), source="app"
        )
        world = make(journal)
        assert world.sent_messages == []
        await world.expect_nothing(within=0.01)
        with pytest.raises(WaitTimeout) as caught:
            await world.expect("of yesterday", within=0.01)
        return str(caught.value)

    assert "KeyError" not in run(main())


def test_what_came_instead_is_what_was_written_on_discord_not_on_a_console():
    async def main():
        journal = Journal()
        gateway = VirtualDiscordGateway(journal)
        journal.append(MessageSent(text="a line of a console", channel="console"), source="console")
        with pytest.raises(WaitTimeout, match="no message at all") as caught:
            await gateway.expect("hello", within=1)
        return str(caught.value)

    assert "a line of a console" not in run(main())


async def writes(gateway):
    await gateway.simulate_message(1001, "ann", "hello")


async def says(discord):
    await discord.user("ann").says("hello", channel="general")


CHANNELS = ("general", "random")


async def app_says(gateway, text, source):
    with contextlib.suppress(InvalidStateError):  # it is connected already
        await gateway.connect()
    await gateway.send_message(gateway.channel(CHANNELS[source]).id, text)


async def bot_says(discord, text, source):
    url = f"{discord.api_url}/channels/{discord.channel(CHANNELS[source]).id}/messages"
    headers = {"authorization": f"Bot {discord.token}"}
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(url, headers=headers, json={"content": text})
    assert answer.status_code == 200, answer.text


async def expects(world, text, source, within):
    await world.expect(text, channel=CHANNELS[source], within=within)


def test_both_worlds_keep_what_every_world_guarantees():
    run(verify_world(VirtualDiscordGateway, writes, InboxProbe(app_says, expects, writes)))
    make = functools.partial(Discord, channels=CHANNELS)
    asyncio.run(verify_world(make, says, InboxProbe(bot_says, expects)))
