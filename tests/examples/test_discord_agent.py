"""The bot with an agent behind it, in both samples: connected by hand, and with declared routes.

What one of them does the other has to do too, in process and as the program with discord.py.
"""

from __future__ import annotations

import asyncio
from contextlib import closing

import pytest

from examples import declarative_discord_agent, discord_agent
from soundstage.agents import (
    AgentEntry,
    AgentPrompt,
    AgentResponse,
    AgentThought,
    ChatChunk,
    ChatEntry,
    ChatReceived,
    ChatReply,
    ChatReplyDraft,
)
from soundstage.agents.testing import journals_of
from soundstage.clock import run
from soundstage.discord import discord_of
from soundstage.errors import AppError, ExpectationError, ProviderError, ScriptError
from soundstage.journal import Journal, MessageSent, ModelRequested, ModelResponded
from soundstage.messages import assistant, user
from soundstage.trace import assert_ordered
from support.ways_discord import as_program, in_process, said, start_bot_alone

SENTENCE = "The capital of Norway is Oslo."
QUESTION = "What is the capital of Norway?"


@pytest.fixture(params=[discord_agent, declarative_discord_agent], ids=["by hand", "declared"])
def bot(request):
    """One of the two samples."""
    return request.param


def told(error):
    """All that an error says, its notes and the errors in it."""
    inner = getattr(error, "exceptions", ())
    return "\n".join([str(error), *getattr(error, "__notes__", ()), *map(told, inner)])


def test_a_message_is_one_prompt_with_its_words_and_the_answer_comes_in_its_channel(on_discord, bot):
    async def body(host):
        host.llm.on(user=QUESTION).reply(SENTENCE)
        await discord_of(host).user("ann").says(QUESTION, channel="general")
        await discord_of(host).expect(SENTENCE, channel="general")
        return said(host), host.llm.prompts

    assert on_discord(bot).run(body) == ([SENTENCE], [QUESTION])


def test_several_people_are_answered_in_order_and_the_model_knows_the_conversation(on_discord, bot):
    async def body(host):
        host.llm.on(user="one").reply("first")
        host.llm.on(user="two").reply("second")
        await discord_of(host).user("ann").says("one", channel="general")
        await discord_of(host).user("bob").says("two", channel="general")
        await discord_of(host).expect("second", channel="general")
        return said(host), host.llm.requests[-1].messages[1:]

    messages = (user("one"), assistant("first"), user("two"))
    assert on_discord(bot).run(body) == (["first", "second"], messages)


def test_nothing_is_asked_for_other_channels_bots_and_blanks(on_discord, bot):
    async def body(host):
        host.llm.on(user="here").reply("yes")
        ann = discord_of(host).user("ann")
        await ann.says("elsewhere", channel="random")
        await ann.says_privately("psst")
        await discord_of(host).user("helper", bot=True).says("beep", channel="general")
        await ann.says("", channel="general", attachments=[("cat.png", b"meow")])
        await ann.says("here", channel="general")
        await discord_of(host).expect("yes", channel="general")
        return said(host), host.llm.prompts

    assert on_discord(bot).run(body) == (["yes"], ["here"])


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("One.\n\nTwo. And more.\n\nThree.", ["One.\n\n", "Two. And more.\n\n", "Three."]),
        ("x" * 4500, ["x" * 1000] * 4 + ["x" * 500]),
        ("A sentence of 20 c. " * 150, None),
    ],
    ids=["paragraphs", "letters", "sentences"],
)
def test_a_long_answer_is_cut_into_messages_that_discord_takes(on_discord, bot, answer, parts):
    async def body(host):
        host.llm.on(user="long").reply(answer)
        host.llm.on(user="end").reply("that was all")
        for line in ("long", "end"):
            await discord_of(host).user("ann").says(line, channel="general")
        await discord_of(host).expect("that was all", channel="general")
        return said(host)[:-1]

    messages = on_discord(bot).run(body)
    assert "".join(messages).strip() == answer.strip()
    assert max(map(len, messages)) <= 2000
    assert messages == parts or (parts is None and all(text.rstrip().endswith(".") for text in messages))


