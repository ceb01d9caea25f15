"""Deletion (NIP-09), expiration (NIP-40) and search (NIP-50), frame by frame."""

from __future__ import annotations

import json

import msgspec
import nostr_sdk as nostr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.clock import IdSource, run
from soundstage.errors import ScriptError
from soundstage.journal import Journal
from soundstage.nostr import NostrEventReceived, NostrEventRefused, VirtualNostrRelay
from soundstage.nostr._core import RelayCore, RelaySettings
from soundstage.nostr._crypto import Keys
from soundstage.nostr._filters import passes, read_filter, select
from soundstage.nostr._record import UnsignedEvent
from soundstage.nostr._session import RelaySession

ANN, BOB = Keys(0, "ann"), Keys(0, "bob")
WALL = 1767225600  # 2026-01-01, when virtual time begins
WORDS = st.sampled_from(["good", "Morning", "world", "a", "or"])


def signed(content="hello", *, kind=1, tags=(), created_at=WALL, keys=ANN):
    note = keys.sign(UnsignedEvent(created_at, kind, tuple(tags), content))
    return json.loads(msgspec.json.encode(note))


class Client:
    """A client of one relay."""

    def __init__(self):
        settings = RelaySettings(
            auth_to_publish=False, auth_to_subscribe=False, members=None, max_message=10**6
        )
        self.core = RelayCore(Journal(), "nostr", settings, IdSource())
        self.got = []
        self.session = RelaySession(self.core, self)
        self.session.open()

    def put(self, item):
        self.got.append(json.loads(item))

    def says(self, *message):
        before = len(self.got)
        self.session.receive(json.dumps(message))
        return self.got[before:]

    def takes(self, event):
        """The answer to an event: `True`, or why not."""
        answer = next(frame for frame in self.says("EVENT", event) if frame[0] == "OK")
        return answer[2] or answer[3]

    def has(self, **wanted):
        """The contents of the events that a filter finds."""
        found = [frame[2]["content"] for frame in self.says("REQ", "a", wanted) if frame[0] == "EVENT"]
        assert self.says("COUNT", "b", wanted) == [["COUNT", "b", {"count": len(found)}]]
        return found


def in_process(body):
    async def main():
        body(Client())

    run(main())


def test_a_deletion_takes_what_its_author_has_signed_and_nothing_else():
    def body(client):
        mine, yours, other = signed("mine"), signed("yours", keys=BOB), signed("other")
        for event in (mine, yours, other):
            assert client.takes(event) is True
        deletion = signed("a slip", kind=5, tags=[("e", mine["id"]), ("e", yours["id"]), ("k", "1")])
        assert client.takes(deletion) is True
        assert sorted(client.has(kinds=[1])) == ["other", "yours"]
        assert client.has(kinds=[5]) == ["a slip"]  # it stays, so that others learn of it
        assert client.core.journal.events(NostrEventReceived)[-1].deleted == (mine["id"],)

    in_process(body)


def test_what_was_deleted_does_not_come_back_nor_does_what_comes_behind_its_deletion():
    def body(client):
        note, late = signed("note"), signed("late")
        assert client.takes(note) is True
        client.says("EVENT", signed("", kind=5, tags=[("e", note["id"]), ("e", late["id"])]))
        for event in (note, late):
            assert client.takes(event) == "blocked: its author has deleted this event"
        assert client.has(kinds=[1]) == []
        assert [one.content for one in client.core.journal.events(NostrEventRefused)] == ["note", "late"]

    in_process(body)


def test_an_address_is_deleted_up_to_the_time_of_the_deletion():
    def body(client):
        place = [("d", "page")]
        client.takes(signed("first", kind=30_023, tags=place, created_at=WALL))
        client.takes(signed("beside", kind=30_023, tags=[("d", "else")], created_at=WALL))
        client.takes(signed("his", kind=30_023, tags=place, created_at=WALL, keys=BOB))
        tags = [("a", f"30023:{ANN.public}:page"), ("a", f"30023:{BOB.public}:page"), ("a", "nonsense")]
        assert client.takes(signed("", kind=5, tags=tags, created_at=WALL + 5)) is True
        assert sorted(client.has(kinds=[30_023])) == ["beside", "his"]
        assert "blocked" in client.takes(signed("second", kind=30_023, tags=place, created_at=WALL + 5))
        assert client.takes(signed("third", kind=30_023, tags=place, created_at=WALL + 6)) is True
        assert sorted(client.has(kinds=[30_023])) == ["beside", "his", "third"]

    in_process(body)


