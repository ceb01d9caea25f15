"""Tapes: what is written can be read, edited and played, and no secret gets in."""

from __future__ import annotations

import json
import os

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soundstage.errors import ConnectionCut, EnvironmentProblem, ProviderError, TapeError
from soundstage.journal import Redactor
from soundstage.messages import (
    FinishChunk,
    GarbledChunk,
    ModelResponse,
    Opaque,
    OpaqueChunk,
    StartChunk,
    Text,
    TextChunk,
    Thinking,
    ThinkingChunk,
    ToolCall,
    ToolCallChunk,
    Usage,
    assistant,
    respond,
    user,
)
from soundstage.tapes import RecordedExchange, RecordedFailure, Tape, TimedChunk
from soundstage.tapes._answers import pieces_of

WHEN = "2026-01-01T00:00:00+00:00"


def exchange(request, *chunks, number=1, **fields):
    timed = tuple(TimedChunk(at_ms=10.0 * place, chunk=chunk) for place, chunk in enumerate(chunks, start=1))
    return RecordedExchange(
        number=number,
        timestamp=WHEN,
        request=request,
        response=respond(chunks),
        chunks=timed,
        latency_ms=10.0 * len(chunks),
        **fields,
    )


CHUNKS = (
    StartChunk(model="gpt", headers={"x": "y"}),
    ThinkingChunk(index=0, text="hm"),
    ThinkingChunk(index=0, signature="seal"),
    TextChunk(index=1, text="Hel"),
    GarbledChunk(data=b"\xff\xfe"),
    TextChunk(index=1, text="lo"),
    ToolCallChunk(index=2, id="c1", name="look", arguments='{"a"'),
    ToolCallChunk(index=2, arguments=": 1}"),
    OpaqueChunk(index=3, type="image", data={"url": "x"}),
    FinishChunk(finish="tool_calls", usage=Usage(output_tokens=3), model="gpt", served_by="live"),
)


def test_what_is_written_is_read_back_line_by_line(tmp_path, request_of):
    path = tmp_path / "deep" / "session.jsonl"
    tape = Tape.create(path)
    first = exchange(request_of("ü\n\u2028", prompt="p", tools=("t",), agent="a"), *CHUNKS)
    second = RecordedExchange(
        number=2, timestamp=WHEN, request=request_of(), failure=RecordedFailure(type="error", status=529)
    )
    for one in (first, second):
        tape.append(one)
    assert len(path.read_bytes().splitlines()) == 3
    assert Tape.load(path).exchanges == (first, second) == tape.exchanges


def test_a_line_is_readable_and_holds_request_response_and_latency(tmp_path, request_of):
    path = tmp_path / "t.jsonl"
    Tape.create(path).append(exchange(request_of("hi"), TextChunk(index=0, text="hello"), FinishChunk()))
    head, line = map(json.loads, path.read_text().splitlines())
    assert head == {"line": "tape"}
    assert line["timestamp"] == WHEN
    assert line["latency_ms"] == 20.0
    assert line["request"]["messages"][0]["parts"] == [{"kind": "text", "text": "hi"}]
    assert line["response"]["parts"] == [{"kind": "text", "text": "hello"}]


def test_the_pieces_are_played_as_they_came(request_of):
    one = exchange(request_of(), *CHUNKS)
    assert [timed.chunk for timed in pieces_of(one)] == list(CHUNKS)
    assert [timed.at_ms for timed in pieces_of(one)] == [10.0 * place for place in range(1, 11)]


def test_an_edited_response_is_what_is_played(request_of):
    one = exchange(request_of(), *CHUNKS)
    edited = msgspec.structs.replace(one.response, parts=(Text(text="better"), *one.response.parts[2:]))
    pieces = pieces_of(msgspec.structs.replace(one, response=edited))
    assert [timed.chunk for timed in pieces[1:3]] == [
        TextChunk(index=0, text="better"),
        ToolCallChunk(index=1, id="c1", name="look", arguments='{"a":1}'),
    ]
    assert respond([timed.chunk for timed in pieces]).parts == edited.parts
    usage = msgspec.structs.replace(one.response, usage=Usage(input_tokens=99))
    *same, finish = pieces_of(msgspec.structs.replace(one, response=usage))
    assert [timed.chunk for timed in same] == list(CHUNKS[:-1])
    assert finish.chunk.usage == Usage(input_tokens=99)


PARTS = st.lists(
    st.builds(Text, text=st.text())
    | st.builds(Thinking, text=st.text(), signature=st.text())
    | st.builds(ToolCall, id=st.text(), name=st.text(), arguments=st.dictionaries(st.text(), st.integers()))
    | st.builds(Opaque, type=st.text(), data=st.none() | st.integers())
)


