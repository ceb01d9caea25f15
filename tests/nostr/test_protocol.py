"""The relay's half of NIP-01 and NIP-42, frame by frame, without a socket and over one."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest
import websockets

from soundstage.clock import IdSource, run
from soundstage.journal import Journal
from soundstage.nostr import (
    NostrAuthenticated,
    NostrConnectionChanged,
    NostrEventReceived,
    NostrEventRefused,
    NostrMessageRefused,
    NostrRelay,
)
from soundstage.nostr._core import RelayCore, RelaySettings
from soundstage.nostr._crypto import Keys
from soundstage.nostr._outlet import RelayClose
from soundstage.nostr._record import AUTH_KIND, UnsignedEvent
from soundstage.nostr._session import RelaySession

ANN = Keys(0, "ann")
WALL = 1767225600  # 2026-01-01, when virtual time begins


def signed(content="hello", *, kind=1, tags=(), created_at=WALL, **changes):
    note = ANN.sign(UnsignedEvent(created_at, kind, tags, content))
    return {**json.loads(msgspec.json.encode(note)), **changes}


class Client:
    """A client that keeps what it is sent."""

    def __init__(self, core):
        self.got = []
        self.ended = None
        self.session = RelaySession(core, self)
        self.session.open()

    def put(self, item):
        if isinstance(item, RelayClose):
            self.ended = item
        else:
            self.got.append(json.loads(item))

    def says(self, *message):
        """Send a message; the frames that came since."""
        before = len(self.got)
        self.session.receive(json.dumps(message))
        return self.got[before:]


def in_process(body, **options):
    async def main():
        settings = {
            "auth_to_publish": False,
            "auth_to_subscribe": False,
            "members": None,
            "max_message": 5000,
        }
        core = RelayCore(Journal(), "nostr", RelaySettings(**{**settings, **options}), IdSource())
        core.url = "ws://127.0.0.1:4000"
        return body(core)

    return run(main())


EVENT_PROBLEMS = {
    "a wrong id": (lambda: signed(id="0" * 64), "invalid: the id is not the hash"),
    "a wrong signature": (lambda: signed(sig="0" * 128), "invalid: the signature does not fit"),
    "somebody else's key": (lambda: signed(pubkey=Keys(0, "bob").public), "invalid: the id is not the hash"),
    "a key that is no point": (lambda: signed(pubkey="f" * 64), "invalid: "),
    "another content": (
        lambda: signed(content="bye") | {"content": "hello"},
        "invalid: the id is not the hash",
    ),
    "a text as kind": (lambda: signed() | {"kind": "1"}, "invalid: in an event: Expected `int`"),
    "a kind that is too large": (
        lambda: signed() | {"kind": 65536},
        "invalid: in an event: Expected `int` <= 65535",
    ),
    "a time that is too large": (
        lambda: signed() | {"created_at": 2**70},
        "invalid: in an event: Expected `int` <= ",
    ),
    "true as time": (lambda: signed() | {"created_at": True}, "invalid: in an event: Expected `int`"),
    "tags that are texts": (lambda: signed() | {"tags": ["e"]}, "invalid: in an event: Expected `array`"),
    "an empty tag": (
        lambda: signed() | {"tags": [[]]},
        "invalid: in an event: Expected `array` of length >= 1",
    ),
    "a number in a tag": (lambda: signed() | {"tags": [["e", 1]]}, "invalid: in an event: Expected `str`"),
    "capital letters": (lambda: signed() | {"pubkey": ANN.public.upper()}, "invalid: in an event: "),
    "no content": (
        lambda: {k: v for k, v in signed().items() if k != "content"},
        "invalid: in an event: Object missing",
    ),
    "a huge content": (lambda: signed("x" * 6000), "invalid: the message has"),
    "the kind of AUTH": (lambda: signed(kind=AUTH_KIND), "invalid: kind 22242 is for AUTH"),
}


@pytest.mark.parametrize("problem", EVENT_PROBLEMS)
def test_an_event_that_is_not_valid_is_answered_with_ok_false_and_its_id(problem):
    make, words = EVENT_PROBLEMS[problem]

    def body(core):
        bad = make()
        client, listener = Client(core), Client(core)
        listener.says("REQ", "all", {})
        [[name, id_, ok, reason]] = client.says("EVENT", bad)
        assert (name, id_, ok) == ("OK", bad["id"], False)
        assert reason.startswith(words)
        assert listener.got == [["EOSE", "all"]]
        assert core.journal.events(NostrEventReceived) == []
        refused = core.journal.events(NostrEventRefused) + core.journal.events(NostrMessageRefused)
        assert [fact.reason for fact in refused] == [reason]
        assert client.says("EVENT", signed())[0][:3] == ["OK", signed()["id"], True]  # it goes on

    in_process(body)


REQUEST_PROBLEMS = {
    "no filter": (["REQ", "a"], ["CLOSED", "a", "invalid: REQ takes a subscription id and at least one filter"]),
    "a filter that is a list": (["REQ", "a", []], ["CLOSED", "a", "invalid: a filter is an object"]),
    "a short id in a filter": (["REQ", "a", {"ids": ["abc"]}], ["CLOSED", "a", "invalid: in a filter: "]),
    "a short id in #e": (["REQ", "a", {"#e": ["abc"]}], ["CLOSED", "a", "invalid: in a filter: the values of #e"]),
    "a number in a tag": (["REQ", "a", {"#t": [1]}], ["CLOSED", "a", "invalid: in a filter: #t is a list of texts"]),
    "a text as limit": (["REQ", "a", {"limit": "1"}], ["CLOSED", "a", "invalid: in a filter: Expected `int"]),
    "a time that is too large": (["REQ", "a", {"since": 2**70}], ["CLOSED", "a", "invalid: in a filter: Expected"]),
    "a negative limit": (["REQ", "a", {"limit": -1}], ["CLOSED", "a", "invalid: in a filter: Expected `int` >= 0"]),
    "an unknown condition": (["REQ", "a", {"near": 1}], ["CLOSED", "a", "unsupported: filter contains unknown"]),
    "a long subscription id": (["REQ", "a" * 65, {}], ["CLOSED", "a" * 65, "invalid: the subscription id has 65"]),
    "an empty subscription id": (["REQ", "", {}], ["NOTICE", "invalid: REQ takes a subscription id"]),
    "a number as subscription id": (["REQ", 1, {}], ["NOTICE", "invalid: REQ takes a subscription id"]),
    "nothing to close": (["CLOSE"], ["NOTICE", "invalid: CLOSE takes a subscription id"]),
    "an unknown command": (["PING"], ["NOTICE", "unsupported: unknown command 'PING'"]),
    "an event without an id": (["EVENT", {"kind": 1}], ["NOTICE", "invalid: in an event: Object missing"]),
    "no event": (["EVENT"], ["NOTICE", "invalid: EVENT takes one event, this one has 0 arguments"]),
    "an event that is a text": (["EVENT", "hello"], ["NOTICE", "invalid: in an event: Expected `object`"]),
    "an object": ({"EVENT": 1}, ["NOTICE", "invalid: a message is an array"]),
    "an empty list": ([], ["NOTICE", "invalid: a message is an array"]),
    "a count without a filter": (["COUNT", "a"], ["CLOSED", "a", "invalid: COUNT takes a subscription id"]),
}  # fmt: skip


@pytest.mark.parametrize("problem", REQUEST_PROBLEMS)
def test_a_message_that_cannot_be_read_is_answered_as_nip_01_says_and_the_connection_lives_on(problem):
    message, answer = REQUEST_PROBLEMS[problem]

    def body(core):
        client = Client(core)
        client.session.receive(json.dumps(message))
        [got] = client.got
        assert got[:-1] == answer[:-1]
        assert got[-1].startswith(answer[-1])
        [fact] = core.journal.events(NostrMessageRefused)
        assert fact.reason == got[-1]
        assert client.says("REQ", "fine", {}) == [["EOSE", "fine"]]

    in_process(body)


@pytest.mark.parametrize("data", ["{", "", '["REQ","a",{}', b"\x00\xff", '"\\ud800"', "[" * 5000, "\ud800"])
def test_what_is_no_json_is_answered_with_a_notice(data):
    def body(core):
        client = Client(core)
        client.session.receive(data)
        [[name, reason]] = client.got
        assert name == "NOTICE"
        assert reason.startswith("invalid: ")

    in_process(body)


def test_the_answer_to_a_publish_comes_before_the_event_itself():
    def body(core):
        client = Client(core)
        client.says("REQ", "mine", {"kinds": [1]})
        note = signed()
        assert client.says("EVENT", note) == [["OK", note["id"], True, ""], ["EVENT", "mine", note]]

    in_process(body)


def test_a_second_request_with_the_same_id_takes_the_place_of_the_first():
    def body(core):
        client = Client(core)
        client.says("REQ", "a", {"kinds": [1]})
        client.says("REQ", "a", {"kinds": [7]})
        assert len(client.says("EVENT", signed())) == 1
        assert [frame[0] for frame in client.says("EVENT", signed("+", kind=7))] == ["OK", "EVENT"]

    in_process(body)


def test_a_limit_counts_for_what_is_there_and_not_for_what_comes():
    def body(core):
        client = Client(core)
        notes = [signed(str(number), created_at=number) for number in range(5)]
        for note in notes:
            client.says("EVENT", note)
        assert client.says("REQ", "two", {"limit": 2}) == [
            ["EVENT", "two", notes[4]],
            ["EVENT", "two", notes[3]],
            ["EOSE", "two"],
        ]
        assert client.says("REQ", "none", {"limit": 0}) == [["EOSE", "none"]]
        told = client.says("EVENT", signed("new"))
        assert sorted(frame[1] for frame in told if frame[0] == "EVENT") == ["none", "two"]

    in_process(body)


def test_of_two_versions_of_one_second_the_one_with_the_lower_id_stays():
    def body(core):
        client = Client(core)
        low, high = sorted((signed(text, kind=0) for text in "ab"), key=lambda note: note["id"])
        assert client.says("EVENT", high)[0][2] is True
        assert client.says("EVENT", low)[0][2] is True
        assert client.says("EVENT", high)[0][2] is False
        assert client.says("REQ", "a", {"kinds": [0]})[0] == ["EVENT", "a", low]
        assert core.journal.events(NostrEventReceived)[1].replaced == high["id"]

    in_process(body)


AUTH_PROBLEMS = {
    "another challenge": ({"challenge": "x"}, {}, "invalid: the challenge"),
    "another relay": ({"relay": "ws://elsewhere"}, {}, "invalid: the tag relay"),
    "no address as relay": ({"relay": "ws://[x"}, {}, "invalid: the tag relay"),
    "an old signature": ({}, {"created_at": WALL - 601}, "invalid: created_at"),
    "another kind": ({}, {"kind": 1}, "invalid: AUTH takes an event of kind 22242"),
}


def auth(proved, *, kind=AUTH_KIND, created_at=WALL, **tags):
    tags = {"relay": "ws://localhost:4000/", "challenge": proved, **tags}
    return signed("", kind=kind, tags=tuple(tags.items()), created_at=created_at)


def test_nothing_but_auth_is_needed_where_auth_is_required():
    def body(core):
        client = Client(core)
        [[name, challenge]] = client.got
        assert name == "AUTH"
        [refused] = client.says("EVENT", signed())
        assert (refused[2], refused[3][:15]) == (False, "auth-required: ")
        assert client.says("REQ", "a", {})[0][2].startswith("auth-required: ")
        assert client.says("COUNT", "a", {})[0][2].startswith("auth-required: ")
        proof = auth(challenge)
        assert client.says("AUTH", proof) == [["OK", proof["id"], True, ""]]
        assert client.says("EVENT", signed())[0][2] is True
        assert client.says("COUNT", "a", {}) == [["COUNT", "a", {"count": 1}]]
        assert client.says("REQ", "a", {})[-1] == ["EOSE", "a"]
        other = Client(core)
        assert other.says("AUTH", auth(challenge))[0][2] is False  # every connection has its own challenge

    in_process(body, auth_to_publish=True, auth_to_subscribe=True)


@pytest.mark.parametrize("problem", AUTH_PROBLEMS)
def test_a_proof_that_does_not_fit_is_refused(problem):
    tags, options, words = AUTH_PROBLEMS[problem]

    def body(core):
        client = Client(core)
        proof = auth(client.got[0][1], **options, **tags)
        [[_, id_, ok, reason]] = client.says("AUTH", proof)
        assert (id_, ok) == (proof["id"], False)
        assert reason.startswith(words)
        assert core.journal.events(NostrAuthenticated)[0].reason == reason
        assert client.says("EVENT", signed())[0][3].startswith("auth-required: ")

    in_process(body, auth_to_publish=True)


def test_a_forged_proof_is_refused():
    def body(core):
        client = Client(core)
        proof = {**auth(client.got[0][1]), "sig": "0" * 128}
        assert client.says("AUTH", proof)[0][3].startswith("invalid: the signature")

    in_process(body, auth_to_publish=True)


def test_over_a_socket_a_stopping_relay_closes_with_1001_and_bad_input_does_not():
    async def main():
        relay = NostrRelay(Journal())
        await relay.start()
        async with websockets.connect(relay.url) as client:
            await client.send("nonsense")
            assert json.loads(await client.recv())[0] == "NOTICE"
            await client.send(b"nonsense")
            assert json.loads(await client.recv())[0] == "NOTICE"
            await relay.stop()
            with pytest.raises(websockets.ConnectionClosed) as closed:
                await client.recv()
            assert closed.value.rcvd.code == 1001

    asyncio.run(main())


@pytest.mark.parametrize("steps", range(8))
def test_a_relay_stops_while_its_client_is_leaving(steps):
    async def main():
        relay = NostrRelay(Journal())
        await relay.start()
        client = await websockets.connect(relay.url)
        client.protocol.send_close(1000)
        client.transport.write(b"".join(client.protocol.data_to_send()))
        for _ in range(steps):  # the relay is somewhere on the way through the closing handshake
            await asyncio.sleep(0)
        await relay.stop()
        await client.close()
        changed = relay.journal.events(NostrConnectionChanged)
        assert [fact.change for fact in changed] == ["opened", "closed"]

    asyncio.run(main())
