"""A relay in process: the same relay and the same test side, without a socket, for apps on virtual time.

The app gets a `NostrConnection`. Frames reach it the moment they are sent; what the app has not read yet waits in
its streams. The event that the app has read last is what it is working on: what it then publishes, and asks its
model, has that event as its cause.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from soundstage.clock import IdSource
from soundstage.errors import AppError
from soundstage.journal import Journal
from soundstage.models import working_on
from soundstage.nostr._core import RelayCore
from soundstage.nostr._crypto import Keys, need_library
from soundstage.nostr._events import NostrConnectionChanged
from soundstage.nostr._outlet import RelayClose
from soundstage.nostr._record import AUTH_KIND, NostrEvent, read_event
from soundstage.nostr._session import RelaySession
from soundstage.nostr._test_side import MAX_MESSAGE, RelayTestSide
from soundstage.nostr._transport import GOING_AWAY
from soundstage.nostr._user import TEXT_NOTE, Signer
from soundstage.worlds import WITHIN

_encode = msgspec.json.Encoder().encode


class SubscriptionRefused(AppError):  # noqa: N818  (it says what happened)
    """Raised to an app when the relay has closed its subscription; the message is the relay's reason."""


class Published(NamedTuple):
    """The relay's answer to an event."""

    event: NostrEvent
    ok: bool
    reason: str


class NostrStream(AsyncIterator[NostrEvent]):
    """The events of one subscription, in order; for one reader.

    Raises:
        SubscriptionRefused: from the next step, when the relay has closed the subscription.
        ConnectionResetError: from the next step, when the connection is over.
    """

    def __init__(self, core: RelayCore) -> None:
        self._core = core
        self._events: deque[NostrEvent | None] = deque()  # `None` is the end of those that were there before
        self._end: Exception | None = None
        self._changed = asyncio.Event()

    def put(self, event: NostrEvent | None) -> None:
        """Add an event; for the connection."""
        self._events.append(event)
        self._changed.set()

    def end(self, why: Exception) -> None:
        """There will be no more; for the connection."""
        self._end = why
        self._changed.set()

    @property
    def unread(self) -> int:
        """Events that nobody has read."""
        return sum(event is not None for event in self._events)

    async def stored(self) -> list[NostrEvent]:
        """Read what the relay had when the subscription began, newest first."""
        found = []
        while (event := await self._next()) is not None:
            found.append(event)
        return found

    async def __anext__(self) -> NostrEvent:
        while (event := await self._next()) is None:
            pass
        working_on.set(self._core.position(event.id))
        return event

    async def _next(self) -> NostrEvent | None:
        while not self._events:
            if self._end is not None:
                raise self._end
            self._changed.clear()
            await self._changed.wait()
        return self._events.popleft()


