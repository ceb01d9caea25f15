"""The console agent whose answers are shown while they come: chunks, windows, splitters, in both ways."""

from __future__ import annotations

import pytest

from examples import console_agent_streaming
from soundstage.agents import (
    AgentEntry,
    AgentPrompt,
    AgentResponse,
    AgentResponseChunk,
    AgentStreamCompleted,
    AgentThought,
    CompletionWindow,
    FunctionWindow,
    ImmediateWindow,
    SettingError,
)
from soundstage.agents.testing import journals_of
from soundstage.clock import VirtualClock
from soundstage.errors import SoundstageError
from soundstage.journal import ModelChunked, event
from soundstage.messages import TextChunk
from soundstage.trace import assert_ordered
from support.ways import as_program, in_process, start_alone

AT_SPACES = FunctionWindow(lambda window: window.texts[-1].endswith(" "))


def ask(*chunks, last, **reply):
    """A body: one question, an answer in these chunks, all lines until one with `last` has come."""

    async def body(host):
        host.llm.on(user="tell me").reply(chunks=chunks, **reply)
        await host.console.send("tell me")
        await host.console.expect(last)
        await host.console.expect_nothing(within=0.1)
        return host.console.lines

    return body


def overridden(chunk, policy):
    """The real configuration, with one window policy of the test's."""
    return in_process(console_agent_streaming, lambda app: app.with_window(chunk, policy))


def test_four_chunks_are_two_outputs_under_a_policy_that_cuts_at_white_space():
    body = ask("Hel", "lo ", "Wor", "ld!", last="World!")
    assert overridden(AgentResponseChunk, AT_SPACES).run(body) == ["Hello ", "World!"]


def test_five_chunks_are_one_message(hosted):
    body = ask("The ", "fjords ", "are ", "very ", "deep.", last="deep.")
    assert hosted(console_agent_streaming).run(body) == ["The fjords are very deep."]


def test_a_policy_that_emits_at_once_shows_every_chunk():
    body = ask("One", "Two", "Three", last="Three")
    assert overridden(AgentResponseChunk, ImmediateWindow()).run(body) == ["One", "Two", "Three"]


def test_a_policy_that_waits_for_the_end_shows_the_answer_as_one_output_that_is_split():
    body = ask("One.\n\n", "Two.\n\n", "Three.", last="Three.")
    assert overridden(AgentResponseChunk, CompletionWindow()).run(body) == ["One.", "Two.", "Three."]


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_the_joined_output_is_the_answer_however_it_is_cut(hosted, size):
    answer = "First, some words.\n\nThen more of them, and a list: a, b, c.\n\nAt last the end."
    chunks = [answer[start : start + size] for start in range(0, len(answer), size)]
    lines = hosted(console_agent_streaming).run(ask(*chunks, last="the end."))
    assert "\n\n".join(lines) == answer


def test_chunks_that_end_where_the_policy_cuts_are_outputs_and_the_rest_comes_at_the_end(hosted):
    body = ask("One.\n\n", "Two, ", "and on.\n\n", "The rest", last="rest")
    assert hosted(console_agent_streaming).run(body) == ["One.", "Two, and on.", "The rest"]


def test_a_paragraph_is_shown_while_the_model_is_still_speaking(hosted):
    async def body(host):
        pause, quiet = (3600, 1800) if isinstance(host.clock, VirtualClock) else (2, 0.2)
        rule = host.llm.on(user="tell me")
        rule.reply(chunks=["One.\n\n", "Two."], fault={"type": "stall", "after": 1, "seconds": pause})
        await host.console.send("tell me")
        await host.console.expect("One.")
        await host.console.expect_nothing(within=quiet)
        await host.console.expect("Two.", within=3 * pause)
        return host.console.lines

    assert hosted(console_agent_streaming).run(body) == ["One.", "Two."]


def test_paragraphs_that_come_in_one_chunk_are_split(hosted):
    body = ask("One.\n\nTwo.\n\nThree.", last="Three.")
    assert hosted(console_agent_streaming).run(body) == ["One.", "Two.", "Three."]


