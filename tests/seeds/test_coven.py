"""Samples and toys of Coven, tested as a whole: console, Discord, model and files are virtual, the app is the real one.

A host builds the app from its own configuration, waits until all its daemons run, and speaks to it as a person would.
"""

from __future__ import annotations

import asyncio

import pytest

from examples import (
    console_agent,
    console_agent_streaming,
    console_chat,
    declarative_discord_agent,
    discord_agent,
    discord_chat,
    discord_streaming,
    file_journal_console,
)
from soundstage import Script
from soundstage.agents import (
    AgentPrompt,
    AgentResponse,
    AgentResponseChunk,
    AgentStreamCompleted,
    AgentThought,
    AgentThoughtChunk,
    ChatEntry,
    ChatReceived,
    ChatReply,
    CovenantError,
    FunctionWindow,
    ImmediateWindow,
    configured_app,
)
from soundstage.agents.testing import journals_of
from soundstage.clock import SystemClock, run
from soundstage.discord import VirtualDiscordGateway
from soundstage.errors import ExpectationError, HarnessError, InvalidStateError, NoMatchError, WaitTimeout
from soundstage.host import HostBuilder
from soundstage.journal import DaemonChanged
from soundstage.lifecycle import Daemon, Status
from soundstage.trace import assert_ordered

GENERAL = 1001  # the channel `general` of a virtual Discord


def create_chat_host():
    """The echo of the toy ConsoleChat."""

    def configure(coven):
        chat = coven.use_console(sender="user")
        coven.covenant().connect(chat).routes(
            lambda to: to.route(ChatReceived, ChatReply, lambda said: ChatReply(text=said.text, sender="bot"))
        )

    return HostBuilder().with_app(configured_app(configure))


def create_agent_host(*, streaming=False, **policies):
    """The toy ConsoleOpenAI: a console, an agent, thoughts go nowhere."""

    def configure(coven):
        chat = coven.use_console()
        agent = coven.use_agent("gpt-4o", streaming=streaming)

        def routes(to):
            to.route(ChatReceived, AgentPrompt, lambda said: AgentPrompt(text=said.text))
            to.route(AgentResponse, ChatReply, lambda answer: ChatReply(text=answer.text, sender="assistant"))
            to.terminal(AgentThought)
            if streaming:
                to.terminal(AgentResponseChunk)
                to.terminal(AgentThoughtChunk)

        coven.covenant().connect(chat).connect(agent).routes(routes)
        for chunk, policy in policies.items():
            coven.with_window({"response": AgentResponseChunk}[chunk], policy)

    return HostBuilder().with_app(configured_app(configure))


# Example tests


def test_console_chat_echoes_user_input():
    async def body(host):
        await host.console.send("Hello, world!")

        [output] = await host.console.collect(1, within=5)
        assert output == "[bot]: Hello, world!"

    create_chat_host().run(body)


def test_console_agent_responds_with_the_agents_message():
    async def body(host):
        host.llm.script.queue("I am a helpful assistant.")

        await host.console.send("Who are you?")

        [output] = await host.console.collect(1, within=5)
        assert "helpful assistant" in output
        # the prompt was sent correctly
        assert host.llm.prompts == ["Who are you?"]

    create_agent_host().run(body)


def test_console_agent_streaming_streams_what_the_windowing_policy_makes_of_the_chunks():
    two_chunks = FunctionWindow(lambda window: window.chunks == 2)

    async def body(host):
        host.llm.script.queue({"chunks": ["Hello", " ", "World", "!"]})

        await host.console.send("Say hello")

        outputs = await host.console.collect(2, within=5)
        assert outputs == ["[assistant]: Hello ", "[assistant]: World!"]

    create_agent_host(streaming=True, response=two_chunks).run(body)


