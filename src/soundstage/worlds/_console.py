"""The console world, in process: lines in, lines out, end of input.

Two sides. The app holds a `ConsoleIO`: it reads lines and writes text, and nothing tells it that no terminal
is there. The test holds the `Console`: it sends lines and expects output. Between them is the journal: a line
sent is a `MessageReceived`, a line written a `MessageSent`, and `expect` waits for events, so it sees every
line once and in order.

The line that the app has read last is what it is working on; what it then writes, and what it then asks its
model, has that line as its cause.

An app that fails shows no more lines, so nobody waits on for one: `expect` fails at once, with the app's error.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final

from soundstage.errors import ExpectationError, InvalidStateError, WaitTimeout
from soundstage.journal import Event, Journal, MessageReceived, MessageSent, Record
from soundstage.lifecycle import Daemon
from soundstage.match import Matcher, matcher, preview
from soundstage.models import working_on
from soundstage.worlds._waiting import APP, describe_end, first_record, has_ended

WITHIN: Final = 5.0


class ConsoleIO:
    """The app's side: what an app uses instead of `input` and `print`."""

    def __init__(self, journal: Journal, channel: str) -> None:
        self._journal = journal
        self._channel = channel
        self._lines: deque[tuple[str, int]] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._ended = False
        self._partial = ""

    async def read_line(self) -> str | None:
        """The next line of input, without its line end; `None` at the end of input."""
        while not self._lines:
            if self._ended:
                return None
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        text, position = self._lines.popleft()
        working_on.set(position)
        return text

    def write_line(self, text: str = "") -> None:
        """Write a line."""
        self.write(text + "\n")

    def write(self, text: str) -> None:
        """Write text; each line of it counts when its line end comes. Carriage returns are dropped."""
        *lines, self._partial = (self._partial + text.replace("\r", "")).split("\n")
        for line in lines:
            self._journal.append(
                MessageSent(text=line, channel=self._channel), source=self._channel, cause=working_on.get()
            )

    def flush(self) -> None:
        """Count text without a line end as a line."""
        if self._partial:
            self.write_line()

    @property
    def unread(self) -> int:
        """Lines that the app has not read yet."""
        return len(self._lines)

    @property
    def ended(self) -> bool:
        """Whether the input has been ended by the test."""
        return self._ended

    def put(self, text: str, position: int) -> None:
        """Add a line of input; for the test side."""
        self._lines.append((text, position))
        self._wake()

    def end(self) -> None:
        """End the input; for the test side."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)


class Console(Daemon):
    """The test's side of an in-process console.

    Args:
        journal: where lines go.
        name: how messages and the journal call it.
        within: seconds that `expect` waits, unless it is told otherwise.
        app: the name of the daemon that reads from it and writes to it, or of its program in the journal.

    Example:
        >>> from soundstage.clock import run
        >>> async def main():
        ...     console = Console(Journal())
        ...     await console.start()
        ...     console.io.write_line("hello")
        ...     return await console.expect("hello")
        >>> run(main())
        'hello'
    """

    def __init__(
        self, journal: Journal, *, name: str = "console", within: float = WITHIN, app: str = APP
    ) -> None:
        super().__init__(name, journal)
        self.io = ConsoleIO(journal, name)
        self._within = within
        self.app_name = app
        self._begun = self._seen = 0

    async def _start(self) -> None:
        self._begun = self._seen = len(self.journal)

    async def _stop(self) -> None:
        self.io.flush()
        self.io.end()

    async def send(self, line: str, *, sender: str = "user") -> int:
        """Type a line and Enter. Returns the position of the event.

        Raises:
            InvalidStateError: after `end_input`.
            ValueError: if `line` holds a line end.
        """
        if "\n" in line:
            raise ValueError("send one line at a time: the text holds a line end")
        if self.io.ended:
            raise InvalidStateError(
                f"the input of {self.name} has ended",
                seen=preview(line),
                hint="send lines before end_input()",
            )
        event = MessageReceived(text=line, channel=self.name, sender=sender)
        position = self.journal.append(event, source=self.name)
        self._put(line, position)
        return position

    def _put(self, line: str, position: int) -> None:
        self.io.put(line, position)

    def end_input(self) -> None:
        """End the input, like Ctrl-D: the app reads what is left, then `None`. Harmless when repeated."""
        self.io.end()

    async def expect(self, match: Any, *, within: float | None = None, because: str = "") -> str:
        """Wait for a line that matches, after the one that the last `expect` found. Returns it.

        Args:
            match: text, `/regex/`, or whatever `soundstage.match` takes.
            within: seconds on the run's clock; 5, unless the console was made with another number.
            because: why the line has to come; the message of a failure shows it.

        Raises:
            WaitTimeout: if none comes; the message shows the lines that came instead.
            ExpectationError: if the app fails first.
        """
        wanted, start = matcher(match), self._seen
        seconds = self._within if within is None else within

        def fits(record: Record) -> bool:
            return has_ended(record, self.app_name) or (
                self._is_line(record.event) and wanted.matches(getattr(record.event, "text", ""))
            )

        record = await first_record(self.journal, fits, after=start, within=seconds)
        if record is None or not self._is_line(record.event):
            raise self._missed(wanted, seconds, record, because)
        self._seen = record.position
        return str(getattr(record.event, "text", ""))

    def _missed(self, wanted: Matcher, seconds: float, end: Record | None, because: str) -> ExpectationError:
        lines = [preview(line) for line in self._lines_after(self._seen)]
        shown = lines or [f"no line at all; {self.io.unread} line(s) of input unread"]
        hint = "what is shown above came after the last expected line"
        expected = f"{wanted.describe()}, because {because}" if because else wanted.describe()
        if end is None:
            summary = f"{self.name} did not show the expected line within {seconds:g} s"
            return WaitTimeout(summary, expected=expected, seen="\n".join(shown), hint=hint)
        shown.append(self._describe_end(end))
        summary = f"the app on {self.name} ended and did not show the expected line"
        return ExpectationError(summary, expected=expected, seen="\n".join(shown), hint=hint)

    def _describe_end(self, end: Record) -> str:
        return describe_end(end)

    async def expect_nothing(self, *, within: float) -> None:
        """Expect that no line comes for `within` seconds. On virtual time this takes none of yours.

        A line that has come and was not expected counts.

        Raises:
            ExpectationError: if one comes.
        """
        try:
            record: Record = await self.journal.wait_for(self._is_line, within=within, after=self._seen)
        except WaitTimeout:
            return
        raise ExpectationError(
            f"{self.name} was expected to stay quiet for {within:g} s",
            seen=preview(getattr(record.event, "text", "")),
        )

    @property
    def lines(self) -> list[str]:
        """All lines that the app has written in this run."""
        return self._lines_after(self._begun)

    def _lines_after(self, position: int) -> list[str]:
        return [
            record.event.text
            for record in self.journal.read(position)
            if isinstance(record.event, MessageSent) and self._is_line(record.event)
        ]

    def _is_line(self, event: Event) -> bool:
        return isinstance(event, MessageSent) and event.channel == self.name
