"""The messages that a long conversation loses, and those that it never loses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.agents import SettingError
from soundstage.agents.prompts import TRIMMED, estimate_tokens, trim_history
from soundstage.messages import Message, Text, ToolCall, ToolResult, assistant, call, system, tool, user


@st.composite
def conversations(draw):
    """A well-formed conversation: calls, one or several, are answered in tool messages or in one user message."""
    messages = [system("rules")] if draw(st.booleans()) else []
    reused = draw(st.booleans())
    for turn in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["user", "assistant", "calls", "calls", "system"]))
        size = draw(st.integers(0, 60))
        if kind == "user":
            messages.append(user("u" * size))
        elif kind == "assistant":
            messages.append(assistant("a" * size))
        elif kind == "system":
            messages.append(system("s" * size))
        else:
            ids = [
                f"call_{number if reused else f'{turn}_{number}'}"
                for number in range(draw(st.integers(1, 3)))
            ]
            messages.append(assistant("", *(call("look", id=name) for name in ids)))
            messages += draw(answers(ids, size))
    return messages


@st.composite
def answers(draw, ids, size):
    order = draw(st.permutations(ids))
    if draw(st.booleans()):
        return [tool(name, "r" * size) for name in order]
    parts = tuple(ToolResult(call_id=name, text="r" * size) for name in order)
    return [Message(role="user", parts=(*parts, Text(text="go on")))]


def lonely(messages):
    """Ids of calls without a result behind them and of results without a call before them."""
    waiting: list[str] = []
    alone: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                waiting.append(part.id)
            elif isinstance(part, ToolResult):
                if part.call_id in waiting:
                    waiting.remove(part.call_id)
                else:
                    alone.append(part.call_id)
    return alone + waiting


def tokens(messages):
    return sum(estimate_tokens(message.everything) for message in messages)


def rounds(number, size=10_000):
    """System prompt and question, then so many calls with large results, then an answer."""
    messages = [system("You are terse."), user("What is in the files?")]
    for turn in range(number):
        messages += [
            assistant("", call("read_file", {"n": turn}, id=f"c{turn}")),
            tool(f"c{turn}", "x" * size),
        ]
    return [*messages, assistant("Done.")]


def test_old_messages_go_after_many_large_results_and_system_and_user_stay():
    messages = rounds(40)
    trimmed = trim_history(messages)
    assert trimmed[:2] == tuple(messages[:2])
    assert trimmed[-1] == messages[-1]
    assert user(TRIMMED) in trimmed
    assert TRIMMED == "[Previous conversation truncated due to context limits]"
    assert tokens(trimmed) < 0.6 * 128_000 < tokens(messages)
    assert lonely(trimmed) == []


def test_first_two_and_last_six_stay_and_one_message_stands_for_the_rest():
    talk = [user(f"{n}") if n % 2 == 0 else assistant(f"{n}") for n in range(20)]
    trimmed = trim_history([system("rules"), *talk], window=10)
    assert trimmed == (system("rules"), *talk[:2], user(TRIMMED), *talk[-6:])


@pytest.mark.parametrize(("window", "trims"), [(200, False), (199, True)])
def test_a_conversation_of_exactly_the_share_is_left_as_it_is(window, trims):
    talk = [user("x" * 35) for _ in range(12)]  # 120 tokens
    assert (user(TRIMMED) in trim_history(talk, window=window)) is trims


def test_a_result_stays_with_its_call_at_both_ends():
    messages = rounds(10, size=10)
    trimmed = trim_history(messages, window=1)
    assert trimmed[:4] == tuple(messages[:4])
    assert trimmed[4] == user(TRIMMED)
    assert trimmed[5:] == tuple(messages[-7:])  # the sixth from the end is a result


def test_parallel_calls_and_all_their_results_are_one_block():
    calls = [call("look", id=name) for name in "abcdefgh"]
    messages = [
        user("q"),
        assistant("1"),
        user("2"),
        assistant("", *calls),
        *(tool(name, "r") for name in "abcdefgh"),
    ]
    assert trim_history(messages, window=1) == (*messages[:2], user(TRIMMED), *messages[3:])


def test_system_messages_in_the_middle_stay_in_their_order():
    talk = [user(f"{n}") for n in range(12)]
    messages = [system("a"), *talk[:5], system("b"), *talk[5:]]
    trimmed = trim_history(messages, window=1)
    assert trimmed == (system("a"), *talk[:2], user(TRIMMED), system("b"), *talk[-6:])


def test_the_size_of_a_message_can_be_counted_otherwise():
    talk = [user("x") for _ in range(12)]
    assert len(trim_history(talk, window=100, count=lambda message: 100)) == 9


@pytest.mark.parametrize(
    "options", [{"window": 0}, {"share": 0}, {"share": 1.1}, {"first": -1}, {"last": 0}], ids=str
)
def test_numbers_that_make_no_sense_are_refused(options):
    with pytest.raises(SettingError, match="cannot be trimmed"):
        trim_history([user("x")], **options)


@pytest.mark.parametrize("messages", [[], [system("x" * 100)]])
def test_a_conversation_without_talk_is_left_as_it_is(messages):
    assert trim_history(messages, window=1) == tuple(messages)


@given(conversations(), st.integers(1, 400), st.integers(0, 4), st.integers(1, 8))
def test_whatever_the_conversation_calls_and_results_stay_together(messages, window, first, last):
    assert lonely(messages) == []
    trimmed = trim_history(messages, window=window, first=first, last=last)
    assert lonely(trimmed) == []
    assert trim_history(trimmed, window=window, first=first, last=last) == trimmed
    kept = [message for message in trimmed if message != user(TRIMMED)]
    assert [m for m in kept if m.role == "system"] == [m for m in messages if m.role == "system"]
    talk = [message for message in messages if message.role != "system"]
    if tokens(messages) <= 0.6 * window:
        assert trimmed == tuple(messages)
    if trimmed != tuple(messages):
        assert trimmed.count(user(TRIMMED)) == 1
        talked = [message for message in trimmed if message.role != "system"]
        place = talked.index(user(TRIMMED))
        assert place >= first
        assert len(talked) - place - 1 >= last
        assert talked[:place] == talk[:place]
        assert talked[place + 1 :] == talk[len(talk) - (len(talked) - place - 1) :]
