"""How two requests differ: every difference is found, and said where it is."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soundstage.messages import (
    Message,
    ModelRequest,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
    assistant,
    call,
    system,
    tool,
    user,
)
from soundstage.tapes._compare import differences, same, summary


def found(expected, seen):
    return [(it.cause, it.where, it.expected, it.seen) for it in differences(expected, seen)]


TALK = (user("weather?"), assistant("let me see", call("look", {"city": "SF"}, id="c1")), tool("c1", "72"))


def request(*messages, tools=(), **fields):
    return ModelRequest(
        model="m", messages=messages, tools=tuple(ToolDefinition(name=name) for name in tools), **fields
    )


def test_ids_settings_and_the_model_do_not_matter():
    other = (TALK[0], assistant("let me see", call("look", {"city": "SF"}, id="c9")), tool("c9", "72"))
    one = request(*TALK, tools=("a", "b"), settings={"temperature": 0})
    assert same(one, msgspec.structs.replace(request(*other, tools=("b", "a")), model="another"))


@pytest.mark.parametrize(
    ("expected", "seen", "difference"),
    [
        (
            request(system("old"), user("a")),
            request(system("new"), user("a")),
            ("prompt", "system prompt", "'old'", "'new'"),
        ),
        (
            request(user("a"), tools=("x", "y")),
            request(user("a"), tools=("y", "z")),
            ("tools", "tools on offer", "also x", "also z"),
        ),
        (
            request(user("a"), tools=("x",)),
            request(user("a")),
            ("tools", "tools on offer", "also x", "less than that"),
        ),
        (
            request(user("a")),
            request(user("a"), tools=("x",)),
            ("tools", "tools on offer", "no more than that", "also x"),
        ),
        (
            request(user("hello")),
            request(user("goodbye")),
            ("history", "messages[0] (user) part 1", "'hello'", "'goodbye'"),
        ),
        (
            request(user("a")),
            request(assistant("a")),
            ("history", "messages[0]", "user 'a'", "assistant 'a'"),
        ),
        (
            request(*TALK),
            request(*TALK[:2], tool("c1", "73")),
            ("history", "messages[2] (tool) part 1", "'72'", "'73'"),
        ),
        (
            request(*TALK),
            request(TALK[0], assistant("let me see", call("look", {"city": "LA"})), TALK[2]),
            (
                "history",
                "messages[1] (assistant) part 2",
                """'look({"city":"SF"})'""",
                """'look({"city":"LA"})'""",
            ),
        ),
        (
            request(*TALK),
            request(TALK[0], assistant("let me see"), TALK[2]),
            (
                "history",
                "messages[1] (assistant) part 2",
                """tool call 'look({"city":"SF"})'""",
                "no such part",
            ),
        ),
        (
            request(*TALK),
            request(*TALK, user("and now?")),
            ("history", "messages[3]", "no such message", "user 'and now?'"),
        ),
        (
            request(*TALK),
            request(*TALK[1:]),
            ("history", "messages[0] of the tape", "user 'weather?'", "no such message"),
        ),
        (
            request(Message(role="user", parts=(Opaque(type="image", data={"url": "a"}),))),
            request(Message(role="user", parts=(Text(text="a"),))),
            ("history", "messages[0] (user) part 1", """image '{"url":"a"}'""", "text 'a'"),
        ),
    ],
)
def test_a_difference_is_named_with_its_place_and_both_sides(expected, seen, difference):
    assert found(expected, seen) == [difference]


def test_a_message_that_was_put_in_does_not_make_all_that_follow_different():
    more = request(TALK[0], user("by the way"), *TALK[1:])
    assert found(request(*TALK), more) == [("history", "messages[1]", "no such message", "user 'by the way'")]


def test_all_kinds_of_differences_are_listed_prompt_first():
    one = request(system("p"), user("a"), tools=("x",))
    other = request(system("q"), user("b"), tools=("y",))
    assert [it.cause for it in differences(one, other)] == ["prompt", "tools", "history"]
    assert str(differences(one, other)[0]) == "system prompt: expected 'p', seen 'q'"


def test_long_texts_are_shown_around_the_place_where_they_differ():
    long = "word " * 100
    ((_, _, expected, seen),) = found(request(user(long + "old end")), request(user(long + "new end")))
    assert expected == f"...{(long + 'old end')[475:]!r} (at 475)"
    assert seen == f"...{(long + 'new end')[475:]!r} (at 475)"


def test_of_many_lines_only_those_that_changed_are_shown():
    lines = [f"line {number} of a long system prompt" for number in range(30)]
    changed = [*lines[:7], "another line", *lines[8:]]
    ((_, _, expected, seen),) = found(request(system("\n".join(lines))), request(system("\n".join(changed))))
    assert (expected, seen) == ("'line 7 of a long system prompt'", "'another line'")


def test_lines_that_are_only_new_are_shown_too():
    ((_, _, expected, seen),) = found(request(user("a\nb")), request(user("a\nb\nc")))
    assert (expected, seen) == ("''", "'c'")


PARTS = st.one_of(
    st.builds(Text, text=st.text("ab", max_size=2)),
    st.builds(Thinking, text=st.text("ab", max_size=2)),
    st.builds(ToolCall, id=st.just("i"), name=st.sampled_from("xy"), raw=st.sampled_from(["", "r"])),
    st.builds(ToolResult, call_id=st.just("i"), text=st.text("ab", max_size=1)),
    st.builds(Opaque, type=st.sampled_from("xy"), data=st.none()),
)
MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["system", "user", "assistant", "tool"]),
        parts=st.lists(PARTS, max_size=2).map(tuple),
    ),
    max_size=4,
)


@given(MESSAGES, MESSAGES)
@settings(max_examples=300, deadline=None)
def test_requests_are_the_same_if_and_only_if_nothing_differs(one, other):
    first, second = request(*one), request(*other)
    assert same(first, first)
    assert same(first, second) == same(second, first)
    talk = [[message for message in side if message.role != "system"] for side in (one, other)]
    prompts = [side.system_text for side in (first, second)]
    assert same(first, second) == (talk[0] == talk[1] and prompts[0] == prompts[1])


def test_a_request_in_one_line():
    assert (
        summary(request(system("p"), *TALK, tools=("a", "b"))) == "user 'weather?', 3 message(s), tools: a, b"
    )
