"""Snowflakes: Discord's ids, which hold the time at which they were drawn.

A snowflake is milliseconds since 2015 shifted by 22 bits, and a number below them. Clients read `created_at`
from it and order messages by it, so ids of messages carry the run's time; on a virtual clock two runs draw the
same ones. What is there from the beginning (guild, channels, roles, users) gets ids that are the same in every
run, whatever the clock says.

Source: https://discord.com/developers/docs/reference#snowflakes
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from soundstage.clock import Clock

DISCORD_EPOCH: Final = datetime(2015, 1, 1, tzinfo=UTC)
BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)  # when everything that is there from the start was made
_LOW: Final = (1 << 22) - 1


class Snowflakes:
    """Draws ids. The number in their low bits counts, so ids that one clock tick draws are in order."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._count = 0
        self._last = 0

    def fixed(self) -> int:
        """An id that only depends on how many were drawn before."""
        self._count += 1
        return snowflake(BEGINNING) | (self._count & _LOW)

    def draw(self) -> int:
        """An id for this moment, above all that were drawn before."""
        self._count += 1
        wanted = snowflake(self._clock.wall()) | (self._count & _LOW)
        self._last = max(wanted, self._last + 1)
        return self._last


def snowflake(moment: datetime) -> int:
    """The lowest id of a moment."""
    return int((moment - DISCORD_EPOCH).total_seconds() * 1000) << 22
