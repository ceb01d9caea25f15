"""The entries of apps in words."""

from __future__ import annotations

import pytest

from soundstage.agents import (
    AgentAck,
    AgentPrompt,
    AgentResponseChunk,
    AgentStreamCompleted,
    ChatAck,
    ChatChunk,
    ChatReply,
    ChatStreamCompleted,
)


@pytest.mark.parametrize(
    ("entry", "words", "routine"),
    [
        (ChatReply(text="hello", sender="bot"), "bot: hello", False),
        (AgentPrompt(text="hello"), "hello", False),
        (ChatChunk(text="he\n", sender="bot", stream="s1"), r"bot: 'he\n'", True),
        (AgentResponseChunk(text="he"), "'he'", True),
        (ChatStreamCompleted(sender="bot", stream="s1"), "the stream of bot is complete", True),
        (AgentStreamCompleted(), "the stream is complete", True),
        (ChatAck(position=4), "@4 is done", True),
        (AgentAck(position=5), "@5 is done", True),
    ],
)
def test_an_entry_says_what_happened_and_pieces_and_acknowledgements_are_routine(entry, words, routine):
    assert str(entry) == words
    assert type(entry).routine is routine
