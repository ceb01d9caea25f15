"""The file behind a journal: nothing that was acknowledged is ever lost."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import signal
import subprocess
import sys

import msgspec
import pytest

from soundstage.errors import EnvironmentProblem, HarnessError, InvalidStateError
from soundstage.journal import Journal, Noted, UnknownEvent, read_journal


def note(text="x"):
    return Noted(text=str(text))


def texts(path):
    return [record.event.text for record in read_journal(path)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "logs" / "journal.jsonl"


def test_every_event_is_in_the_file_when_append_returns(path):
    journal = Journal(path)
    assert journal.path == path
    for number in range(5):
        journal.append(note(number))
        assert texts(path) == [str(n) for n in range(number + 1)]
    journal.close()


def test_a_file_is_continued(path):
    for word in ("a", "b"):
        journal = Journal(path, run=word)
        journal.append(note(word))
        journal.close()
    assert [(r.position, r.run, r.event.text) for r in read_journal(path)] == [(1, "a", "a"), (2, "b", "b")]
    assert len(Journal(path)) == 2


def test_a_closed_journal_does_not_touch_its_file(path):
    journal = Journal(path)
    journal.close()
    journal.close()
    with pytest.raises(InvalidStateError):
        journal.append(note())
    assert path.read_bytes() == b""


WRITER = """
import os, sys
from soundstage.journal import Journal, Noted
journal = Journal(sys.argv[1])
size = int(sys.argv[2])
while True:
    note = Noted(text="x" * (position * 7919 % size if (position := len(journal)) else 1))
    many = position % 5 if sys.argv[3] == "together" else 0
    position = journal.extend([note] * many) if many else journal.append(note)
    os.write(1, b"%d\\n" % position)
"""


@pytest.mark.parametrize("how", ["one by one", "together"])
def test_whatever_kills_the_process_no_acknowledged_event_is_lost_and_no_line_is_torn(path, how):
    chance = random.Random(7)
    acknowledged = 0
    for size in (10, 1_000, 200_000):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(size), how], stdout=subprocess.PIPE
        ) as child:
            for _ in range(chance.randint(1, 300)):
                acknowledged = int(child.stdout.readline())
            child.send_signal(signal.SIGKILL)
            rest = child.stdout.read().splitlines(keepends=True)
            acknowledged = int(next((line for line in reversed(rest) if line.endswith(b"\n")), acknowledged))
        assert child.returncode == -signal.SIGKILL
        journal = Journal(path)
        assert len(journal) >= acknowledged
        assert [record.position for record in journal.read()] == list(range(1, len(journal) + 1))
        assert path.read_bytes().endswith(b"\n")
        acknowledged = journal.append(note("after the crash"))
        journal.close()
    assert len(read_journal(path)) == acknowledged


@pytest.mark.parametrize("torn", [b"{", b'{"position":3', b"\x00\x00", b'{"position":3}'])
def test_a_torn_last_line_is_left_out_and_cut_off(path, torn):
    journal = Journal(path)
    journal.append(note("a"))
    journal.append(note("b"))
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert texts(path) == ["a", "b"]
    assert path.read_bytes() == whole + torn
    journal = Journal(path)
    assert path.read_bytes() == whole
    assert journal.append(note("c")) == 3
    journal.close()
    assert texts(path) == ["a", "b", "c"]


LIMITED = """
import resource, sys
from soundstage.errors import EnvironmentProblem
from soundstage.journal import Journal, Noted
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
sys.dont_write_bytecode = True  # a module would be cut off at the limit, for every later program
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
journal = Journal(sys.argv[1])
try:
    while True:
        journal.append(Noted(text="x" * 300))
except EnvironmentProblem as error:
    print(len(journal), error.seen)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
