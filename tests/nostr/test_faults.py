"""Failures on request, and how the real client comes through them."""

from __future__ import annotations

import asyncio

import nostr_sdk as nostr
import pytest
import websockets

from soundstage.errors import ScriptError
from soundstage.journal import Journal, event
from soundstage.nostr import (
    NostrAnswered,
    NostrConnectionChanged,
    NostrEventRefused,
    NostrEventSent,
    NostrFaultChanged,
    NostrRelay,
    NostrSubscriptionChanged,
)

NOTES = nostr.Filter().kind(nostr.Kind(1))


def struck(relay):
    return [fact.fault for fact in relay.journal.events(NostrFaultChanged) if fact.change == "struck"]


async def published(agent, content, *, patience=(5, 5, 5)):
    """An app that does not give up; the number of tries that it took. It waits so many seconds for each answer."""
    note = agent.event(content)
    for number, within in enumerate(patience, 1):
        if await agent.send(note, within=within) is None:
            return number
    return None


def test_the_next_publishes_are_refused_with_a_reason_and_the_app_tries_again(on_relay):
    async def body(relay, agent):
        relay.refuse_publishes(2, reason="rate-limited: slow down")
        assert await agent.publish("one") == "rate-limited: slow down"
        assert await published(agent, "two") == 2
        await relay.expect("two")
        assert [kept.content for kept in relay.events()] == ["two"]
        assert struck(relay) == ["refuse publish"] * 2

    on_relay(body)


def test_faults_strike_only_the_kinds_that_they_are_asked_for(on_relay):
    async def body(relay, agent):
        relay.refuse_publishes(reason="blocked: no reactions", kinds=7)
        assert await agent.publish("a note") is None
        assert await agent.publish("+", kind=7) == "blocked: no reactions"

    on_relay(body)


def test_a_swallowed_event_gets_no_answer_and_is_lost(on_relay):
    async def body(relay, agent):
        relay.swallow_publishes()
        assert await published(agent, "hello?", patience=(0.2, 5)) == 2
        [lost] = relay.journal.events(NostrEventRefused)
        assert lost.reason == "lost: swallow publish"
        oks = [fact for fact in relay.journal.events(NostrAnswered) if fact.message[0] == "OK"]
        assert len(oks) == 1

    on_relay(body)


def test_when_only_the_answer_is_lost_the_second_try_finds_a_duplicate(on_relay):
    async def body(relay, agent):
        relay.swallow_publishes(keep=True)
        assert await published(agent, "hello?", patience=(0.2, 5)) == 2
        [again] = relay.journal.events(NostrEventRefused)
        assert (again.ok, again.reason[:10]) == (True, "duplicate:")
        assert len(relay.events()) == 1

    on_relay(body)


def test_a_client_that_is_cut_off_at_a_publish_comes_back_and_subscribes_again(on_relay):
    async def body(relay, agent):
        notifications = agent.client.notifications()
        await agent.subscribe(NOTES)
        await relay.wait_for_subscription(kind=1)
        relay.drop_at_publish()
        assert await agent.publish("cut") is not None
        await relay.wait_for_subscription(kind=1)
        await relay.user("ann").publishes("welcome back")
        assert await agent.next_content(notifications) == "welcome back"
        changes = [
            (one.change, one.connection, one.by) for one in relay.journal.events(NostrConnectionChanged)
        ]
        assert changes == [("opened", 1, "client"), ("cut", 1, "relay"), ("opened", 2, "client")]

    on_relay(body)


def test_a_client_whose_connection_is_closed_and_then_refused_comes_back_when_it_is_let_in(on_relay):
    async def body(relay, agent):
        await agent.subscribe(NOTES)
        await relay.wait_for_subscription()
        relay.refuse_connections(1)
        relay.drop_connections(1001, "maintenance")
        await relay.wait_for_subscription(within=20)
        facts = [(one.change, one.code) for one in relay.journal.events(NostrConnectionChanged)]
        assert facts == [("opened", 0), ("closed", 1001), ("refused", 503), ("opened", 0)]

    on_relay(body)


