"""Which message and which part is set against which, and what does not count: the finer points of a comparison."""

from __future__ import annotations

import msgspec
import pytest

from soundstage.differences import differences, digest_of, reply_differences
from soundstage.messages import (
    Message,
    ModelResponse,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolResult,
    assistant,
    call,
    tool,
    user,
)

ASKED = assistant("", call("look", {"city": "Oslo"}, id="c1"), call("look", {"city": "Rome"}, id="c2"))


def places(recorded, seen, **options):
    return [(one.cause, one.where, one.recorded, one.seen) for one in differences(recorded, seen, **options)]


def said(*parts):
    return Message(role="assistant", parts=tuple(parts))


def test_messages_that_an_earlier_request_had_are_not_named_again(request_of):
    recorded = request_of(user("one"), ASKED, tool("c1", "4 C"), user("two"))
    seen = request_of(user("ONE"), ASKED, tool("c2", "4 C"), user("TWO"))
    found = places(recorded, seen, known=({0, 1}, {0, 1}))
    assert [(cause, where) for cause, where, *_ in found] == [
        ("tool result differs", "messages[2] tool, part 1, call"),  # the calls are known, and still count
        ("prompt edited", "messages[3] user, part 1"),
    ]


def test_replies_are_told_apart_by_what_was_said_and_by_their_end():
    old = ModelResponse(parts=(Text(text="yes"),), finish="stop")
    new = ModelResponse(parts=(Text(text="no"),), finish="length")
    assert [(one.cause, one.where, one.recorded, one.seen) for one in reply_differences(old, new)] == [
        ("reply differs", "reply, part 1", "'yes'", "'no'"),
        ("reply differs", "finish", "'stop'", "'length'"),
    ]
    assert reply_differences(old, old) == ()


def test_a_message_of_nothing_but_results_is_a_result_whoever_sends_it(request_of):
    result = Message(role="user", parts=(ToolResult(call_id="c1", text="4 C"),))
    (one,) = places(request_of(ASKED, result), request_of(ASKED))
    assert one[:2] == ("tool result differs", "messages[1] user")


def test_parts_of_different_kinds_are_no_pair(request_of):
    picture = Opaque(type="image", data={"url": "a"})
    old, new = (
        request_of(Message(role="user", parts=(Text(text="see"), part)))
        for part in (Text(text="this"), picture)
    )
    assert [(recorded, seen) for _, _, recorded, seen in places(old, new)] == [
        ("text 'this'", "no such part"),
        ("no such part", """image '{"url":"a"}'"""),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            [call("look", {"city": "Oslo"})],
            [call("read", {"path": "a"}), call("look", {"city": "Bonn"})],
            ["messages[0] assistant, part 1", "messages[0] assistant, part 2, arguments.city"],
        ),
        (
            [Thinking(text="first this")],
            [Thinking(text="first that")],
            ["messages[0] assistant, part 1"],
        ),
    ],
    ids=["the same tool", "thinking"],
)
def test_a_part_is_set_against_the_one_that_it_is_most_like(request_of, old, new, expected):
    assert [where for _, where, *_ in places(request_of(said(*old)), request_of(said(*new)))] == expected


def test_a_text_is_set_against_the_one_with_the_same_words(request_of):
    old = request_of(said(Text(text="the long report on rivers")))
    new = request_of(said(Text(text="by the way"), Text(text="the long report on lakes")))
    assert [recorded for *_, recorded, _ in places(old, new)] == [
        "no such part",
        "'the long report on rivers'",
    ]


def test_a_text_that_stayed_is_set_against_itself_though_another_is_near(request_of):
    old = request_of(ASKED, tool("c1", "4 C"))
    new = request_of(ASKED, tool("c1", "4 C now"), tool("c1", "4 C", is_error=True))
    assert [where for _, where, *_ in places(old, new)] == [
        "messages[1] tool",
        "messages[2] tool, part 1, is_error",
    ]


def test_texts_that_begin_alike_are_told_apart_by_what_follows(request_of):
    old = request_of(user("Please summarise the report on rivers"))
    new = request_of(user("Please summarise the weather"), user("Please summarise the long report on rivers"))
    assert [where for _, where, *_ in places(old, new)] == ["messages[0] user", "messages[1] user, part 1"]


@pytest.mark.parametrize("turned", [False, True])
def test_what_is_gone_stands_before_what_has_taken_its_place(request_of, turned):
    pair = (request_of(user("a")), request_of(assistant("b")))
    found = places(*(reversed(pair) if turned else pair))
    assert [seen == "no such message" for *_, seen in found] == [True, False]


