"""Typed journals: views over the one journal, and nothing but views."""

from __future__ import annotations

import asyncio
import pickle
from contextlib import aclosing

import pytest

from soundstage.agents import (
    AgentEntry,
    AgentPrompt,
    ChatEntry,
    ChatReceived,
    ChatReply,
    Journals,
    TypedJournal,
    UnknownEntryError,
)
from soundstage.clock import VirtualClock, run
from soundstage.errors import MatchError, WaitTimeout
from soundstage.journal import Event, Journal, Noted, event, read_journal


def filled():
    """A journal with entries of two families between each other."""
    journal = Journal(clock=VirtualClock())
    for entry in (
        ChatReceived(text="one", sender="user"),
        AgentPrompt(text="two"),
        Noted(text="three"),
        ChatReply(text="four", sender="bot"),
    ):
        journal.append(entry)
    return journal


def positions(records):
    return [record.position for record in records]


def test_a_view_has_the_entries_of_its_class_with_their_positions_in_the_one_journal():
    journal = filled()
    chat = TypedJournal(journal, ChatEntry)
    assert positions(chat.read()) == [1, 4]
    assert positions(chat.read(after=1)) == [4]
    assert chat.events() == [ChatReceived(text="one", sender="user"), ChatReply(text="four", sender="bot")]
    assert chat.events(after=1) == [ChatReply(text="four", sender="bot")]
    assert positions(chat.read_backward()) == [4, 1]
    assert positions(chat.read_backward(before=4)) == [1]
    assert positions(TypedJournal(journal, ChatReply).read()) == [4]


def test_what_is_appended_to_a_view_is_in_the_journal_with_its_source_and_cause():
    journal = filled()
    position = TypedJournal(journal, ChatEntry).append(ChatReply(text="five"), source="bot", cause=1)
    record = journal.read()[-1]
    assert (record.position, record.event, record.source, record.cause) == (
        position,
        ChatReply(text="five"),
        "bot",
        1,
    )


@pytest.mark.parametrize("entry", [AgentPrompt(text="x"), Noted(text="x"), "text"])
def test_a_view_refuses_entries_of_other_classes(entry):
    journal = Journal()
    with pytest.raises(TypeError, match=f"the journal of ChatEntry takes no {type(entry).__name__}"):
        TypedJournal(journal, ChatEntry).append(entry)
    assert len(journal) == 0


def test_a_tail_sees_what_is_there_and_what_comes_until_the_journal_is_closed():
    async def main():
        journal = filled()
        chat = TypedJournal(journal, ChatEntry)

        async def collect():
            return [record.event.text async for record in chat.tail(after=1)]

        reading = asyncio.create_task(collect())
        await asyncio.sleep(1)
        journal.append(Noted(text="not chat"))
        chat.append(ChatReceived(text="five"))
        await asyncio.sleep(1)
        journal.close()
        return await reading

    assert run(main()) == ["four", "five"]


def test_a_tail_that_is_left_takes_nothing_from_others():
    async def main():
        chat = TypedJournal(filled(), ChatEntry)
        async with aclosing(chat.tail()) as records:
            first = await anext(records)
        return first.position, positions(chat.read())

    assert run(main()) == (1, [1, 4])


@pytest.mark.parametrize(
    ("wanted", "position"),
    [
        (None, 1),
        (ChatReply, 4),
        (event(ChatReply, sender="bot"), 4),
        (lambda entry: entry.sender == "bot", 4),  # a Noted has no sender: it is never asked about one
    ],
)
def test_waiting_sees_only_entries_of_the_class(wanted, position):
    async def main():
        return (await TypedJournal(filled(), ChatEntry).wait_for(wanted, within=1)).position

    assert run(main()) == position


def test_waiting_for_what_does_not_come_ends_in_time_and_for_what_cannot_come_at_once():
    async def main():
        chat = TypedJournal(filled(), ChatEntry)
        with pytest.raises(WaitTimeout, match="within 3 s"):
            await chat.wait_for(ChatReceived, within=3, after=1)
        with pytest.raises(MatchError, match="never holds AgentPrompt"):
            await chat.wait_for(AgentPrompt, within=3)
        with pytest.raises(MatchError, match="no_such_field"):
            await chat.wait_for(lambda entry: entry.no_such_field, within=3)

    run(main())


def test_journals_are_found_by_family_or_leaf_and_others_are_a_lookup_error():
    journals = Journals(filled(), (ChatEntry,))
    assert positions(journals.get(ChatEntry).read()) == [1, 4]
    assert positions(journals.get(ChatReply).read()) == [4]
    for unknown in (AgentEntry, Event, Noted):
        with pytest.raises(LookupError, match=f"no journal of {unknown.__name__}") as caught:
            journals.get(unknown)
        assert isinstance(caught.value, UnknownEntryError)
        assert "ChatEntry" in caught.value.expected
    assert type(pickle.loads(pickle.dumps(caught.value))) is UnknownEntryError


def test_without_families_every_event_class_has_a_journal():
    journals = Journals(filled())
    assert positions(journals.get(Noted).read()) == [3]
    with pytest.raises(LookupError, match="no journal of 'chat'"):
        journals.get("chat")


def test_entries_come_back_from_a_file_as_they_were(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl", clock=VirtualClock())
    for record in filled().read():
        journal.append(record.event)
    journal.close()
    assert [record.event for record in read_journal(tmp_path / "journal.jsonl")] == [
        record.event for record in filled().read()
    ]
