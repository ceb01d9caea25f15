"""The embedded journal: exact, small, safe inside a <script>."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from soundstage.journal import ModelRequested, Noted, Record, UnknownEvent, decode_record, encode_record
from soundstage.messages import Caller, Message, ModelRequest, Text, ToolDefinition, system, user
from soundstage.report._payload import EventRow, EventRows, MessageTree, json_text, rows_of, script_json
from soundstage.trace import build_trace

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
tricky = st.sampled_from(['"messages":[', '"messages":[],"tools":[', "</script>", "a\\", '"', "\u2028"])
words = texts | tricky
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant"]),
    parts=st.lists(st.builds(Text, text=words), max_size=2).map(tuple),
)
tools = st.builds(ToolDefinition, name=words, description=words)
requests = st.builds(
    ModelRequest,
    model=words,
    messages=st.lists(messages, max_size=4).map(tuple),
    tools=st.lists(tools, max_size=2).map(tuple),
    settings=st.dictionaries(words, words, max_size=2),
    caller=st.builds(Caller, agent=words),
)
values = st.recursive(
    words | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(words, inner)
)


def record(event, position=1, source="s"):
    return Record(position=position, time=0.5, run="r", source=source, cause=None, event=event)


def rows(records):
    return rows_of(build_trace(records), {})


def joined(found: EventRows, row: EventRow) -> str:
    """The parts of a row as the page reads them."""
    if isinstance(row.raw, str):
        return row.raw
    return "".join(
        part if isinstance(part, str) else ",".join(found.pieces[number] for number in part)
        for part in row.raw
    )


@given(st.lists(requests, max_size=4), words)
def test_joining_text_and_pieces_gives_the_line_of_the_journal_back(asked, source):
    records = [
        record(ModelRequested(request=request), position, source=source)
        for position, request in enumerate(asked, start=1)
    ]
    found = rows(records)
    assert [joined(found, row) for row in found.rows] == [encode_record(r).decode() for r in records]


def test_a_message_that_every_request_repeats_is_embedded_once():
    history = [system("s" * 1000)]
    records = []
    for turn in range(50):
        history.append(user(f"turn {turn}"))
        request = ModelRequest(model="m", messages=tuple(history))
        records.append(record(ModelRequested(request=request), turn + 1))
    found = rows(records)
    assert len(found.pieces) == 51
    assert sum(len(joined(found, row)) for row in found.rows) > 50_000
    assert len(script_json(found)) < 25_000


def test_messages_of_an_earlier_request_of_the_conversation_are_earlier_messages():
    def asked(*said: str, agent: str = "a", conversation: str = "c") -> int:
        request = ModelRequest(
            model="m",
            messages=tuple(user(text) for text in said),
            caller=Caller(agent=agent, conversation=conversation),
        )
        return history.earlier(request, [numbers.setdefault(text, len(numbers)) for text in said])

    history = MessageTree()
    numbers: dict[str, int] = {}
    assert asked("one") == 0
    assert asked("one", "two", "three") == 1
    assert asked("title?") == 0
    assert asked("one", "two", "three", "four") == 3
    assert asked("one", "two", "other") == 2
    assert asked("one", "two", agent="b") == 0
    assert asked("one", "two", conversation="d") == 0
    assert asked("one", "two", "three", "four") == 4


def test_an_event_of_an_unknown_type_keeps_its_line_and_its_name():
    event = b'{"type":"Coven","x":1}'
    line = b'{"position":1,"time":0.0,"run":"r","source":"s","cause":null,"event":' + event + b',"v":1}'
    found = rows([decode_record(line)])
    assert isinstance(decode_record(line).event, UnknownEvent)
    assert found.types == ["Coven"]
    assert found.rows[0].raw == line.decode()


@given(values)
def test_embedded_json_says_the_same_and_cannot_end_its_script_element(value):
    text = script_json(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")


def test_half_a_surrogate_pair_does_not_break_the_page():
    event = Noted(text="\ud83d", data={"half": "\udc00"})
    found = rows([record(event)])
    assert json.loads(found.rows[0].raw)["event"]["text"] == "\ud83d"
    script_json(found).encode()
    assert json_text("\ud83d") == '"\\ud83d"'


def test_failures_and_attempts_to_leave_are_bad_and_tool_errors_worth_a_look(team):
    found = rows(team)
    tones = {(found.types[row.type], row.tone) for row in found.rows if row.tone}
    assert tones == {("ModelFailed", 2), ("EgressTried", 2), ("ToolReturned", 1)}


def test_a_request_is_new_from_the_message_after_the_last_one_seen(team):
    found = rows(team)
    earlier = [row.earlier for row in found.rows if found.types[row.type] == "ModelRequested"]
    assert earlier == [0, 0, 0, 2, 2, 5, 0, 2, 2]