class NostrConnection:
    """The app's side: one connection with keys, which authenticates itself when it is asked. See `connect`."""

    def __init__(self, core: RelayCore, keys: Keys) -> None:
        self._core = core
        self._signer = Signer(keys, core.journal.clock)
        self._session = RelaySession(core, self)
        self._streams: dict[str, NostrStream] = {}
        self._answers: dict[str, asyncio.Future[tuple[bool, str]]] = {}
        self._over: Exception | None = None
        self._numbers = 0
        self._session.open()

    @property
    def pubkey(self) -> str:
        """The app's public key."""
        return self._signer.keys.public

    @property
    def unread(self) -> int:
        """Events that its streams have and nobody has read."""
        return sum(stream.unread for stream in self._streams.values())

    async def publish(
        self, content: str = "", *, kind: int = TEXT_NOTE, tags: Iterable[Sequence[str]] = ()
    ) -> Published:
        """Sign an event, publish it and wait for the answer.

        Raises:
            ConnectionResetError: if the connection ends before that.
        """
        return await self.publish_event(self._signer.sign(content, kind, tags))

    async def publish_event(self, event: NostrEvent) -> Published:
        """Publish an event that is signed; otherwise like `publish`."""
        answer: asyncio.Future[tuple[bool, str]] = asyncio.get_running_loop().create_future()
        self._answers[event.id] = answer
        try:
            self._send("EVENT", event)
            ok, reason = await answer
        finally:
            self._answers.pop(event.id, None)
        return Published(event, ok, reason)

    async def subscribe(self, *filters: dict[str, Any]) -> NostrStream:
        """The events that pass one of the filters: those that are there, then those that come.

        Args:
            filters: as NIP-01 writes them: `{"kinds": [1], "#p": [pubkey]}`.

        Raises:
            ConnectionResetError: if the connection is over.
        """
        self._numbers += 1
        name, stream = str(self._numbers), NostrStream(self._core)
        self._streams[name] = stream
        self._send("REQ", name, *filters)
        return stream

    async def unsubscribe(self, stream: NostrStream) -> None:
        """Close a subscription. What it has got can still be read."""
        for name in [name for name, known in self._streams.items() if known is stream]:
            self._send("CLOSE", name)

    async def close(self) -> None:
        """End the connection; harmless when it is over."""
        self._session.left(1000)
        self._end(ConnectionResetError("the app has closed the connection"))

    def _send(self, *message: Any) -> None:
        if self._over is not None:
            raise self._over
        self._session.receive(_encode(message).decode(), working_on.get())

    # frames of the relay

    def put(self, item: str | RelayClose) -> None:
        """Take a frame of the relay, or the end."""
        if isinstance(item, RelayClose):
            self._end(
                ConnectionResetError(f"the relay ended the connection: {item.code or 'cut'} {item.reason}")
            )
            return
        name, *rest = msgspec.json.decode(item)
        if name == "EVENT":
            self._streams[rest[0]].put(read_event(rest[1]))
        elif name == "EOSE":
            self._streams[rest[0]].put(None)
        elif name == "CLOSED":
            self._streams[rest[0]].end(SubscriptionRefused(rest[1]))
        elif name == "AUTH":
            self._authenticate(rest[0])
        elif name == "OK" and (answer := self._answers.pop(rest[0], None)) is not None and not answer.done():
            answer.set_result((rest[1], rest[2]))

    def _authenticate(self, challenge: str) -> None:
        tags = (("relay", self._core.url), ("challenge", challenge))
        self._send("AUTH", self._signer.sign("", AUTH_KIND, tags))

    def _end(self, why: Exception) -> None:
        self._over = why
        for stream in self._streams.values():
            stream.end(why)
        answers, self._answers = self._answers, {}
        for answer in answers.values():
            if not answer.done():
                answer.set_exception(why)


class VirtualNostrRelay(RelayTestSide):
    """A Nostr relay in process. Users, expectations and faults are those of `NostrRelay`.

    Args:
        journal: where everything goes.
        auth_to_publish: whether the app has to authenticate before it publishes.
        auth_to_subscribe: whether it has to before it subscribes.
        members: public keys that are let in after that; all that authenticate unless given.
        max_message: the most characters of a message.
        ids: where challenges come from, and the seed of keys.
        within: seconds that `expect` takes, unless it is told otherwise.
        name: how messages and the journal call it.

    Raises:
        EnvironmentProblem: from `start`, if nostr-sdk is not installed (`soundstage[nostr]`).

    Example:
        >>> from soundstage.clock import run
        >>> async def main():
        ...     relay = VirtualNostrRelay(Journal())
        ...     await relay.start()
        ...     connection = await relay.connect("agent")
        ...     questions = await connection.subscribe({"kinds": [1]})
        ...     await relay.user("ann").publishes("what is the time?")
        ...     question = await anext(questions)
        ...     await connection.publish("noon", tags=[("e", question.id)])
        ...     return (await relay.expect("noon", author="agent")).kind
        >>> run(main())
        1
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
        name: str = "nostr",
    ) -> None:
        super().__init__(name, journal)
        self._set_up(
            auth_to_publish=auth_to_publish,
            auth_to_subscribe=auth_to_subscribe,
            members=members,
            max_message=max_message,
            ids=ids,
            within=within,
        )
        self._core.url = f"ws://{name}"
        self._connections: list[NostrConnection] = []

    def pending(self) -> str:
        unread = sum(connection.unread for connection in self._connections)
        return f"{unread} event(s) unread; {super().pending()}"

    async def _start(self) -> None:
        need_library()

    async def _stop(self) -> None:
        self._core.end_all(RelayClose(GOING_AWAY, "the relay stops"))

    async def connect(self, name: str = "app") -> NostrConnection:
        """Connect as an app; its keys repeat with the seed and the name.

        Args:
            name: how expectations and the journal call the app.

        Raises:
            ConnectionRefusedError: if the test has asked for that.
        """
        if self._core.strike("connect") is not None:
            self._core.record(NostrConnectionChanged(change="refused", by="relay"))
            raise ConnectionRefusedError(f"{self.name} takes no connections now")
        keys = Keys(self._core.ids.seed, name)
        self._name(keys.public, name)
        made = NostrConnection(self._core, keys)
        self._connections.append(made)
        return made
