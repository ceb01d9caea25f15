"""Notes on a console in a file journal: what is in the file, whatever way the app ends."""

from __future__ import annotations

import os
import signal

import pytest

from examples import file_journal_console
from soundstage.agents import ChatEntry, ChatReceived, ChatReply
from soundstage.agents.testing import journals_of
from soundstage.journal import Journal, read_journal
from support.ways import as_program, in_process, start_alone


@pytest.fixture
def path(tmp_path):
    return tmp_path / "notes.jsonl"


def entries(path):
    """Who said what, in the order of the file."""
    records = read_journal(path)
    assert [record.position for record in records] == list(range(1, len(records) + 1))
    said = [record.event for record in records if isinstance(record.event, ChatReceived | ChatReply)]
    return [(entry.sender, entry.text) for entry in said]


def keep(*notes):
    """A body: these notes, one after the other."""

    async def body(host):
        for note in notes:
            await host.console.send(note)
            await host.console.expect("kept as")
        return host.console.lines

    return body


def show(last):
    """A body: the list, as it is shown, down to its last line."""

    async def body(host):
        await host.console.send("list")
        await host.console.expect(last)
        return host.console.lines

    return body


def test_the_file_has_every_entry_in_order_with_its_sender(hosted, path):
    lines = hosted(file_journal_console, journal=path).run(keep("buy milk", "call Ada"))
    assert lines == ["kept as 1", "kept as 2"]
    assert entries(path) == [
        ("user", "buy milk"),
        ("clerk", "kept as 1"),
        ("user", "call Ada"),
        ("clerk", "kept as 2"),
    ]


def test_an_answer_has_what_was_said_as_its_cause(hosted, path):
    hosted(file_journal_console, journal=path).run(keep("buy milk"))
    records = read_journal(path)
    [said] = [record for record in records if isinstance(record.event, ChatReceived)]
    [reply] = [record for record in records if isinstance(record.event, ChatReply)]
    assert (reply.cause, reply.source) == (said.position, "clerk")


def test_what_is_not_answered_when_the_run_ends_is_in_the_file_all_the_same(hosted, path):
    async def body(host):
        for number in range(20):
            await host.console.send(f"note {number}")

    hosted(file_journal_console, journal=path).run(body)
    assert [text for sender, text in entries(path) if sender == "user"] == [f"note {n}" for n in range(20)]
    assert entries(path)[-1] == ("clerk", "kept as 20")


def test_the_next_run_goes_on_with_the_file(hosted, path):
    hosted(file_journal_console, journal=path).run(keep("buy milk", "call Ada"))
    assert hosted(file_journal_console, journal=path).run(show("call Ada")) == [
        "1. buy milk (user)",
        "2. call Ada (user)",
    ]
    assert hosted(file_journal_console, journal=path).run(keep("sleep")) == ["kept as 3"]
    assert len([sender for sender, _ in entries(path) if sender == "user"]) == 4


def test_a_run_in_process_goes_on_with_the_file_of_a_program_and_the_other_way_round(path):
    as_program(file_journal_console, journal=path).run(keep("from the program"))
    in_process(file_journal_console, journal=path).run(keep("in process"))
    shown = as_program(file_journal_console, journal=path).run(show("in process"))
    assert shown == ["1. from the program (user)", "2. in process (user)"]


def test_there_are_no_notes_at_first_and_blank_lines_are_none(hosted, path):
    async def body(host):
        await host.console.send(" ")
        return await show("no notes")(host)

    assert hosted(file_journal_console, journal=path).run(body) == ["no notes yet"]
    assert entries(path) == [("user", "list"), ("clerk", "no notes yet")]


def test_in_memory_the_journal_has_the_same_entries_and_no_file_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def body(host):
        await keep("buy milk")(host)
        said, reply = journals_of(host).get(ChatEntry).events()[:2]
        return host.path, (said.sender, said.text), (reply.sender, reply.text)

    assert in_process(file_journal_console).run(body) == (None, ("user", "buy milk"), ("clerk", "kept as 1"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_answered_survives_a_program_that_is_killed(path, number):
    async def body(host):
        await keep("one", "two", "three")(host)
        os.kill(host.console.terminal.pid, number)
        await host.console.terminal.expect_exit(-number)

    as_program(file_journal_console, journal=path).run(body)
    assert entries(path) == [
        pair
        for count, text in enumerate(("one", "two", "three"), start=1)
        for pair in (("user", text), ("clerk", f"kept as {count}"))
    ]
    assert as_program(file_journal_console, journal=path).run(keep("four")) == ["kept as 4"]


def test_the_next_run_cuts_off_a_line_that_was_torn_by_the_death_of_the_program(path):
    as_program(file_journal_console, journal=path).run(keep("one", "two"))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"position": 99, "ti')
    shown = as_program(file_journal_console, journal=path).run(show("two"))
    assert shown == ["1. one (user)", "2. two (user)"]
    assert path.read_bytes().startswith(whole)
    assert entries(path)[-2] == ("user", "list")


def test_a_file_that_another_run_has_open_is_named(path):
    journal = Journal(path)
    try:
        done = start_alone(file_journal_console, "--journal", path, typed="hello\n")
    finally:
        journal.close()
    assert (done.returncode, done.stdout) == (1, "")
    assert f"the journal {path} is in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_help_teaches_how_to_begin():
    done = start_alone(file_journal_console, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "notes.jsonl unless --journal names another file" in done.stdout
