"""The lines of one stream, as a test reads them: the words of the inbox, for text."""

from __future__ import annotations

from typing import Any

from soundstage.journal import Record
from soundstage.match import matcher
from soundstage.trace import checking
from soundstage.worlds._inbox import Inbox


class ConsoleLines:
    """The lines that the app writes on one stream of a console; the rules are those of `Inbox`."""

    _inbox: Inbox[str]

    def __init__(self, inbox: Inbox[str]) -> None:
        self._inbox = inbox

    async def expect(self, match: Any, *, within: float | None = None, because: str = "") -> str:
        """Wait for a line that matches, after the one that the last `expect` found. Returns it.

        Args:
            match: text, `/regex/`, or whatever `soundstage.match` takes.
            within: seconds on the run's clock; 5, unless the console was made with another number.
            because: why the line has to come; the message of a failure shows it.

        Raises:
            WaitTimeout: if none comes; the message shows the lines that came instead.
            ExpectationError: if the app ends first.
        """
        return await self._inbox.expect(matcher(match), within=within, because=because)

    check = checking(expect)

    async def expect_nothing(self, *, within: float) -> None:
        """Expect that no line comes for `within` seconds. On virtual time this takes none of yours.

        A line that has come and was not expected counts.

        Raises:
            ExpectationError: if one comes.
        """
        await self._inbox.expect_nothing(within=within)

    check_nothing = checking(expect_nothing)

    async def collect(self, count: int, *, within: float | None = None) -> list[str]:
        """Wait for the next `count` lines, whatever they say: all of them before one deadline.

        Raises:
            ValueError: if `count` is less than 0.
            WaitTimeout: if fewer come; the message shows those that did.
            ExpectationError: if the app ends first.
        """
        return await self._inbox.collect(count, within=within)

    async def collect_all(self, *, within: float) -> list[str]:
        """Collect all lines that come within some seconds, or until the app ends; none is fine too."""
        return await self._inbox.collect_all(within=within)

    def drain(self) -> list[str]:
        """Return the lines that have come and were not expected yet, without waiting. They then count as seen."""
        return self._inbox.drain()

    @property
    def lines(self) -> list[str]:
        """All lines that the app has written there in this run."""
        return self._inbox.items


def text_of(record: Record) -> str:
    """The text of a record that has one."""
    return str(getattr(record.event, "text", ""))
