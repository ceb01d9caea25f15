"""Several events at one moment."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import VirtualClock, run
from soundstage.journal import Journal, Noted, read_journal


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
