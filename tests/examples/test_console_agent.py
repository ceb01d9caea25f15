"""The console with an agent behind it: in process, and as the program that asks the model over the wire."""

from __future__ import annotations

import pytest

from examples import console_agent
from soundstage.agents import AgentResponse, AgentThought, ChatReceived, ChatReply, CovenantError
from soundstage.agents.testing import journals_of
from soundstage.errors import ExpectationError, ProviderError, ScriptError, SoundstageError
from soundstage.journal import MessageSent
from soundstage.messages import assistant, system, user
from soundstage.trace import assert_ordered
from support.ways import as_program, in_process, start_alone

SENTENCE = "The capital of Norway is Oslo."
QUESTION = "What is the capital of Norway?"


def told(error):
    """All that an error says, its notes and the errors in it."""
    inner = getattr(error, "exceptions", ())
    return "\n".join([str(error), *getattr(error, "__notes__", ()), *map(told, inner)])


def test_the_scripted_sentence_is_shown_and_the_typed_text_was_asked_once(hosted):
    async def body(host):
        host.llm.on(user=QUESTION).reply(SENTENCE)
        await host.console.send(QUESTION)
        await host.console.expect(SENTENCE, within=5)
        return host.console.lines, host.llm.prompts

    assert hosted(console_agent).run(body) == ([f"[agent]: {SENTENCE}"], [QUESTION])


def test_the_model_is_told_the_instructions_and_the_whole_conversation(hosted):
    async def body(host):
        host.llm.on(user=QUESTION).reply(SENTENCE)
        host.llm.on(user="And of Sweden?").reply("Stockholm.")
        await host.console.send(QUESTION)
        await host.console.expect("Oslo")
        await host.console.send("And of Sweden?")
        await host.console.expect("Stockholm")
        return host.llm.requests

    first, second = hosted(console_agent).run(body)
    instructions, asked = first.messages
    assert (first.model, instructions.role, asked) == ("gpt-4.1", "system", user(QUESTION))
    assert second.messages == (
        system(instructions.text),
        user(QUESTION),
        assistant(SENTENCE),
        user("And of Sweden?"),
    )


def test_what_the_model_thinks_goes_nowhere(hosted):
    async def body(host):
        host.llm.on(user="why").reply(blocks=[{"thinking": "Hm. A riddle."}, {"text": "Because."}])
        await host.console.send("why")
        await host.console.expect("Because")
        await host.console.expect_nothing(within=0.2)
        return host.console.lines

    assert hosted(console_agent).run(body) == ["[agent]: Because."]


def test_a_thought_is_on_record_before_the_answer_and_ends_there():
    async def body(host):
        host.llm.on(user="why").reply(blocks=[{"thinking": "A riddle."}, {"text": "Because."}])
        await host.console.send("why")
        await host.console.expect("Because")
        assert_ordered(host.journal, ChatReceived, AgentThought, AgentResponse, ChatReply, MessageSent)
        return journals_of(host).get(AgentThought).events()

    assert in_process(console_agent).run(body) == [AgentThought(text="A riddle.", sender="agent")]


def test_a_blank_line_asks_nobody(hosted):
    async def body(host):
        host.llm.on(user="hello").reply("Hi.")
        await host.console.send("")
        await host.console.send("  ")
        await host.console.send("hello")
        await host.console.expect("Hi.")
        return host.llm.prompts

    assert hosted(console_agent).run(body) == ["hello"]


def test_an_answer_of_several_lines_is_several_lines(hosted):
    async def body(host):
        host.llm.on(user="list").reply("one\ntwo\n\nthree")
        await host.console.send("list")
        await host.console.expect("three")
        return host.console.lines

    assert hosted(console_agent).run(body) == ["[agent]: one", "two", "", "three"]


def test_an_answer_that_takes_its_time_comes_after_the_end_of_input_too(hosted):
    async def body(host):
        host.llm.on(user="slowly").reply("At last.", delay=0.3)
        await host.console.send("slowly")
        host.console.end_input()
        return await host.console.expect("At last.")

    assert hosted(console_agent).run(body) == "[agent]: At last."


