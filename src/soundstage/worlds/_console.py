"""The console world, in process: lines in, lines out, end of input.

Two sides. The app holds a `ConsoleIO`: it reads lines and writes text, and nothing tells it that no terminal
is there. The test holds the `Console`: it sends lines and expects output. Between them is the journal: a line
sent is a `MessageReceived`, a line written a `MessageSent`, and `expect` waits for events, so it sees every
line once and in order.

What an app writes as an error is a stream of its own, `console.errors`; a line of it has the channel
`console.errors` too.

The line that the app has read last is what it is working on; what it then writes, and what it then asks its
model, has that line as its cause.

An app that fails shows no more lines, so nobody waits on for one: `expect` fails at once, with the app's error.
"""

from __future__ import annotations

import asyncio
from collections import deque

from soundstage.errors import InvalidStateError
from soundstage.journal import Journal, MessageReceived, MessageSent, Record
from soundstage.match import preview
from soundstage.models import working_on
from soundstage.worlds._console_lines import ConsoleLines, text_of
from soundstage.worlds._inbox import WITHIN, Inbox
from soundstage.worlds._world import APP, World


def errors_of(channel: str) -> str:
    """The channel of what is written as an error."""
    return f"{channel}.errors"


class ConsoleIO:
    """The app's side: what an app uses instead of `input` and `print`."""

    def __init__(self, journal: Journal, channel: str) -> None:
        self._journal = journal
        self._channel = channel
        self._lines: deque[tuple[str, int]] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._ended = False
        self._closed = False
        self._partial = ""

    async def read_line(self) -> str | None:
        """The next line of input, without its line end; `None` at the end of input."""
        while not self._lines:
            if self._ended:
                return None
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        return self._next()

    def read_buffered(self) -> str | None:
        """The next line of input if one is there, without waiting; `None` if none is."""
        return self._next() if self._lines else None

    def _next(self) -> str:
        text, position = self._lines.popleft()
        working_on.set(position)
        return text

    def write_line(self, text: str = "") -> None:
        """Write a line.

        Raises:
            InvalidStateError: when the console is closed.
        """
        self.write(text + "\n")

    def write(self, text: str) -> None:
        """Write text; each line of it counts when its line end comes. Carriage returns are dropped.

        Raises:
            InvalidStateError: when the console is closed.
        """
        self._check_open(text)
        *lines, self._partial = (self._partial + text.replace("\r", "")).split("\n")
        for line in lines:
            self._append(line, self._channel)

    def write_error_line(self, text: str = "") -> None:
        """Write a line on the stream for errors; a text of several lines is several.

        Raises:
            InvalidStateError: when the console is closed.
        """
        self._check_open(text)
        for line in text.replace("\r", "").split("\n"):
            self._append(line, errors_of(self._channel))

    def _append(self, line: str, channel: str) -> None:
        sent = MessageSent(text=line, channel=channel)
        self._journal.append(sent, source=self._channel, cause=working_on.get())

    def _check_open(self, text: str) -> None:
        if self._closed:
            raise InvalidStateError(
                f"{self._channel} is closed", seen=preview(text), hint="write before the end of the run"
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

    def close(self) -> None:
        """End the input, and take no more output; for the test side. Harmless when repeated."""
        self.flush()
        self._closed = True
        self.end()

    def _wake(self) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)


class Console(ConsoleLines, World):
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
        World.__init__(self, name, journal)
        self.io = ConsoleIO(journal, name)
        self.app_name = app
        self.within = within
        self._inbox = self._lines_of(name)
        self._errors = ConsoleLines(self._lines_of(errors_of(name)))

    def _lines_of(self, channel: str) -> Inbox[str]:
        def own(record: Record) -> bool:
            return isinstance(record.event, MessageSent) and record.event.channel == channel

        return self.inbox(MessageSent, item=text_of, name=channel, own=own)

    async def _start(self) -> None: ...

    async def _stop(self) -> None:
        self.io.close()

    async def send(self, line: str, *, sender: str = "user") -> int:
        """Type a line and Enter. Returns the position of the event.

        Raises:
            InvalidStateError: after `end_input`.
            TypeError: if `line` is no text.
            ValueError: if it holds a line end.
        """
        if not isinstance(line, str):
            raise TypeError(f"a line is text, got {type(line).__name__}: send(str(...)), or its words")
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

    def pending(self) -> str:
        return f"{self.io.unread} line(s) of input unread"

    @property
    def errors(self) -> ConsoleLines:
        """The lines of `write_error_line`: `lines`, `expect`, `collect` and `drain`, as here."""
        return self._errors
