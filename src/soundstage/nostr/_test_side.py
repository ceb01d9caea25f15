"""The test's side of a relay, the same for the one on loopback and the one in process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from soundstage.clock import IdSource, validate_seconds
from soundstage.errors import ScriptError, WaitTimeout
from soundstage.journal import Record
from soundstage.match import Anything, matcher
from soundstage.nostr._control import RelayFaults
from soundstage.nostr._core import RelayCore, RelaySettings
from soundstage.nostr._crypto import Keys, public_key
from soundstage.nostr._events import NostrEventReceived, NostrSubscriptionChanged
from soundstage.nostr._expected import Expected, in_words
from soundstage.nostr._filters import Filter
from soundstage.nostr._record import NostrEvent, tag_values
from soundstage.nostr._user import NostrUser
from soundstage.trace import checking
from soundstage.worlds import Inbox, Only, World

MAX_MESSAGE: Final = 256 * 1024


class RelayTestSide(RelayFaults, World):
    """Users, expectations and faults of a relay."""

    def _set_up(
        self,
        *,
        auth_to_publish: bool,
        auth_to_subscribe: bool,
        members: Iterable[str] | None,
        max_message: int,
        ids: IdSource | None,
        within: float,
    ) -> None:
        validate_seconds(within)
        self.within = within
        if max_message < 1:
            raise ValueError(f"a message has at least one character, got max_message={max_message}")
        allowed = None if members is None else frozenset(public_key(member) for member in members)
        settings = RelaySettings(auth_to_publish, auth_to_subscribe, allowed, max_message)
        self._core = RelayCore(self.journal, self.name, settings, ids if ids is not None else IdSource())
        self._users: dict[str, NostrUser] = {}
        self._inbox: Inbox[NostrEventReceived] = self.inbox(
            NostrEventReceived,
            own=lambda record: record.source == self.name and bool(record.event.connection),
            source=lambda record: _source(record.event),
            read=lambda event: event,
            show=in_words,
            noun="event",
            missed=f"the app did not publish the expected event on {self.name}",
        )

    # who is there

    def user(self, name: str) -> NostrUser:
        """The user with a name. The keys repeat with the seed and the name, on every relay.

        Raises:
            ScriptError: if the name is empty, or was given to a key of the app.
            EnvironmentProblem: if nostr-sdk is not installed.
        """
        if name in self._users:
            return self._users[name]
        keys = Keys(self._core.ids.seed, name)
        self._name(keys.public, name)
        self._users[name] = NostrUser(self._core, name, keys)
        return self._users[name]

    def call(self, pubkey: str, name: str) -> None:
        """Give a name to a key of the app, for expectations and messages: `relay.call("npub1...", "agent")`.

        Args:
            pubkey: 64 hexadecimal digits, or `npub1...`.
            name: what to call it.

        Raises:
            ScriptError: if it is no key, or the name is another key's.
        """
        self._name(public_key(pubkey), name)

    def _name(self, pubkey: str, name: str) -> None:
        if not name.strip():
            raise ScriptError("a key needs a name that is not blank", seen=repr(name))
        if self._core.pubkey(name) not in (None, pubkey):
            raise ScriptError(f"another key is called {name!r} already", hint="choose another name")
        self._core.names[pubkey] = name

    def _pubkey(self, author: str | None) -> str | None:
        return None if author is None else self._core.pubkey(author) or public_key(author)

    # what is there

    def events(self, *, kind: int | None = None, author: str | None = None) -> list[NostrEvent]:
        """The events that the relay keeps, oldest first.

        Args:
            kind: of one kind only.
            author: of one author only: a name, or a public key.
        """
        pubkey = self._pubkey(author)
        wanted = Filter(
            kinds=None if kind is None else frozenset([kind]),
            authors=None if pubkey is None else frozenset([pubkey]),
        )
        return self._core.select([wanted])[::-1]

    # waiting

    async def expect(
        self,
        match: Any = Anything(),  # noqa: B008  (a frozen value)
        *,
        kind: int | None = None,
        author: str | None = None,
        tags: Mapping[str, Any] | None = None,
        within: float | None = None,
        because: str = "",
    ) -> NostrEventReceived:
        """Wait for an event of the app that matches. Events of one author, kind and thread are found in order.

        Args:
            match: what its content must be like: text, `/regex/`, or whatever `soundstage.match` takes.
            kind: its kind.
            author: who signed it: a name that `call` or `connect` gave, or a public key.
            tags: for the name of a tag, what one of its values must be like: `{"e": question.id}`.
            within: seconds on the run's clock; those of the relay, unless given.
            because: why it has to come; the message of a failure shows it.

        Raises:
            WaitTimeout: if none comes; the message shows what came near, and what the relay did last.
            ExpectationError: if the app ends first.
        """
        wanted = Expected(
            matcher(match),
            kind=kind,
            pubkey=self._pubkey(author),
            tags={name: matcher(spec) for name, spec in (tags or {}).items()},
        )
        return await self._inbox.expect(wanted, within=within, because=because, instead=wanted.instead)

    check = checking(expect)

    async def expect_nothing(
        self, *, within: float, kind: int | None = None, author: str | None = None
    ) -> None:
        """Expect that the app publishes nothing else than what was expected before, for `within` seconds.

        Raises:
            ExpectationError: if there is an event, or one comes.
        """
        await self._inbox.expect_nothing(within=within, only=self._only(kind, author))

    check_nothing = checking(expect_nothing)

    async def collect(
        self,
        count: int,
        *,
        kind: int | None = None,
        author: str | None = None,
        within: float | None = None,
    ) -> list[NostrEventReceived]:
        """Wait for the next `count` events of the app, whatever they say: all of them before one deadline.

        Raises:
            WaitTimeout: if fewer come; the message shows those that did.
            ExpectationError: if the app ends first.
        """
        return await self._inbox.collect(count, within=within, only=self._only(kind, author))

    def _only(self, kind: int | None, author: str | None) -> Only:
        pubkey = self._pubkey(author)
        return lambda event: kind in (None, event.kind) and pubkey in (None, event.pubkey)

    async def wait_for_subscription(self, *, kind: int | None = None, within: float = 10.0) -> None:
        """Wait until the app has a subscription, so that it is told of what users publish from now on.

        Args:
            kind: one that lets events of this kind through, as far as kinds go.
            within: seconds on the run's clock.

        Raises:
            WaitTimeout: if it has none; the message shows what the relay did last.
        """
        if self._listened(kind):
            return

        def fits(record: Record) -> bool:
            return isinstance(record.event, NostrSubscriptionChanged) and self._listened(kind)

        here = len(self.journal)
        if await self.first(fits, after=here, within=within) is None:
            raise WaitTimeout(
                f"the app did not subscribe on {self.name} within {within:g} s",
                expected="REQ" if kind is None else f"REQ with a filter for kind {kind}",
                seen=self.pending(),
                hint=f"point the app at {self._core.url or 'the relay, once it is started'}",
            )

    def _listened(self, kind: int | None) -> bool:
        filters = [wanted for item in self._core.subscriptions() for wanted in item.filters]
        return any(kind is None or wanted.kinds is None or kind in wanted.kinds for wanted in filters)

    def pending(self) -> str:
        facts = self.facts()
        return "\n".join(
            [f"the last {len(facts)} facts of {self.name}:", *facts] if facts else ["nothing happened at all"]
        )


def _source(event: NostrEventReceived) -> tuple[Any, ...]:
    """Who wrote it, of which kind, and in which thread."""
    return event.pubkey, event.kind, tuple(tag_values(event.tags, "e"))
