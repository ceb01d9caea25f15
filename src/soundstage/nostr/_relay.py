"""The Nostr world: a relay on loopback, and the test's side of it.

The app is any real client: it connects with a WebSocket, and only the address tells it that this is no relay of
the world. The test plays the other users, waits for what the app publishes, and makes the relay fail. Everything
is in the journal (`_events`).

The parts: `_commands` reads messages, `_session` answers them, `_core` is what connections share; none of these
knows a socket or waits. `_transport` puts a socket before them, `_virtual` an app in process.

Why not the relay that nostr-sdk brings: its hooks see events and queries alone. It cannot cut a connection, keep
an answer back or refuse a handshake, and messages that it cannot read, subscriptions that end and everything that
it sends pass unseen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

import msgspec

from soundstage.clock import IdSource
from soundstage.journal import Journal
from soundstage.net import Exchange, HttpRequest, HttpServer, WebSocket
from soundstage.nostr._commands import MAX_SUBSCRIPTION_ID
from soundstage.nostr._crypto import need_library
from soundstage.nostr._outlet import RelayClose
from soundstage.nostr._test_side import MAX_MESSAGE, RelayTestSide
from soundstage.nostr._transport import GOING_AWAY, serve_relay
from soundstage.worlds import WITHIN

FAREWELL: Final = 1.0  # seconds for clients to take the closing frame
NIPS: Final = (1, 9, 11, 40, 42, 45, 50)
_ANY_ORIGIN: Final = {"access-control-allow-origin": "*"}
_INFORMATION: Final = {"content-type": "application/nostr+json", **_ANY_ORIGIN}


class NostrRelay(RelayTestSide, HttpServer):
    """A Nostr relay on a loopback port.

    Args:
        journal: where everything goes.
        auth_to_publish: whether clients have to authenticate (NIP-42) before they publish.
        auth_to_subscribe: whether they have to before they subscribe.
        members: public keys that are let in after that; all that authenticate unless given.
        max_message: the most characters of a message.
        ids: where challenges come from, and the seed of users' keys.
        within: seconds that `expect` takes, unless it is told otherwise.
        port: 0 picks a free one.
        name: how messages and the journal call it. Relays of one run need different names.

    Raises:
        EnvironmentProblem: from `start`, if nostr-sdk is not installed (`soundstage[nostr]`).

    Example:
        ::

            relay = NostrRelay(journal)
            await relay.start()
            ...  # point the app at relay.url, or start it with relay.environment()
            await relay.wait_for_subscription(kind=1)
            question = await relay.user("ann").publishes("what is the time?")
            await relay.expect("o'clock", kind=1, tags={"e": question.id})
            await relay.stop()
    """

    def __init__(
        self,
        journal: Journal,
        *,
        auth_to_publish: bool = False,
        auth_to_subscribe: bool = False,
        members: Iterable[str] | None = None,
        max_message: int = MAX_MESSAGE,
        ids: IdSource | None = None,
        within: float = WITHIN,
        port: int = 0,
        name: str = "nostr",
    ) -> None:
        self._serving: set[asyncio.Task[None]] = set()
        HttpServer.__init__(self, self._inform, journal, port=port, name=name, websocket=self._serve)
        self._set_up(
            auth_to_publish=auth_to_publish,
            auth_to_subscribe=auth_to_subscribe,
            members=members,
            max_message=max_message,
            ids=ids,
            within=within,
        )

    async def _start(self) -> None:
        need_library()
        await super()._start()
        self._core.url = self.url

    async def _stop(self) -> None:
        self._core.end_all(RelayClose(GOING_AWAY, "the relay stops"))
        if self._serving:  # the server would break into a closing handshake
            await asyncio.wait(self._serving, timeout=FAREWELL)
        await super()._stop()

    async def _serve(self, websocket: WebSocket) -> None:
        serving = asyncio.create_task(serve_relay(self._core, websocket), name="relay connection")
        self._serving.add(serving)
        try:
            await serving
        finally:
            self._serving.discard(serving)

    @property
    def url(self) -> str:
        """The address for clients: `ws://127.0.0.1:port`."""
        return super().url.replace("http", "ws", 1)

    def environment(self) -> dict[str, str]:
        """Variables for the app's process: `NOSTR_RELAY` is one address, `RELAYS` a list of them."""
        return {"NOSTR_RELAY": self.url, "RELAYS": self.url}

    async def _inform(self, request: HttpRequest, exchange: Exchange) -> None:
        """Answer a plain HTTP request: with the information document of NIP-11, to those that accept it."""
        if "application/nostr+json" not in request.headers.get("accept", ""):
            text = b"this is a Nostr relay: connect with a WebSocket"
            await exchange.reply(400, {"content-type": "text/plain; charset=utf-8"}, text)
            return
        settings = self._core.settings
        await exchange.reply(
            200,
            _INFORMATION,
            msgspec.json.encode(
                {
                    "name": self.name,
                    "description": "a virtual relay for tests",
                    "supported_nips": NIPS,
                    "software": "soundstage",
                    "limitation": {
                        "max_message_length": settings.max_message,
                        "max_subid_length": MAX_SUBSCRIPTION_ID,
                        "auth_required": settings.auth_to_publish and settings.auth_to_subscribe,
                    },
                }
            ),
        )
