"""The bot that reads aloud: what its policies make of a draft, in process and as the program with discord.py."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import discord_streaming
from soundstage.agents import (
    ChatChunk,
    ChatReply,
    ChatReplyDraft,
    ChatStreamCompleted,
    CompletionWindow,
    ImmediateWindow,
)
from soundstage.agents.testing import journals_of
from soundstage.clock import run
from soundstage.discord import discord_of
from soundstage.trace import assert_ordered
from support.cases import cases
from support.ways_discord import in_process, said, start_bot_alone

TEXT = "Once there was a fox. Was it red? It was! And then"


async def read_aloud(host, text, author="ann"):
    """All messages that come of a text, until the one for the next text."""
    await discord_of(host).user(author).says(text, channel="general")
    await discord_of(host).user(author).says("The end.", channel="general")
    await discord_of(host).expect("The end.", channel="general")
    return said(host)[:-1]


def test_each_sentence_is_a_message_and_the_rest_comes_at_the_end(on_discord):
    async def body(host):
        return await read_aloud(host, TEXT)

    messages = on_discord(discord_streaming).run(body)
    assert messages == ["Once there was a fox.", " Was it red?", " It was!", " And then"]
    assert "".join(messages) == TEXT


def test_what_has_no_end_of_a_sentence_is_one_message(on_discord):
    async def body(host):
        return await read_aloud(host, "version 3.14 of it, v1.0-rc")

    assert on_discord(discord_streaming).run(body) == ["version 3.14 of it, v1.0-rc"]


@pytest.mark.parametrize(
    ("text", "count"),
    [("x" * 2000, 2), ("y" * 1999 + ".", 2), ("word " * 400, 2), ("A. " * 300, 300)],
    ids=["letters", "a long sentence", "words", "short sentences"],
)
def test_no_message_is_longer_than_discord_takes_and_nothing_is_lost(on_discord, text, count):
    async def body(host):
        return await read_aloud(host, text)

    messages = on_discord(discord_streaming).run(body)
    assert len(messages) == count
    assert max(map(len, messages)) <= 2000
    assert "".join(messages).split() == text.split()  # a last message of spaces alone is not sent


def test_several_people_are_read_to_one_after_the_other(on_discord):
    async def body(host):
        for name in ("ann", "bob"):
            await discord_of(host).user(name).says(f"I am {name}. I am here.", channel="general")
        await discord_of(host).user("cleo").says("Done", channel="general")
        await discord_of(host).expect("Done", channel="general")
        return said(host)

    assert on_discord(discord_streaming).run(body) == [
        "I am ann.",
        " I am here.",
        "I am bob.",
        " I am here.",
        "Done",
    ]


def test_other_channels_bots_and_blanks_are_left_alone(on_discord):
    async def body(host):
        ann = discord_of(host).user("ann")
        await ann.says("Elsewhere.", channel="random")
        await ann.says_privately("Psst.")
        await discord_of(host).user("helper", bot=True).says("Beep. Beep.", channel="general")
        await ann.says("", channel="general", attachments=[("cat.png", b"meow")])
        return await read_aloud(host, "Here.")

    assert on_discord(discord_streaming).run(body) == ["Here."]


def test_a_draft_becomes_chunks_then_a_completion_and_replies():
    async def body(host):
        await discord_of(host).user("ann").says("One. Two. Three", channel="general")
        await discord_of(host).expect("Three")
        await discord_of(host).expect_nothing(within=2)
        assert_ordered(host.journal, ChatReplyDraft, ChatChunk, ChatStreamCompleted)
        chunks = [entry.text for entry in journals_of(host).get(ChatChunk).events()]
        return chunks, [entry.text for entry in journals_of(host).get(ChatReply).events()]

    pieces = ["One.", " Two.", " Three"]
    assert in_process(discord_streaming).run(body) == (pieces, pieces)


@pytest.mark.parametrize(("window", "count"), [(ImmediateWindow(), 3), (CompletionWindow(), 1)])
def test_a_test_can_take_another_window_policy_and_the_joined_output_is_the_same(window, count):
    async def body(host):
        return await read_aloud(host, "One. Two. Three")

    builder = in_process(discord_streaming, lambda app: app.with_window(ChatChunk, window))
    messages = builder.run(body)
    assert ("".join(messages), len(messages)) == ("One. Two. Three", count)


@cases(25)
@given(st.text(alphabet="ab .!?\n", min_size=1, max_size=60).filter(str.strip), st.integers(1, 60))
def test_whatever_is_written_is_read_whole_and_in_order(text, times):
    text = text * times

    async def body(host):
        return await read_aloud(host, text)

    messages = in_process(discord_streaming).run(body)
    assert all(message.strip() and len(message) <= 2000 for message in messages)
    assert "".join("".join(messages).split()) == "".join(text.split())


def test_twenty_hosts_at_once_share_nothing():
    async def one(number):
        async with in_process(discord_streaming).build() as host:
            return await read_aloud(host, f"I am {number}. Really.")

    async def main():
        return await asyncio.gather(*(one(number) for number in range(20)))

    assert run(main()) == [[f"I am {number}.", " Really."] for number in range(20)]


def test_the_program_names_what_is_missing_and_its_help_teaches():
    done = start_bot_alone(discord_streaming, DISCORD_CHANNEL_ID="7")
    assert done.returncode == 2
    assert "DISCORD_TOKEN" in done.stderr
    shown = start_bot_alone(discord_streaming, "--help")
    assert shown.returncode == 0
    assert "python -m examples.discord_streaming" in shown.stdout
    assert "each sentence is a message" in shown.stdout
