"""One connection of a client: messages in, frames out, as NIP-01 and NIP-42 say it. No sockets, no waiting.

Each command is a method in `_COMMANDS`. An `EVENT` is judged in this order: shape (`_commands`), signature, who is
allowed to publish, the faults that the test asked for, and whether the relay has it already. The client gets its
`OK` before anybody is told of the event.

Sources: https://github.com/nostr-protocol/nips/blob/master/01.md, 42.md and 45.md there
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from soundstage.match import preview
from soundstage.nostr._commands import (
    Authenticate,
    Count,
    Publish,
    Subscribe,
    Unreadable,
    Unsubscribe,
    read_command,
)
from soundstage.nostr._core import RelayCore, Subscription
from soundstage.nostr._crypto import forged
from soundstage.nostr._events import (
    NostrAnswered,
    NostrAuthenticated,
    NostrConnectionChanged,
    NostrEventSent,
    NostrMessageRefused,
    NostrSubscriptionChanged,
)
from soundstage.nostr._faults import RelayFault
from soundstage.nostr._filters import passes_any
from soundstage.nostr._outlet import Outlet, RelayClose, RelayOutbox
from soundstage.nostr._record import AUTH_KIND, NostrEvent, tag_values

CUT: Final = 1006  # what stands for an end without a closing frame
SHOWN: Final = 200  # characters of a message that could not be read
CLOCKS_DIFFER: Final = 600  # seconds; NIP-42 says about ten minutes
PLEASE_AUTHENTICATE: Final = "auth-required: authenticate first (NIP-42)"
NO_MEMBER: Final = "restricted: this key is not let in"
AUTH_IS_PRIVATE: Final = f"invalid: kind {AUTH_KIND} is for AUTH and not published"


class RelaySession:
    """One connection. Use `open` first; `receive` then takes what the client sends, until `left` or `end`.

    Args:
        core: the relay.
        outbox: where frames for the client go.

    Attributes:
        number: of the connection.
        subscriptions: the open ones.
    """

    def __init__(self, core: RelayCore, outbox: RelayOutbox) -> None:
        self.number = core.next_connection()
        self.subscriptions: dict[str, Subscription] = {}
        self._core = core
        self._outlet = Outlet(outbox, core.journal.clock, core.late, core.record)
        self._challenge = core.ids.hex(32)
        self._keys: set[str] = set()  # that the client has proved to hold
        self._cause: int | None = None

    def open(self) -> None:
        """The client is connected."""
        self._core.clients[self.number] = self
        position = self._core.record(NostrConnectionChanged(change="opened", connection=self.number))
        if self._core.settings.auth_to_publish or self._core.settings.auth_to_subscribe:
            self._answer(["AUTH", self._challenge], position)

    def receive(self, data: str | bytes, cause: int | None = None) -> None:
        """Take a message of the client.

        Args:
            data: as it came.
            cause: position of what the client is working on, where that is known.
        """
        if self.number not in self._core.clients:
            return
        self._cause = cause
        command = read_command(data, self._core.settings.max_message)
        if isinstance(command, Unreadable):
            self._not_read(data, command)
        else:
            _COMMANDS[type(command)](self, command)

    def tell(self, event: NostrEvent, position: int) -> None:
        """Send an event to the subscriptions that want it."""
        for name, subscription in self.subscriptions.items():
            if passes_any(event, subscription.filters):
                self._send_event(name, event, position, live=True)

    def left(self, code: int, reason: str = "") -> None:
        """The client has gone."""
        if self._core.clients.pop(self.number, None) is not None:
            change: Literal["cut", "closed"] = "cut" if code == CUT else "closed"
            self._ended(change, 0 if code == CUT else int(code), reason, "client")
        self._outlet.end()

    def end(self, close: RelayClose) -> None:
        """End the connection from the relay's side."""
        if self._core.clients.pop(self.number, None) is not None:
            self._ended("cut" if close.code is None else "closed", close.code or 0, close.reason, "relay")
        self._outlet.end(close)

    def _ended(
        self, change: Literal["cut", "closed"], code: int, reason: str, by: Literal["client", "relay"]
    ) -> None:
        fact = NostrConnectionChanged(change=change, connection=self.number, code=code, reason=reason, by=by)
        self._core.record(fact)
        self.subscriptions.clear()

    # sending

    def _answer(self, frame: list[Any], cause: int | None) -> None:
        self._outlet.send(frame, NostrAnswered(message=tuple(frame), connection=self.number), cause)

    def _send_event(self, subscription: str, event: NostrEvent, cause: int | None, *, live: bool) -> None:
        fact = NostrEventSent(
            id=event.id,
            kind=event.kind,
            author=self._core.author(event.pubkey),
            subscription=subscription,
            connection=self.number,
            live=live,
        )
        self._outlet.send(["EVENT", subscription, event], fact, cause)

    def _not_read(self, data: str | bytes, problem: Unreadable) -> None:
        text = data if isinstance(data, str) else repr(data)
        fact = NostrMessageRefused(text=preview(text, SHOWN), reason=problem.reason, connection=self.number)
        position = self._core.record(fact)
        middles: dict[str, list[Any]] = {"OK": [problem.subject, False], "CLOSED": [problem.subject]}
        if problem.answer == "CLOSED":
            self.subscriptions.pop(problem.subject, None)
        self._answer([problem.answer, *middles.get(problem.answer, []), problem.reason], position)

    # commands

    def _publish(self, command: Publish) -> None:
        event = command.event
        if reason := self._unwelcome(event):
            self._refuse(event, reason)
            return
        fault = self._core.strike("publish", connection=self.number, kind=event.kind)
        if fault is not None and fault.action == "refuse":
            self._refuse(event, fault.reason)
        elif fault is not None:
            self._lose(event, fault)
        else:
            self._take(event)

    def _unwelcome(self, event: NostrEvent) -> str:
        """Why an event is refused, if it is."""
        if problem := forged(event):
            return f"invalid: {problem}"
        if event.kind == AUTH_KIND:
            return AUTH_IS_PRIVATE
        return self._stranger(needed=self._core.settings.auth_to_publish)

    def _take(self, event: NostrEvent, *, silently: bool = False) -> None:
        verdict = self._core.publish(event, connection=self.number, cause=self._cause)
        if not silently:
            self._answer(["OK", event.id, verdict.ok, verdict.text], verdict.position)
        if not verdict.text:
            self._core.tell(event, verdict.position)

    def _refuse(self, event: NostrEvent, reason: str) -> None:
        position = self._core.refuse(event, reason, connection=self.number)
        self._answer(["OK", event.id, False, reason], position)

    def _lose(self, event: NostrEvent, fault: RelayFault) -> None:
        """Let the answer, and unless the fault keeps it the event too, get lost."""
        if fault.keep:
            self._take(event, silently=True)
        else:
            self._core.refuse(event, f"lost: {fault.name}", connection=self.number)
        if fault.action == "drop":
            self.end(RelayClose())

    def _subscribe(self, command: Subscribe) -> None:
        known = self.subscriptions.pop(command.subscription, None)
        reason = self._stranger(needed=self._core.settings.auth_to_subscribe)
        if not reason and (fault := self._core.strike("subscribe", connection=self.number)) is not None:
            reason = fault.reason
        if reason:
            position = self._changed("refused", command.subscription, command.written, reason)
            self._answer(["CLOSED", command.subscription, reason], position)
            return
        self.subscriptions[command.subscription] = Subscription(command.filters, command.written)
        position = self._changed("replaced" if known else "opened", command.subscription, command.written)
        for event in self._core.select(command.filters):
            self._send_event(command.subscription, event, self._core.position(event.id), live=False)
        self._answer(["EOSE", command.subscription], position)

    def _unsubscribe(self, command: Unsubscribe) -> None:
        known = self.subscriptions.pop(command.subscription, None)
        self._changed("closed", command.subscription, reason="" if known else "it was not open")

    def _changed(
        self,
        change: Literal["opened", "replaced", "closed", "refused"],
        subscription: str,
        filters: tuple[dict[str, Any], ...] = (),
        reason: str = "",
    ) -> int:
        fact = NostrSubscriptionChanged(
            change=change,
            subscription=subscription,
            connection=self.number,
            filters=filters,
            by="relay" if change == "refused" else "client",
            reason=reason,
        )
        return self._core.record(fact, self._cause)

    def _count(self, command: Count) -> None:
        if reason := self._stranger(needed=self._core.settings.auth_to_subscribe):
            self._answer(["CLOSED", command.subscription, reason], None)
            return
        count = len(self._core.select(command.filters))
        self._answer(["COUNT", command.subscription, {"count": count}], None)

    # who it is

    def _stranger(self, *, needed: bool) -> str:
        """Why the client may not do something for which it has to be known, if so."""
        members = self._core.settings.members
        if not needed:
            return ""
        if not self._keys:
            return PLEASE_AUTHENTICATE
        return "" if members is None or self._keys & members else NO_MEMBER

    def _authenticate(self, command: Authenticate) -> None:
        event = command.event
        reason = self._unbelievable(event)
        if not reason:
            self._keys.add(event.pubkey)
        fact = NostrAuthenticated(
            pubkey=event.pubkey,
            author=self._core.author(event.pubkey),
            connection=self.number,
            reason=reason,
        )
        self._answer(["OK", event.id, not reason, reason], self._core.record(fact))

    def _unbelievable(self, event: NostrEvent) -> str:
        """Why an event does not prove who the client is, if so (NIP-42, "Signed Event Verification")."""
        if problem := forged(event):
            return f"invalid: {problem}"
        if event.kind != AUTH_KIND:
            return f"invalid: AUTH takes an event of kind {AUTH_KIND}, not {event.kind}"
        if abs(event.created_at - self._core.journal.clock.wall().timestamp()) > CLOCKS_DIFFER:
            return "invalid: created_at is more than ten minutes from now"
        if self._challenge not in tag_values(event.tags, "challenge"):
            return "invalid: the challenge is not the one of this connection"
        if _host(self._core.url) not in map(_host, tag_values(event.tags, "relay")):
            return f"invalid: the tag relay does not name {self._core.url}"
        return ""


def _host(url: str) -> str:
    """Host and port of an address; what is no address has none."""
    try:
        return urlsplit(url).netloc.lower().replace("localhost", "127.0.0.1")
    except ValueError:
        return ""


_COMMANDS: Final[dict[type, Callable[[RelaySession, Any], None]]] = {
    Publish: RelaySession._publish,  # noqa: SLF001  (one class and its table)
    Authenticate: RelaySession._authenticate,  # noqa: SLF001
    Subscribe: RelaySession._subscribe,  # noqa: SLF001
    Unsubscribe: RelaySession._unsubscribe,  # noqa: SLF001
    Count: RelaySession._count,  # noqa: SLF001
}
