"""Sessions: what a bot has missed while its connection was gone.

A session outlives its connections. Every event that it gets has a number and is kept, so that a bot which
comes back and says what it has seen last gets the rest: resuming. A connection is only an outbox here, so that
nothing in this file waits.

Source: https://discord.com/developers/docs/events/gateway#resuming
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import msgspec

_encode = msgspec.json.Encoder().encode


class GatewayClose(NamedTuple):
    """The last item of an outbox: close with a code, or cut the connection if there is none."""

    code: int | None = None
    reason: str = ""


class GatewayOutbox(Protocol):
    """Where a connection takes what it sends, in order."""

    def put(self, item: bytes | GatewayClose) -> None:
        """Add one payload, or the end."""
        ...

    def beaten(self) -> None:
        """Take notice of a heartbeat."""
        ...

    async def round_trip(self) -> None:
        """Wait until the bot has read what was sent before."""
        ...


class GatewaySession:
    """One session of the bot.

    Args:
        id: what a bot names to resume.
        intents: the events that it asked for.
        shard: number and count of shards; `(0, 1)` for a bot that is not sharded.
    """

    def __init__(self, id: str, intents: int, shard: tuple[int, int] = (0, 1)) -> None:  # noqa: A002
        self.id = id
        self.intents = intents
        self.shard = shard
        self.outbox: GatewayOutbox | None = None
        self._sent: list[bytes] = []

    @property
    def sequence(self) -> int:
        """The number of the newest event."""
        return len(self._sent)

    def holds(self, guild_id: int | None) -> bool:
        """Whether this shard gets the events of a guild; those of conversations of two go to the first."""
        number, count = self.shard
        return number == (0 if guild_id is None else (guild_id >> 22) % count)

    def dispatch(self, event: str, data: Any) -> None:
        """Send an event, or keep it for a bot that is away."""
        line = _encode({"t": event, "s": self.sequence + 1, "op": 0, "d": data})
        self._sent.append(line)
        if self.outbox is not None:
            self.outbox.put(line)

    def replay(self, seen: int) -> int:
        """Send everything after number `seen` again. Returns how many events that were."""
        missed = self._sent[seen:]
        for line in missed:
            if self.outbox is not None:
                self.outbox.put(line)
        return len(missed)


def encode(operation: int, data: Any = None) -> bytes:
    """A payload that is no event."""
    return _encode({"t": None, "s": None, "op": operation, "d": data})
