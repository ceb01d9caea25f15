"""A real client, nostr-sdk, at work on the relay."""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta

import httpx
import nostr_sdk as nostr
import pytest

from soundstage.errors import WaitTimeout
from soundstage.journal import Journal, event
from soundstage.nostr import (
    NostrAuthenticated,
    NostrEventReceived,
    NostrEventRefused,
    NostrEventSent,
    NostrRelay,
    NostrSubscriptionChanged,
)

MOMENT = timedelta(seconds=5)


def kinds(*numbers):
    return nostr.Filter().kinds([nostr.Kind(number) for number in numbers])


def test_the_client_publishes_and_the_test_sees_content_kind_author_and_tags(on_relay):
    async def body(relay, agent):
        assert await agent.publish("good morning", tags=[("t", "weather")]) is None
        found = await relay.expect("/^good/", kind=1, author="agent", tags={"t": "weather"})
        assert (found.content, found.author, found.connection) == ("good morning", "agent", 1)
        assert [kept.id for kept in relay.events(author="agent")] == [found.id]

    on_relay(body)


def test_the_client_is_told_of_what_users_publish_after_it_has_subscribed(on_relay):
    async def body(relay, agent):
        notifications = agent.client.notifications()
        await agent.subscribe(kinds(1))
        await relay.wait_for_subscription(kind=1)
        ann = relay.user("ann")
        await ann.publishes("not for it", kind=7)
        question = await ann.publishes("hello")
        assert await agent.next_content(notifications) == "hello"
        sent = relay.journal.events(NostrEventSent)
        assert [(one.id, one.author, one.live) for one in sent] == [(question.id, "ann", True)]

    on_relay(body)


def test_an_answer_has_the_question_as_its_cause(on_relay):
    async def body(relay, agent):
        question = await relay.user("ann").publishes("what is the time?")
        await agent.publish("noon", tags=[("e", question.id), ("p", question.pubkey)])
        await relay.expect("noon", tags={"e": question.id})
        asked, answered = relay.journal.read(type=NostrEventReceived)
        assert answered.cause == asked.position

    on_relay(body)


def test_the_client_fetches_what_was_there_before_newest_first(on_relay):
    async def body(relay, agent):
        ann, bob = relay.user("ann"), relay.user("bob")
        await ann.publishes("old", created_at=1_000)
        await ann.publishes("new", created_at=2_000, tags=[("t", "news")])
        await bob.publishes("other", created_at=3_000)
        by_ann = nostr.Filter().author(nostr.PublicKey.parse(ann.pubkey))
        assert await agent.fetch(by_ann) == ["new", "old"]
        assert await agent.fetch(nostr.Filter().hashtag("news")) == ["new"]
        assert await agent.fetch(kinds(1).limit(2)) == ["other", "new"]
        early, late = nostr.Timestamp.from_secs(2_000), nostr.Timestamp.from_secs(2_500)
        assert await agent.fetch(kinds(1).since(early).until(late)) == ["new"]
        assert await (await agent.client.relay(agent.url)).count_events(kinds(1), MOMENT) == 3

    on_relay(body)


def test_of_replaceable_and_addressable_kinds_the_newest_version_is_kept(on_relay):
    async def body(relay, agent):
        for content, when in (("first", 1_000), ("second", 2_000)):
            assert await agent.publish(content, kind=10_002, created_at=when) is None
            assert await agent.publish(content, kind=30_023, tags=[("d", "a")], created_at=when) is None
        assert await agent.publish("beside", kind=30_023, tags=[("d", "b")], created_at=500) is None
        assert await agent.fetch(kinds(10_002)) == ["second"]
        assert sorted(await agent.fetch(kinds(30_023))) == ["beside", "second"]
        refused = await agent.publish("too late", kind=10_002, created_at=1_500)
        assert refused == "duplicate: a newer version of this replaceable event is here"

    on_relay(body)


def test_an_ephemeral_event_is_passed_on_and_not_kept(on_relay):
    async def body(relay, agent):
        notifications = agent.client.notifications()
        await agent.subscribe(kinds(24_010))
        await relay.wait_for_subscription(kind=24_010)
        await relay.user("ann").publishes("typing", kind=24_010)
        assert await agent.next_content(notifications) == "typing"
        assert await agent.fetch(kinds(24_010)) == []
        assert relay.events() == []

    on_relay(body)


def test_an_event_that_is_there_already_is_answered_with_a_duplicate_and_not_told_again(on_relay):
    async def body(relay, agent):
        note = agent.event("once")
        assert await agent.send(note) is None
        assert await agent.send(note) is None
        assert len(relay.journal.events(NostrEventReceived)) == 1
        [again] = relay.journal.events(NostrEventRefused)
        assert (again.ok, again.reason) == (True, "duplicate: already have this event")

    on_relay(body)


