"""The test's side: users, expectations, and what their failures say."""

from __future__ import annotations

import sys

import pytest

from soundstage.clock import IdSource, run
from soundstage.errors import EnvironmentProblem, ExpectationError, ScriptError, WaitTimeout
from soundstage.journal import Journal
from soundstage.nostr import VirtualNostrRelay


def on_relay(body, **options):
    async def main():
        relay = VirtualNostrRelay(Journal(), **options)
        await relay.start()
        await body(relay, await relay.connect("agent"))
        await relay.stop()

    run(main())


def test_keys_repeat_with_the_seed_and_the_name():
    def key(name, seed=0):
        return VirtualNostrRelay(Journal(), ids=IdSource(seed)).user(name).pubkey

    assert key("ann") == key("ann")
    assert len({key("ann"), key("bob"), key("ann", 1)}) == 3


def test_without_nostr_sdk_a_relay_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nostr_sdk", None)
    with pytest.raises(EnvironmentProblem, match=r"install soundstage\[nostr\]"):
        run(VirtualNostrRelay(Journal()).start())


def test_every_event_is_found_once_whatever_the_order():
    async def body(relay, agent):
        for text, kind in (("a", 1), ("b", 7), ("a", 1)):
            await agent.publish(text, kind=kind)
        assert (await relay.expect(kind=7)).content == "b"
        first, second = await relay.expect("a"), await relay.expect("a")
        assert first.created_at < second.created_at
        await relay.expect_nothing(within=60)

    on_relay(body)


def test_what_users_publish_is_no_event_of_the_app():
    async def body(relay, agent):
        await relay.user("ann").publishes("hello")
        await relay.expect_nothing(within=60)

    on_relay(body)


def test_a_missed_event_is_reported_with_what_came_near_and_what_the_relay_did():
    async def body(relay, agent):
        await agent.publish("goodbye", kind=7, tags=[("t", "x")])
        await agent.publish("hallo", tags=[("t", "x")])
        with pytest.raises(WaitTimeout) as failed:
            await relay.expect("hello", kind=1, author="agent", tags={"t": "x"}, within=5)
        words = str(failed.value)
        assert "the app did not publish the expected event on nostr within 5 s" in words
        assert "kind 1" in failed.value.expected
        lines = failed.value.seen.splitlines()
        assert "hallo" in lines[0]
        assert "does not contain 'hello'" in lines[0] or "hello" in lines[0]
        assert "its kind is not 1" in lines[1]
        assert any("NostrEventReceived" in line for line in lines)
        with pytest.raises(WaitTimeout, match="no tag 'e' is"):
            await relay.expect("hallo", tags={"e": "1"}, within=5)
        with pytest.raises(WaitTimeout, match="somebody else signed it"):
            await relay.expect("hallo", author=relay.user("ann").pubkey, within=5)

    on_relay(body)


def test_an_unexpected_event_is_shown():
    async def body(relay, agent):
        await agent.publish("surprise")
        with pytest.raises(ExpectationError, match="surprise"):
            await relay.expect_nothing(within=5)

    on_relay(body)


def test_an_app_that_does_not_subscribe_is_told_of():
    async def body(relay, agent):
        await agent.subscribe({"kinds": [7]})
        await relay.wait_for_subscription(kind=7)
        with pytest.raises(WaitTimeout, match="REQ with a filter for kind 1"):
            await relay.wait_for_subscription(kind=1)

    on_relay(body)


def test_answers_carry_the_tags_of_a_thread():
    async def body(relay, agent):
        ann, bob = relay.user("ann"), relay.user("bob")
        root = await ann.publishes("root")
        first = await bob.publishes("first", reply_to=root)
        second = await ann.publishes("second", reply_to=first)
        assert first.tags == (("e", root.id, "", "root"), ("p", ann.pubkey))
        assert second.tags == (("e", root.id, "", "root"), ("e", first.id, "", "reply"), ("p", bob.pubkey))

    on_relay(body)


def test_versions_of_one_second_follow_each_other():
    async def body(relay, agent):
        ann = relay.user("ann")
        for text in "abc":
            await ann.publishes(text, kind=0)
        assert [kept.content for kept in relay.events(kind=0, author="ann")] == ["c"]
        with pytest.raises(ScriptError, match="a newer version"):
            await ann.publishes("d", kind=0, created_at=1)

    on_relay(body)


@pytest.mark.parametrize("options", [{"kind": 65536}, {"kind": -1}, {"tags": [[]]}])
def test_what_is_no_event_cannot_be_published(options):
    async def body(relay, agent):
        with pytest.raises(ScriptError, match="no event of Nostr"):
            await relay.user("ann").publishes("x", **options)

    on_relay(body)
