"""A journal that lets old records go, for a server that runs for long. Without `keep` nothing is let go."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.clock import VirtualClock
from soundstage.errors import InvalidStateError, WaitTimeout
from soundstage.journal import Journal, ModelRequested, Noted, read_journal
from soundstage.messages import ModelRequest, ToolDefinition, system, user
from support.cases import cases

fixed = cases(60)


@fixed
@given(keep=st.integers(1, 5), count=st.integers(0, 30), after=st.integers(0, 35), at_once=st.booleans())
def test_what_is_kept_is_the_end_of_what_a_whole_journal_has(keep, count, after, at_once):
    clock = VirtualClock()
    whole, recent = Journal(clock=clock), Journal(clock=clock, keep=keep)
    for journal in (whole, recent):
        events = [Noted(text=str(number)) for number in range(count)]
        if at_once:
            journal.extend(events)
        else:
            for event in events:
                journal.append(event)
    gone = recent.let_go
    assert len(recent) == len(whole) == count
    assert whole.let_go == 0
    assert min(count, keep) <= count - gone < 2 * keep
    assert recent.read() == whole.read(gone)
    assert recent.read(after) == whole.read(max(after, gone))
    assert recent.events(Noted, after) == whole.events(Noted, max(after, gone))
    assert recent.read_backward() == whole.read_backward()[: count - gone]
    assert recent.read_backward(after + 1) == [r for r in whole.read_backward(after + 1) if r.position > gone]


def test_who_asks_for_what_has_been_let_go_is_told():
    journal = Journal(keep=2)
    for number in range(9):
        journal.append(Noted(text=str(number)))

    async def lagging():
        return [record async for record in journal.tail()]

    with pytest.raises(InvalidStateError, match="record 1 is not kept"):
        asyncio.run(lagging())
    with pytest.raises(InvalidStateError, match="record 1 is not kept"):
        journal.wait("0", within=0.01)
    assert journal.wait("8", within=1, after=journal.let_go).position == 9
    with pytest.raises(WaitTimeout):
        journal.wait("no such", within=0.01, after=journal.let_go)


def test_who_keeps_up_misses_nothing():
    journal = Journal(keep=2)

    async def reader():
        return [int(record.event.text) async for record in journal.tail()]

    async def main():
        reading = asyncio.create_task(reader())
        for number in range(50):
            journal.append(Noted(text=str(number)))
            if number % 2:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
        journal.close()
        return await reading

    assert asyncio.run(main()) == list(range(50))


def test_the_file_has_all_also_of_the_journal_that_it_continues(tmp_path):
    path = tmp_path / "journal.jsonl"
    for _ in range(2):
        journal = Journal(path, keep=3)
        for number in range(10):
            journal.append(Noted(text=str(number)))
        journal.close()
    assert [record.event.text for record in read_journal(path)] == [str(number) for number in range(10)] * 2
    assert [record.position for record in read_journal(path)] == list(range(1, 21))
    assert journal.let_go >= 14


def test_nothing_is_kept_by_any_other_way(tmp_path):
    """Texts of requests are known to checks, to sharing, to the file's writer: all of them let go."""
    journal = Journal(tmp_path / "journal.jsonl", keep=50)

    def ask(count):
        for _ in range(count):
            place = len(journal)
            tools = (ToolDefinition(name=f"tool_{place}", description="does " * 100),)
            messages = (system(f"{place} " + "be brief " * 100), user(f"{place} " + "why? " * 100))
            journal.append(ModelRequested(request=ModelRequest(model="m", messages=messages, tools=tools)))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        few = ask(400)
        many = ask(4000)
    finally:
        tracemalloc.stop()
    assert many < 2 * few
    journal.close()


def test_at_least_one_record_is_kept():
    with pytest.raises(ValueError, match="at least one"):
        Journal(keep=0)
