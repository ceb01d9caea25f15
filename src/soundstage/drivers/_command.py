"""Any program as a driver: lines in, lines out, an exit code.

A program that exits with an error fails the run, unless the test has agreed to its code (`_program`).

Every line that it prints is an event as soon as it comes. `expect` and `wait` wait for events, never for time
to pass, and fail at once when the program ends without showing what was expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Unpack

from soundstage.clock import time_limit
from soundstage.drivers._argv import checked_argv
from soundstage.drivers._program import Program, ProgramOptions
from soundstage.errors import WaitTimeout
from soundstage.journal import Journal, MessageReceived, MessageSent, ProcessExited, Record
from soundstage.lifecycle import SHOWN, Process
from soundstage.match import matcher, preview
from soundstage.trace import checking
from soundstage.worlds import Ends, Inbox, Only, text_of

WITHIN: Final = 10.0
UNSAID: Final = 10_000  # a code that no program exits with


class Command(Program):
    """A program that runs in a throw-away home, with every way out refused and recorded.

    Args:
        argv: the program and its arguments.
        journal: where its start, lines and exit go.
        stdin: text for its standard input, which then ends; without it, use `send`.
        name: how messages and the journal call it; the program's name unless given.
        **options: those of every `Program`: `cwd`, `environment`, `allow`, `proxy`, `isolation`, `grace` and `code`,
            which is 0 unless given.

    Raises:
        EnvironmentProblem: from `start`, if it cannot be run.
        AppError: from `stop`, if it has exited with another code, or crashed, and nobody has looked.

    Example:
        ::

            program = Command([sys.executable, "agent.py"], journal, environment=server.environment())
            await program.start()
            await program.send("hello")
            await program.expect("/hello .*/", within=5)
            await program.stop()
    """

    def __init__(
        self,
        argv: Sequence[str | Path],
        journal: Journal,
        *,
        stdin: str | None = None,
        name: str = "",
        **options: Unpack[ProgramOptions],
    ) -> None:
        words = checked_argv(argv, options.get("cwd"), here=Path.cwd())
        options.setdefault("code", 0)
        super().__init__(name or Path(words[0]).name, words, journal, **options)
        self._stdin = stdin
        self._inbox = Inbox(
            journal,
            self.name,
            MessageSent,
            begun=self.begun,
            within=WITHIN,
            ends=Ends(self._ends_at, self._describe_end),
            item=text_of,
            own=self._is_own,
            source=lambda record: record.event.channel,
            show=_line,
            missed=f"{self.name} did not print the expected line",
        )

    def _made(self, **options: Any) -> Process:
        return Process(self.argv, self.journal, on_line=self._heard, **options)

    def _begun(self, process: Process) -> None:
        if self._stdin is not None:
            self._received(self._stdin)
            process.feed(self._stdin.encode())

    async def _end(self, process: Process) -> None:
        process.end_input()
        await process.terminate(grace=self._grace)

    def _seen(self) -> str:
        return f"{self._shown() or 'no line at all'}\nexit code {self.exit_code}"

    def _heard(self, channel: str, line: str) -> None:
        event = MessageSent(text=line, channel=channel, sender=self.name)
        self.journal.append(event, source=self.name, cause=self._running().started_at)

    def _received(self, text: str) -> int:
        return self.journal.append(
            MessageReceived(text=text, channel="stdin", sender="test"), source=self.name
        )

    async def send(self, line: str) -> int:
        """Write a line to its standard input. Returns the position of the event.

        Raises:
            AppError: if it has exited, or closed its input.
            InvalidStateError: after `end_input`.
        """
        process = self._running()
        position = self._received(line)
        await process.write(line.encode() + b"\n")
        return position

    def end_input(self) -> None:
        """End its standard input, like Ctrl-D. Harmless when repeated."""
        self._running().end_input()

    async def expect(
        self, match: Any, *, within: float | None = None, channel: str | None = None, because: str = ""
    ) -> str:
        """Wait for a line that matches, after the one that the last `expect` found in its channel. Returns it.

        Args:
            match: text, `/regex/`, or whatever `soundstage.match` takes.
            within: seconds; 10, unless given.
            channel: `stdout` or `stderr`; either unless given.
            because: why the line has to come; the message of a failure shows it.

        Raises:
            ExpectationError: if it exits first.
            WaitTimeout: if no such line comes in time; it runs on.
        """
        return await self._running_inbox().expect(
            matcher(match), only=_in(channel), within=within, because=because
        )

    check = checking(expect)

    async def expect_nothing(self, *, within: float, channel: str | None = None) -> None:
        """Expect that it prints no line for `within` seconds; one that was not expected before counts.

        Raises:
            ExpectationError: if there is one.
        """
        await self._running_inbox().expect_nothing(within=within, only=_in(channel))

    check_nothing = checking(expect_nothing)

    async def collect(
        self, count: int, *, within: float | None = None, channel: str | None = None
    ) -> list[str]:
        """Wait for the next `count` lines, whatever they say: all of them before one deadline.

        Raises:
            WaitTimeout: if fewer come.
            ExpectationError: if it exits first.
        """
        return await self._running_inbox().collect(count, within=within, only=_in(channel))

    def lines(self, channel: str = "stdout") -> list[str]:
        """All lines that it has printed."""
        return [said.text for said in self._said() if said.channel == channel]

    def _running_inbox(self) -> Inbox[str]:
        self._running()
        return self._inbox

    def _is_own(self, record: Record) -> bool:
        return record.source == self.name and record.cause == self._running().started_at

    def _ends_at(self, record: Record) -> bool:
        return isinstance(record.event, ProcessExited) and self._is_own(record)

    def _describe_end(self, end: Record) -> str:
        self._exits.told()
        return f"{self.name} exited with code {getattr(end.event, 'code', None)}"

    def _said(self) -> list[MessageSent]:
        own = [record.event for record in self.journal.read(self.begun) if self._is_own(record)]
        return [event for event in own if isinstance(event, MessageSent)]

    def _shown(self) -> str:
        return "\n".join(map(_line, self._said()[-SHOWN:]))

    async def wait(self, code: int | None = UNSAID, *, within: float = WITHIN) -> int:
        """Wait until it has exited by itself, and return its exit code, negative for a signal.

        Args:
            code: the code that it is to exit with; the one that it was made with, unless given; any, if `None`.
            within: seconds.

        Raises:
            ExpectationError: if it exits with another code, or crashes.
            WaitTimeout: if it does not exit in time; it is ended then.
        """
        process = self._running()
        try:
            async with time_limit(within):
                found = await process.wait()
        except TimeoutError:
            self._exits.told()
            process.end_input()
            await process.terminate(grace=self._grace)
            raise WaitTimeout(
                f"{self.name} did not exit within {within:g} s",
                expected="an exit by itself",
                seen=self._shown() or "no line at all",
                hint="it may wait for input: end_input() ends it; it has been ended now",
            ) from None
        self._exits.check(self._exits.code if code == UNSAID else code, found, self._seen())
        return found


def _line(said: MessageSent) -> str:
    return f"{said.channel}: {preview(said.text)}"


def _in(channel: str | None) -> Only | None:
    return None if channel is None else lambda said: said.channel == channel
