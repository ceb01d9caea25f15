"""Users that a test plays: they hold keys and publish on the relay, without a connection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from soundstage.clock import Clock
from soundstage.errors import ScriptError
from soundstage.nostr._core import RelayCore
from soundstage.nostr._crypto import Keys
from soundstage.nostr._record import NostrEvent, UnsignedEvent

TEXT_NOTE: Final = 1
HINTS: Final = {
    "duplicate": "leave out created_at, so that every event is newer than the one before",
    "invalid": "let the tag expiration name a second that is still to come",
    "blocked": "change the content or created_at, so that it is another event",
}


class Answerable(Protocol):
    """An event that can be answered: a `NostrEvent`, or the `NostrEventReceived` that an expectation found."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def pubkey(self) -> str:
        """Who signed it."""
        ...

    @property
    def tags(self) -> tuple[tuple[str, ...], ...]:
        """Its tags."""
        ...


class Signer:
    """Signs the events of one author. Each is at least a second later than the one before.

    Nostr counts in seconds. Of two versions of a replaceable event in one second the one with the lower id would
    stay, and two equal texts in one second would be the same event; a test wants neither.

    Args:
        keys: of the author.
        clock: whose date and time.
    """

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self.keys = keys
        self._clock = clock
        self._newest = 0

    def sign(
        self, content: str, kind: int, tags: Iterable[Sequence[str]], created_at: int | None = None
    ) -> NostrEvent:
        """A signed event; unless a time is given, of this moment."""
        if created_at is None:
            created_at = max(int(self._clock.wall().timestamp()), self._newest + 1)
            self._newest = created_at
        return self.keys.sign(UnsignedEvent(created_at, kind, tuple(tuple(tag) for tag in tags), content))


class NostrUser:
    """Somebody with keys, which repeat with the seed and the name. Made by `NostrRelay.user`.

    Example:
        ::

            ann = relay.user("ann")
            question = await ann.publishes("what is the time?", tags=[("p", agent_pubkey)])
            answer = await relay.expect("o'clock", tags={"e": question.id})
            await ann.publishes("thanks", reply_to=answer)
    """

    def __init__(self, core: RelayCore, name: str, keys: Keys) -> None:
        self.name = name
        self._core = core
        self._signer = Signer(keys, core.journal.clock)

    @property
    def pubkey(self) -> str:
        """The public key, 64 hexadecimal digits."""
        return self._signer.keys.public

    @property
    def secret_key(self) -> str:
        """The secret key, for an app that is to act as this user."""
        return self._signer.keys.secret

    async def publishes(
        self,
        content: str = "",
        *,
        kind: int = TEXT_NOTE,
        tags: Iterable[Sequence[str]] = (),
        reply_to: Answerable | None = None,
        created_at: int | None = None,
    ) -> NostrEvent:
        """Publish an event. It needs no connection and no AUTH, and no fault strikes it.

        Args:
            content: what it says.
            kind: its kind; a text note unless given.
            tags: its tags, each a name and values.
            reply_to: an event that it answers; adds the tags `e` and `p` of NIP-10.
            created_at: seconds since 1970; now unless given.

        Raises:
            ScriptError: if the relay would not take it: an older version of a replaceable event, one that has been
                deleted or has expired, a kind that does not exist, a tag without a name.
        """
        everything = [*map(tuple, tags), *([] if reply_to is None else _thread(reply_to))]
        if not 0 <= kind <= 65535 or not all(everything):
            raise ScriptError(
                "this is no event of Nostr",
                expected="a kind from 0 to 65535, and tags that begin with a name",
                seen=f"kind={kind}, tags={everything}",
            )
        event = self._signer.sign(content, kind, everything, created_at)
        verdict = self._core.publish(event, connection=0)
        if verdict.text:
            raise ScriptError(
                f"the relay does not take this event of {self.name}",
                seen=verdict.text,
                hint=HINTS.get(verdict.text.partition(":")[0], ""),
            )
        self._core.tell(event, verdict.position)
        return event


def _thread(event: Answerable) -> list[tuple[str, ...]]:
    """The tags of an answer: where the thread begins, what is answered, and who wrote that (NIP-10)."""
    root = next((tag[1] for tag in event.tags if tag[0] == "e" and tag[3:4] == ("root",)), "")
    places = (
        [("e", root, "", "root"), ("e", event.id, "", "reply")] if root else [("e", event.id, "", "root")]
    )
    return [*places, ("p", event.pubkey)]
