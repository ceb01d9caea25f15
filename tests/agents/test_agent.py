"""The agent branch: prompts in, what a model says out."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.agents import (
    AgentAck,
    AgentBranch,
    AgentPrompt,
    AgentResponse,
    AgentResponseChunk,
    AgentStreamCompleted,
    AgentThought,
    AgentThoughtChunk,
    AppBuilder,
    ChatChunk,
    ChatReceived,
    ChatReply,
    ChatReplyDraft,
    ChatStreamCompleted,
    FunctionWindow,
    ImmediateWindow,
    SettingError,
    TranscriptTurn,
)
from soundstage.clock import run
from soundstage.errors import ConnectionCut, NoMatchError, ScriptError
from soundstage.host import HostBuilder
from soundstage.journal import DaemonChanged, ModelFailed, ModelRequested, RunStarted
from soundstage.messages import assistant, system, user
from soundstage.models import Script
from soundstage.trace import assert_model_requests


def chat(app, target=ChatReply, policies=(), **agent):
    """A console and an agent: what is said is asked, what is answered is shown."""
    console = app.use_console(line_format="{text}")
    brain = app.use_agent("gpt-4o", **agent)

    def routes(to):
        to.route(ChatReceived, AgentPrompt, lambda said: AgentPrompt(text=said.text, sender=said.sender))
        to.route(AgentResponse, target, lambda said: target(text=said.text, sender=said.sender))
        for kind in (AgentThought, AgentResponseChunk, AgentThoughtChunk):
            to.terminal(kind)

    app.covenant().connect(console).connect(brain).routes(routes)
    for setting, *arguments in policies:
        getattr(app, setting)(*arguments)


def chatting(*policies, **agent):
    return lambda app: chat(app, policies=policies, **agent)


def queued(*replies):
    script = Script(strict=True)
    script.queue(*replies)
    return script


def requests(journal):
    return [event.request for event in journal.events(ModelRequested)]


def messages(journal):
    """The messages of each request."""
    return [list(request.messages) for request in requests(journal)]


def test_a_prompt_is_one_request_and_the_answer_is_one_response(run_app):
    around = run_app(chatting(), script=queued("I am a helpful assistant."), lines=["Who are you?"])
    assert around.console.written == ["I am a helpful assistant."]
    assert messages(around.journal) == [[user("Who are you?")]]
    assert around.journal.events(AgentResponse) == [
        AgentResponse(text="I am a helpful assistant.", sender="agent")
    ]
    assert around.told(AgentResponseChunk) == []


def test_a_request_says_who_asks_for_which_model_with_which_settings(run_app):
    agent = {"name": "brain", "system": "Be brief.", "settings": {"temperature": 0.5}}
    script = Script(strict=True)
    script.on(agent="brain").reply("yes")
    around = run_app(chatting(**agent), script=script, lines=["hello"])
    (request,) = requests(around.journal)
    assert (request.model, request.settings, request.stream) == ("gpt-4o", {"temperature": 0.5}, False)
    assert (request.caller.agent, request.system_text) == ("brain", "Be brief.")
    assert around.journal.events(AgentResponse)[0].sender == "brain"


def test_thinking_is_one_thought_before_the_response(run_app):
    blocks = [{"thinking": "Let me "}, {"text": "Hi"}, {"thinking": "see."}, {"text": " there"}]
    around = run_app(chatting(), script=queued({"blocks": blocks}), lines=["hello"])
    kinds = (AgentThought, AgentResponse)
    assert [record.event.text for record in around.journal.read(type=kinds)] == ["Let me see.", "Hi there"]


def test_an_answer_without_text_is_no_response(run_app):
    around = run_app(chatting(), script=queued({"fault": {"type": "empty"}}), lines=["hello"])
    assert around.told(AgentResponse) == []
    assert len(around.journal.events(AgentAck)) == 1


@pytest.mark.parametrize("streaming", [False, True])
def test_every_prompt_is_answered_in_order_with_the_conversation_so_far(run_app, streaming):
    around = run_app(
        chatting(system="Be brief.", streaming=streaming),
        script=queued("one", "two", "three"),
        lines=["1?", "2?", "3?"],
    )
    assert around.console.written == ["one", "two", "three"]
    assert messages(around.journal)[-1] == [
        system("Be brief."),
        user("1?"),
        assistant("one"),
        user("2?"),
        assistant("two"),
        user("3?"),
    ]


def test_the_next_request_holds_the_whole_streamed_answer_however_it_was_cut(run_app):
    around = run_app(
        chatting(("with_window", AgentResponseChunk, ImmediateWindow()), streaming=True),
        script=queued({"chunks": ["Hel", "lo ", "you"]}, "fine"),
        lines=["a", "b"],
    )
    assert around.told(AgentResponse) == ["Hel", "lo ", "you", "fine"]
    assert messages(around.journal)[-1] == [user("a"), assistant("Hello you"), user("b")]


def test_an_earlier_run_in_the_same_journal_is_no_history(around):
    async def main():
        app = around(chatting(), script=queued("one", "two"), lines=["1?"])
        await app.run()
        app.journal.append(RunStarted(name="another run"))
        app.console.type("2?")
        await app.run()
        return messages(app.journal)[-1]

    assert run(main()) == [user("2?")]


def test_the_history_can_be_clipped(run_app):
    around = run_app(chatting(history=1), script=queued("one", "two"), lines=["1?", "2?"])
    assert messages(around.journal)[-1] == [assistant("one"), user("2?")]


def test_the_transcript_can_be_replaced(run_app):
    seen = []

    def shout(conversation):
        seen.append(conversation)
        return [user(conversation.prompt.text.upper())]

    around = run_app(
        chatting(("with_transcript", shout), system="S"), script=queued("one", "two"), lines=["a", "b"]
    )
    assert messages(around.journal) == [[user("A")], [user("B")]]
    assert seen[-1].history == (TranscriptTurn("user", "a"), TranscriptTurn("assistant", "one"))
    assert (seen[-1].system, seen[-1].prompt) == ("S", AgentPrompt(text="b", sender="user"))


# -- streaming: the three strategies of deterministic tests --


def test_five_token_chunks_are_one_visible_message(run_app):
    script = queued({"chunks": ["Hel", "lo ", "wo", "rld", "!"]})
    around = run_app(chatting(streaming=True), script=script, lines=["go"])
    assert around.told(AgentResponseChunk) == ["Hel", "lo ", "wo", "rld", "!"]
    assert around.console.written == ["Hello world!"]
    (request,) = requests(around.journal)
    assert request.stream


def test_a_policy_that_ends_at_white_space_gives_words(run_app):
    words = FunctionWindow(lambda window: window.texts[-1][-1:].isspace())
    around = run_app(
        chatting(("with_window", AgentResponseChunk, words), streaming=True),
        script=queued({"chunks": ["Hello", " ", "World", "!"]}),
        lines=["Say hello"],
    )
    assert around.console.written == ["Hello ", "World!"]


def test_chunks_that_end_on_the_boundary_of_a_paragraph_are_outputs(run_app):
    around = run_app(
        chatting(streaming=True),
        script=queued({"chunks": ["First paragraph.\n\n", "Second paragraph."]}),
        lines=["go"],
    )
    assert around.console.written == ["First paragraph.", "Second paragraph."]


@pytest.mark.parametrize("first", ["thinking", "text"])
def test_at_the_end_of_a_stream_thoughts_come_before_the_response_whatever_came_first(run_app, first):
    blocks = sorted([{"thinking": "I think."}, {"text": "I say."}], key=lambda block: first not in block)
    around = run_app(chatting(streaming=True), script=queued({"blocks": blocks}), lines=["go"])
    outputs = around.journal.read(type=(AgentThought, AgentResponse))
    assert [record.event.text for record in outputs] == ["I think.", "I say."]


def test_chunks_may_be_routed_on_as_they_come_with_the_end_of_their_stream(run_app):
    def configure(app):
        console = app.use_console(line_format="{text}")
        agent = app.use_agent("m", streaming=True)

        def routes(to):
            to.route(ChatReceived, AgentPrompt, lambda said: AgentPrompt(text=said.text))
            to.route(
                AgentResponseChunk, ChatChunk, lambda piece: ChatChunk(text=piece.text, stream=piece.stream)
            )
            to.route(
                AgentStreamCompleted, ChatStreamCompleted, lambda end: ChatStreamCompleted(stream=end.stream)
            )
            for kind in (AgentResponse, AgentThought, AgentThoughtChunk):
                to.terminal(kind)

        app.covenant().connect(console).connect(agent).routes(routes)
        app.with_window(ChatChunk, FunctionWindow(lambda window: window.length >= 6))

    script = Script(strict=True)
    script.on(user="/^/").reply(chunks=["Hel", "lo ", "you"], first_token_after=1, tokens_per_second=1)
    around = run_app(configure, script=script, lines=["go", "again"])
    assert around.told(ChatReply) == ["Hello ", "you"] * 2
    assert around.console.written == ["Hello ", "you"] * 2


def test_two_agents_that_stream_at_once_are_kept_apart(around):
    async def main():
        def configure(app):
            for name in ("one", "two"):
                app.use_agent("m", name=name, streaming=True)

        script = Script(strict=True)
        for name in ("one", "two"):
            script.on(agent=name).reply(
                chunks=[f"{name} " for _ in range(20)], tokens_per_second=2, first_token_after=1
            )
        app = around(configure, script=script)
        app.journal.append(AgentPrompt(text="go"))
        running = asyncio.create_task(app.run())
        await asyncio.sleep(60)
        running.cancel()
        await asyncio.wait([running])
        return sorted(app.told(AgentResponse))

    assert run(main()) == ["one " * 20, "two " * 20]


def test_a_stream_that_is_cancelled_is_completed_too(around):
    async def main():
        script = Script(strict=True)
        script.on(user="hello").reply(chunks=["a", "b", "c"], first_token_after=1, tokens_per_second=0.1)
        app = around(chatting(streaming=True), script=script, lines=["hello"], end=False)
        running = asyncio.create_task(app.run())
        await asyncio.sleep(2)
        running.cancel()
        await asyncio.wait([running])
        return app

    app = run(main())
    (end,) = app.journal.read(type=AgentStreamCompleted)
    (chunk,) = app.journal.read(type=AgentResponseChunk)
    assert (end.event.stream, end.cause) == (chunk.event.stream, chunk.cause)
    assert app.journal.events(AgentAck) == []
    assert app.journal.events(ModelFailed)[0].reason == "client_gone"


# -- what goes wrong --


@pytest.mark.parametrize("streaming", [False, True])
def test_a_prompt_that_no_rule_answers_ends_the_run_and_shows_the_rules(run_app, streaming):
    with pytest.raises(NoMatchError, match="unscripted"):
        run_app(chatting(streaming=streaming), lines=["unscripted"])


def test_a_model_that_fails_is_a_failure_of_the_agent(around):
    async def main():
        script = queued({"chunks": ["a", "b"], "fault": {"type": "cut", "after": 1}})
        app = around(chatting(streaming=True), script=script, lines=["hello"])
        with pytest.raises(ConnectionCut):
            await app.run()
        return app.journal

    journal = run(main())
    assert [event.daemon for event in journal.events(DaemonChanged) if event.error] == ["agent"]
    assert len(journal.events(AgentStreamCompleted)) == 1


@pytest.mark.parametrize("streaming", [False, True])
def test_a_model_that_asks_for_a_tool_is_told_that_there_are_none(run_app, streaming):
    calling = {"tool_calls": [{"name": "read_file"}], "check_calls": False}
    with pytest.raises(ScriptError, match="this agent has none") as caught:
        run_app(chatting(streaming=streaming), script=queued(calling), lines=["hello"])
    assert caught.value.seen == "read_file"


@pytest.mark.parametrize("setting", [{"model": ""}, {"history": -1}, {"history": True}, {"history": 1.5}])
def test_settings_that_make_no_sense_are_value_errors(setting):
    with pytest.raises(ValueError, match=r".") as caught:
        AgentBranch(**{"model": "m", **setting})
    assert isinstance(caught.value, SettingError)


def test_a_prompt_is_not_answered_again_when_the_app_is_started_again(around):
    async def main():
        app = around(chatting(), script=queued("one", "two"), lines=["a"])
        await app.run()
        app.console.type("b")
        await app.run()
        return app

    app = run(main())
    assert app.console.written == ["one", "two"]
    assert messages(app.journal)[-1] == [user("a"), assistant("one"), user("b")]


def test_on_a_host_the_trace_shows_which_line_led_to_which_request():
    async def body(host):
        await host.console.send("hello")
        await host.console.expect("hi")
        asked = host.journal.read(type=ModelRequested)[0]
        chain = [asked]
        while chain[-1].cause is not None:
            chain.append(host.journal.read()[chain[-1].cause - 1])
        assert_model_requests(host.trace, 1)
        return [type(record.event).__name__ for record in chain]

    app = AppBuilder().apply(lambda app: chat(app, ChatReplyDraft)).build()
    chain = HostBuilder().with_script(queued("hi")).with_app(app).run(body)
    assert chain == ["ModelRequested", "AgentPrompt", "ChatReceived", "MessageReceived"]