def test_what_the_model_thinks_is_not_said(on_discord, bot):
    async def body(host):
        host.llm.on(user="why").reply(blocks=[{"thinking": "Hm. A riddle."}, {"text": "Because."}])
        await discord_of(host).user("ann").says("why", channel="general")
        await discord_of(host).expect("Because", channel="general")
        return said(host)

    assert on_discord(bot).run(body) == ["Because."]


def test_an_error_of_the_model_ends_the_bot_and_the_wait_and_is_in_the_report(on_discord, bot):
    async def body(host):
        host.llm.on(user="hello").error(503, "the model is overloaded")
        await discord_of(host).user("ann").says("hello", channel="general")
        await discord_of(host).expect("anything", within=60)

    with pytest.raises((ProviderError, ExpectationError)) as caught:  # in process, or of a program
        on_discord(bot).run(body)
    assert "did not" in told(caught.value)
    assert "the model is overloaded" in told(caught.value)


def test_an_answer_that_nobody_wrote_is_the_mistake_of_the_script(bot):
    async def body(host):
        host.llm.on(user="hello").reply("hi")
        await discord_of(host).user("ann").says("good bye", channel="general")
        await discord_of(host).expect_nothing(within=2)

    with pytest.raises(ScriptError) as caught:
        in_process(bot).run(body)
    assert "good bye" in told(caught.value)


def test_the_journal_in_the_file_has_everything_in_order(on_discord, bot, tmp_path):
    async def body(host):
        host.llm.on(user=QUESTION).reply(SENTENCE)
        await discord_of(host).user("ann").says(QUESTION, channel="general")
        await discord_of(host).expect(SENTENCE)

    path = tmp_path / "journal.jsonl"
    on_discord(bot, journal=path).run(body)
    order = (
        ChatReceived,
        AgentPrompt,
        ModelRequested,
        ModelResponded,
        AgentResponse,
        ChatReplyDraft,
        ChatReply,
    )
    with closing(Journal(path)) as journal:
        assert_ordered(journal, *order)


def test_the_typed_journals_of_a_run_have_the_entries_of_their_family(bot):
    async def body(host):
        host.llm.on(user="hello").reply(blocks=[{"thinking": "A greeting."}, {"text": "hi"}])
        await discord_of(host).user("ann").says("hello", channel="general")
        await discord_of(host).expect("hi")
        await discord_of(host).expect_nothing(within=2)
        return host

    host = in_process(bot).run(body)
    chat, agent = (
        [entry for entry in journals_of(host).get(family).events() if hasattr(entry, "text")]
        for family in (ChatEntry, AgentEntry)
    )
    assert chat == [
        ChatReceived(text="hello", sender="ann"),
        ChatReplyDraft(text="hi", sender="agent"),
        ChatChunk(text="hi", sender="agent", stream=chat[2].stream),
        ChatReply(text="hi", sender="agent"),
    ]
    assert agent == [
        AgentPrompt(text="hello", sender="ann"),
        AgentThought(text="A greeting.", sender="agent"),
        AgentResponse(text="hi", sender="agent"),
    ]


def test_a_reply_is_led_to_by_the_message_that_it_answers(bot):
    async def body(host):
        host.llm.on(user="hello").reply("hi")
        await discord_of(host).user("ann").says("hello", channel="general")
        await discord_of(host).expect("hi")
        return host.journal

    journal = in_process(bot).run(body)
    by_position = {record.position: record for record in journal.read()}
    [record] = journal.read(type=MessageSent)
    causes = []
    while record.cause is not None:
        record = by_position[record.cause]
        causes.append(type(record.event).__name__)
    assert causes == [
        "ChatReply",
        "ChatStreamCompleted",
        "ChatReplyDraft",
        "AgentResponse",
        "AgentPrompt",
        "ChatReceived",
        "MessageReceived",
    ]


