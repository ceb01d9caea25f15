"""Files of tapes: the same for exchanges with a model and for lines of a server, alone and side by side."""

from __future__ import annotations

import json
import os

import msgspec
import pytest

from soundstage.errors import EnvironmentProblem, TapeError
from soundstage.journal import Redactor
from soundstage.messages import ModelRequest, user
from soundstage.tapes import McpTapeLine, RecordedExchange, Tape


def exchange(text, number=1):
    return RecordedExchange(
        number=number, timestamp="x", request=ModelRequest(model="m", messages=(user(text),))
    )


def line(text, number=1):
    return McpTapeLine(
        number=number, server="notes", method="tools/call", params={"name": text}, result={"of": text}
    )


def exchanges_of(tape):
    return tape.exchanges


def lines_of(tape):
    return tape.mcp_lines


KINDS = {"model": (exchange, Tape.append, exchanges_of), "server": (line, Tape.append_mcp, lines_of)}


@pytest.fixture(params=KINDS)
def kind(request, tmp_path, monkeypatch):
    """Functions that make a record with a text, that add it to a tape, and that read those of a tape."""
    monkeypatch.chdir(tmp_path)
    return KINDS[request.param]


def test_what_is_written_is_read_back(kind):
    record, add, records = kind
    tape = Tape.create("deep/t.jsonl")
    for number in (1, 2, 3):
        add(tape, record(f"text {number}", number))
    assert records(tape) == tuple(record(f"text {number}", number) for number in (1, 2, 3))
    assert records(Tape.load("deep/t.jsonl")) == records(tape)


def test_exchanges_are_read_in_the_order_of_their_requests(tmp_path):
    tape = Tape.create(tmp_path / "t.jsonl")
    for number in (2, 1, 3):
        tape.append(exchange(f"text {number}", number))
    assert [one.number for one in Tape.load(tmp_path / "t.jsonl").exchanges] == [1, 2, 3]


@pytest.mark.parametrize("first", KINDS)
def test_a_tape_of_models_and_servers_has_one_head_and_keeps_both_when_it_is_saved(tmp_path, first):
    path = tmp_path / "t.jsonl"
    adding = [(Tape.append, exchange("hello")), (Tape.append_mcp, line("search"))]
    for add, record in adding if first == "model" else reversed(adding):
        tape = Tape.load(path) if path.exists() else Tape.create(path)
        add(tape, record)
    assert [text.split(b'"')[3] for text in path.read_bytes().splitlines()].count(b"tape") == 1
    loaded = Tape.load(path)
    loaded.save(tmp_path / "saved.jsonl")
    saved = Tape.load(tmp_path / "saved.jsonl")
    assert (saved.exchanges, saved.mcp_lines) == (loaded.exchanges, loaded.mcp_lines)
    assert saved.mcp_lines == (line("search"),)
    assert saved.mcp_servers == ("notes",)


def test_a_saved_tape_has_its_lines_in_the_order_of_time(tmp_path):
    path = tmp_path / "t.jsonl"
    late = msgspec.structs.replace(exchange("late", 2), started_ms=30.0)
    Tape([exchange("early"), late], mcp_lines=[msgspec.structs.replace(line("x"), started_ms=20.0)]).save(
        path
    )
    assert [json.loads(text)["line"] for text in path.read_text().splitlines()] == [
        "tape",
        "exchange",
        "mcp",
        "exchange",
    ]


def test_an_old_tape_is_replaced_by_the_first_record_and_not_before(kind):
    record, add, records = kind
    add(Tape.create("t.jsonl"), record("old"))
    tape = Tape.create("t.jsonl")
    assert len(records(Tape.load("t.jsonl"))) == 1
    add(tape, record("new"))
    add(tape, record("newer", 2))
    assert records(Tape.load("t.jsonl")) == (record("new"), record("newer", 2))


def test_a_file_that_cannot_be_is_refused_before_anything_is_recorded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentProblem, match=r"the tape file/t\.jsonl cannot be written"):
        Tape.create("file/t.jsonl")


def test_a_line_that_was_written_only_in_part_is_taken_back(kind, monkeypatch):
    record, add, records = kind
    tape = Tape.create("t.jsonl")
    add(tape, record("one"))
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:10]))
        with pytest.raises(EnvironmentProblem, match=r"10 of [0-9]+ bytes were written"):
            add(tape, record("two", 2))
    add(tape, record("three", 2))
    assert records(Tape.load("t.jsonl")) == records(tape) == (record("one"), record("three", 2))


def test_no_secret_gets_in(kind, tmp_path):
    record, add, records = kind
    tape = Tape.create("t.jsonl", redactor=Redactor(["hunter2-hunter2"]))
    add(tape, record("it is hunter2-hunter2!"))
    assert "hunter2" not in (tmp_path / "t.jsonl").read_text()
    assert "hunter2" not in repr(records(tape))


def test_a_secret_in_the_answer_of_a_server_is_named():
    tape = Tape(redactor=Redactor(["hunter2-hunter2"]))
    tape.append_mcp(line("nothing"))
    tape.append_mcp(line("it is hunter2-hunter2!"))
    assert tape.redacted == ["notes, line 2: a secret in the answer"]


@pytest.mark.parametrize(
    "spoilt", [b"nonsense", b"{}", b"\xff", b'{"line":"mcp"}', b'{"line":"mcp","methd":"x"}']
)
def test_a_line_that_is_none_is_refused_with_its_place(kind, tmp_path, monkeypatch, spoilt):
    record, add, _ = kind
    add(Tape.create("t.jsonl"), record("good"))
    with (tmp_path / "t.jsonl").open("ab") as file:
        file.write(b"\n" + spoilt + b"\n")
    with pytest.raises(TapeError, match=r"line 4 of t.jsonl is not (.|\n)*correct or remove the line"):
        Tape.load("t.jsonl")


def test_a_line_of_an_older_tape_of_a_server_says_what_to_do(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"number":1,"method":"tools/call","params":{},"result":{},"v":1}\n')
    with pytest.raises(TapeError, match=r"line 1(.|\n)*older than its format(.|\n)*record it"):
        Tape.load(path)


def test_a_tape_of_a_newer_version_says_what_to_do(kind, tmp_path):
    record, add, _ = kind
    add(Tape.create("t.jsonl"), record("good"))
    path = tmp_path / "t.jsonl"
    path.write_bytes(path.read_bytes().replace(b'{"line":"tape"}', b'{"line":"tape","v":9}'))
    with pytest.raises(
        TapeError, match=r"by a newer version(.|\n)*version 9(.|\n)*update Soundstage, or record it"
    ):
        Tape.load("t.jsonl")


def test_a_missing_file_says_how_to_record_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        TapeError, match=r"the tape t.jsonl cannot be read(.|\n)*No such file(.|\n)*record it: "
    ):
        Tape.load("t.jsonl")