def test_chat_journal_records_the_order_of_a_conversation():
    async def body(host):
        await host.console.send("Hello")
        await host.console.expect("Hello", within=5)

        assert_ordered(
            journals_of(host).get(ChatEntry),
            lambda entry: isinstance(entry, ChatReceived) and entry.text == "Hello",
            lambda entry: isinstance(entry, ChatReply) and entry.sender == "bot",
        )

    create_chat_host().run(body)


def test_agent_does_not_respond_to_empty_input():
    async def body(host):
        await host.console.send("")

        # no response is generated
        await host.console.expect_nothing(within=2)
        assert host.llm.requests == []

    create_agent_host().run(body)


# The virtual console


def test_a_console_hands_out_lines_one_by_one_together_and_without_waiting():
    async def body(host):
        for word in ("one", "two", "three", "four", "five"):
            await host.console.send(word)
        assert await host.console.expect(lambda line: "two" in line, because="one is skipped") == "[bot]: two"
        assert await host.console.collect(2, within=5) == ["[bot]: three", "[bot]: four"]
        assert await host.console.collect_all(within=1) == ["[bot]: five"]
        assert host.console.drain() == []

    create_chat_host().run(body)


def test_the_end_of_the_input_lets_the_app_end_and_lines_before_it_are_still_answered():
    async def body(host):
        await host.console.send("last words")
        host.console.end_input()
        assert await host.console.collect_all(within=3600) == ["[bot]: last words"]
        with pytest.raises(InvalidStateError):
            await host.console.send("too late")

    create_chat_host().run(body)


def test_output_that_does_not_come_is_a_timeout_that_counts_the_unread_input():
    async def deaf(app):
        await app.console.read_line()
        await asyncio.Event().wait()

    async def body(host):
        await host.console.send("read")
        await host.console.send("unread")
        await host.console.expect("hello", within=5, because="the app greets")

    with pytest.raises(WaitTimeout, match=r"(?s)within 5 s.*the app greets.*1 line\(s\) of input unread"):
        HostBuilder().with_console().with_app(deaf).allow_unfinished().run(body)


def test_errors_of_an_app_are_a_stream_of_their_own():
    async def complains(app):
        while (line := await app.console.read_line()) is not None:
            app.console.write_error_line(f"no such word: {line}")

    async def body(host):
        await host.console.send("xyzzy")
        assert await host.console.errors.expect("xyzzy") == "no such word: xyzzy"
        await host.console.expect_nothing(within=2)

    HostBuilder().with_console().with_app(complains).run(body)


# The virtual model


def test_thoughts_come_before_the_response_and_share_its_id():
    async def body(host):
        answer = {"blocks": [{"thinking": "A riddle."}, {"text": "Because."}]}
        host.llm.script.queue(answer)
        await host.console.send("Why?")
        await host.console.expect("Because.")

        assert_ordered(host.journal, AgentPrompt, AgentThoughtChunk, AgentResponseChunk, AgentStreamCompleted)
        kinds = (AgentThoughtChunk, AgentResponseChunk, AgentStreamCompleted)
        assert len({entry.stream for kind in kinds for entry in journals_of(host).get(kind).events()}) == 1

    create_agent_host(streaming=True).run(body)


def test_responses_are_served_first_in_first_out():
    async def body(host):
        host.llm.script.queue("first", "second")
        for question in ("a", "b"):
            await host.console.send(question)
        assert await host.console.collect(2) == ["[assistant]: first", "[assistant]: second"]
        assert host.llm.prompts == ["a", "b"]

    create_agent_host().run(body)


def test_a_message_without_a_scripted_response_is_an_error_that_quotes_it():
    async def body(host):
        await host.console.send("What is the meaning of all this?")
        await host.console.expect("42")

    with pytest.raises(NoMatchError, match=r"no rule answers this request: .*'What is the meaning of"):
        create_agent_host().run(body)


# Streaming: three ways to a deterministic test