def test_a_rate_limit_of_discord_is_waited_for(bot):
    async def body(host):
        host.llm.on(user="hello").reply("hi")
        discord_of(host).rate_limit(times=2)
        await discord_of(host).user("ann").says("hello", channel="general")
        await discord_of(host).expect("hi", channel="general")
        return said(host), host.llm.prompts

    assert as_program(bot).run(body) == (["hi"], ["hello"])


def test_a_channel_in_which_the_bot_may_not_write_ends_it_with_the_words_of_discord(bot):
    async def body(host):
        host.llm.on(user="hello").reply("hi")
        discord_of(host).deny("SEND_MESSAGES", channel="general")
        await discord_of(host).user("ann").says("hello", channel="general")
        await discord_of(host).expect("hi", within=60)

    with pytest.raises(ExpectationError, match="exited with code 1") as caught:
        as_program(bot).run(body)
    assert "the bot may not do that" in told(caught.value)


def test_the_program_keeps_its_journal_without_being_asked(bot, tmp_path):
    async def body(host):
        host.llm.on(user="hello").reply("hi")
        await discord_of(host).user("ann").says("hello", channel="general")
        await discord_of(host).expect("hi")

    as_program(bot, cwd=tmp_path).run(body)
    [path] = tmp_path.iterdir()
    assert path.name == f"{bot.__name__.removeprefix('examples.')}.jsonl"
    assert "soundstage-discord-token" not in path.read_text()


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        ({}, "DISCORD_TOKEN"),
        ({"DISCORD_TOKEN": "t"}, "DISCORD_CHANNEL_ID"),
        ({"DISCORD_TOKEN": "t", "DISCORD_CHANNEL_ID": "7"}, "OPENAI_API_KEY or ANTHROPIC_API_KEY"),
    ],
)
def test_the_program_names_what_is_missing_and_the_next_step(bot, variables, missing):
    done = start_bot_alone(bot, **variables)
    assert (done.returncode, done.stdout) == (2, "")
    assert missing in done.stderr
    assert "next step" in done.stderr


def test_the_help_names_the_variables_and_the_file_of_the_journal(bot):
    done = start_bot_alone(bot, "--help")
    assert done.returncode == 0
    for words in (
        f"python -m {bot.__name__}",
        "DISCORD_TOKEN",
        "DISCORD_CHANNEL_ID",
        "OPENAI_API_KEY",
        "agent.jsonl",
    ):
        assert words in done.stdout


def test_a_token_that_discord_does_not_accept_is_said_in_one_line(bot):
    async def body(host):
        raise AssertionError("the body must not run")

    with pytest.raises(AppError, match=r"does not accept the token[\s\S]*exit code 1") as caught:
        as_program(bot, variables={"DISCORD_TOKEN": "wrong"}).run(body)
    assert "Traceback" not in told(caught.value)


def test_twenty_hosts_at_once_share_nothing(bot):
    async def one(number):
        async with in_process(bot).build() as host:
            host.llm.on(user="who").reply(f"I am {number}")
            await discord_of(host).user("ann").says(f"who are you, {number}?", channel="general")
            await discord_of(host).expect("I am")
            return said(host), host.llm.prompts

    async def main():
        return await asyncio.gather(*(one(number) for number in range(20)))

    assert run(main()) == [([f"I am {n}"], [f"who are you, {n}?"]) for n in range(20)]


def test_two_runs_in_process_write_the_same_journal(bot, tmp_path):
    async def body(host):
        host.llm.on(user="hello").reply("hi")
        await discord_of(host).user("ann").says("hello", channel="general")
        await discord_of(host).expect("hi")

    paths = [tmp_path / name for name in ("one", "two")]
    for path in paths:
        in_process(bot, journal=path).run(body)
    assert paths[0].read_bytes() == paths[1].read_bytes()
