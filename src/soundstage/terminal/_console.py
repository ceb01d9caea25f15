"""A console whose app is a program on a terminal: a test cannot tell it from a console in process.

How it works. The program runs on a terminal that does not show what is typed, so all output is the program's own.
It is drawn on a screen as on any terminal, and cut into lines besides: each line is a
`MessageSent` of the console, as in process, with the line that was typed last as its cause. Escape sequences
are left out of the lines; the screen has them.

A flood. Each line is an event, and a program that never stops writing must not fill the memory: after `FLOOD` lines
without an act of the test, lines are counted and no longer kept; a note says how many. The screen shows the last ones.

The end. The console ends the input, as Ctrl-D does, and gives the program some seconds to end by itself. What reads
no input, such as a bot, is told with Ctrl-C instead, as a person would. A program that fails (an exit code that is
not 0, or a signal that is not ours) fails the run, unless the test has agreed to its code (`_program`).
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from soundstage.errors import AppError, InvalidStateError
from soundstage.journal import Journal, MessageSent, Noted, Record
from soundstage.lifecycle import LineSplitter
from soundstage.terminal._screen import Screen
from soundstage.terminal._terminal import Terminal
from soundstage.worlds import Console, ConsoleLines

WITHIN: Final = 30.0
GRACE: Final = 5.0
FLOOD: Final = 10_000  # lines that are kept until the test acts again
END_OF_INPUT: Final = b"\x04"
INTERRUPT: Final = b"\x03"
INTERRUPTED: Final = (130, -2)  # how programs exit after Ctrl-C: with the shell's code, or of the signal
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_=>])")


class TerminalConsole(Console):
    """A program on a terminal, with the test's side of a console: `send`, `expect`, `end_input`, `lines`.

    Args:
        argv: the program and its arguments.
        journal: where everything goes.
        environment: variables that the program gets besides the isolated ones; a function is called at the start.
        ready: is awaited after the start: the program counts as started when it returns.
        name: how messages and the journal call it.
        within: seconds that waits take at most, here and on its `terminal`, unless they are told otherwise.
        grace: seconds that the program gets to end when its input has ended.
        interrupt: whether it is told to end with Ctrl-C, too: for programs that do not end with their input.
        **options: what `Terminal` takes besides: `columns`, `rows`, `cwd`, `allow`, `proxy`, `isolation`, `code`.

    Raises:
        AppError: from `start` or `stop`, if the program fails.
    """

    def __init__(
        self,
        argv: Sequence[str | Path],
        journal: Journal,
        *,
        environment: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None,
        ready: Callable[[], Awaitable[None]] | None = None,
        name: str = "console",
        within: float = WITHIN,
        grace: float = GRACE,
        interrupt: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(journal, name=name, within=within, app=f"{name}.terminal")
        self._argv = argv
        self._environment = environment
        self._ready = ready
        self._grace = grace
        self._interrupt = interrupt
        self._options = options
        self._terminal: Terminal | None = None
        self._splitter = LineSplitter()
        self._typed: int | None = None
        self._room = FLOOD
        self._dropped = 0

    @property
    def terminal(self) -> Terminal:
        """The terminal, for what only a terminal has: `press`, `resize`, `screen`.

        Raises:
            InvalidStateError: before the start.
        """
        if self._terminal is None:
            raise InvalidStateError(f"{self.name} has not started", hint="start it first")
        return self._terminal

    @property
    def screen(self) -> Screen:
        """The screen now."""
        return self.terminal.screen

    @property
    def errors(self) -> ConsoleLines:
        """Nothing: a terminal shows what a program writes as an error with everything else.

        Raises:
            InvalidStateError: always.
        """
        raise InvalidStateError(
            f"a terminal shows errors and output as one, so {self.name} cannot tell them apart",
            hint="expect the line with console.expect(...); for streams apart, use the driver Command",
        )

    async def _start(self) -> None:
        await super()._start()
        environment = self._environment
        self._terminal = Terminal(
            self._argv,
            self.journal,
            environment=environment() if callable(environment) else environment or {},
            echo=False,
            on_output=self._heard,
            name=self.app_name,
            within=self.within,
            **self._options,
        )
        await self._terminal.start()
        if self._ready is not None:
            try:
                await self._until_ready(self._terminal, self._ready())
            except BaseException:
                await self._terminal.stop()
                raise

    async def _until_ready(self, terminal: Terminal, ready: Awaitable[None]) -> None:
        """Wait until it is ready, or has exited instead."""
        getting_ready = asyncio.ensure_future(ready)
        exit_ = asyncio.ensure_future(terminal.ended(within=math.inf))
        try:
            await asyncio.wait([getting_ready, exit_], return_when=asyncio.FIRST_COMPLETED)
            if not getting_ready.done():
                raise AppError(
                    f"the program on {self.name} ended before it was ready",
                    expected="it runs, and does what it does first",
                    seen=f"exit code {terminal.exit_code}\n{self._shown()}",
                )
            getting_ready.result()
        finally:
            for task in (getting_ready, exit_):
                task.cancel()
            await asyncio.gather(getting_ready, exit_, return_exceptions=True)

    def _heard(self, data: bytes) -> None:
        self._tell(self._splitter.feed(data))

    def _tell(self, lines: list[str]) -> None:
        kept = lines[: self._room]
        self._room -= len(kept)
        self._dropped += len(lines) - len(kept)
        for line in kept:
            sent = MessageSent(text=_ESCAPES.sub("", line), channel=self.name)
            self.journal.append(sent, source=self.name, cause=self._typed)

    def _note_flood(self) -> None:
        """The test acts: say what was dropped, and keep lines again."""
        if self._dropped:
            note = Noted(text=f"{self._dropped} lines of a flood were not kept", data={"kept": FLOOD})
            self.journal.append(note, source=self.name, cause=self._typed)
        self._room, self._dropped = FLOOD, 0

    def _put(self, line: str, position: int) -> None:
        self._note_flood()
        self._typed = position
        self.terminal.feed(line.encode() + b"\n", position)

    def end_input(self) -> None:
        """End the input, as Ctrl-D does. Harmless when repeated, or when the program has exited."""
        if not self.io.ended:
            self._press(END_OF_INPUT)
        super().end_input()

    def _press(self, key: bytes) -> None:
        if self.terminal.exit_code is None:
            with contextlib.suppress(AppError):  # it exits at this moment
                self.terminal.feed(key, self._typed)

    def describe_end(self, end: Record) -> str:
        return f"{super().describe_end(end)}\n{self.terminal.show_last()}"

    def pending(self) -> str:
        ended = self.terminal.exit_code is not None  # then `describe_end` shows the screen
        return "" if ended else f"this is on the screen:\n{self._shown()}"

    def _shown(self) -> str:
        return self.terminal.screen.screenshot(cut=True)

    async def _stop(self) -> None:
        self._note_flood()
        terminal = self.terminal
        try:
            self.end_input()
            if self._interrupt:
                terminal.agree(0, *INTERRUPTED)
                self._press(INTERRUPT)
            await terminal.ended(within=self._grace)  # or it needs to be told otherwise
        finally:
            try:
                await terminal.stop()
            finally:
                self._tell(self._splitter.flush())
