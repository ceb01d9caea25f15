"""Several events at one moment."""

from __future__ import annotations

import asyncio
import os

import pytest

from soundstage.clock import VirtualClock, run
from soundstage.errors import EnvironmentProblem, InvalidStateError
from soundstage.journal import Journal, ModelRequested, Noted, Redactor, read_journal
from soundstage.messages import ModelRequest, user


def test_events_that_happen_at_once_get_positions_in_a_row_and_one_time():
    journal = Journal(clock=VirtualClock())
    journal.append(Noted(text="first"))
    journal.extend([Noted(text="a"), Noted(text="b")], source="it", cause=1)
    assert [(record.position, record.source, record.cause) for record in journal.read(1)] == [
        (2, "it", 1),
        (3, "it", 1),
    ]
    assert len({record.time for record in journal.read(1)}) == 1


def test_they_are_on_file_when_the_call_returns(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    journal.extend([Noted(text="a"), Noted(text="b")])
    assert [record.event for record in read_journal(tmp_path / "journal.jsonl")] == journal.events(Noted)
    journal.close()


def test_a_waiter_sees_each_of_them():
    async def main():
        journal = Journal()
        waiting = asyncio.create_task(journal.wait_for(lambda event: event.text == "b", within=5))
        await asyncio.sleep(0)
        journal.extend([Noted(text="a"), Noted(text="b")])
        return (await waiting).position

    assert run(main()) == 2


def test_what_is_no_event_is_refused():
    with pytest.raises(TypeError, match="expected an Event, got str"):
        Journal().extend(["hello"])


@pytest.fixture
def writes(monkeypatch):
    """The pieces that are written to files."""
    found = []
    write = os.write
    monkeypatch.setattr("os.write", lambda file, data: found.append(data) or write(file, data))
    return found


def test_they_are_written_in_one_piece_and_nobody_is_woken_before(tmp_path, writes):
    journal = Journal(tmp_path / "journal.jsonl")
    woken = []
    journal._register(lambda: woken.append(len(writes)), 0)
    assert journal.extend([Noted(text="a"), Noted(text="b"), Noted(text="c")]) == 3
    assert [piece.count(b"\n") for piece in writes] == [3]
    assert woken == [1]
    journal.close()


def test_a_secret_in_any_of_them_is_kept_out_of_the_file(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, redactor=Redactor(["hunter2-hunter2"]))
    journal.extend([Noted(text="a"), Noted(text="hunter2-hunter2"), Noted(text="b")])
    journal.close()
    assert [record.event.text for record in read_journal(path)] == ["a", "[redacted]", "b"]


def test_requests_among_them_are_read_back_whole(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    asked = [
        ModelRequest(model="m", messages=tuple(user(f"{n}" * 50) for n in range(many))) for many in (1, 2, 3)
    ]
    events = [Noted(text="a"), *(ModelRequested(request=request) for request in asked), Noted(text="b")]
    assert journal.extend(events) == 5
    journal.close()
    assert [record.event for record in read_journal(path)] == events


def test_where_the_file_takes_only_a_part_none_of_them_is_there(tmp_path, monkeypatch):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    journal.append(Noted(text="first"))
    write = os.write
    monkeypatch.setattr("os.write", lambda file, data: write(file, data[: len(data) * 2 // 3]))
    with pytest.raises(EnvironmentProblem):
        journal.extend([Noted(text="a"), Noted(text="b"), Noted(text="c")])
    monkeypatch.undo()
    assert journal.append(Noted(text="next")) == 2
    assert [event.text for event in journal.events(Noted)] == ["first", "next"]
    journal.close()
    assert [record.event.text for record in read_journal(path)] == ["first", "next"]


def test_nothing_is_added_to_a_closed_journal(tmp_path):
    for journal in (Journal(), Journal(tmp_path / "journal.jsonl")):
        journal.close()
        with pytest.raises(InvalidStateError, match="closed"):
            journal.extend([Noted(text="a")])
        assert len(journal) == 0
