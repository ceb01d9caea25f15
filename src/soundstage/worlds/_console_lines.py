"""One stream of a console, as the test reads it: the lines of a channel, each of them seen once and in order.

A stream remembers how far the test has read. `expect`, `collect` and `drain` go on from there and move it along.
What waits has one deadline, however many lines come meanwhile, and it learns of the end of the app at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soundstage.errors import ExpectationError, WaitTimeout
from soundstage.journal import Journal, MessageSent, Record
from soundstage.match import Matcher, matcher, preview
from soundstage.trace import checking
from soundstage.worlds._waiting import ended, finite, first_record, has_ended


class ConsoleLines:
    """The lines that the app writes on one stream of a console.

    Args:
        journal: where the lines are.
        channel: their channel.
        app: the name of the app in the journal, or of its program.
        within: seconds that waits take at most, unless they are told otherwise.
        describe_end: says how the app has ended.
        describe_input: says what the app has not read yet.
    """

    def __init__(
        self,
        journal: Journal,
        channel: str,
        *,
        app: str,
        within: float,
        describe_end: Callable[[Record], str],
        describe_input: Callable[[], str],
    ) -> None:
        self._journal = journal
        self._channel = channel
        self._app = app
        self._within = within
        self._describe_end = describe_end
        self._describe_input = describe_input
        self._begun = self._seen = 0

    def begin(self) -> None:
        """Begin here; what a file holds already belongs to earlier runs."""
        self._begun = self._seen = len(self._journal)

    @property
    def lines(self) -> list[str]:
        """All lines of this run."""
        return [line for _, line in self._after(self._begun)]

    def drain(self) -> list[str]:
        """The lines that have come and were not looked for yet, without waiting."""
        found = self._after(self._seen)
        if found:
            self._seen = found[-1][0]
        return [line for _, line in found]

    async def expect(self, match: Any, *, within: float | None = None, because: str = "") -> str:
        """Wait for a line that matches, after the one that the last call found. Returns it.

        Raises:
            WaitTimeout: if none comes; the message shows the lines that came instead.
            ExpectationError: if the app fails first.
        """
        wanted, seconds = matcher(match), self._seconds(within)
        record = await self._next(wanted.matches, self._seen, seconds)
        if record is None or not self._is_line(record):
            raise self._missed(_expected(wanted, because), seconds, record, wanted)
        self._seen = record.position
        return _text(record)

    check = checking(expect)

    async def expect_nothing(self, *, within: float) -> None:
        """Expect that no line comes; after the end of the app none can. One that has come unexpectedly counts.

        Raises:
            ExpectationError: if one comes.
        """
        record = await self._next(lambda _: True, self._seen, finite(within))
        if record is not None and self._is_line(record):
            raise ExpectationError(
                f"{self._channel} was expected to stay quiet for {within:g} s", seen=preview(_text(record))
            )

    check_nothing = checking(expect_nothing)

    async def collect(self, count: int, *, within: float | None = None) -> list[str]:
        """Wait for the next `count` lines, whatever they say: all of them before one deadline.

        Raises:
            ValueError: if `count` is less than 0.
            WaitTimeout: if fewer come; the message shows those that did.
            ExpectationError: if the app fails first.
        """
        if type(count) is not int or count < 0:
            raise ValueError(f"a number of lines is a whole number from 0, got {count!r}")
        seconds, wanted = self._seconds(within), count
        found: list[str] = []

        def is_last(line: str) -> bool:
            found.append(line)
            return len(found) == wanted

        if count:
            record = await self._next(is_last, self._seen, seconds)
            if record is None or not self._is_line(record):
                raise self._missed(f"{count} line(s); {len(found)} came", seconds, record)
            self._seen = record.position
        return found

    async def collect_all(self, *, within: float) -> list[str]:
        """All lines that come within some seconds, or until the app fails; none is fine too."""
        await self._next(lambda _: False, self._seen, within)
        return self.drain()

    def _seconds(self, within: float | None) -> float:
        return self._within if within is None else within

    async def _next(self, fits: Callable[[str], bool], after: int, within: float) -> Record | None:
        """The first line that fits, or the end of the app."""

        def found(record: Record) -> bool:
            return has_ended(record, self._app) or (self._is_line(record) and fits(_text(record)))

        return await first_record(self._journal, found, after=after, within=within)

    def _missed(
        self, expected: str, seconds: float, end: Record | None, wanted: Matcher | None = None
    ) -> ExpectationError:
        shown = [preview(line) for _, line in self._after(self._seen)]
        if not shown:
            shown = [f"no line at all; {self._describe_input()}"]
        elif end is None:
            shown.append(self._describe_input())
        hint = "look at what the app did instead; give it more time with within= if it is slow"
        if wanted is not None and (early := self._early(wanted)):
            shown.append(f"{preview(early[-1])} came before the line that was expected last")
            hint = "expect the lines in the order in which they come"
        if end is None:
            summary = f"{self._channel} did not show the expected line within {seconds:g} s"
            return WaitTimeout(summary, expected=expected, seen="\n".join(shown), hint=hint)
        how = self._describe_end(end)
        shown.append(how)
        summary = f"{ended(how)}; {self._channel} did not show the expected line"
        hint = "look at why the app ended; the lines above are those that nobody has expected"
        return ExpectationError(summary, expected=expected, seen="\n".join(shown), hint=hint)

    def _early(self, wanted: Matcher) -> list[str]:
        """Lines that fit, among those that the test has gone past."""
        return [
            line for place, line in self._after(self._begun) if place <= self._seen and wanted.matches(line)
        ]

    def _after(self, position: int) -> list[tuple[int, str]]:
        return [
            (record.position, _text(record))
            for record in self._journal.read(position)
            if self._is_line(record)
        ]

    def _is_line(self, record: Record) -> bool:
        return isinstance(record.event, MessageSent) and record.event.channel == self._channel


def _text(record: Record) -> str:
    return str(getattr(record.event, "text", ""))


def _expected(wanted: Matcher, because: str) -> str:
    return f"{wanted.describe()}, because {because}" if because else wanted.describe()
