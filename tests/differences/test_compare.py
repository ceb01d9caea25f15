"""How two requests differ: each difference has its cause, its place and both sides, the first cause in front."""

from __future__ import annotations

import functools
import re

import msgspec
import pytest

from soundstage.differences import Difference, Normaliser, differences, differing_values, digest_of
from soundstage.match import MISSING
from soundstage.messages import (
    Caller,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolDefinition,
    ToolResult,
    assistant,
    call,
    system,
    tool,
    user,
)

TALK = (
    system("You are brief.\nYou are kind."),
    user("weather?"),
    assistant("let me see", call("look", {"city": "Oslo"}, id="c1"), call("look", {"city": "Rome"}, id="c2")),
    tool("c1", "4 C"),
    tool("c2", "18 C"),
    user("and now?"),
)
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city", "unit"]}
LOOK = ToolDefinition(name="look", description="Looks.\nSlowly.", schema=CITY)


def replaced(place, *messages):
    return (*TALK[:place], *messages, *TALK[place + 1 :])


def found(recorded, seen):
    return [str(one) for one in differences(recorded, seen)]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            replaced(0, system("You are brief.\nYou are rude.")),
            (
                "system prompt edited: messages[0] system, part 1, line 2:"
                " recorded 'You are kind.', seen 'You are rude.'"
            ),
        ),
        (
            TALK[1:],
            (
                "system prompt edited: messages[0] system: recorded system"
                " 'You are brief.\\nYou are kind.', seen no such message"
            ),
        ),
        (
            replaced(1, user("time?")),
            "prompt edited: messages[1] user, part 1: recorded 'weather?', seen 'time?'",
        ),
        (
            replaced(5),
            "prompt edited: messages[5] user: recorded user 'and now?', seen no such message",
        ),
        (
            replaced(1, user("weather?"), user("be quick")),
            "prompt edited: messages[2] user: recorded no such message, seen user 'be quick'",
        ),
        (
            replaced(1, Message(role="user", parts=(Text(text="weather?"), Text(text="be quick")))),
            "prompt edited: messages[1] user, part 2: recorded no such part, seen text 'be quick'",
        ),
        (
            replaced(2, assistant("I look", *TALK[2].parts[1:])),
            "earlier reply differs: messages[2] assistant, part 1: recorded 'let me see', seen 'I look'",
        ),
        (
            replaced(2, assistant("let me see", call("look", {"city": "Bonn"}, id="c1"), TALK[2].parts[2])),
            "earlier reply differs: messages[2] assistant, part 2, arguments.city: recorded 'Oslo', seen 'Bonn'",
        ),
        (
            replaced(4, tool("c2", "19 C")),
            "tool result differs: messages[4] tool, part 1: recorded '18 C', seen '19 C'",
        ),
        (
            replaced(4, tool("c2", "18 C", is_error=True)),
            "tool result differs: messages[4] tool, part 1, is_error: recorded false, seen true",
        ),
        (
            replaced(4, tool("c1", "18 C")),
            "tool result differs: messages[4] tool, part 1, call: recorded of one call, seen of another call",
        ),
        (
            replaced(4),
            "tool result differs: messages[4] tool: recorded tool '18 C', seen no such message",
        ),
        (
            replaced(2, Message(role="assistant", parts=(*TALK[2].parts[:1], *reversed(TALK[2].parts[1:])))),
            (
                "order swapped: messages[2] assistant, part 3: recorded tool call"
                """ 'look({"city":"Oslo"})' as part 2, seen as part 3"""
            ),
        ),
    ],
)
def test_a_message_that_differs_is_named_with_its_cause_its_place_and_both_sides(
    request_of, messages, expected
):
    assert found(request_of(*TALK), request_of(*messages)) == [expected]


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ((), ["tool list changed: tools.look: recorded on offer, seen not on offer"]),
        ((LOOK, "read"), ["tool list changed: tools.read: recorded not on offer, seen on offer"]),
        ((LOOK, LOOK), ["tool list changed: tools.look#2: recorded not on offer, seen on offer"]),
        (
            (msgspec.structs.replace(LOOK, description="Looks.\nFast."),),
            ["tool schema changed: tools.look.description, line 2: recorded 'Slowly.', seen 'Fast.'"],
        ),
        (
            (msgspec.structs.replace(LOOK, schema={**CITY, "properties": {"city": {"type": "integer"}}}),),
            ["tool schema changed: tools.look.parameters.city.type: recorded 'string', seen 'integer'"],
        ),
        (
            (
                msgspec.structs.replace(
                    LOOK, schema={**CITY, "properties": {**CITY["properties"], "unit": {"enum": ["C"]}}}
                ),
            ),
            ["""tool schema changed: tools.look.parameters.unit: recorded not there, seen {"enum":["C"]}"""],
        ),
        ((msgspec.structs.replace(LOOK, schema={**CITY, "required": ["unit", "city"]}),), []),
        (
            (msgspec.structs.replace(LOOK, schema={**CITY, "required": ["city"]}),),
            ['tool schema changed: tools.look.parameters.required: recorded ["city","unit"], seen ["city"]'],
        ),
    ],
)
def test_tools_are_compared_by_name_and_their_schemas_path_by_path(request_of, tools, expected):
    assert found(request_of(user("a"), tools=(LOOK,)), request_of(user("a"), tools=tools)) == expected