print(journal.append(Noted(text="there is room again")))
"""


def test_a_full_disk_is_an_error_that_leaves_neither_half_a_line_nor_a_gap(path):
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    written, _, reason = first.partition(" ")
    assert "bytes were written" in reason
    assert int(second) == int(written) + 1
    records = read_journal(path)
    assert [record.position for record in records] == list(range(1, int(second) + 1))
    assert records[-1].event.text == "there is room again"


def test_a_write_that_fails_is_an_error_and_the_event_is_not_in_the_journal(path, monkeypatch):
    journal = Journal(path)

    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        with pytest.raises(EnvironmentProblem, match="cannot be written") as caught:
            journal.append(note())
    assert caught.value.seen == "Input/output error"
    assert len(journal) == 0
    assert journal.append(note()) == 1
    journal.close()


def test_after_half_a_line_that_cannot_be_taken_back_nothing_more_is_written(path, monkeypatch):
    journal = Journal(path)
    journal.append(note("a"))
    write = os.write

    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:10]))
        patch.setattr(os, "ftruncate", fail)
        with pytest.raises(EnvironmentProblem, match="10 of"):
            journal.append(note("b"))
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        journal.append(note("c"))
    journal.close()
    assert texts(path) == ["a"]


def test_a_value_that_a_file_cannot_hold_is_an_error_and_leaves_no_trace(path):
    journal = Journal(path)
    with pytest.raises(TypeError, match="object"):
        journal.append(Noted(text="x", data={"x": object()}))
    assert journal.append(note("a")) == 1
    journal.close()
    assert texts(path) == ["a"]


def test_a_second_writer_is_refused_in_this_process_and_in_another(path):
    journal = Journal(path)
    with pytest.raises(OSError, match=r"is in use[\s\S]*has it open[\s\S]*end that run first"):
        Journal(path)
    code = "import sys; from soundstage.journal import Journal; Journal(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert "is in use" in done.stderr
    journal.append(note())
    journal.close()
    Journal(path).close()


def test_a_file_system_without_locks_is_an_error(path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(OSError, match="cannot be locked") as caught:
        Journal(path)
    assert caught.value.seen == "No locks available"


@pytest.mark.parametrize("name", ["folder", "file/journal.jsonl"])
def test_a_path_that_cannot_be_written_is_an_error(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot be opened for writing") as caught:
        Journal(tmp_path / name)
    assert caught.value.hint == "choose a folder that you may write to"


def test_a_journal_that_is_not_there_cannot_be_read(path):
    with pytest.raises(EnvironmentProblem, match="cannot be read") as caught:
        read_journal(str(path))
    assert "No such file" in caught.value.seen


def test_a_file_without_any_record_is_refused_with_its_first_line_and_let_go(path):
    path.parent.mkdir()
    path.write_bytes(b"\nhello\nyou\n")
    for use in (read_journal, Journal):
        with pytest.raises(HarnessError, match=r"journal\.jsonl:2: a journal line is not a record"):
            use(path)
    assert path.read_bytes() == b"\nhello\nyou\n"
    path.write_bytes(b"")
    Journal(path).close()


def test_a_file_with_gaps_can_be_read_but_not_continued(path):
    journal = Journal(path)
    for word in "abc":
        journal.append(note(word))
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    assert texts(path) == ["a", "c"]
    with pytest.raises(HarnessError, match="cannot be continued") as caught:
        Journal(path)
    assert (caught.value.expected, caught.value.seen) == ("positions 1, 2, 3...: 2", "position 3")


def test_of_two_lines_with_one_position_the_later_counts(path):
    journal = Journal(path)
    for word in "ab":
        journal.append(note(word))
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b'"b"', b'"interrupted"') + lines[1])
    assert texts(path) == ["a", "b"]
    assert Journal(path).append(note("c")) == 3


def test_an_interrupt_after_the_write_costs_nothing(path, monkeypatch):
    journal = Journal(path)
    write = os.write

    def interrupted(fd, data):
        write(fd, data)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            journal.append(note("a"))
    assert journal.append(note("b")) == 1
    journal.close()
    assert texts(path) == ["b"]


def test_events_of_a_newer_version_are_still_there_after_the_file_is_continued(path):
    journal = Journal(path)
    journal.append(note("a"))
    newer = b'{"position":2,"time":0.0,"run":"","source":"","cause":1,"event":{"type":"New","a":[1]},"v":9}\n'
    journal.close()
    path.write_bytes(path.read_bytes() + newer)
    journal = Journal(path)
    assert isinstance(journal.read()[1].event, UnknownEvent)
    assert journal.append(journal.read()[1].event, cause=2) == 3
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    assert lines[1] == newer
    moved = msgspec.json.decode(lines[2])
    assert (moved["position"], moved["cause"], moved["v"], moved["event"]) == (
        3,
        2,
        9,
        {"type": "New", "a": [1]},
    )


def damaged(path, number, change):
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    "change",
    [
        lambda line: b"hello\n",
        lambda line: line[:20] + b"\n",
        lambda line: line.replace(b'"text":"b"', b'"text":5'),
        lambda line: b"\xff\xfe" + line,
    ],
    ids=["another text", "cut", "a wrong type", "no UTF-8"],
)
def test_a_bad_line_costs_that_line_and_is_named(path, change):
    journal = Journal(path)
    for word in "abc":
        journal.append(note(word))
    journal.close()
    damaged(path, 2, change)
    bad = path.read_bytes().splitlines(keepends=True)[1]
    journal = Journal(path)
    for records in (read_journal(path), journal.read()):
        assert [record.position for record in records] == [1, 2, 3]
        assert [records[0].event, records[2].event] == [note("a"), note("c")]
        assert isinstance(records[1].event, UnknownEvent)
        assert f"{path}:2" in str(records[1].event)
        assert (records[1].event.event_type, records[1].event.line) == ("unreadable", bad.rstrip(b"\n"))
        assert records[1].run == records[0].run
    assert journal.append(note("d")) == 4
    journal.close()
    assert path.read_bytes().splitlines(keepends=True)[1] == bad


def test_two_lines_that_became_one_leave_the_places_of_both(path):
    journal = Journal(path)
    for word in "abcd":
        journal.append(note(word))
    journal.close()
    damaged(path, 2, lambda line: line[:-1])
    journal = Journal(path)
    assert [record.position for record in journal.read()] == [1, 2, 3, 4]
    assert journal.read()[3].event == note("d")
    assert journal.append(note("e")) == 5
    journal.close()


@pytest.mark.parametrize("lose", [lambda path: path.unlink(), lambda path: path.rename(f"{path}.old")])
def test_a_journal_whose_file_is_gone_says_so_when_it_is_closed_and_is_closed(path, lose):
    journal = Journal(path)
    journal.append(note("a"))
    lose(path)
    with pytest.raises(EnvironmentProblem, match="is lost"):
        journal.close()
    assert journal.closed
    with pytest.raises(InvalidStateError):
        journal.append(note("b"))
    journal.close()


def test_a_journal_whose_file_was_replaced_says_so(path):
    journal = Journal(path)
    journal.append(note("a"))
    path.rename(f"{path}.old")
    path.write_bytes(b"")
    with pytest.raises(EnvironmentProblem, match="is another file now"):
        journal.close()
