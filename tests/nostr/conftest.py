"""A real Nostr client, nostr-sdk, on a relay on loopback."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import nostr_sdk as nostr
import pytest

from soundstage.journal import Journal
from soundstage.nostr import NostrRelay

MOMENT = timedelta(seconds=5)


def agent_keys():
    """The keys of the client. No module keeps them: they must not outlive nostr-sdk at the end of Python."""
    return nostr.Keys.parse("11" * 32)


class Agent:
    """The part of nostr-sdk that tests need: an app with keys and one relay."""

    def __init__(self, client, url):
        self.client = client
        self.url = nostr.RelayUrl.parse(url)

    @staticmethod
    def event(content, *, kind=1, tags=(), created_at=None):
        builder = nostr.EventBuilder(nostr.Kind(kind), content).tags(
            [nostr.Tag.parse(list(tag)) for tag in tags]
        )
        if created_at is not None:
            builder = builder.custom_created_at(nostr.Timestamp.from_secs(created_at))
        return builder.finalize(agent_keys())

    async def send(self, event, *, within=5.0):
        """`None` if the relay took it, else the reason why not."""
        limit = timedelta(seconds=within)
        sent = await self.client.send_event(event, ok_timeout=limit, authentication_timeout=limit)
        return next(iter(sent.failed.values()), None)

    async def publish(self, content, **options):
        within = options.pop("within", 5.0)
        return await self.send(self.event(content, **options), within=within)

    async def fetch(self, wanted):
        found = await self.client.fetch_events(nostr.ReqTarget.auto([wanted]), timeout=MOMENT)
        return [event.content() for event in found]

    async def subscribe(self, *filters):
        await self.client.subscribe(nostr.ReqTarget.auto(list(filters)))

    async def next_content(self, notifications):
        while True:
            item = await notifications.next()
            if isinstance(item, nostr.ClientNotification.NEW_EVENT):
                return item.event.content()


@asynccontextmanager
async def connected(relay, *, authenticate=False):
    """The client while it is connected. It comes back a second after it has lost its connection."""
    nostr.uniffi_set_event_loop(asyncio.get_running_loop())  # signers are called from another thread
    builder = nostr.ClientBuilder()
    if authenticate:
        builder = builder.authenticator(nostr.SignerAuthenticator(agent_keys()))
    agent = Agent(builder.build(), relay.url)
    options = nostr.RelayOptions().retry_interval(timedelta(seconds=1)).adjust_retry_interval(False)
    await agent.client.add_relay(agent.url, opts=options)
    await agent.client.connect(and_wait=MOMENT)
    try:
        yield agent
    finally:
        await agent.client.shutdown()
        nostr.uniffi_set_event_loop(None)


@pytest.fixture
def on_relay():
    """Runs `body(relay, agent)` with a relay and a client that is connected to it."""

    def run(body, *, authenticate=False, **options):
        async def main():
            relay = NostrRelay(Journal(), **options)
            await relay.start()
            try:
                relay.call(agent_keys().public_key().to_hex(), "agent")
                async with connected(relay, authenticate=authenticate) as agent:
                    await body(relay, agent)
            finally:
                await relay.stop()
            return relay

        return asyncio.run(main())

    return run