def test_a_parameter_with_the_name_of_a_word_of_json_schema_is_told_from_it(request_of):
    schemas = [{"type": "object", "properties": {"type": {"type": kind}}} for kind in ("string", "integer")]
    one, other = (
        request_of(user("a"), tools=(ToolDefinition(name="t", schema=schema),)) for schema in schemas
    )
    assert [it.where for it in differences(one, other)] == ["tools.t.parameters.properties.type.type"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"model": "n"}, "model: recorded 'm', seen 'n'"),
        ({"stream": True}, "stream: recorded false, seen true"),
        ({"format": "anthropic"}, "format: recorded in process, seen 'anthropic'"),
        ({"settings": {"temperature": 0.5}}, "settings.temperature: recorded 0, seen 0.5"),
        ({"settings": {}}, "settings.temperature: recorded 0, seen not set"),
        (
            {"settings": {"temperature": 0, "thinking": {"budget": 9}}},
            'settings.thinking: recorded not set, seen {"budget":9}',
        ),
    ],
)
def test_settings_are_compared_path_by_path(request_of, fields, expected):
    recorded = request_of(user("a"), settings={"temperature": 0})
    seen = request_of(user("a"), **{"settings": {"temperature": 0.0}, **fields})
    assert found(recorded, seen) == [f"other model or settings: {expected}"]


def test_ids_senders_seals_and_the_order_of_tools_do_not_count(request_of):
    sealed = [
        Message(role="assistant", parts=(Thinking(text="hm", signature=seal), *TALK[2].parts))
        for seal in ("a", "b")
    ]
    one = request_of(
        *replaced(2, sealed[0]), tools=("a", "b"), settings={"metadata": {"user_id": "1"}, "n": 1}
    )
    renamed = msgspec.convert(
        msgspec.json.decode(msgspec.json.encode(replaced(2, sealed[1])).replace(b'"c1"', b'"x9"')),
        tuple[Message, ...],
    )
    other = request_of(
        *renamed,
        tools=("b", "a"),
        settings={"metadata": {"user_id": "2"}, "n": 1.0},
        caller=Caller(agent="x"),
    )
    assert differences(one, other) == ()
    assert digest_of(one) == digest_of(other)


def test_what_was_there_first_comes_first_and_messages_in_their_order(request_of):
    recorded = request_of(*TALK, tools=("a", LOOK))
    seen = request_of(
        system("You are rude."),
        user("weather?"),
        TALK[2],
        tool("c1", "5 C"),
        TALK[4],
        user("and then?"),
        tools=(msgspec.structs.replace(LOOK, description="Sees."),),
        model="n",
    )
    assert [one.cause for one in differences(recorded, seen)] == [
        "system prompt edited",
        "tool list changed",
        "tool schema changed",
        "other model or settings",
        "tool result differs",
        "prompt edited",
    ]


def test_a_message_that_was_put_in_beside_an_edited_one_is_told_from_it(request_of):
    old = request_of(user("Summarise the report on rivers"), assistant("yes"))
    new = request_of(user("by the way"), user("Summarise the long report on rivers"), assistant("yes"))
    assert [(one.where, one.recorded) for one in differences(old, new)] == [
        ("messages[0] user", "no such message"),
        ("messages[1] user, part 1", "'Summarise the report on rivers'"),
    ]


def test_results_in_a_message_of_the_user_are_results(request_of):
    before, now = (
        request_of(
            TALK[2],
            Message(role="user", parts=(ToolResult(call_id="c1", text=text), Text(text="remember"))),
        )
        for text in ("4 C", "5 C")
    )
    assert [one.cause for one in differences(before, now)] == ["tool result differs"]


def test_a_part_that_is_not_interpreted_is_compared_path_by_path(request_of):
    before, now = (
        request_of(Message(role="user", parts=(Opaque(type="image", data={"source": {"url": url}}),)))
        for url in ("a", "b")
    )
    assert found(before, now) == [
        "prompt edited: messages[0] user, part 1, content.source.url: recorded 'a', seen 'b'"
    ]


