"""The waits of a test on Discord, the same for the one on loopback and the one in process."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from soundstage.match import matcher
from soundstage.trace import checking
from soundstage.worlds import Inbox, Only, World

M = TypeVar("M")
C = TypeVar("C")


class DiscordWaits(World, Generic[M, C]):
    """The waits that both kinds of Discord share. A channel is whatever names one there, a source of the inbox."""

    _inbox: Inbox[M]

    def label_of(self, channel: C) -> str:
        """How the journal calls a channel."""
        raise NotImplementedError

    async def expect(
        self, match: Any, *, channel: C | None = None, within: float | None = None, because: str = ""
    ) -> M:
        """Wait for a message of the app that matches, after the one that the last wait found in its channel.

        Args:
            match: what the message's `text` must be like: text, `/regex/`, or whatever `soundstage.match` takes.
            channel: where; anywhere unless given.
            within: seconds; 5, unless this Discord was made with another number.
            because: why it has to come; the message of a failure shows it.

        Returns:
            The message as it was when it was sent.

        Raises:
            WaitTimeout: if none comes; the message shows those that came instead.
            ExpectationError: if the app ends first.
        """
        where = "" if channel is None else f" in {self.label_of(channel)}"
        missed = f"the app did not write the expected message{where}"
        return await self._inbox.expect(
            matcher(match), only=self._in(channel), within=within, because=because, missed=missed
        )

    check = checking(expect)

    async def expect_nothing(self, *, within: float, channel: C | None = None) -> None:
        """Expect that the app writes nothing for `within` seconds. On virtual time this takes none of yours.

        A message that has come and was not expected counts.

        Raises:
            ExpectationError: if it writes something.
        """
        await self._inbox.expect_nothing(within=within, only=self._in(channel))

    check_nothing = checking(expect_nothing)

    async def collect(self, count: int, *, channel: C | None = None, within: float | None = None) -> list[M]:
        """Wait for the next `count` messages of the app, whatever they say: all of them before one deadline.

        Raises:
            WaitTimeout: if fewer come; the message shows those that did.
            ExpectationError: if the app ends first.
        """
        return await self._inbox.collect(count, within=within, only=self._in(channel))

    @property
    def sent_messages(self) -> list[M]:
        """All that the app has written in this run, in order, as it was when it was sent."""
        return self._inbox.items

    def _in(self, channel: C | None) -> Only | None:
        label = None if channel is None else self.label_of(channel)
        return None if label is None else lambda event: event.channel == label