def test_strategy_1_a_fixed_test_policy_in_the_place_of_the_apps():
    async def body(host):
        host.llm.script.queue({"chunks": ["Hel", "lo "]})
        await host.console.send("Say hello")
        assert await host.console.collect(2) == ["Hel", "lo "]

    override = lambda coven: coven.with_window(AgentResponseChunk, ImmediateWindow())  # noqa: E731
    HostBuilder().with_app(configured_app(console_agent_streaming.configure, override)).run(body)


def test_strategy_2_assertions_on_the_joined_output():
    async def body(host):
        host.llm.script.queue({"chunks": ["The ", "answer ", "is ", "42", "."]})
        await host.console.send("What is the answer?")
        assert "The answer is 42" in "".join(await host.console.collect_all(within=5))

    HostBuilder().with_app(configured_app(console_agent_streaming.configure)).run(body)


def test_strategy_3_chunks_that_end_where_the_policy_cuts():
    async def body(host):
        host.llm.script.queue({"chunks": ["First paragraph.\n\n", "Second paragraph."]})
        await host.console.send("Two paragraphs, please")
        first, second = await host.console.collect(2)
        assert (first.strip(), second) == ("First paragraph.", "Second paragraph.")

    HostBuilder().with_app(configured_app(console_agent_streaming.configure)).run(body)


# Covenants are those of the app, and are validated when the app is built


@pytest.mark.parametrize(
    ("routes", "problem"),
    [
        (lambda to: None, "AgentThought"),
        (
            lambda to: [
                to.route(ChatReceived, AgentPrompt, lambda said: AgentPrompt(text=said.text)) for _ in "twice"
            ],
            "ChatReceived",
        ),
    ],
    ids=["what is produced goes nowhere", "two routes for one entry"],
)
def test_an_invalid_covenant_is_refused(routes, problem):
    def configure(coven):
        coven.covenant().connect(coven.use_console()).connect(coven.use_agent("gpt-4o")).routes(routes)

    async def body(host):
        pytest.fail("it has started")

    with pytest.raises(CovenantError, match=problem):
        HostBuilder().with_app(configured_app(configure)).run(body)


# Lifecycle


class Slow(Daemon):
    """Takes its time to start, or to stop."""

    def __init__(self, journal, *, starts=0, stops=0):
        super().__init__("slow", journal)
        self.starts, self.stops = starts, stops

    async def _start(self):
        await asyncio.sleep(self.starts)

    async def _stop(self):
        await asyncio.sleep(self.stops)


def test_the_body_begins_when_every_daemon_runs():
    async def body(host):
        assert host.get(Slow).status is Status.RUNNING
        changed = [event for event in host.journal.events(DaemonChanged) if event.daemon == "slow"]
        assert [event.status for event in changed] == [Status.RUNNING]

    create_chat_host().with_daemon(lambda host: Slow(host.journal, starts=20)).run(body)


def test_a_daemon_that_does_not_become_ready_is_a_timeout_with_the_states_of_all():
    async def body(host):
        pytest.fail("it has started")

    with pytest.raises(TimeoutError, match=r"(?s)30 s.*slow.*starting"):
        create_chat_host().with_daemon(lambda host: Slow(host.journal, starts=3600)).run(body)


def test_a_shutdown_that_takes_too_long_is_forced_and_told():
    async def body(host):
        await host.console.send("Hello")
        await host.console.expect("Hello")

    with pytest.raises(TimeoutError, match=r"(?s)slow.*10 s"):
        create_chat_host().with_daemon(lambda host: Slow(host.journal, stops=3600)).run(body)


def test_what_a_background_pump_raises_fails_the_test():
    def configure(coven):
        def breaks(said):
            raise ValueError("the pump broke")

        coven.covenant().connect(coven.use_console()).routes(
            lambda to: to.route(ChatReceived, ChatReply, breaks)
        )

    async def body(host):
        await host.console.send("Hello")

    with pytest.raises(ValueError, match="the pump broke"):
        HostBuilder().with_app(configured_app(configure)).run(body)


def test_a_part_that_is_not_configured_says_so():
    async def body(host):
        for missing in ("server", "workspace"):
            with pytest.raises(HarnessError, match=missing):
                getattr(host, missing)

    create_chat_host().run(body)


