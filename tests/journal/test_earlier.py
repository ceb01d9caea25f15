"""Requests in a file: what an earlier one holds is referred to, and nothing is lost by that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, assume, given
from hypothesis import strategies as st

from soundstage.errors import HarnessError
from soundstage.journal import (
    Journal,
    MessageSent,
    ModelRequested,
    ModelResponded,
    Noted,
    Record,
    Redactor,
    UnknownEvent,
    decode_record,
    encode_record,
    encode_records,
    read_journal,
)
from soundstage.messages import (
    Caller,
    ModelRequest,
    ModelResponse,
    Text,
    ToolDefinition,
    assistant,
    call,
    system,
    tool,
    user,
)
from support.cases import cases

fixed = cases(40, phases=[Phase.explicit, Phase.generate])

MESSAGES = [
    system("Be brief."),
    user("go on"),
    user("Where is it?"),
    assistant("", call("look", {"n": 1}, id="c1")),
    assistant("", call("look", {"n": True}, id="c1")),
    assistant("", call("look", {"n": 1.0}, id="c1")),
    tool("c1", "here: é😀\n" * 5),
]
TOOLS = [
    (),
    (ToolDefinition(name="look", schema={"n": 1}),),
    (ToolDefinition(name="look", schema={"n": True}),),
]
SETTINGS: list[dict[str, Any]] = [{}, {"t": 1}, {"t": True}, {"t": 1.0}, {"t": [1, {"u": None}]}]

REQUESTS = st.builds(
    ModelRequest,
    model=st.sampled_from(["m", "n"]),
    messages=st.lists(st.sampled_from(MESSAGES), max_size=6).map(tuple),
    tools=st.sampled_from(TOOLS),
    settings=st.sampled_from(SETTINGS),
    caller=st.builds(
        Caller,
        agent=st.sampled_from(["", "a"]),
        headers=st.dictionaries(st.sampled_from(["x", "y", "z"]), st.sampled_from(["1", "2"])),
    ),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[ModelRequest]:
    """Requests in any order, and conversations that grow, change at the beginning, are cut and fork."""
    made: list[ModelRequest] = []
    for _ in range(draw(st.integers(1, 9))):
        request = draw(REQUESTS)
        if made and draw(st.booleans()):
            before = draw(st.sampled_from(made)).messages
            start, end = draw(st.integers(0, 2)), draw(st.integers(0, 2))
            kept = before[start : len(before) - end]
            request = msgspec.structs.replace(request, messages=(*kept, *request.messages))
        made.append(request)
    return made


def anew(request: ModelRequest) -> ModelRequest:
    """As it comes over the wire: equal, and no object the same."""
    return msgspec.json.decode(msgspec.json.encode(request), type=ModelRequest)


def written(path: Path, requests: list[ModelRequest]) -> list[Record]:
    path.unlink(missing_ok=True)
    journal = Journal(path)
    for number, request in enumerate(requests):
        journal.append(ModelRequested(request=anew(request) if number % 3 else request), source="model")
        journal.append(ModelResponded(response=ModelResponse(parts=(Text(text=f"reply {number}"),))), cause=1)
    journal.close()
    return journal.read()


def exact(records: list[Record]) -> list[bytes]:
    """The records as JSON, in which 1, 1.0 and true differ."""
    return [encode_record(record) for record in records]


def refers(line: bytes) -> int | None:
    earlier = json.loads(line).get("earlier")
    return earlier["position"] if earlier else None


@fixed
@given(requests=conversations())
def test_any_sequence_of_requests_comes_back_as_it_was(tmp_path_factory, requests):
    path = tmp_path_factory.mktemp("any") / "journal.jsonl"
    records = written(path, requests)
    again = read_journal(path)
    assert exact(again) == exact(records)
    assert [json.loads(msgspec.json.encode(record.event.request)) for record in again[::2]] == [
        json.loads(msgspec.json.encode(request)) for request in requests
    ]
    assert b"".join(encode_records(records)) == path.read_bytes()
    copy = path.with_name("copy.jsonl")
    copy.write_bytes(b"".join(encode_records(again)))
    assert exact(read_journal(copy)) == exact(records)


@cases(15)
@given(requests=conversations())
def test_a_file_that_is_cut_anywhere_has_all_before_the_cut_and_is_continued(tmp_path_factory, requests):
    path = tmp_path_factory.mktemp("cut") / "journal.jsonl"
    records = exact(written(path, requests))
    data = path.read_bytes()
    for end in range(0, len(data), 61):
        path.write_bytes(data[:end])
        whole = data[:end].count(b"\n")
        assert exact(read_journal(path)) == records[:whole]
    journal = Journal(path)
    journal.append(ModelRequested(request=anew(requests[-1])))
    journal.close()
    assert exact(read_journal(path)) == [*records[:whole], *exact(journal.read()[-1:])]


@pytest.mark.parametrize("damage", ["gone", "torn", "changed"])
@cases(30)
@given(requests=conversations(), data=st.data())
def test_a_lost_line_costs_the_requests_that_refer_to_it_each_named_and_nothing_else(
    tmp_path_factory, damage, requests, data
):
    assume(len(requests) > 1)
    path = tmp_path_factory.mktemp("lost") / "journal.jsonl"
    records = exact(written(path, requests))
    lines = path.read_bytes().splitlines()
    lost = 2 * data.draw(st.integers(0, len(requests) - 1))
    broken = {
        "gone": [],
        "torn": [lines[lost][: len(lines[lost]) // 2]],
        "changed": [lines[lost].replace(b'"model":"', b'"model":"x')],
    }[damage]
    path.write_bytes(b"".join(line + b"\n" for line in [*lines[:lost], *broken, *lines[lost + 1 :]]))
    hit = {lost + 1}
    for number, line in enumerate(lines, start=1):
        if refers(line) in hit:
            hit.add(number)
    found = {record.position: record for record in read_journal(path)}
    for position, record in found.items():
        if position not in hit:
            assert encode_record(record) == records[position - 1]
        elif position != lost + 1:
            assert isinstance(record.event, UnknownEvent)
            assert f"refers to the request at position {refers(lines[position - 1])}" in record.event.problem
            assert str(path) in record.event.problem
    assert found.keys() >= set(range(1, len(records) + 1)) - {lost + 1}


def conversation(turns: int) -> list[ModelRequest]:
    tools = tuple(ToolDefinition(name=f"tool_{n}", description="does " * 40) for n in range(10))
    history = [system("You are a careful engineer. " * 100)]
    requests = []
    for turn in range(turns):
        history.append(user(f"Question {turn}: " + "why? " * 20))
        requests.append(ModelRequest(model="m", messages=tuple(history), tools=tools, settings={"t": 0.5}))
        history.append(assistant(f"Answer {turn}: " + "so. " * 20))
    return requests


def test_the_damage_of_a_lost_line_ends_because_the_whole_is_repeated(tmp_path):
    path = tmp_path / "journal.jsonl"
    records = written(path, conversation(200))
    lines = path.read_bytes().splitlines()
    whole = [
        number for number, line in enumerate(lines) if b"ModelRequested" in line and refers(line) is None
    ]
    assert len(whole) >= 3
    path.write_bytes(b"".join(line + b"\n" for line in [*lines[: whole[1]], b"{}", *lines[whole[1] + 1 :]]))
    lost = [record for record in read_journal(path) if isinstance(record.event, UnknownEvent)]
    assert lost[-1].position <= whole[2] + 1
    assert exact(read_journal(path)[whole[2] :]) == exact(records[whole[2] :])


def test_memory_and_file_of_a_conversation_grow_with_what_is_new_in_it(tmp_path):
    requests = conversation(200)
    records = written(tmp_path / "journal.jsonl", requests)
    last = requests[-1]
    new = len(msgspec.json.encode(last)) + sum(
        len(encode_record(record)) for record in records if isinstance(record.event, ModelResponded)
    )
    size = (tmp_path / "journal.jsonl").stat().st_size
    assert size <= 3 * new
    for kept in (records, read_journal(tmp_path / "journal.jsonl")):
        asked = [record.event.request for record in kept if isinstance(record.event, ModelRequested)]
        assert len({id(message) for request in asked for message in request.messages}) <= 1.1 * len(
            last.messages
        )
        assert len({id(request.tools) for request in asked}) <= 10


def test_conversations_side_by_side_refer_each_to_its_own(tmp_path):
    path = tmp_path / "journal.jsonl"
    one, other = conversation(30), conversation(30)
    other = [
        msgspec.structs.replace(request, messages=(request.messages[0], user("other"), *request.messages[2:]))
        for request in other
    ]
    written(path, [request for pair in zip(one, other, strict=True) for request in pair])
    requests = [line for line in path.read_bytes().splitlines() if b"ModelRequested" in line]
    assert sum(len(line) for line in requests) < 6 * len(msgspec.json.encode(one[-1]))


def test_a_changed_beginning_and_a_trimmed_history_repeat_only_what_changed(tmp_path):
    path = tmp_path / "journal.jsonl"
    requests = [
        msgspec.structs.replace(
            request, messages=(system(f"It is {number} o'clock."), *request.messages[max(0, number - 9) :])
        )
        for number, request in enumerate(conversation(40))
    ]
    written(path, requests)
    lines = [line for line in path.read_bytes().splitlines() if b"ModelRequested" in line]
    short = [line for line in lines if refers(line) is not None]
    assert len(short) >= len(lines) - 4
    assert max(map(len, short)) < 1500


def test_a_line_that_refers_says_so_when_it_is_read_alone(tmp_path):
    written(tmp_path / "journal.jsonl", conversation(2))
    line = (tmp_path / "journal.jsonl").read_bytes().splitlines()[2]
    assert refers(line) == 1
    with pytest.raises(HarnessError, match=r"only a part[\s\S]*position 1[\s\S]*read_journal"):
        decode_record(line)


@pytest.mark.parametrize(
    "earlier",
    [
        {"messages": [[0, 9, 1]]},
        {"messages": [[-1, 1, 1]]},
        {"messages": [[0, -1, 2]]},
        {"messages": [[0, 2, 5]]},
        {"messages": [[0, 2, 0]]},
        {"messages": [[0, 2, -1]]},
        {"messages": "x"},
        {"position": "x"},
        {"position": 10**30},
        [],
    ],
)
def test_a_reference_that_makes_no_sense_costs_its_line(tmp_path, earlier):
    path = tmp_path / "journal.jsonl"
    records = written(path, conversation(2))
    lines = path.read_bytes().splitlines()
    line = json.loads(lines[2])
    line["earlier"] = line["earlier"] | earlier if earlier else []
    lines[2] = msgspec.json.encode(line)
    path.write_bytes(b"\n".join([*lines, b""]))
    found = read_journal(path)
    assert isinstance(found[2].event, UnknownEvent)
    assert found[2].event.problem
    assert exact([*found[:2], found[3]]) == exact([*records[:2], records[3]])


SECRET = "hunter2-hunter2"


def test_no_secret_gets_to_disk_whichever_request_brings_or_repeats_it(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, redactor=Redactor([SECRET]))
    history = [system("Be brief."), user(f"my key is {SECRET}"), assistant("ok")]
    for number in range(6):
        headers = {"x-id": str(number), "x-note": SECRET}
        request = ModelRequest(
            model="m", messages=tuple(history), settings={"key": SECRET}, caller=Caller(headers=headers)
        )
        journal.append(ModelRequested(request=anew(request)))
        history += [user(f"{number} {SECRET[:8]}"), assistant(f"{SECRET[8:]} {SECRET}")]
    journal.close()
    assert SECRET not in path.read_text()
    assert sum(refers(line) is not None for line in path.read_bytes().splitlines()) >= 4
    for kept, record in zip(journal.read(), read_journal(path), strict=True):
        clean = Redactor([SECRET]).json(encode_record(kept))
        assert encode_record(record) == clean


def test_a_secret_that_is_a_number_of_a_reference_costs_no_reference(tmp_path, monkeypatch):
    path = tmp_path / "journal.jsonl"
    monkeypatch.setattr("soundstage.journal._earlier.checksum", lambda line: 1234567890)
    journal = Journal(path, redactor=Redactor(["1234567890"]))
    requests = conversation(3)
    for request in requests:
        journal.append(ModelRequested(request=anew(request)))
    journal.close()
    assert [refers(line) for line in path.read_bytes().splitlines()] == [None, None, None]
    assert exact(read_journal(path)) == exact(journal.read())


def test_a_secret_that_is_learnt_later_changes_no_earlier_line(tmp_path):
    path = tmp_path / "journal.jsonl"
    redactor = Redactor()
    journal = Journal(path, redactor=redactor)
    first = ModelRequest(model="m", messages=(system("x"), user(f"key {SECRET}")))
    journal.append(ModelRequested(request=first))
    redactor.add(SECRET)
    later = msgspec.structs.replace(
        first, messages=(*first.messages, assistant("ok"), user(f"again {SECRET}"))
    )
    journal.append(ModelRequested(request=later))
    journal.close()
    assert path.read_bytes().splitlines()[1].count(SECRET.encode()) == 0
    [_, record] = read_journal(path)
    assert [message.text for message in record.event.request.messages] == [
        "x",
        f"key {SECRET}",
        "ok",
        "again [redacted]",
    ]


def test_runs_of_one_name_in_one_file_and_a_continued_journal_keep_their_requests_apart(tmp_path):
    one, other, both = tmp_path / "one.jsonl", tmp_path / "other.jsonl", tmp_path / "both.jsonl"
    records = written(one, conversation(3))
    changed = [msgspec.structs.replace(request, model="other") for request in conversation(3)]
    others = written(other, changed)
    both.write_bytes(one.read_bytes() + other.read_bytes())
    assert exact(read_journal(both)) == exact([*records, *others])
    lines = other.read_bytes().splitlines()
    both.write_bytes(
        one.read_bytes() + b"\n".join([*lines[1:], b""])
    )  # positions are there, of the other run
    lost = [record.position for record in read_journal(both)[6:] if isinstance(record.event, UnknownEvent)]
    assert lost == [3, 5]
    journal = Journal(one)
    journal.append(ModelRequested(request=anew(conversation(4)[-1])))
    journal.close()
    assert refers(one.read_bytes().splitlines()[-1]) is None
    assert exact(read_journal(one)) == exact(journal.read())


def test_a_line_that_was_written_and_not_acknowledged_may_be_referred_to_or_not(tmp_path):
    path = tmp_path / "journal.jsonl"
    records = written(path, conversation(3))
    lines = path.read_bytes().splitlines()
    again = msgspec.json.encode(json.loads(lines[0]) | {"time": 99.0})
    path.write_bytes(b"\n".join([lines[0], again, *lines[1:], b""]))
    found = read_journal(path)
    assert exact(found[1:]) == exact(records[1:])
    assert found[0].time == 99.0


def test_requests_that_share_nothing_or_hold_a_list_are_written_whole(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    for messages in ((user("a"),), (user("b"),), [user("a")], ()):
        journal.append(ModelRequested(request=ModelRequest(model="m", messages=messages)))
    journal.append(MessageSent(text="x"))
    journal.append(Noted(text="ModelRequested"))
    journal.close()
    assert {refers(line) for line in path.read_bytes().splitlines()} == {None}
    assert exact(read_journal(path)) == exact(journal.read())
