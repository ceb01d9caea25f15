"""Let a test do to a relay the things that no client can: refusals, losses, delays, broken connections.

Faults strike clients of the relay and never the users of the test. Each is on record when it is asked for and when
it strikes. Faults for one occasion strike in the order in which they were asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final, Literal

from soundstage.errors import ScriptError
from soundstage.nostr._core import RelayCore
from soundstage.nostr._events import NostrFaultChanged
from soundstage.nostr._faults import Occasion, RelayFault
from soundstage.nostr._outlet import RelayClose

Change = Literal["asked for", "struck", "taken back"]
Kinds = int | Iterable[int] | None
_PREFIXED: Final = re.compile(r"[a-z-]+: .+", re.DOTALL)
OCCASIONS: Final[tuple[Occasion, ...]] = ("publish", "subscribe", "connect")


class RelayFaults:
    """The part of a relay that makes it fail. `kinds` is one kind or several; all unless given."""

    _core: RelayCore

    def refuse_publishes(
        self, times: int = 1, *, reason: str = "error: try again later", kinds: Kinds = None
    ) -> None:
        """Answer the next events of clients with `OK` false.

        Args:
            times: how many.
            reason: what they are told: a prefix such as `rate-limited`, a colon, and words.
            kinds: of which kinds.

        Raises:
            ScriptError: if the reason has no prefix.
        """
        self._ask(RelayFault("publish", "refuse", _times(times), _kinds(kinds), _reason(reason)))

    def swallow_publishes(self, times: int = 1, *, kinds: Kinds = None, keep: bool = False) -> None:
        """Do not answer the next events of clients.

        Args:
            times: how many.
            kinds: of which kinds.
            keep: whether the relay takes them nevertheless, so that only the answer is lost.
        """
        self._ask(RelayFault("publish", "swallow", _times(times), _kinds(kinds), keep=keep))

    def drop_at_publish(self, times: int = 1, *, kinds: Kinds = None, keep: bool = False) -> None:
        """Cut the connection of a client when it publishes next, before it gets an answer.

        Args:
            times: how many of these events.
            kinds: of which kinds.
            keep: whether the relay takes them nevertheless.
        """
        self._ask(RelayFault("publish", "drop", _times(times), _kinds(kinds), keep=keep))

    def refuse_subscriptions(self, times: int = 1, *, reason: str = "error: try again later") -> None:
        """Answer the next `REQ` of clients with `CLOSED`.

        Raises:
            ScriptError: if the reason has no prefix.
        """
        self._ask(RelayFault("subscribe", "refuse", _times(times), reason=_reason(reason)))

    def refuse_connections(self, times: int | None = None, *, seconds: float | None = None) -> None:
        """Refuse new connections, with HTTP status 503: so many, or for so long, or until `heal`.

        Raises:
            ValueError: if `seconds` is not more than zero.
        """
        if seconds is not None and not 0 < seconds < math.inf:
            raise ValueError(f"seconds is more than 0 and finite, got {seconds!r}")
        until = None if seconds is None else self._core.journal.clock.now() + seconds
        self._ask(RelayFault("connect", "refuse", None if times is None else _times(times), until=until))

    def drop_connections(self, code: int | None = None, reason: str = "") -> None:
        """Break all connections of clients now.

        Args:
            code: to close with, such as 1001; without one the connection is cut, as when a network fails.
            reason: goes with the code.
        """
        detail = {"connections": len(self._core.clients), "code": code, "reason": reason}
        self._record("struck", "drop connections", **detail)
        self._core.end_all(RelayClose(code, reason))

    def delay(self, seconds: float) -> None:
        """Send everything late from now on: answers and events. 0 ends that.

        Raises:
            ValueError: if `seconds` is negative or infinite.
        """
        if not 0 <= seconds < math.inf:
            raise ValueError(f"a delay is a number of seconds from 0, got {seconds!r}")
        self._core.faults.delay = seconds
        self._record("asked for" if seconds else "taken back", "delay", seconds=seconds or None)

    def heal(self) -> None:
        """Take back every fault that has not struck yet, and the delay."""
        for occasion in OCCASIONS:
            for fault in self._core.faults.take_back(occasion):
                self._record("taken back", fault.name, **fault.detail)
        if self._core.faults.delay:
            self.delay(0)

    def _ask(self, fault: RelayFault) -> None:
        self._core.faults.add(fault)
        self._record("asked for", fault.name, **fault.detail)

    def _record(self, change: Change, fault: str, **detail: object) -> None:
        facts = {name: value for name, value in detail.items() if value not in (None, "")}
        self._core.record(NostrFaultChanged(change=change, fault=fault, detail=facts))


def _times(times: int) -> int:
    if times < 1:
        raise ValueError(f"a fault strikes at least once, got times={times}")
    return times


def _kinds(kinds: Kinds) -> frozenset[int] | None:
    if kinds is None:
        return None
    found = frozenset([kinds] if isinstance(kinds, int) else kinds)
    if not found:
        raise ScriptError("no kinds are given", expected="one kind, several, or None for all")
    return found


def _reason(reason: str) -> str:
    if not _PREFIXED.fullmatch(reason):
        raise ScriptError(
            "a client could not read this reason",
            expected="a prefix, a colon and words (NIP-01): 'rate-limited: slow down'",
            seen=repr(reason),
        )
    return reason