@given(PARTS)
@settings(deadline=None)
def test_a_response_without_pieces_can_be_played(parts):
    from soundstage.messages import ModelRequest

    response = ModelResponse(parts=tuple(parts), headers={"a": "b"}, model="m")
    one = RecordedExchange(
        timestamp=WHEN, request=ModelRequest(model="m", messages=()), response=response, latency_ms=7
    )
    assert respond([timed.chunk for timed in pieces_of(one)]) == response
    assert {timed.at_ms for timed in pieces_of(one)} == {7}


def test_lines_stand_in_the_order_of_the_replies_and_are_played_in_that_of_the_requests(tmp_path, request_of):
    path = tmp_path / "t.jsonl"
    tape = Tape.create(path)
    for number in (2, 1, 3):
        tape.append(exchange(request_of(str(number)), FinishChunk(), number=number))
    assert [json.loads(line)["number"] for line in path.read_text().splitlines()[1:]] == [2, 1, 3]
    assert [one.number for one in Tape.load(path).exchanges] == [1, 2, 3]
    assert [one.number for one in tape.exchanges] == [1, 2, 3]


def test_a_tape_written_by_hand_needs_only_request_and_response(tmp_path):
    path = tmp_path / "t.jsonl"
    request = '{"line": "exchange", "request": {"model": "m", "messages": []}'
    lines = [f'{request}, "response": {{"parts": [{{"kind": "text", "text": "{text}"}}]}}}}' for text in "ab"]
    path.write_text("\n\n".join(lines))
    assert [(one.number, one.response.text) for one in Tape.load(path).exchanges] == [(1, "a"), (2, "b")]


def test_a_missing_tape_says_how_to_record_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        TapeError, match=r"(?s)the tape t.jsonl cannot be read.*No such file.*soundstage record --tape"
    ):
        Tape.load("t.jsonl")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("not json", "line 3 of t.jsonl is not a line of a tape"),
        ('{"line": "exchange", "number": "x"}', "`int`"),
        ('{"line": "exchange", "number": 1, "respnse": {}}', "respnse"),
        ('{"line": "exchange", "number": 1, "request": {"model": "m", "messages": [', "line 3 of t.jsonl"),
        ("\xff", "line 3 of t.jsonl"),
        ('{"line": "exchange", "number": 9, "request": {"like": 7, "same": 1}}', "goes on from exchange 7"),
        ('{"line": "exchange", "number": 9, "request": {"like": 1, "same": 5}}', r"1 message\(s\)"),
        ('{"line": "tape", "v": 3}', "recorded by a newer version"),
        ('{"timestamp": "x", "request": {"model": "m", "messages": []}}', "tape older than its format"),
    ],
)
def test_a_broken_line_is_an_error_with_its_number(tmp_path, monkeypatch, request_of, line, expected):
    monkeypatch.chdir(tmp_path)
    Tape.create("t.jsonl").append(exchange(request_of(), FinishChunk()))
    with (tmp_path / "t.jsonl").open("ab") as file:
        file.write(line.encode("latin-1") + b"\n")
    with pytest.raises(TapeError, match=expected) as caught:
        Tape.load("t.jsonl")
    assert "line 3" in str(caught.value)


def test_a_broken_line_is_shown_by_its_beginning_however_long_it_is(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"timestamp": "' + "x" * 100_000)
    with pytest.raises(TapeError, match='"timestamp": "xxx') as caught:
        Tape.load(tmp_path / "t.jsonl")
    assert len(str(caught.value)) < 800


def test_an_old_tape_is_replaced_by_the_first_exchange_and_not_before(tmp_path, request_of):
    path = tmp_path / "t.jsonl"
    Tape.create(path).append(exchange(request_of("old"), FinishChunk()))
    tape = Tape.create(path)
    assert Tape.load(path).exchanges[0].request.last_user_text == "old"
    for text in ("new", "newer"):
        tape.append(exchange(request_of(text), FinishChunk()))
    assert [one.request.last_user_text for one in Tape.load(path).exchanges] == ["new", "newer"]


def test_a_tape_that_cannot_be_written_is_an_environment_problem(tmp_path, request_of):
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        Tape.create(tmp_path / "file" / "t.jsonl").append(exchange(request_of(), FinishChunk()))


def test_a_line_that_was_written_only_in_part_is_taken_back(tmp_path, request_of, monkeypatch):
    path = tmp_path / "t.jsonl"
    tape = Tape.create(path)
    tape.append(exchange(request_of("one"), FinishChunk()))
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:10]))
    with pytest.raises(EnvironmentProblem, match=r"10 of [0-9]+ bytes were written"):
        tape.append(exchange(request_of("two"), FinishChunk()))
    monkeypatch.undo()
    tape.append(exchange(request_of("three"), FinishChunk()))
    assert [one.request.last_user_text for one in Tape.load(path).exchanges] == ["one", "three"]


SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "chunks",
    [
        [TextChunk(index=0, text=f"it is {SECRET}!")],
        [TextChunk(index=0, text="it is hunter2-"), TextChunk(index=0, text="hunter2!")],
        [ThinkingChunk(index=0, text="hun"), ThinkingChunk(index=0, text="ter2-hunter2")],
        [
            ToolCallChunk(index=0, id="c", name="n", arguments='{"key": "hunter2-'),
            ToolCallChunk(index=0, arguments='hunter2"}'),
        ],
        [OpaqueChunk(index=0, type="x", data={"deep": [SECRET]})],
        [StartChunk(headers={"x-note": SECRET})],
    ],
)
def test_a_secret_reaches_neither_file_nor_memory_however_it_was_cut(tmp_path, request_of, chunks):
    path = tmp_path / "t.jsonl"
    tape = Tape.create(path, redactor=Redactor([SECRET]))
    tape.append(exchange(request_of(f"my key is {SECRET}", agent="a"), *chunks, FinishChunk()))
    assert SECRET not in path.read_text()
    assert "hunter2" not in path.read_text()
    assert "[redacted]" in path.read_text()
    assert Tape.load(path).exchanges == tape.exchanges
    played = respond([timed.chunk for timed in pieces_of(tape.exchanges[0])])
    assert "[redacted]" in msgspec.json.encode(played).decode()


def test_authorization_headers_are_learnt_and_found_everywhere_else(tmp_path, request_of):
    path = tmp_path / "t.jsonl"
    headers = {"Authorization": "Bearer abcdef-123456", "x-user": "ann"}
    Tape.create(path).append(
        exchange(request_of("the key abcdef-123456 again", headers=headers), TextChunk(index=0, text="a"))
    )
    assert "abcdef-123456" not in path.read_text()
    assert Tape.load(path).exchanges[0].request.caller.headers == {
        "authorization": "[redacted]",
        "x-user": "ann",
    }


def test_failures_are_raised_as_they_were():
    error = RecordedFailure(
        type="error", message="busy", status=529, kind="overloaded", code="c", headers={"retry-after": "1"}
    ).exception()
    assert isinstance(error, ProviderError)
    assert (error.message, error.status, error.kind, error.code) == ("busy", 529, "overloaded", "c")
    assert error.headers == {"retry-after": "1"}
    assert isinstance(RecordedFailure(type="cut", message="m").exception(), ConnectionCut)
    assert isinstance(RecordedFailure(type="client_gone").exception(), TapeError)


def test_a_tape_made_as_documented_keeps_out_the_secrets_of_the_environment(
    tmp_path, request_of, monkeypatch
):
    path = tmp_path / "t.jsonl"
    tape = Tape.create(path)
    monkeypatch.setenv("DATABASE_URL", "postgres://app:correct-horse-9@db/app")
    tape.append(exchange(request_of("it is correct-horse-9"), TextChunk(index=0, text="a"), FinishChunk()))
    assert "correct-horse" not in path.read_text()
    assert "it is [redacted]" in path.read_text()


def test_a_conversation_stands_once_on_a_tape_however_long_it_gets(tmp_path, request_of):
    path = tmp_path / "t.jsonl"
    tape = Tape.create(path)
    said = []
    for number in range(1, 101):
        said += [user(f"question {number} " + "x" * 100)]
        tape.append(exchange(request_of(None, *said, prompt="p" * 1000, tools=("t",)), number=number))
        said += [assistant(f"answer {number}")]
    assert path.stat().st_size < 100 * 600
    assert path.read_text().count("p" * 1000) == 1
    assert Tape.load(path).exchanges == tape.exchanges
    assert [len(one.request.messages) for one in tape.exchanges][-1] == 200


def test_a_saved_tape_is_the_same_tape(tmp_path, request_of):
    tape = Tape.create(tmp_path / "t.jsonl")
    for number, text in enumerate(("one", "two", "one"), start=1):
        tape.append(exchange(request_of(text, prompt="p"), *CHUNKS, number=number))
    loaded = Tape.load(tmp_path / "t.jsonl")
    loaded.save(tmp_path / "copy.jsonl")
    assert Tape.load(tmp_path / "copy.jsonl").exchanges == tape.exchanges
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.jsonl", "t.jsonl"]


def test_what_is_appended_to_a_loaded_tape_goes_into_its_file(tmp_path, request_of):
    Tape.create(tmp_path / "t.jsonl").append(exchange(request_of("one", prompt="p"), FinishChunk()))
    Tape.load(tmp_path / "t.jsonl").append(exchange(request_of("two", prompt="p"), FinishChunk(), number=2))
    found = Tape.load(tmp_path / "t.jsonl").exchanges
    assert [one.request.last_user_text for one in found] == ["one", "two"]
