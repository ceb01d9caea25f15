"""Conversations, their phases, and what survives a restart."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from soundstage.agents.teams import (
    ConversationCoordinator,
    ConversationNotFoundError,
    EmptyMessageError,
    Phases,
    StateFileError,
    TeamTurn,
    UnknownPhaseError,
)
from soundstage.clock import IdSource
from soundstage.errors import ScriptError
from soundstage.journal import Journal, MessageReceived, Noted, PhaseChanged, Redactor
from soundstage.messages import assistant, call, tool


@pytest.fixture
def coordinator():
    return ConversationCoordinator(Journal())


def test_conversations_have_ids_of_their_own_and_begin_in_discovery(coordinator):
    ids = [coordinator.create("Implement auth") for _ in range(50)]
    assert len(set(ids)) == 50
    assert coordinator.ids == tuple(ids)
    conversation = coordinator.get(ids[0])
    assert (conversation.phase, conversation.message) == ("discovery", "Implement auth")
    received = coordinator.journal.events(MessageReceived)[0]
    assert (received.text, received.channel, received.sender) == ("Implement auth", ids[0], "user")


@pytest.mark.parametrize("message", ["", "  \n"])
def test_an_empty_message_is_refused(coordinator, message):
    with pytest.raises(EmptyMessageError) as caught:
        coordinator.create(message)
    assert isinstance(caught.value, ValueError)


def test_an_unknown_id_is_a_lookup_error_with_the_known_ones(coordinator):
    known = coordinator.create("hello")
    with pytest.raises(ConversationNotFoundError, match=known) as caught:
        coordinator.get("nonsense")
    assert isinstance(caught.value, LookupError)


def test_phases_change_in_the_journal_and_only_when_they_change(coordinator):
    conversation = coordinator.create("hello")
    assert coordinator.enter(conversation, "Execute")
    assert not coordinator.enter(conversation, "execute")
    [event] = coordinator.journal.events(PhaseChanged)
    assert (event.left, event.entered, event.conversation) == ("discovery", "execute", conversation)


def test_an_unknown_phase_is_a_value_error_with_the_known_ones(coordinator):
    conversation = coordinator.create("hello")
    with pytest.raises(UnknownPhaseError, match="discovery, chat") as caught:
        coordinator.enter(conversation, "party")
    assert isinstance(caught.value, ValueError)
    assert coordinator.get(conversation).phase == "discovery"


def test_the_phases_are_the_users_choice():
    coordinator = ConversationCoordinator(Journal(), phases=Phases(("draft", "print"), start="draft"))
    conversation = coordinator.create("A poster")
    coordinator.enter(conversation, "print")
    assert coordinator.get(conversation).phase == "print"
    with pytest.raises(ScriptError, match="cannot begin"):
        Phases(("draft",), start="print")


def filled(journal=None):
    coordinator = ConversationCoordinator(journal or Journal(), ids=IdSource(3))
    conversation = coordinator.create("Implement auth")
    coordinator.enter(conversation, "execute")
    look = call("look", {"path": "a"}, id="c1")
    messages = (assistant("looking", look), tool("c1", "found", name="look"), assistant("done"))
    turn = TeamTurn(
        role="agent", agent="executor", phase="execute", text="done", messages=messages, tool_calls=(look,)
    )
    coordinator.add_turn(conversation, turn)
    coordinator.count_iteration(conversation)
    return coordinator, conversation


def test_a_restart_brings_back_phase_history_and_counters(tmp_path):
    coordinator, conversation = filled()
    coordinator.save(tmp_path)
    journal = Journal()
    again = ConversationCoordinator.load(tmp_path, journal, ids=IdSource(3))
    assert again.get(conversation) == coordinator.get(conversation)
    assert again.get(conversation).runs == {"executor": 1}
    [note] = journal.events(Noted)
    assert note.data == {"conversation": conversation, "phase": "execute"}
    assert again.create("another") != conversation  # the same seed draws the same id first


def test_the_file_is_replaced_in_one_step_and_nothing_else_is_left(tmp_path):
    coordinator, conversation = filled()
    path = coordinator.save(tmp_path / "new")
    coordinator.enter(conversation, "verification")
    assert coordinator.save(tmp_path / "new") == path
    assert list((tmp_path / "new").iterdir()) == [path]
    assert json.loads(path.read_bytes())["version"] == 1


KILLED = """
import itertools, sys
from soundstage.agents.teams import ConversationCoordinator
from soundstage.journal import Journal
coordinator = ConversationCoordinator(Journal())
for number in itertools.count():
    coordinator.create("x" * 20_000)
    coordinator.save(sys.argv[1])
    print(number, flush=True)
"""


def test_a_process_that_is_killed_leaves_a_file_that_can_be_read(tmp_path):
    program = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    acknowledged = [int(program.stdout.readline()) for _ in range(30)][-1]
    program.send_signal(signal.SIGKILL)
    program.communicate()
    loaded = ConversationCoordinator.load(tmp_path, Journal())
    assert len(loaded.ids) > acknowledged


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[: len(data) // 2], "truncated"),
        (lambda data: b"", "truncated"),
        (lambda data: data.replace(b'"version":1', b'"version":2'), "version 2"),
        (lambda data: data.replace(b'"version":1,', b""), "version"),
        (lambda data: data.replace(b'"turns":[', b'"turns":[7,'), "turns"),
        (lambda data: data.replace(b'"phase":"execute"', b'"phase":"party"'), "'party'"),
        (lambda data: b"\xff\xfe", "cannot be read"),
    ],
    ids=["cut off", "empty", "newer", "without version", "damaged", "another phase", "no text"],
)
def test_a_file_that_cannot_be_read_is_refused_and_stays_as_it_is(tmp_path, damage, message):
    coordinator, _ = filled()
    path = coordinator.save(tmp_path)
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    with pytest.raises(StateFileError, match="stays as it is") as caught:
        ConversationCoordinator.load(tmp_path, Journal())
    assert message in str(caught.value)
    if message != "'party'":
        with pytest.raises(StateFileError):
            coordinator.save(tmp_path)
    assert path.read_bytes() == damaged


def test_a_missing_file_is_an_error_that_says_so(tmp_path):
    with pytest.raises(StateFileError, match="no saved conversations"):
        ConversationCoordinator.load(tmp_path, Journal())


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StateFileError, match="cannot be saved"):
        filled()[0].save(tmp_path / "file" / "folder")


def test_no_secret_reaches_the_file(tmp_path):
    journal = Journal(redactor=Redactor(["correct horse battery"]))
    coordinator = ConversationCoordinator(journal)
    conversation = coordinator.create("the password is correct horse battery")
    path = coordinator.save(tmp_path)
    assert b"correct horse" not in path.read_bytes()
    loaded = ConversationCoordinator.load(tmp_path, Journal())
    assert loaded.get(conversation).turns[0].text == "the password is [redacted]"


def test_a_disk_that_is_full_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    coordinator, _ = filled()
    path = coordinator.save(tmp_path)
    before = path.read_bytes()
    coordinator.create("more")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StateFileError, match="No space left"):
        coordinator.save(tmp_path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
