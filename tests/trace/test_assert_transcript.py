"""Assertions on a transcript."""

from __future__ import annotations

import pytest

from soundstage.agents import AgentPrompt, ChatReceived, ChatReply, build_transcript
from soundstage.agents._transcript import TranscriptInput, TranscriptTurn
from soundstage.errors import ExpectationError, MatchError, ScriptError
from soundstage.messages import assistant, system, user
from soundstage.trace import assert_transcript, build_trace, check_transcript

TURNS = [("user", "hi"), ("assistant", "hello Ann"), ("user", "tell me of tea"), ("assistant", "it is hot")]
WANTED = [("user", "hi"), ("assistant", "/^hello/"), "tea", ("Assistant", ["hot", "cold"])]


@pytest.mark.parametrize(
    "turns",
    [
        TURNS,
        [TranscriptTurn(*turn) for turn in TURNS],
        [user(text) if role == "user" else assistant(text) for role, text in TURNS],
        [
            ChatReceived(text=text, sender=role) if role == "user" else ChatReply(text=text, sender=role)
            for role, text in TURNS
        ],
        iter(TURNS),
    ],
)
def test_turns_of_any_kind_hold(turns):
    assert assert_transcript(turns, *WANTED) is None


def test_what_a_transcript_builder_makes_is_a_transcript():
    conversation = TranscriptInput("Be brief.", (TranscriptTurn("user", "hi"),), AgentPrompt(text="and?"))
    assert_transcript(build_transcript(conversation), ("system", "brief"), ("user", "hi"), ("user", "and"))
    assert_transcript([system("x"), user("y")], "x", "y")


def test_a_turn_that_differs_is_shown_beside_the_one_that_was_expected():
    with pytest.raises(ExpectationError) as caught:
        assert_transcript(TURNS, ("user", "hi"), ("assistant", "hello Bob"), "tea", "hot")
    error = caught.value
    assert error.summary == "turn 2: 'hello Bob' is not in 'hello Ann'"
    assert error.seen.splitlines() == [
        "  expected               | seen",
        "= user: 'hi'             | user: 'hi'",
        "! assistant: 'hello Bob' | assistant: 'hello Ann'",
        "= 'tea'                  | user: 'tell me of tea'",
        "= 'hot'                  | assistant: 'it is hot'",
    ]


def test_a_turn_that_is_missing_or_too_much_or_said_by_another_one_fails():
    assert check_transcript(TURNS, *WANTED[:-1]).message.startswith("turn 4 was not expected")
    assert check_transcript(TURNS[:-1], *WANTED).message.startswith("turn 4 is missing")
    swapped = check_transcript(TURNS, ("assistant", "hi"), *WANTED[1:])
    assert swapped.message == "turn 1: the speaker: expected 'assistant', got 'user'"


def test_others_may_come_between_or_the_order_may_not_matter():
    assert_transcript(TURNS, "hi", ("assistant", "hot"), order="in_order")
    assert_transcript(TURNS, ("assistant", "hot"), "hi", order="any_order")
    assert not check_transcript(TURNS, "hot", "hi", order="in_order")


def test_a_misspelt_speaker_is_named():
    with pytest.raises(ExpectationError, match=r"did you mean 'assistant'\?"):
        assert_transcript(TURNS, ("user", "hi"), ("asistant", "hello"), "tea", "hot")


def test_the_transcript_of_a_trace_is_what_the_model_was_told_last_and_its_reply(traced):
    async def body(scene):
        scene.script.on(iteration=1).reply(tool_calls=[{"name": "Read", "arguments": {"path": "tea.md"}}])
        scene.script.on(iteration=2).reply("it is hot")
        await scene.work("clerk", "tell me of tea", {"Read": "hot"})

    trace = traced(body)
    turns = [("user", "tea"), ("assistant", "Read"), ("tool", "hot"), ("assistant", "it is hot")]
    assert_transcript(trace, *turns)
    with pytest.raises(ExpectationError) as caught:
        assert_transcript(trace, *turns[:-1], ("assistant", "cold"))
    assert "in the trace:" in caught.value.seen
    assert caught.value.summary == "turn 4: 'cold' is not in 'it is hot'"
    assert not check_transcript(build_trace([]), "hi")


def test_the_lines_between_people_and_the_app_are_a_transcript(routed):
    assert_transcript(routed.messages, ("alice", "add a login"), ("app", "ready"))


def test_a_trace_of_several_conversations_has_several_transcripts(traced):
    async def body(scene):
        for name in ("one", "two"):
            await scene.ask("clerk", user(f"I am {name}"), conversation=name)

    trace = traced(body)
    with pytest.raises(ScriptError, match=r"several conversations(.|\n)*'one', 'two'"):
        assert_transcript(trace, "I am one")
    assert_transcript(trace.only(conversation="two"), ("user", "two"), order="in_order")


@pytest.mark.parametrize("expected", [(), (("user",),), (("user", "hi", 3),), (("", "hi"),), ("",), ([],)])
def test_nothing_holds_by_accident(expected):
    with pytest.raises(ScriptError):
        assert_transcript(TURNS, *expected)


def test_what_is_no_turn_and_a_predicate_that_raises_are_errors():
    with pytest.raises(ScriptError, match="no turn"):
        assert_transcript(["hi"], "hi")
    with pytest.raises(MatchError, match="raised"):
        assert_transcript(TURNS, lambda text: text.nothing)
