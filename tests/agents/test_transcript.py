"""The words that tell a model about the conversation so far."""

from __future__ import annotations

import pytest

from soundstage.agents import (
    AgentEntry,
    AgentPrompt,
    AgentResponse,
    AgentResponseChunk,
    AgentThought,
    TranscriptInput,
    TranscriptTurn,
    build_transcript,
)
from soundstage.agents._transcript import read_turns
from soundstage.clock import VirtualClock
from soundstage.journal import Journal
from soundstage.messages import assistant, system, user


def turns(*entries, prompt=None, clip=None):
    """The turns before the last of `entries`, which are (entry, cause)."""
    journal = Journal(clock=VirtualClock())
    for entry, cause in entries:
        journal.append(entry, cause=cause)
    return read_turns(journal.read(type=AgentEntry), prompt or len(entries), clip)


def asked(text):
    return AgentPrompt(text=text, sender="user")


def said(text, sender="agent"):
    return AgentResponse(text=text, sender=sender)


def test_turns_are_prompts_and_responses_oldest_first():
    found = turns((asked("a"), None), (said("A"), 1), (asked("b"), None), (said("B"), 3), (asked("c"), None))
    assert found == (
        TranscriptTurn("user", "a"),
        TranscriptTurn("assistant", "A"),
        TranscriptTurn("user", "b"),
        TranscriptTurn("assistant", "B"),
    )


def test_thoughts_and_chunks_are_no_turns():
    found = turns(
        (asked("a"), None), (AgentThought(text="hm"), 1), (AgentResponseChunk(text="A"), 1), (asked("b"), 1)
    )
    assert found == (TranscriptTurn("user", "a"),)


def test_a_response_stands_behind_its_prompt_even_if_other_prompts_came_first():
    found = turns(
        (asked("a"), None), (asked("b"), None), (asked("c"), None), (said("A"), 1), (said("B"), 2), prompt=3
    )
    assert [turn.text for turn in found] == ["a", "A", "b", "B"]


def test_the_outputs_of_one_streamed_response_are_one_turn():
    found = turns(
        (asked("a"), None),
        (AgentResponseChunk(text="One.\n\n"), 1),
        (said("One.\n\n"), 2),
        (AgentResponseChunk(text="Two."), 1),
        (said("Two."), 4),
        (asked("b"), None),
    )
    assert found == (TranscriptTurn("user", "a"), TranscriptTurn("assistant", "One.\n\nTwo."))


def test_a_response_that_nobody_asked_for_stands_where_it_is():
    found = turns((said("Welcome!"), None), (asked("a"), None), (said("A"), 2), (asked("b"), None))
    assert [turn.text for turn in found] == ["Welcome!", "a", "A"]


def test_two_agents_that_answer_one_prompt_are_two_turns():
    found = turns((asked("a"), None), (said("A", "one"), 1), (said("B", "two"), 1), (asked("b"), None))
    assert [turn.text for turn in found] == ["a", "A", "B"]


def test_what_answers_this_prompt_or_a_later_one_is_left_out():
    found = turns((asked("a"), None), (asked("b"), None), (said("half of B"), 2), (said("A"), 1), prompt=2)
    assert [turn.text for turn in found] == ["a", "A"]


@pytest.mark.parametrize(("clip", "left"), [(None, "aAbB"), (0, ""), (1, "B"), (3, "AbB"), (9, "aAbB")])
def test_the_clip_keeps_the_newest_turns(clip, left):
    found = turns(
        (asked("a"), None), (said("A"), 1), (asked("b"), None), (said("B"), 3), (asked("c"), None), clip=clip
    )
    assert "".join(turn.text for turn in found) == left


def test_the_usual_transcript_is_instructions_then_turns_then_the_prompt():
    history = (TranscriptTurn("user", "a"), TranscriptTurn("assistant", "A"))
    assert build_transcript(TranscriptInput("Be brief.", history, asked("b"))) == (
        system("Be brief."),
        user("a"),
        assistant("A"),
        user("b"),
    )
    assert build_transcript(TranscriptInput("", (), asked("b"))) == (user("b"),)
