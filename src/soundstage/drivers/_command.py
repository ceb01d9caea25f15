"""Any program as a driver: lines in, lines out, an exit code.

A program that exits with an error fails the run, unless the test has agreed to its code (`_exits`).

Every line that it prints is an event as soon as it comes. `expect` and `wait` wait for events, never for time
to pass, and fail at once when the program ends without showing what was expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from soundstage.clock import time_limit
from soundstage.drivers._argv import checked_argv
from soundstage.drivers._isolation import AnyIsolation, Isolation
from soundstage.drivers._program import Program
from soundstage.errors import ExpectationError, WaitTimeout
from soundstage.journal import Journal, MessageReceived, MessageSent, ProcessExited, Record
from soundstage.lifecycle import GRACE, SHOWN, Process
from soundstage.match import Matcher, matcher, preview
from soundstage.net import EgressProxy
from soundstage.trace import checking

WITHIN = 10.0
UNSAID: Final = 10_000  # a code that no program exits with


class Command(Program):
    """A program that runs in a throw-away home, with every way out refused and recorded.

    Args:
        argv: the program and its arguments.
        journal: where its start, lines and exit go.
        cwd: the folder that it runs in; its throw-away home unless given.
        environment: variables that it gets besides the isolated ones; they win.
        allow: names of our variables that it gets too, such as `PYTHONPATH`.
        stdin: text for its standard input, which then ends; without it, use `send`.
        proxy: a proxy that runs already; one of its own unless given, or named in `environment`.
        isolation: how far it is kept apart.
        grace: seconds that it gets after SIGTERM, when it is stopped and still runs.
        code: the exit code that it is to have; any, if `None`.
        name: how messages and the journal call it; the program's name unless given.

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
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        allow: Iterable[str] = (),
        stdin: str | None = None,
        proxy: EgressProxy | None = None,
        isolation: AnyIsolation = Isolation.PROCESS,
        grace: float = GRACE,
        code: int | None = 0,
        name: str = "",
    ) -> None:
        if not argv:
            raise ValueError("a command needs at least the program: argv is empty")
        super().__init__(
            name or Path(str(argv[0])).name,
            tuple(str(part) for part in checked_argv(argv, cwd, here=Path.cwd())),
            journal,
            cwd=cwd,
            environment=environment,
            allow=allow,
            proxy=proxy,
            isolation=isolation,
            grace=grace,
            code=code,
        )
        self._stdin = stdin
        self._position = 0  # of the last expected line

    def _made(self, **options: Any) -> Process:
        return Process(self.argv, self.journal, on_line=self._heard, **options)

    def _begun(self, process: Process) -> None:
        if self._stdin is not None:
            self._received(self._stdin)
            process.feed(self._stdin.encode())
        self._position = process.started_at or 0

    async def _end(self, process: Process) -> None:
        process.end_input()
        await process.terminate(grace=self._grace)

    def _seen(self) -> str:
        return f"{self._shown(0) or 'no line at all'}\nexit code {self.exit_code}"

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

    async def expect(self, match: Any, *, within: float = WITHIN, channel: str | None = None) -> str:
        """Wait for a line that matches, after the one that the last `expect` found. Returns it.

        Args:
            match: text, `/regex/`, or whatever `soundstage.match` takes.
            within: seconds.
            channel: `stdout` or `stderr`; either unless given.

        Raises:
            ExpectationError: if it exits first.
            WaitTimeout: if no such line comes in time; it runs on.
        """
        wanted = matcher(match)
        try:
            async with time_limit(within):
                record = await self._next(wanted, channel)
        except TimeoutError:
            raise WaitTimeout(
                f"{self.name} did not print the expected line within {within:g} s",
                expected=wanted.describe(),
                seen=self._shown(self._position) or "no line at all",
                hint="what is shown above came after the last expected line",
            ) from None
        if isinstance(record.event, ProcessExited):
            self._exits.told()
            raise ExpectationError(
                f"{self.name} exited with code {record.event.code} and did not print the expected line",
                expected=wanted.describe(),
                seen=self._shown(self._position) or "no line after the last expected one",
            )
        self._position = record.position
        return str(getattr(record.event, "text", ""))

    check = checking(expect)

    async def _next(self, wanted: Matcher, channel: str | None) -> Record:
        started = self._running().started_at
        async for record in self.journal.tail(self._position):
            if record.source != self.name or record.cause != started:
                continue
            event = record.event
            if isinstance(event, ProcessExited):
                return record
            if (
                isinstance(event, MessageSent)
                and channel in (None, event.channel)
                and wanted.matches(event.text)
            ):
                return record
        raise AssertionError("a tail has no end")

    def lines(self, channel: str = "stdout") -> list[str]:
        """All lines that it has printed."""
        return [text for said, text in self._lines_after(0) if said == channel]

    def _lines_after(self, position: int) -> list[tuple[str, str]]:
        started = self._running().started_at
        return [
            (record.event.channel, record.event.text)
            for record in self.journal.read(position)
            if isinstance(record.event, MessageSent)
            and record.source == self.name
            and record.cause == started
        ]

    def _shown(self, position: int) -> str:
        return "\n".join(
            f"{channel}: {preview(text)}" for channel, text in self._lines_after(position)[-SHOWN:]
        )

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
                seen=self._shown(0) or "no line at all",
                hint="it may wait for input: end_input() ends it; it has been ended now",
            ) from None
        self._exits.check(self._exits.code if code == UNSAID else code, found, self._seen())
        return found
