"""The relay in process, on virtual time."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
import websockets

from soundstage.clock import run
from soundstage.errors import InvalidStateError, ScriptError
from soundstage.journal import Journal, encode_record
from soundstage.nostr import (
    NostrConnectionChanged,
    NostrEventReceived,
    NostrRelay,
    SubscriptionRefused,
    VirtualNostrRelay,
)
from soundstage.nostr._crypto import Keys
from soundstage.nostr._user import Signer
from soundstage.testing import InboxProbe, verify_world


async def started(**options):
    relay = VirtualNostrRelay(Journal(), **options)
    await relay.start()
    return relay


async def echo(connection, *, after=0.0):
    """An app: answers every question that names it."""
    questions = await connection.subscribe({"kinds": [1], "#p": [connection.pubkey]})
    async for question in questions:
        await asyncio.sleep(after)
        await connection.publish(f"you said {question.content}", tags=[("e", question.id)])


def test_an_app_answers_after_an_hour_that_takes_no_time():
    async def main():
        relay = await started()
        connection = await relay.connect("agent")
        app = asyncio.create_task(echo(connection, after=3600))
        await relay.wait_for_subscription(kind=1)
        ann = relay.user("ann")
        question = await ann.publishes("hello", tags=[("p", connection.pubkey)])
        await relay.expect_nothing(within=3599)
        answer = await relay.expect("you said hello", author="agent", tags={"e": question.id})
        asked, answered = relay.journal.read(type=NostrEventReceived)
        assert (answered.event, answered.cause) == (answer, asked.position)
        app.cancel()
        await relay.stop()

    run(main())


def test_two_runs_write_the_same_journal():
    def once():
        async def main():
            relay = await started(auth_to_publish=True, name="home")
            connection = await relay.connect("agent")
            app = asyncio.create_task(echo(connection))
            await relay.user("ann").publishes("hello", tags=[("p", connection.pubkey)])
            await relay.expect("hello")
            app.cancel()
            await relay.stop()
            return [encode_record(record) for record in relay.journal.read()]

        return run(main())

    assert once() == once()


def test_what_an_app_does_about_an_event_has_that_event_as_its_cause():
    async def main():
        relay = await started()
        connection = await relay.connect()
        stream = await connection.subscribe({"authors": [relay.user("ann").pubkey]})
        await relay.user("ann").publishes("go")
        await anext(stream)
        await connection.publish("no tag names the reason")
        asked, done = relay.journal.read(type=NostrEventReceived)
        assert done.cause == asked.position
        await relay.stop()

    run(main())


def test_stored_events_come_first_and_streams_end_with_the_connection():
    async def main():
        relay = await started()
        ann = relay.user("ann")
        for text in ("one", "two"):
            await ann.publishes(text)
        connection = await relay.connect()
        stream = await connection.subscribe({"kinds": [1]})
        assert [note.content for note in await stream.stored()] == ["two", "one"]
        await ann.publishes("three")
        assert (await anext(stream)).content == "three"
        await connection.unsubscribe(stream)
        await ann.publishes("four")
        relay.drop_connections()
        with pytest.raises(ConnectionResetError, match="cut"):
            await anext(stream)
        with pytest.raises(ConnectionResetError):
            await connection.publish("too late")
        assert [fact.change for fact in relay.journal.events(NostrConnectionChanged)] == ["opened", "cut"]
        await relay.stop()

    run(main())


def test_faults_strike_in_process_as_they_do_on_a_socket():
    async def main():
        relay = await started()
        relay.refuse_connections(1)
        with pytest.raises(ConnectionRefusedError):
            await relay.connect()
        connection = await relay.connect()
        relay.refuse_publishes(reason="blocked: no")
        assert (await connection.publish("a")).reason == "blocked: no"
        relay.swallow_publishes()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await connection.publish("b")
        relay.refuse_subscriptions()
        with pytest.raises(SubscriptionRefused, match="error: try again later"):
            await anext(await connection.subscribe({}))
        relay.delay(30)
        before = relay.journal.clock.now()
        assert (await connection.publish("c")).ok
        assert relay.journal.clock.now() - before == pytest.approx(30)
        relay.heal()
        relay.drop_at_publish(keep=True)
        with pytest.raises(ConnectionResetError):
            await connection.publish("d")
        assert [kept.content for kept in relay.events()] == ["c", "d"]
        await relay.stop()

    run(main())


def test_connections_are_refused_for_some_seconds():
    async def main():
        relay = await started()
        relay.refuse_connections(seconds=10)
        with pytest.raises(ConnectionRefusedError):
            await relay.connect()
        await asyncio.sleep(10)
        await (await relay.connect()).close()
        await relay.stop()

    run(main())


def test_an_app_in_process_authenticates_itself_when_it_is_asked():
    async def main():
        members = [VirtualNostrRelay(Journal()).user("agent").pubkey]  # the same on every relay
        relay = await started(auth_to_publish=True, auth_to_subscribe=True, members=members)
        assert (await (await relay.connect("agent")).publish("in")).ok
        assert (await (await relay.connect("bob")).publish("out")).reason.startswith("restricted: ")
        await relay.stop()

    run(main())


def test_a_relay_that_is_stopped_ends_its_connections():
    async def main():
        relay = await started()
        stream = await (await relay.connect()).subscribe({})
        await relay.stop()
        with pytest.raises(ConnectionResetError, match="the relay stops"):
            await anext(stream)
        with pytest.raises(InvalidStateError):
            await relay.start()

    run(main())


def test_names_are_given_once():
    async def main():
        relay = await started()
        await relay.connect("agent")
        await relay.connect("agent")  # the same keys again
        with pytest.raises(ScriptError, match="another key is called 'agent'"):
            relay.call("22" * 31 + "23", "agent")
        with pytest.raises(ScriptError, match="not blank"):
            relay.user(" ")
        await relay.stop()

    run(main())


async def use(relay):
    ann = relay.user("ann")
    note = await ann.publishes("hello")
    await relay.user("bob").publishes("hi", reply_to=note)


KINDS = (1, 7)


async def app_publishes(relay, text, source):
    connection = await relay.connect("agent")
    await connection.publish(text, kind=KINDS[source])
    await connection.close()


async def client_publishes(relay, text, source):
    event = Signer(Keys(0, "agent"), relay.journal.clock).sign(text, KINDS[source], ())
    async with websockets.connect(relay.url, proxy=None) as client:
        await client.send(msgspec.json.encode(["EVENT", event]).decode())
        assert '"OK"' in await client.recv()


async def expects(relay, text, source, within):
    await relay.expect(text, kind=KINDS[source], within=within)


async def is_not_read(relay):
    await (await relay.connect("agent")).subscribe({"kinds": [5]})
    await relay.user("ann").publishes("to the agent", kind=5)
    assert "1 event(s) unread" in relay.pending()


def test_both_relays_keep_what_every_world_guarantees():
    run(verify_world(VirtualNostrRelay, use, InboxProbe(app_publishes, expects, is_not_read)))
    asyncio.run(verify_world(NostrRelay, use, InboxProbe(client_publishes, expects)))


def test_the_trace_tells_what_happened_in_words():
    async def main():
        relay = await started(auth_to_publish=True)
        relay.refuse_publishes(reason="blocked: not now", kinds=1)
        connection = await relay.connect("agent")
        stream = await connection.subscribe({"kinds": [1]})
        await connection.publish("too early")
        await relay.user("ann").publishes("hello")
        await anext(stream)
        relay.drop_connections(1001, "bye")
        await relay.stop()
        return [str(record.event) for record in relay.journal.read()]

    words = run(main())
    agent = VirtualNostrRelay(Journal()).user("agent").pubkey
    assert agent not in " ".join(words)  # it has a name
    for line in (
        "refuse publish: asked for times=1, kinds=[1], reason='blocked: not now'",
        "connection 1 opened",
        "connection 1 is agent",
        "'1' of connection 1 opened {'kinds': [1]}",
        "EOSE 1 to connection 1",
        "refuse publish: struck connection 1",
        "agent: too early · kind 1 from connection 1 · blocked: not now",
        "ann: hello · kind 1 from the test",
        "kind 1 of ann to '1' of connection 1",
        "drop connections: struck connections=1, code=1001, reason='bye'",
        "connection 1 closed by the relay 1001 bye",
    ):
        assert line in words