def test_a_text_without_an_end_is_cut_by_its_length(hosted):
    body = ask(*["x" * 100] * 29, "end", last="end")
    lines = hosted(console_agent_streaming).run(body)
    assert [len(line) for line in lines] == [1100, 1100, 703]


def test_every_token_is_a_chunk_on_the_wire_whatever_is_shown(hosted):
    async def body(host):
        await ask("Hel", "lo ", "Wor", "ld!", last="Hello World!")(host)
        [request] = host.llm.requests
        pieces = [event.chunk for event in host.journal.events(ModelChunked)]
        return request.stream, [piece.text for piece in pieces if isinstance(piece, TextChunk)]

    assert hosted(console_agent_streaming).run(body) == (True, ["Hel", "lo ", "Wor", "ld!"])


def test_thoughts_are_put_together_by_their_own_policy_and_are_not_shown():
    async def body(host):
        blocks = [{"thinking": "I see. It is a riddle"}, {"text": "Because."}]
        host.llm.on(user="why").reply(blocks=blocks)
        await host.console.send("why")
        await host.console.expect("Because.")
        entries = journals_of(host).get(AgentEntry).events()
        return host.console.lines, [
            (type(entry), entry.text) for entry in entries if isinstance(entry, AgentThought | AgentResponse)
        ]

    lines, entries = in_process(console_agent_streaming).run(body)
    assert lines == ["Because."]
    assert [kind for kind, _ in entries] == [*[AgentThought] * (len(entries) - 1), AgentResponse]
    assert "".join(text for kind, text in entries if kind is AgentThought) == "I see. It is a riddle"


def test_thoughts_are_not_shown_by_the_program():
    async def body(host):
        host.llm.on(user="why").reply(blocks=[{"thinking": "A riddle."}, {"text": "Because."}])
        await host.console.send("why")
        await host.console.expect("Because.")
        return host.console.lines

    assert as_program(console_agent_streaming).run(body) == ["Because."]


def test_the_journal_has_prompt_chunks_and_end_before_the_last_output():
    async def body(host):
        await ask("One.\n\n", "Two.", last="Two.")(host)
        last = event(AgentResponse, text="Two.")
        assert_ordered(host.journal, AgentPrompt, AgentResponseChunk, AgentStreamCompleted, last)
        return [(entry.text, entry.sender) for entry in journals_of(host).get(AgentResponse).events()]

    assert in_process(console_agent_streaming).run(body) == [("One.\n\n", "agent"), ("Two.", "agent")]


def test_what_was_there_before_the_answer_broke_off_is_shown_and_the_run_fails(hosted):
    async def body(host):
        host.llm.on(user="tell me").reply(chunks=["Half an ", "answer"], fault={"type": "cut", "after": 2})
        await host.console.send("tell me")
        await host.console.expect("Half an answer")

    with pytest.raises(SoundstageError) as caught:
        hosted(console_agent_streaming).run(body)
    assert any(words in str(caught.value) for words in ("cut after 2 chunks", "broke off"))


def test_the_second_answer_waits_for_the_whole_first_one(hosted):
    async def body(host):
        host.llm.on(user="one").reply(chunks=["First, ", "in pieces."], delay=0.2)
        host.llm.on(user="two").reply(chunks=["Second."])
        await host.console.send("one")
        await host.console.send("two")
        await host.console.expect("Second.")
        _, second = host.llm.requests
        return host.console.lines, [message.text for message in second.messages[1:]]

    lines, told = hosted(console_agent_streaming).run(body)
    assert lines == ["First, in pieces.", "Second."]
    assert told == ["one", "First, in pieces.", "two"]


def test_a_policy_for_what_the_app_does_not_have_is_refused():
    with pytest.raises(SettingError, match="nothing in this app uses it"):
        overridden(AgentResponse, ImmediateWindow()).build()


def test_without_a_key_the_program_says_which_variable_is_missing():
    done = start_alone(console_agent_streaming, typed="hello\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "OPENAI_API_KEY or ANTHROPIC_API_KEY in the environment" in done.stderr


def test_the_help_teaches_how_to_begin():
    done = start_alone(console_agent_streaming, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "python -m examples.console_agent_streaming" in done.stdout
