"""The bot that says again what it is told: in process, and as the program with discord.py."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from examples import discord_chat
from soundstage.agents import ChatEntry, ChatReceived, ChatReply
from soundstage.agents.testing import journals_of
from soundstage.clock import SystemClock, VirtualClock, run
from soundstage.discord import (
    DiscordGatewayChanged,
    DiscordRateLimited,
    DiscordScriptedConversation,
    discord_of,
)
from soundstage.journal import DaemonChanged
from soundstage.trace import assert_ordered
from support.ways import ROOT
from support.ways_discord import as_program, in_process, said, start_bot_alone


def test_a_message_comes_back_in_its_channel_with_the_name_of_who_wrote_it(on_discord):
    async def body(host):
        await discord_of(host).user("ann").says("Hello, world!", channel="general")
        reply = await discord_of(host).expect("Hello", channel="general")
        return reply.text, said(host)

    assert on_discord(discord_chat).run(body) == ("ann: Hello, world!", ["ann: Hello, world!"])


def test_several_people_are_answered_in_the_order_in_which_they_write(on_discord):
    async def body(host):
        ann, bob = discord_of(host).user("ann"), discord_of(host).user("bob")
        for number in range(3):
            await ann.says(f"a{number}", channel="general")
            await bob.says(f"b{number}", channel="general")
        await discord_of(host).expect("b2", channel="general")
        return said(host)

    expected = [f"{name}: {name[0]}{number}" for number in range(3) for name in ("ann", "bob")]
    assert on_discord(discord_chat).run(body) == expected


def test_other_channels_private_messages_bots_and_blanks_are_left_alone(on_discord):
    async def body(host):
        ann = discord_of(host).user("ann")
        await ann.says("elsewhere", channel="random")
        await ann.says_privately("psst")
        await discord_of(host).user("helper", bot=True).says("beep", channel="general")
        await ann.says("", channel="general", attachments=[("cat.png", b"meow")])
        await ann.says("here", channel="general")
        await discord_of(host).expect("here", channel="general")
        await discord_of(host).expect_nothing(within=0.05)
        return said(host)

    assert on_discord(discord_chat).run(body) == ["ann: here"]


def test_a_conversation_that_is_written_down_is_said_and_answered_step_by_step(on_discord):
    steps = [("ann", "hello", "ann: hello"), ("bob", "me too", "/^bob: ME/i"), ("ann", "bye", None)]

    async def body(host):
        hello, too, nothing = await DiscordScriptedConversation(steps).run(discord_of(host), within=30)
        await discord_of(host).expect("ann: bye", channel="general")
        return hello.text, too.text, nothing

    assert on_discord(discord_chat).run(body) == ("ann: hello", "bob: me too", None)


@pytest.mark.parametrize("text", ["ä🎭 日本", '{"json": [1, "{sender}"]}', "**bold** <@1> %s", "two\nlines"])
def test_what_is_special_in_a_message_comes_back_as_it_is(text):
    async def body(host):
        await discord_of(host).user("ann").says(text, channel="general")
        await discord_of(host).expect("ann: ", channel="general")
        return said(host)

    assert in_process(discord_chat).run(body) == [f"ann: {text}"]


@pytest.mark.parametrize(
    ("text", "count"),
    [("x" * 2000, 3), ("A sentence of some length. " * 74, 2)],
    ids=["letters", "sentences"],
)
def test_a_message_that_is_as_long_as_discord_allows_comes_back_in_several(on_discord, text, count):
    async def body(host):
        await discord_of(host).user("ann").says(text, channel="general")
        await discord_of(host).user("bob").says("end", channel="general")
        await discord_of(host).expect("bob: end", channel="general")
        return said(host)

    *parts, _ = on_discord(discord_chat).run(body)
    assert len(parts) == count
    assert max(map(len, parts)) <= 2000
    assert "".join(parts) == f"ann: {text}"


def test_two_seconds_after_a_message_of_a_bot_nothing_has_come():
    async def body(host):
        await discord_of(host).user("helper", bot=True).says("beep", channel="general")
        await discord_of(host).expect_nothing(within=2)
        return host.clock.now(), type(host.clock)

    assert in_process(discord_chat).run(body) == (2, VirtualClock)


def test_the_chat_journal_has_what_the_user_said_before_what_the_bot_said():
    async def body(host):
        await discord_of(host).user("ann").says("hello", channel="general")
        await discord_of(host).expect("hello")
        assert_ordered(host.journal, ChatReceived, ChatReply)
        return [
            entry
            for entry in journals_of(host).get(ChatEntry).events()
            if type(entry) in (ChatReceived, ChatReply)
        ]

    assert in_process(discord_chat).run(body) == [
        ChatReceived(text="hello", sender="ann"),
        ChatReply(text="ann: hello", sender="echo"),
    ]


def test_what_was_written_before_the_end_is_answered_before_the_bot_ends():
    async def body(host):
        for number in range(5):
            await discord_of(host).user("ann").says(f"line {number}", channel="general")
        discord_of(host).end_input()
        await discord_of(host).expect("line 4")
        return host

    host = in_process(discord_chat).run(body)
    assert said(host) == [f"ann: line {number}" for number in range(5)]
    assert [event.error for event in host.journal.events(DaemonChanged) if event.error] == []


def test_a_rate_limit_of_discord_is_waited_for():
    async def body(host):
        discord_of(host).rate_limit("POST /channels/{channel_id}/messages", times=2)
        for text in ("one", "two"):
            await discord_of(host).user("ann").says(text, channel="general")
        await discord_of(host).expect("two", channel="general")
        return said(host), len(host.journal.events(DiscordRateLimited))

    assert as_program(discord_chat).run(body) == (["ann: one", "ann: two"], 2)


@pytest.mark.parametrize("breaks", ["drop_connections", "reconnect_request"])
def test_what_is_written_while_the_connection_is_broken_is_answered_after_it(breaks):
    async def body(host):
        ann = discord_of(host).user("ann")
        await ann.says("before", channel="general")
        await discord_of(host).expect("before")
        here = len(host.journal)
        getattr(discord_of(host), breaks)()
        await ann.says("meanwhile", channel="general")
        await discord_of(host).expect("meanwhile")
        return said(host), [event.change for event in host.journal.events(DiscordGatewayChanged, here)]

    sent, changes = as_program(discord_chat).run(body)
    assert sent == ["ann: before", "ann: meanwhile"]
    assert "resumed" in changes


def test_the_program_ends_with_the_code_of_ctrl_c():
    async def body(host):
        await discord_of(host).user("ann").says("hello", channel="general")
        await discord_of(host).expect("hello")
        await host.console.terminal.press("Ctrl-C")
        return await host.console.terminal.expect_exit(130)

    assert as_program(discord_chat).run(body) == 130


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        ({}, "DISCORD_TOKEN"),
        ({"DISCORD_TOKEN": "t"}, "DISCORD_CHANNEL_ID"),
        ({"DISCORD_TOKEN": "t", "DISCORD_CHANNEL_ID": "#general"}, "'#general'"),
    ],
)
def test_the_program_names_the_variable_that_is_missing_and_the_next_step(variables, missing):
    done = start_bot_alone(discord_chat, **variables)
    assert (done.returncode, done.stdout) == (2, "")
    assert missing in done.stderr
    assert "next step" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_program_names_the_extra_that_is_missing():
    program = "import runpy, sys; sys.modules['discord'] = None; "
    program += "runpy.run_module('examples.discord_chat', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 2
    assert 'pip install "soundstage[discord]"' in done.stderr


def test_the_help_teaches_how_to_get_a_token_and_the_id_of_a_channel():
    done = start_bot_alone(discord_chat, "--help")
    assert done.returncode == 0
    for words in ("python -m examples.discord_chat", "DISCORD_TOKEN", "Copy Channel ID", "asks no model"):
        assert words in done.stdout


async def _talk(builder, number):
    async with builder.build() as host:
        for line in ("first", "second"):
            await discord_of(host).user(f"u{number}").says(f"{line} of {number}", channel="general")
            await discord_of(host).expect(f"{line} of {number}")
        return said(host)


@pytest.mark.parametrize(
    ("way", "count", "clock"), [(in_process, 20, VirtualClock), (as_program, 3, SystemClock)]
)
def test_hosts_at_once_share_nothing(way, count, clock):
    async def main():
        return await asyncio.gather(*(_talk(way(discord_chat), number) for number in range(count)))

    assert run(main(), clock=clock()) == [
        [f"u{number}: first of {number}", f"u{number}: second of {number}"] for number in range(count)
    ]