# Assertions


def test_an_order_that_was_not_kept_says_how_many_were_found():
    async def body(host):
        await host.console.send("Hello")
        await host.console.expect("Hello")
        with pytest.raises(ExpectationError, match="expected 2 ordered, found 1"):
            assert_ordered(journals_of(host).get(ChatEntry), ChatReply, ChatReceived)

    create_chat_host().run(body)


def test_quiet_is_broken_by_any_line_and_the_line_is_quoted():
    async def body(host):
        await host.console.send("Hello")
        with pytest.raises(ExpectationError, match=r"\[bot\]: Hello"):
            await host.console.expect_nothing(within=2)

    create_chat_host().run(body)


# Files: in memory by default, real where the test asks for them


def notes(*lines):
    async def body(host):
        for line in lines:
            await host.console.send(line)
            await host.console.expect("kept as")
        await host.console.send("list")
        return await host.console.collect_all(within=1)

    return body


def test_hosts_side_by_side_share_nothing():
    async def both():
        async def one(word):
            builder = HostBuilder().with_app(configured_app(file_journal_console.configure))
            async with builder.build() as host:
                return await notes(word)(host)

        return await asyncio.gather(one("tea"), one("milk"))

    assert run(both()) == [["1. tea (user)"], ["1. milk (user)"]]


def test_a_journal_in_a_file_is_there_for_the_next_run(tmp_path):
    def host():
        return (
            HostBuilder()
            .with_app(configured_app(file_journal_console.configure))
            .with_journal(tmp_path / "notes.jsonl")
        )

    assert host().run(notes("tea")) == ["1. tea (user)"]
    assert host().run(notes("milk")) == ["1. tea (user)", "2. milk (user)"]


# All samples and toys, with the configuration that they have themselves


def console(example, *replies):
    async def body(host):
        host.llm.script.queue(*replies)
        await host.console.send("Hello")
        return await host.console.collect_all(within=5)

    return HostBuilder().with_app(configured_app(example.configure)).run(body)


def discord(example, *replies, streaming=False):
    async def body(host):
        host.llm.script.queue(*replies)
        gateway = host.get(VirtualDiscordGateway)
        await gateway.user("ann").says("Hello. You!", channel="general")
        await gateway.user("other bot", bot=True).says("I am one, too", channel="general")
        await gateway.expect("/./", channel="general")
        await gateway.expect_nothing(within=1) if not streaming else None
        return [message.text for message in gateway.sent_messages]

    return (
        HostBuilder()
        .add(VirtualDiscordGateway)
        .with_app(configured_app(example.configure(GENERAL)))
        .run(body)
    )


def test_console_chat():
    assert console(console_chat) == ["[echo]: Hello"]


def test_console_openai():
    assert console(console_agent, "Hi.") == ["[agent]: Hi."]


def test_console_openai_streaming():
    assert console(console_agent_streaming, {"chunks": ["One.\n\n", "Two."]}) == ["One.", "Two."]


def test_file_scrivener_console():
    assert console(file_journal_console) == ["kept as 1"]


def test_discord_chat():
    assert discord(discord_chat) == ["ann: Hello. You!"]


def test_discord_streaming():
    assert discord(discord_streaming, streaming=True)[0] == "Hello."


@pytest.mark.parametrize("sample", [discord_agent, declarative_discord_agent])
def test_discord_agents(sample):
    assert discord(sample, "Hi ann.") == ["Hi ann."]


def test_a_script_and_its_host_are_used_once():
    builder = create_chat_host().with_script(Script(strict=True))
    builder.build()
    with pytest.raises(InvalidStateError):
        builder.build()


def test_on_the_machines_time_it_is_the_same_test():
    async def body():
        async with create_chat_host().build() as host:
            await host.console.send("Hello")
            return await host.console.expect("Hello", within=5)

    assert run(body(), clock=SystemClock()) == "[bot]: Hello"