def test_a_replaceable_event_that_was_deleted_gives_its_place_to_the_next_version():
    def body(client):
        first = signed("first", kind=10_002, created_at=WALL)
        client.takes(first)
        client.takes(signed("", kind=5, tags=[("e", first["id"])]))
        assert client.takes(signed("second", kind=10_002, created_at=WALL - 5)) is True
        assert client.has(kinds=[10_002]) == ["second"]

    in_process(body)


def test_a_deletion_cannot_be_deleted():
    def body(client):
        note = signed("note")
        deletion = signed("once", kind=5, tags=[("e", note["id"])])
        assert client.takes(deletion) is True
        assert client.takes(signed("undo", kind=5, tags=[("e", deletion["id"])])) is True
        assert sorted(client.has(kinds=[5])) == ["once", "undo"]
        assert "blocked" in client.takes(note)

    in_process(body)


def test_an_event_is_there_until_its_second_and_an_expired_one_is_not_taken():
    async def main():
        relay = VirtualNostrRelay(Journal())
        await relay.start()
        end = ("expiration", str(WALL + 60))
        await relay.user("ann").publishes("for a minute", tags=[end])
        await relay.expect_nothing(within=59)
        connection = await relay.connect()
        held = await (await connection.subscribe({"kinds": [1]})).stored()
        await relay.expect_nothing(within=1)
        gone = await (await connection.subscribe({"kinds": [1]})).stored()
        again = await connection.publish("too late", tags=[end])
        return [event.content for event in held], gone, relay.events(), again

    held, gone, kept, again = run(main())
    assert (held, gone, kept) == (["for a minute"], [], [])
    assert (again.ok, again.reason) == (False, "invalid: the event has expired")


@pytest.mark.parametrize("written", ["tomorrow", "", "-5", "1.5", "\u0663"])
def test_an_expiration_that_is_no_number_of_seconds_is_refused(written):
    def body(client):
        reason = client.takes(signed(tags=[("expiration", written)]))
        assert reason == f"invalid: the expiration tag has seconds since 1970, not {written!r}"
        assert client.has() == []

    in_process(body)


def test_a_user_whose_event_is_not_taken_is_told_what_to_change():
    async def main():
        relay = VirtualNostrRelay(Journal())
        await relay.start()
        with pytest.raises(ScriptError, match="still to come"):
            await relay.user("ann").publishes("old", tags=[("expiration", str(WALL))])
        note = await relay.user("ann").publishes("note", created_at=WALL)
        await relay.user("ann").publishes(kind=5, tags=[("e", note.id)])
        with pytest.raises(ScriptError, match="so that it is another event"):
            await relay.user("ann").publishes("note", created_at=WALL)

    run(main())


def test_a_search_finds_all_words_in_any_case_the_best_first():
    def body(client):
        contents = ["world of good", "Good world", "good", "a good world and a good world", "WORLD"]
        for content in contents:
            client.takes(signed(content))
        assert client.has(search="good WORLD language:en") == [
            "a good world and a good world",
            "Good world",
            "world of good",
        ]
        assert client.has(search="good world", limit=1) == ["a good world and a good world"]
        assert client.has(search="nobody said this") == []
        assert len(client.has(search="domain:example.org")) == 5  # an extension is no word

    in_process(body)


def test_a_search_goes_on_for_events_that_come():
    def body(client):
        client.says("REQ", "a", {"search": "rain"})
        assert [frame[0] for frame in client.says("EVENT", signed("sun"))] == ["OK"]
        assert sorted(frame[0] for frame in client.says("EVENT", signed("Rainy days"))) == ["EVENT", "OK"]

    in_process(body)


def test_a_search_that_is_no_text_is_refused():
    def body(client):
        assert client.says("REQ", "a", {"search": 5})[0][2].startswith("invalid: in a filter")

    in_process(body)


@given(WORDS, st.lists(WORDS, max_size=4).map(" ".join))
def test_the_real_library_finds_the_same_word(word, content):
    note = ANN.sign(UnsignedEvent(1, 1, (), content))
    theirs = (
        nostr.Filter().search(word).match_event(nostr.Event.from_json(msgspec.json.encode(note).decode()))
    )
    assert theirs == passes(note, read_filter({"search": word}))


@given(
    st.lists(st.lists(WORDS, max_size=4).map(" ".join), unique=True), st.lists(WORDS, min_size=1, max_size=3)
)
def test_what_a_search_finds_has_all_words_and_what_has_the_whole_comes_first(contents, words):
    notes = [ANN.sign(UnsignedEvent(1, 1, (), content)) for content in contents]
    found = [note.content.lower() for note in select(notes, [read_filter({"search": " ".join(words)})])]
    fitting = [text.lower() for text in contents if all(word.lower() in text.lower() for word in words)]
    assert sorted(found) == sorted(fitting)
    whole = [" ".join(words).lower() in text for text in found]
    assert whole == sorted(whole, reverse=True)
