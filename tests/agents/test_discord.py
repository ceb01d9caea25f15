"""The Discord branch, on a gateway of four members."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import pytest

from soundstage.agents import (
    AppBuilder,
    ChatReceived,
    ChatReply,
    ChatReplyDraft,
    DiscordBranch,
    LengthSplitter,
    ParagraphSplitter,
    SettingError,
    configured_app,
)
from soundstage.clock import run
from soundstage.discord import VirtualDiscordGateway, discord_of
from soundstage.host import HostBuilder
from soundstage.journal import DaemonChanged


class Said(NamedTuple):
    """A message on Discord."""

    content: str
    author: str = "ann"
    channel_id: int = 7
    is_bot: bool = False


class Gateway:
    """A gateway that is no relative of any class of ours."""

    def __init__(self, *messages, ends=True, fails=""):
        self.messages = messages
        self.ends = ends
        self.fails = fails
        self.sent = []
        self.calls = []

    async def connect(self):
        await asyncio.sleep(1)
        if self.fails == "connect":
            raise RuntimeError("no connection")
        self.calls.append("connect")

    async def disconnect(self):
        self.calls.append("disconnect")

    @property
    def inbound_messages(self):
        return self._inbound()

    async def _inbound(self):
        for message in self.messages:
            await asyncio.sleep(1)
            yield message
        if self.fails == "inbound":
            raise RuntimeError("the connection broke")
        if not self.ends:
            await asyncio.get_running_loop().create_future()

    async def send_message(self, channel_id, content):
        await asyncio.sleep(1)
        if self.fails == "send":
            raise RuntimeError("cannot send")
        self.calls.append("send")
        self.sent.append((channel_id, content))


def bot(gateway, target=ChatReply, *, text=None, settings=(), **discord):
    """A bot that repeats what is said, or always says `text`."""

    def configure(app):
        def answer(said):
            return target(text=f"echo: {said.text}" if text is None else text, sender="bot")

        channel = app.use_discord(7, gateway=gateway, **discord)
        app.covenant().connect(channel).routes(lambda to: to.route(ChatReceived, target, answer))
        for setting, *arguments in settings:
            getattr(app, setting)(*arguments)

    return configure


@pytest.mark.parametrize("target", [ChatReply, ChatReplyDraft])
def test_what_is_said_is_answered_in_the_channel_in_order(run_app, target):
    gateway = Gateway(Said("one"), Said("two"))
    around = run_app(bot(gateway, target))
    assert gateway.sent == [(7, "echo: one"), (7, "echo: two")]
    assert around.journal.events(ChatReceived)[0] == ChatReceived(text="one", sender="ann")
    assert {record.source for record in around.journal.read(type=ChatReceived)} == {"discord"}


def test_it_is_connected_before_anything_is_sent_and_disconnected_after_everything_is(run_app):
    gateway = Gateway(Said("one"))
    around = run_app(bot(gateway))
    assert gateway.calls == ["connect", "send", "disconnect"]
    running = [event.daemon for event in around.journal.events(DaemonChanged) if event.status == "running"]
    assert running.index("discord.connection") < running.index("discord.out") < running.index("discord.in")


def test_bots_are_left_alone_unless_asked_for(run_app):
    messages = (Said("beep", is_bot=True), Said("hello"))
    quiet, chatty = Gateway(*messages), Gateway(*messages)
    run_app(bot(quiet))
    run_app(bot(chatty, include_bots=True))
    assert [content for _, content in quiet.sent] == ["echo: hello"]
    assert [content for _, content in chatty.sent] == ["echo: beep", "echo: hello"]


def test_messages_of_other_channels_are_left_alone(run_app):
    gateway = Gateway(Said("elsewhere", channel_id=8), Said("here"))
    run_app(bot(gateway))
    assert gateway.sent == [(7, "echo: here")]


def test_blank_messages_are_neither_taken_nor_sent(run_app):
    gateway = Gateway(Said("  "), Said("hello"))
    around = run_app(bot(gateway, text=" \n"))
    assert around.told(ChatReceived) == ["hello"]
    assert gateway.sent == []


def test_a_draft_is_cut_and_put_together_by_policies(run_app):
    gateway = Gateway(Said("go"))
    run_app(
        bot(
            gateway,
            ChatReplyDraft,
            text="One.\n\nTwo.\n\nThree.",
            settings=[("with_splitter", ChatReplyDraft, ParagraphSplitter())],
        )
    )
    assert [content for _, content in gateway.sent] == ["One.\n\n", "Two.\n\n", "Three."]


def test_a_long_draft_keeps_to_the_limit_of_discord(run_app):
    gateway = Gateway(Said("go"))
    run_app(
        bot(
            gateway,
            ChatReplyDraft,
            text="x" * 4500,
            settings=[("with_splitter", ChatReplyDraft, LengthSplitter(2000))],
        )
    )
    assert [len(content) for _, content in gateway.sent] == [2000, 2000, 500]


@pytest.mark.parametrize(
    ("fails", "daemon"),
    [("connect", "discord.connection"), ("inbound", "discord.in"), ("send", "discord.out")],
)
def test_what_fails_is_raised_names_its_daemon_and_leaves_no_connection(around, fails, daemon):
    async def main():
        gateway = Gateway(Said("hello"), fails=fails, ends=False)
        app = around(bot(gateway))
        with pytest.raises(RuntimeError):
            await app.run()
        named = [event.daemon for event in app.journal.events(DaemonChanged) if event.error]
        return named, gateway.calls[-1]

    assert run(main()) == ([daemon], "disconnect")


def test_a_bot_that_is_stopped_disconnects(around):
    async def main():
        gateway = Gateway(Said("hello"), ends=False)
        running = asyncio.create_task(around(bot(gateway)).run())
        await asyncio.sleep(3600)
        running.cancel()
        await asyncio.wait([running])
        return gateway.calls

    assert run(main()) == ["connect", "send", "disconnect"]


def test_a_console_and_a_channel_share_what_is_said(run_app):
    gateway = Gateway(Said("from discord"))

    def configure(app):
        channel = app.use_discord(7, gateway=gateway)
        console = app.use_console()
        app.covenant().connect(channel).connect(console).routes(
            lambda to: to.route(
                ChatReceived, ChatReplyDraft, lambda said: ChatReplyDraft(text=said.text, sender="bot")
            )
        )

    around = run_app(configure, lines=["from the console"])
    assert sorted(content for _, content in gateway.sent) == ["from discord", "from the console"]
    assert sorted(around.console.written) == ["[bot]: from discord", "[bot]: from the console"]


def test_the_gateway_of_the_surroundings_is_used_unless_one_is_given(around):
    async def main():
        gateway = Gateway(Said("hello"))
        app = around(bot(None))
        await AppBuilder().apply(bot(None)).build()(app.surroundings._replace(discord=gateway))
        return gateway.sent

    assert run(main()) == [(7, "echo: hello")]


@pytest.mark.parametrize("channel", [-1, "7", True])
def test_a_channel_id_is_a_number_from_0(channel):
    with pytest.raises(SettingError, match="channel id"):
        DiscordBranch(channel_id=channel)


def test_what_is_no_gateway_is_refused_when_the_app_is_configured():
    with pytest.raises(TypeError, match="object has no connect, disconnect, inbound_messages, send_message"):
        AppBuilder().use_discord(1, gateway=object())


def two_channels(app):
    first = app.use_discord(1001, name="first")
    second = app.use_discord(1002, name="second")
    both = lambda said: ChatReply(text=f"heard {said.text}", sender="bot")  # noqa: E731
    app.covenant().connect(first).connect(second).routes(lambda to: to.route(ChatReceived, ChatReply, both))


def test_two_branches_share_one_virtual_discord():
    async def body(host):
        ann = discord_of(host).user("ann")
        await ann.says("one", channel=1001)
        await ann.says("two", channel=1002)
        await ann.says("three", channel=1003)
        await host.clock.sleep(60)
        return sorted(discord_of(host).sent_messages)

    heard = HostBuilder().add(VirtualDiscordGateway).with_app(configured_app(two_channels)).run(body)
    assert heard == [(1001, "heard one"), (1001, "heard two"), (1002, "heard one"), (1002, "heard two")]


@pytest.mark.parametrize(
    ("gateway", "branch", "heard"),
    [(True, None, True), (False, True, True), (True, False, False), (False, None, False)],
)
def test_either_switch_lets_messages_of_bots_in_and_the_branch_has_the_last_word(gateway, branch, heard):
    def configure(app):
        echo = lambda said: ChatReply(text=f"heard {said.text}", sender="bot")  # noqa: E731
        chat = app.use_discord(1001, include_bots=branch)
        app.covenant().connect(chat).routes(lambda to: to.route(ChatReceived, ChatReply, echo))

    async def body(host):
        await discord_of(host).user("robot", bot=True).says("beep", channel=1001)
        await host.clock.sleep(5)
        return [message.text for message in discord_of(host).sent_messages]

    sent = (
        HostBuilder()
        .add(VirtualDiscordGateway, include_bots=gateway)
        .with_app(configured_app(configure))
        .run(body)
    )
    assert sent == (["heard beep"] if heard else [])