def test_of_equal_messages_that_have_moved_the_first_comes_first(request_of):
    rest = [user("x"), user("y"), user("z")]
    same = [user("go on"), user("go on")]
    found = places(request_of(*same, *rest), request_of(*rest, *same))
    assert [(where, recorded[-11:]) for _, where, recorded, _ in found] == [
        ("messages[3] user", "messages[0]"),
        ("messages[4] user", "messages[1]"),
    ]


def test_very_many_messages_are_paired_in_order_and_only_within_their_roles(request_of):
    old = request_of(*(user(f"question {number}") for number in range(60)))
    new = request_of(*(assistant(f"answer {number}") for number in range(60)))
    assert len(differences(old, new)) == 120
    edited = request_of(*(user(f"Question {number}") for number in range(60)))
    assert [one.where for one in differences(old, edited)] == [
        f"messages[{number}] user, part 1" for number in range(60)
    ]


@pytest.mark.parametrize(
    ("recorded", "seen", "expected"),
    [
        ("c1", "nobody", ("of one call", "of no call")),
        ("nobody", "c1", ("of no call", "of another call")),
    ],
)
def test_a_result_without_its_call_is_told_as_that(request_of, recorded, seen, expected):
    old, new = (request_of(ASKED, tool(name, "4 C")) for name in (recorded, seen))
    assert [one[2:] for one in places(old, new)] == [expected]


def test_what_is_in_a_result_besides_its_text_counts(request_of):
    old, new = (
        request_of(
            ASKED,
            Message(
                role="tool",
                parts=(ToolResult(call_id="c1", text="seen", extra=({"type": "image", "id": n},)),),
            ),
        )
        for n in (1, 2)
    )
    assert [one[:2] for one in places(old, new)] == [
        ("tool result differs", "messages[1] tool, part 1, content[0].id")
    ]


@pytest.mark.parametrize(
    "name",
    ["metadata", "previous_response_id", "prompt_cache_key", "safety_identifier", "user", "instructions"],
)
def test_settings_that_name_the_sender_or_stand_in_the_messages_do_not_count(request_of, name):
    one, other = (request_of(user("a"), settings={name: value}) for value in ("x", "y"))
    assert differences(one, other) == ()
    assert digest_of(one) == digest_of(other)


def test_keys_that_are_no_texts_are_those_of_json(request_of):
    one, other = (request_of(user("a"), settings={"bias": {key: 2}}) for key in (7, "7"))
    assert differences(one, other) == ()


LOOK = ToolDefinition(name="look")


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"namespace": "maps"}, ["tools.look.namespace"]),
        ({"schema": {"anyOf": [{"required": ["b", "a"]}]}}, ["tools.look.parameters.anyOf"]),
        ({"schema": {"required": [1, "a"]}}, ["tools.look.parameters.required"]),
    ],
    ids=["namespace", "nested", "odd"],
)
def test_all_of_a_tool_counts(request_of, fields, where):
    other = msgspec.structs.replace(LOOK, **fields)
    assert [one.where for one in differences(request_of(tools=(LOOK,)), request_of(tools=(other,)))] == where


def test_the_order_of_required_parameters_does_not_count_below_the_first_level_either(request_of):
    one, other = (
        request_of(
            tools=(msgspec.structs.replace(LOOK, schema={"anyOf": [{"required": names}, {"type": "null"}]}),)
        )
        for names in (["a", "b"], ["b", "a"])
    )
    assert differences(one, other) == ()


def test_the_normaliser_reads_broken_arguments_and_parts_that_are_not_interpreted(request_of):
    one, other = (
        request_of(
            said(ToolCall(id="c", name="look", arguments={}, raw=f'{{"in /tmp/{name}')),
            Message(role="user", parts=(Opaque(type="image", data={"url": f"/tmp/{name}"}),)),
        )
        for name in ("a", "b")
    )
    assert len(differences(one, other)) == 2
    assert differences(one, other, normalise=lambda text: text.replace("/tmp/a", "/tmp/b")) == ()


def test_values_that_are_no_json_are_compared_whatever_the_order_of_their_keys(request_of):
    one, other = (
        request_of(settings={"odd": dict(pairs)})
        for pairs in ((("a", 2**80), ("b", "\ud800")), (("b", "\ud800"), ("a", 2**80)))
    )
    assert differences(one, other) == ()
    assert digest_of(one) == digest_of(other)