def test_a_subscription_that_the_client_closes_is_told_of_nothing_more(on_relay):
    async def body(relay, agent):
        subscribed = await agent.client.subscribe(nostr.ReqTarget.auto([kinds(1)]))
        await relay.wait_for_subscription()
        await agent.client.unsubscribe(subscribed.id)
        await relay.journal.wait_for(event(NostrSubscriptionChanged, change="closed"), within=5)
        await relay.user("ann").publishes("nobody hears")
        assert relay.journal.events(NostrEventSent) == []

    on_relay(body)


def test_a_client_that_authenticates_may_publish_and_subscribe(on_relay):
    async def body(relay, agent):
        await relay.journal.wait_for(NostrAuthenticated, within=5)
        assert await agent.publish("it is me") is None
        assert await agent.fetch(kinds(1)) == ["it is me"]
        [known] = relay.journal.events(NostrAuthenticated)
        assert (known.author, known.reason) == ("agent", "")

    on_relay(body, authenticate=True, auth_to_publish=True, auth_to_subscribe=True)


def test_a_client_that_does_not_authenticate_is_told_to(on_relay):
    async def body(relay, agent):
        assert (await agent.publish("who am I?", within=0.2)).startswith("auth-required:")
        await agent.subscribe(kinds(1))
        record = await relay.journal.wait_for(NostrSubscriptionChanged, within=5)
        assert (record.event.change, record.event.reason[:14]) == ("refused", "auth-required:")
        with pytest.raises(WaitTimeout):
            await relay.wait_for_subscription(within=0.05)

    on_relay(body, auth_to_publish=True, auth_to_subscribe=True)


def test_a_key_that_is_no_member_is_restricted_after_it_has_authenticated(on_relay):
    async def body(relay, agent):
        record = await relay.journal.wait_for(NostrAuthenticated, within=5)
        assert record.event.reason == ""
        assert await agent.publish("let me in") == "restricted: this key is not let in"

    on_relay(body, authenticate=True, auth_to_publish=True, members=["22" * 31 + "23"])


def test_the_relay_informs_about_itself_over_http():
    async def main():
        relay = NostrRelay(Journal(), max_message=1000, name="my relay")
        await relay.start()
        try:
            async with httpx.AsyncClient(trust_env=False) as client:
                address = relay.url.replace("ws", "http", 1)
                told = await client.get(address, headers={"accept": "application/nostr+json"})
                assert told.headers["content-type"] == "application/nostr+json"
                assert told.headers["access-control-allow-origin"] == "*"
                information = told.json()
                assert information["name"] == "my relay"
                assert information["limitation"]["max_message_length"] == 1000
                assert {1, 9, 11, 40, 42, 45, 50} == set(information["supported_nips"])
                assert (await client.get(address)).status_code == 400
        finally:
            await relay.stop()

    asyncio.run(main())


AGENT_PROGRAM = """
import asyncio
import os

import nostr_sdk as nostr

KEYS = nostr.Keys.generate()


async def main():
    client = nostr.ClientBuilder().build()
    await client.add_relay(nostr.RelayUrl.parse(os.environ["NOSTR_RELAY"]), and_connect=True)
    questions = await client.stream_events(
        nostr.ReqTarget.auto([nostr.Filter().kind(nostr.Kind(1))]), policy=nostr.ReqExitPolicy.WAIT_FOR_EVENTS(1)
    )
    question = (await questions.next()).event
    tag = nostr.Tag.parse(["e", question.id().to_hex()])
    answer = nostr.EventBuilder(nostr.Kind(1), question.content().upper()).tags([tag]).finalize(KEYS)
    await client.send_event(answer)
    await client.shutdown()


asyncio.run(main())
"""


def test_an_unmodified_program_in_a_process_of_its_own_answers_a_question(tmp_path):
    (tmp_path / "agent.py").write_text(AGENT_PROGRAM)

    async def main():
        relay = NostrRelay(Journal())
        await relay.start()
        program = await asyncio.create_subprocess_exec(
            sys.executable, str(tmp_path / "agent.py"), env={**os.environ, **relay.environment()}
        )
        try:
            await relay.wait_for_subscription(kind=1, within=20)
            question = await relay.user("ann").publishes("hello")
            await relay.expect("HELLO", tags={"e": question.id}, within=20)
            assert await program.wait() == 0
        finally:
            if program.returncode is None:
                program.kill()
                await program.wait()
            await relay.stop()

    asyncio.run(main())