def test_of_two_messages_that_were_swapped_one_has_moved(request_of):
    (one,) = found(request_of(*TALK), request_of(*TALK[:3], TALK[4], TALK[3], TALK[5]))
    assert one in (
        "order swapped: messages[4] tool: recorded tool '4 C' at messages[3], seen at messages[4]",
        "order swapped: messages[3] tool: recorded tool '18 C' at messages[4], seen at messages[3]",
    )


def test_calls_and_results_that_were_swapped_together_are_nothing_but_swapped(request_of):
    swapped = Message(role="assistant", parts=(TALK[2].parts[0], TALK[2].parts[2], TALK[2].parts[1]))
    causes = {
        one.cause
        for one in differences(request_of(*TALK), request_of(*TALK[:2], swapped, TALK[4], TALK[3], TALK[5]))
    }
    assert causes == {"order swapped"}


def test_every_difference_has_both_values_whole(request_of):
    long = "all the same, " * 20
    old = request_of(user(f"{long}at 10:04"), settings={"seed": 7}, tools=("look",))
    new = request_of(user(f"{long}at 10:05"), user("and more"), settings={"seed": 8}, model="n")
    found = differing_values(old, new)
    assert tuple(one.difference for one in found) == differences(old, new)
    assert {one.difference.where: (one.recorded, one.seen) for one in found} == {
        "messages[0] user, part 1": (f"{long}at 10:04", f"{long}at 10:05"),
        "messages[1] user": (MISSING, "and more"),
        "tools.look": (found[0].recorded, MISSING),
        "model": ("m", "n"),
        "settings.seed": (7, 8),
    }


def test_the_normaliser_takes_out_what_changes_from_run_to_run(request_of):
    paths = re.compile("/tmp/[ab]")
    masked: Normaliser = functools.partial(paths.sub, "<dir>")
    one, other = (
        request_of(
            system(f"in {path}"),
            assistant("", call("look", {"path": path}, id="c")),
            tool("c", f"{path}: empty"),
            tools=(ToolDefinition(name="look", description=path, schema={"default": path}),),
            settings={"stop": [path]},
        )
        for path in ("/tmp/a", "/tmp/b")
    )
    assert differences(one, other)
    assert differences(one, other, normalise=masked) == ()
    assert digest_of(one, normalise=masked) == digest_of(other, normalise=masked)


def test_long_texts_are_shown_around_the_place_where_they_differ(request_of):
    long = "word " * 100
    (one,) = differences(request_of(user(long + "old end")), request_of(user(long + "new end")))
    assert (one.recorded, one.seen) == (
        f"...{(long + 'old end')[475:]!r}",
        f"...{(long + 'new end')[475:]!r}",
    )


def test_of_many_lines_those_that_changed_are_kept_with_their_neighbours(request_of):
    lines = [f"line {number}" for number in range(1, 31)]
    changed = [*lines[:6], "another", *lines[7:20], *lines[21:]]
    (one,) = differences(request_of(user("\n".join(lines))), request_of(user("\n".join(changed))))
    assert one.where == "messages[0] user, part 1, line 7"
    assert one.lines == (
        " line 6",
        "-line 7",
        "+another",
        " line 8",
        "  ...",
        " line 20",
        "-line 21",
        " line 22",
    )


def test_lines_at_the_end_that_are_gone_are_told_by_their_number(request_of):
    (one,) = differences(request_of(user("a\nb\nc")), request_of(user("a\nb")))
    assert (one.where, one.recorded, one.seen) == (
        "messages[0] user, part 1, line 3",
        "'c'",
        "no such line",
    )


@pytest.mark.parametrize("odd", ["\ud800", 2**80, float("nan")])
def test_odd_values_are_compared_too(request_of, odd):
    one = request_of(user("a"), settings={"odd": odd})
    assert differences(one, request_of(user("a"), settings={"odd": odd})) == ()
    assert [it.where for it in differences(one, request_of(user("a")))] == ["settings.odd"]


def test_a_difference_is_json(request_of):
    (one,) = differences(request_of(user("a\nb")), request_of(user("a\nc")))
    line = msgspec.json.encode(one)
    assert msgspec.json.decode(line) == {
        "cause": "prompt edited",
        "where": "messages[0] user, part 1, line 2",
        "recorded": "'b'",
        "seen": "'c'",
        "lines": [" a", "-b", "+c"],
    }
    assert msgspec.json.decode(line, type=Difference) == one
