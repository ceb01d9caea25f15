"""A second real client, nostr-tools on node, at work on the relay."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.journal import Journal
from soundstage.nostr import NostrAuthenticated, NostrEventReceived, NostrEventRefused, NostrRelay
from support.node import need, run_client

pytestmark = pytest.mark.full  # programs on node
PRELUDE = """
import { Relay, SimplePool } from 'nostr-tools';
import { finalizeEvent, getPublicKey } from 'nostr-tools/pure';
import { fetchRelayInformation } from 'nostr-tools/nip11';

const url = process.argv[2];
const secret = new Uint8Array(32).fill(17);
const now = Math.floor(Date.now() / 1000);
const sign = (content, {kind = 1, tags = [], created_at = now} = {}) =>
  finalizeEvent({kind, tags, created_at, content}, secret);
const connect = () => Relay.connect(url);
// `true`, or why the relay does not take an event
const publish = (relay, event) => relay.publish(event).then(() => true, (error) => error.message);
// what is there, or why the relay closes the subscription
const stored = (relay, ...filters) => new Promise((resolve) => {
  const found = [];
  const subscription = relay.subscribe(filters, {
    onevent: (event) => found.push(event.content),
    oneose: () => { resolve(found); subscription.close(); },
    onclose: (reason) => resolve(reason),
  });
});
const done = (value) => { console.log(JSON.stringify(value)); process.exit(0); };
"""


@pytest.fixture
def on_node(tmp_path):
    """Runs `body(relay, client)`, where `client(program)` runs a program of nostr-tools and gives what it found."""
    need("clients")

    def run(body, **options):
        async def main():
            relay = NostrRelay(Journal(), **options)
            await relay.start()
            try:
                await body(
                    relay, lambda program: run_client(PRELUDE + program, tmp_path / "client", relay.url)
                )
            finally:
                await relay.stop()

        asyncio.run(main())

    return run


def test_it_publishes_and_fetches_with_every_kind_of_filter(on_node):
    async def body(relay, client):
        ann = relay.user("ann")
        question = await ann.publishes("old", created_at=1_000, tags=[("t", "news")])
        await ann.publishes("new", created_at=2_000)
        found = await client(f"""
            const relay = await connect();
            const answer = sign('answer', {{tags: [['e', '{question.id}']], created_at: 3000}});
            done({{
              published: await publish(relay, answer),
              again: await publish(relay, answer),
              forged: await publish(relay, {{...answer, content: 'another'}}),
              ann: await stored(relay, {{authors: ['{ann.pubkey}']}}),
              news: await stored(relay, {{'#t': ['news']}}),
              since: await stored(relay, {{since: 2000, kinds: [1]}}),
              two: await stored(relay, {{limit: 2}}),
              count: await relay.count([{{kinds: [1]}}], {{}}),
            }});
        """)
        assert found == {
            "published": True,
            "again": True,
            "forged": "invalid: the id is not the hash of the event",
            "ann": ["new", "old"],
            "news": ["old"],
            "since": ["answer", "new"],
            "two": ["answer", "new"],
            "count": 3,
        }
        answer = await relay.expect("answer", tags={"e": question.id})
        [received] = [one for one in relay.journal.read(type=NostrEventReceived) if one.event.id == answer.id]
        asked = relay.journal.read(type=NostrEventReceived)[0]
        assert received.cause == asked.position

    on_node(body)


def test_it_answers_what_a_user_asks(on_node):
    async def body(relay, client):
        program = asyncio.create_task(
            client("""
            const relay = await connect();
            relay.subscribe([{kinds: [1], '#t': ['ask']}], {
              onevent: async (event) => {
                const answer = sign(event.content.toUpperCase(), {tags: [['e', event.id]]});
                done(await publish(relay, answer));
              },
            });
        """)
        )
        await relay.wait_for_subscription(kind=1, within=30)
        question = await relay.user("ann").publishes("hello", tags=[("t", "ask")])
        await relay.expect("HELLO", tags={"e": question.id}, within=30)
        assert await program is True

    on_node(body)


def test_it_authenticates_when_the_relay_asks_for_it(on_node):
    async def body(relay, client):
        found = await client("""
            const relay = await connect();
            const before = await publish(relay, sign('too early'));
            await relay.auth(async (template) => finalizeEvent(template, secret));
            done([before, await publish(relay, sign('in time')), await stored(relay, {})]);
        """)
        assert found == [
            "auth-required: authenticate first (NIP-42)",
            True,
            ["in time"],
        ]
        assert [one.reason for one in relay.journal.events(NostrAuthenticated)] == [""]

    on_node(body, auth_to_publish=True, auth_to_subscribe=True)


def test_it_deletes_what_it_has_published_and_cannot_bring_it_back(on_node):
    async def body(relay, client):
        other = await relay.user("ann").publishes("of ann")
        found = await client(f"""
            const relay = await connect();
            const note = sign('a slip');
            const page = sign('page', {{kind: 30023, tags: [['d', 'x']]}});
            await relay.publish(note);
            await relay.publish(page);
            const tags = [['e', note.id], ['e', '{other.id}'], ['a', `30023:${{getPublicKey(secret)}}:x`]];
            const deletion = await publish(relay, sign('sorry', {{kind: 5, tags}}));
            done([deletion, await stored(relay, {{kinds: [1, 30023]}}), await publish(relay, note)]);
        """)
        assert found == [True, ["of ann"], "blocked: its author has deleted this event"]
        [deletion] = [one for one in relay.journal.events(NostrEventReceived) if one.kind == 5]
        assert len(deletion.deleted) == 2
        assert other.id not in deletion.deleted

    on_node(body)


def test_it_publishes_what_expires_and_searches(on_node):
    async def body(relay, client):
        await relay.user("ann").publishes("rain in the north", created_at=1_000)
        await relay.user("ann").publishes("in the north of the rain", created_at=2_000)
        found = await client("""
            const relay = await connect();
            const until = (seconds) => ({tags: [['expiration', String(now + seconds)]]});
            done({
              expired: await publish(relay, sign('too late', until(-1))),
              later: await publish(relay, sign('rain for an hour', until(3600))),
              search: await stored(relay, {search: 'RAIN north'}),
              whole: await stored(relay, {search: 'rain in', limit: 1}),
            });
        """)
        assert found == {
            "expired": "invalid: the event has expired",
            "later": True,
            "search": ["in the north of the rain", "rain in the north"],
            "whole": ["rain in the north"],
        }

    on_node(body)


def test_a_pool_of_it_survives_what_the_relay_refuses(on_node):
    async def body(relay, client):
        relay.refuse_publishes(1, reason="rate-limited: slow down")
        relay.refuse_subscriptions(1, reason="error: no database")
        found = await client("""
            const pool = new SimplePool();
            const note = sign('hello');
            const first = await Promise.allSettled(pool.publish([url], note));
            const second = await Promise.allSettled(pool.publish([url], note));
            const none = await pool.querySync([url], {kinds: [1]}, {maxWait: 5000});
            const one = await pool.get([url], {kinds: [1]});
            done([first[0].reason?.message ?? first[0].value, second[0].status, none.length, one.content]);
        """)
        assert found == ["rate-limited: slow down", "fulfilled", 0, "hello"]
        assert [one.reason for one in relay.journal.events(NostrEventRefused)] == ["rate-limited: slow down"]
        await relay.expect("hello")

    on_node(body)


def test_the_information_of_the_relay_names_what_it_does(on_node):
    async def body(_, client):
        found = await client("done((await fetchRelayInformation(url)).supported_nips);")
        assert found == [1, 9, 11, 40, 42, 45, 50]

    on_node(body)
