"""Faults that a test has asked for. Pure: somebody else strikes."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Occasion = Literal["publish", "subscribe", "connect"]


class RelayFault(NamedTuple):
    """Something that is to go wrong.

    Args:
        at: when.
        action: what happens then.
        times: how often; `None` until it is taken back.
        kinds: of published events; all unless given.
        reason: what the client is told.
        keep: whether the relay keeps the event nevertheless.
        until: when it is over, on the run's clock.
    """

    at: Occasion
    action: Literal["refuse", "swallow", "drop"]
    times: int | None = 1
    kinds: frozenset[int] | None = None
    reason: str = ""
    keep: bool = False
    until: float | None = None

    @property
    def name(self) -> str:
        """The effect, in words."""
        return f"{self.action} {self.at}"

    @property
    def detail(self) -> dict[str, Any]:
        """The details that the journal says besides."""
        facts: dict[str, Any] = {"times": self.times, "kinds": self.kinds and sorted(self.kinds)}
        facts |= {"reason": self.reason, "keep": self.keep or None, "until": self.until}
        return {name: value for name, value in facts.items() if value not in (None, "")}


class RelayPendingFaults:
    """The faults that have not struck yet, in the order in which they were asked for.

    Attributes:
        delay: seconds by which everything that the relay sends is late.
    """

    def __init__(self) -> None:
        self.delay = 0.0
        self._waiting: list[tuple[RelayFault, int]] = []  # and how often it has struck

    def add(self, fault: RelayFault) -> None:
        """Let something go wrong."""
        self._waiting.append((fault, 0))

    def take_back(self, at: Occasion) -> list[RelayFault]:
        """Forget the faults of an occasion. Returns them."""
        gone = [fault for fault, _ in self._waiting if fault.at == at]
        self._waiting = [item for item in self._waiting if item[0].at != at]
        return gone

    def strike(self, at: Occasion, now: float, kind: int | None = None) -> RelayFault | None:
        """The fault that strikes at this occasion, if one does.

        Args:
            at: what is going on.
            now: the time on the run's clock.
            kind: of the event that is published.
        """
        self._waiting = [item for item in self._waiting if item[0].until is None or now < item[0].until]
        for place, (fault, struck) in enumerate(self._waiting):
            if fault.at != at or (fault.kinds is not None and kind not in fault.kinds):
                continue
            self._waiting[place] = (fault, struck + 1)
            if fault.times is not None and struck + 1 >= fault.times:
                del self._waiting[place]
            return fault
        return None