def test_connections_are_refused_until_the_relay_is_healed():
    async def main():
        relay = NostrRelay(Journal())
        await relay.start()
        relay.refuse_connections()
        relay.delay(60)
        relay.refuse_publishes(3)
        for _ in range(2):
            with pytest.raises(websockets.InvalidStatus, match="503"):
                await websockets.connect(relay.url)
        relay.heal()
        async with websockets.connect(relay.url) as client:
            await client.send('["REQ", "a", {}]')
            assert await client.recv() == '["EOSE","a"]'
        back = [one.fault for one in relay.journal.events(NostrFaultChanged) if one.change == "taken back"]
        assert back == ["refuse publish", "refuse connect", "delay"]
        await relay.stop()

    asyncio.run(main())


def test_subscriptions_are_refused_on_request(on_relay):
    async def body(relay, agent):
        relay.refuse_subscriptions(reason="error: no database")
        await agent.subscribe(NOTES)
        record = await relay.journal.wait_for(NostrSubscriptionChanged, within=5)
        assert (record.event.change, record.event.by, record.event.reason) == (
            "refused",
            "relay",
            "error: no database",
        )

    on_relay(body)


def test_answers_are_late_and_in_order(on_relay):
    async def body(relay, agent):
        clock = relay.journal.clock
        relay.delay(0.2)
        before = clock.now()
        assert await agent.publish("slow", within=5) is None
        assert clock.now() - before >= 0.2
        await agent.subscribe(NOTES)
        relay_said = await relay.journal.wait_for(
            lambda fact: isinstance(fact, NostrAnswered) and fact.message[0] == "EOSE", within=5
        )
        [sent] = relay.journal.read(type=NostrEventSent)
        opened = next(iter(relay.journal.read(type=NostrSubscriptionChanged)))
        assert opened.position < sent.position < relay_said.position
        assert sent.time - opened.time >= 0.2

    on_relay(body)


def test_what_is_sent_after_a_delay_has_ended_does_not_overtake_what_is_late(on_relay):
    async def body(relay, agent):
        relay.delay(0.2)
        first = asyncio.create_task(agent.publish("first"))
        await relay.expect("first")
        relay.delay(0)
        assert await agent.publish("second") is None
        assert await first is None
        answered = [fact.message[1] for fact in relay.journal.events(NostrAnswered)]
        assert answered == [
            kept.id for content in ("first", "second") for kept in relay.events() if kept.content == content
        ]

    on_relay(body)


def test_late_answers_die_with_the_connection(on_relay):
    async def body(relay, agent):
        relay.delay(0.3)
        assert await agent.publish("never answered", within=0.05) is not None
        relay.drop_connections()
        relay.delay(0)
        await relay.journal.wait_for(event(NostrConnectionChanged, change="opened", connection=2), within=20)
        assert relay.journal.events(NostrAnswered) == []

    on_relay(body)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda relay: relay.refuse_publishes(reason="no"), "a prefix, a colon and words"),
        (lambda relay: relay.refuse_publishes(kinds=[]), "one kind, several, or None"),
        (lambda relay: relay.refuse_publishes(0), "strikes at least once"),
        (lambda relay: relay.delay(-1), "a number of seconds from 0"),
        (lambda relay: relay.refuse_connections(seconds=0), "more than 0"),
        (lambda relay: NostrRelay(Journal(), max_message=0), "at least one character"),
        (lambda relay: NostrRelay(Journal(), members=["nobody"]), "this is no public key"),
    ],
)
def test_a_fault_that_makes_no_sense_is_an_error_that_says_what_does(wrong, words):
    with pytest.raises((ScriptError, ValueError), match=words):
        wrong(NostrRelay(Journal()))
