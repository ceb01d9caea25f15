"""Files of tapes: the same for exchanges with a model and for lines of a server."""

from __future__ import annotations

import os

import pytest

from soundstage.errors import EnvironmentProblem, TapeError
from soundstage.journal import Redactor
from soundstage.mcp import McpTape, McpTapeLine
from soundstage.messages import ModelRequest, user
from soundstage.tapes import RecordedExchange, Tape


def exchange(text, number=1):
    return RecordedExchange(
        number=number, timestamp="x", request=ModelRequest(model="m", messages=(user(text),))
    )


def line(text, number=1):
    return McpTapeLine(number=number, method="tools/call", params={"name": text})


KINDS = {"model": (Tape, exchange), "server": (McpTape, line)}


@pytest.fixture(params=KINDS)
def kind(request, tmp_path, monkeypatch):
    """The class of a tape, and a function that makes a record with a text."""
    monkeypatch.chdir(tmp_path)
    return KINDS[request.param]


def records(tape):
    return tape.exchanges if isinstance(tape, Tape) else tape.lines


def test_what_is_written_is_read_back_in_the_order_of_the_recording(kind):
    tape_of, record = kind
    tape = tape_of.create("deep/t.jsonl")
    for number in (2, 1, 3):
        tape.append(record(f"text {number}", number))
    assert [one.number for one in records(tape)] == [1, 2, 3]
    assert records(tape_of.load("deep/t.jsonl")) == records(tape)


def test_an_old_tape_is_replaced_by_the_first_record_and_not_before(kind):
    tape_of, record = kind
    tape_of.create("t.jsonl").append(record("old"))
    tape = tape_of.create("t.jsonl")
    assert len(tape_of.load("t.jsonl")) == 1
    tape.append(record("new"))
    tape.append(record("newer", 2))
    assert records(tape_of.load("t.jsonl")) == (record("new"), record("newer", 2))


def test_a_file_that_cannot_be_is_refused_before_anything_is_recorded(kind, tmp_path):
    tape_of, _ = kind
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentProblem, match=r"the tape file/t\.jsonl cannot be written"):
        tape_of.create("file/t.jsonl")


def test_a_line_that_was_written_only_in_part_is_taken_back(kind, monkeypatch):
    tape_of, record = kind
    tape = tape_of.create("t.jsonl")
    tape.append(record("one"))
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:10]))
        with pytest.raises(EnvironmentProblem, match=r"10 of [0-9]+ bytes were written"):
            tape.append(record("two", 2))
    tape.append(record("three", 3))
    assert records(tape_of.load("t.jsonl")) == records(tape) == (record("one"), record("three", 3))


def test_no_secret_gets_in(kind, tmp_path):
    tape_of, record = kind
    tape = tape_of.create("t.jsonl", redactor=Redactor(["hunter2-hunter2"]))
    tape.append(record("it is hunter2-hunter2!"))
    assert "hunter2" not in (tmp_path / "t.jsonl").read_text()
    assert "hunter2" not in repr(records(tape))


@pytest.mark.parametrize("spoilt", [b"nonsense", b"{}", b"\xff"])
def test_a_line_that_is_none_is_refused_with_its_place(kind, tmp_path, spoilt):
    tape_of, record = kind
    tape_of.create("t.jsonl").append(record("good"))
    with (tmp_path / "t.jsonl").open("ab") as file:
        file.write(b"\n" + spoilt + b"\n")
    with pytest.raises(TapeError, match=r"line [34] of t.jsonl is not (.|\n)*correct or remove the line"):
        tape_of.load("t.jsonl")


def test_a_line_of_a_newer_version_says_what_to_do(kind, tmp_path):
    tape_of, record = kind
    tape_of.create("t.jsonl").append(record("good"))
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        path.read_bytes()
        .replace(b'{"number":1,', b'{"number":1,"v":9,', 1)
        .replace(b'{"line":"tape"}', b'{"line":"tape","v":9}')
    )
    with pytest.raises(
        TapeError, match=r"by a newer version(.|\n)*version 9(.|\n)*update Soundstage, or record it"
    ):
        tape_of.load("t.jsonl")


def test_a_missing_file_says_how_to_record_one(kind):
    tape_of, _ = kind
    with pytest.raises(
        TapeError, match=r"the tape t.jsonl cannot be read(.|\n)*No such file(.|\n)*record it: "
    ):
        tape_of.load("t.jsonl")