def test_an_hour_of_thinking_takes_no_time_in_process():
    async def body(host):
        host.llm.on(user="think").reply("42", delay=3600)
        await host.console.send("think")
        await host.console.expect_nothing(within=3599)
        await host.console.expect("42", within=2)
        return host.clock.now()

    assert in_process(console_agent).run(body) == 3600


def test_a_prompt_without_a_rule_surfaces_when_the_run_is_closed(hosted):
    async def body(host):
        await host.console.send("nobody has scripted this")
        await host.journal.wait_for(lambda event: type(event).__name__ == "ModelFailed", within=10)

    with pytest.raises(SoundstageError) as caught:
        hosted(console_agent).run(body)
    assert "no rule answers this request" in told(caught.value)
    assert "nobody has scripted this" in told(caught.value)


def test_an_error_of_the_provider_ends_the_app_with_its_words(hosted):
    async def body(host):
        host.llm.on(user="hello").error(401, "this key is no good", type="authentication_error")
        await host.console.send("hello")
        await host.console.expect("never", within=30)

    with pytest.raises((ProviderError, ExpectationError)) as caught:  # in process, or of a program
        hosted(console_agent).run(body)
    assert "this key is no good" in str(caught.value)
    assert "did not show" in told(caught.value)


def test_the_program_exits_with_code_1_when_the_model_fails_although_its_input_goes_on():
    async def body(host):
        host.llm.on(user="hello").error(500, "out of order")
        await host.console.send("hello")
        await host.console.terminal.expect_exit(1)
        return host.console.screen.text

    shown = as_program(console_agent).run(body)
    assert "error: the model answered with status 500: out of order" in shown
    assert "Traceback" not in shown


def test_a_rule_that_was_not_used_fails_the_run(hosted):
    async def body(host):
        host.llm.on(user="hello").reply("Hi.")

    with pytest.raises(ScriptError, match="never used"):
        hosted(console_agent).run(body)


def test_a_configuration_that_drifts_fails_the_tests_that_use_it(monkeypatch):
    monkeypatch.setattr(
        "examples.console_agent._app._declare",
        lambda to: to.route(AgentResponse, ChatReply, lambda answer: ChatReply(text=answer.text)),
    )
    with pytest.raises(CovenantError, match="AgentThought") as caught:
        in_process(console_agent).build()
    assert "ChatReceived" in str(caught.value)


def test_the_program_asks_whose_key_there_is():
    async def body(host):
        host.llm.on(user="hello").reply("Hi.")
        await host.console.send("hello")
        await host.console.expect("Hi.")
        return [(request.format, request.model) for request in host.llm.requests]

    both = as_program(console_agent).run(body)
    one = as_program(console_agent, environment={"OPENAI_API_KEY": ""}).run(body)
    named = as_program(console_agent, "--model", "gpt-4.1-mini").run(body)
    assert both == [("openai-chat", "gpt-4.1")]
    assert one == [("anthropic", "claude-sonnet-4-5")]
    assert named == [("openai-chat", "gpt-4.1-mini")]


def test_the_program_ends_with_code_0_at_the_end_of_its_input():
    async def body(host):
        host.llm.on(user="hello").reply("Hi.")
        await host.console.send("hello")
        await host.console.expect("Hi.")
        host.console.end_input()
        return await host.console.terminal.expect_exit(0)

    assert as_program(console_agent).run(body) == 0


@pytest.mark.parametrize("key", ["", "  "])
def test_without_a_key_the_program_says_which_variable_is_missing_and_what_to_do(key):
    done = start_alone(console_agent, typed="hello\n", OPENAI_API_KEY=key)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no key" in done.stderr
    assert "OPENAI_API_KEY or ANTHROPIC_API_KEY" in done.stderr
    assert "next step: export OPENAI_API_KEY=" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_cannot_be_reached_is_named():
    away = {"OPENAI_API_KEY": "not-a-real-key", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    done = start_alone(console_agent, typed="hello\n", **away)
    assert done.returncode == 1
    assert "http://127.0.0.1:1/v1/chat/completions cannot be reached" in done.stderr


def test_the_help_teaches_how_to_begin():
    done = start_alone(console_agent, "--help")
    assert done.returncode == 0
    for word in ("OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "--model", "Ctrl-D", "cost money"):
        assert word in done.stdout
