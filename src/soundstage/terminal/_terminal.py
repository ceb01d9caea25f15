"""A program on a terminal, as a person uses it: keys in, screens out.

How it works. The program runs on a pseudo-terminal, below the launcher, in a throw-away home (`_process`,
`_pty`, `_isolation`). A background task reads what it writes and draws it on the screen of an emulator, slice
by slice, so that the event loop goes round. Whenever all that has come is drawn, whoever waits is woken and
looks at the screen. Nothing waits for time to pass or for the program to be silent: `expect` returns with the
screen that shows what it wants, and fails when the program has exited without showing it.

What a program overwrites within one go is never seen, as it is with people. A program that marks its updates
(mode 2026, "synchronized output") is shown after each of them, never in between.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Unpack

from soundstage.clock import time_limit
from soundstage.drivers import Program, ProgramOptions, checked_argv
from soundstage.errors import AppError, ExpectationError, ScriptError, WaitTimeout
from soundstage.journal import Journal, MessageReceived, Noted
from soundstage.lifecycle import Process
from soundstage.match import Matcher, matcher
from soundstage.terminal._emulator import Emulator
from soundstage.terminal._keys import key_bytes, paste_bytes
from soundstage.terminal._match import ScreenText, nearest
from soundstage.terminal._pty import Pty, PtyProcess
from soundstage.terminal._screen import Screen
from soundstage.terminal._screen_log import ScreenLog
from soundstage.trace import checking

WITHIN: Final = 5.0
ENVIRONMENT: Final = {"TERM": "xterm-256color"}
MAX_ANSWERS: Final = 65536  # bytes that a program may leave unread


class Terminal(Program):
    """A program on a terminal of its own, in a throw-away home, with every way out refused and recorded.

    Rows and columns count from 0. The program finds TERM=xterm-256color; the size is the terminal's, so COLUMNS
    and LINES are not set.

    Args:
        argv: the program and its arguments.
        journal: where its start, screens and exit go.
        columns: how wide the screen is, 1 to 1000.
        rows: how high.
        scrollback: how many lines to keep that scroll out at the top.
        within: seconds that waits take at most, unless they are told otherwise.
        echo: whether the terminal shows what is typed; a program that edits lines itself decides for itself.
        on_output: gets what the program writes, as it comes, before it is drawn.
        name: how messages and the journal call it.
        **options: those of every `Program`: `cwd`, `environment`, `allow`, `proxy`, `isolation`, `grace` and `code`,
            which is 0 unless given.

    Raises:
        EnvironmentProblem: from `start`, if it cannot be run, or the system has no pseudo-terminal left.
        AppError: from `stop`, if it has exited with another code, or crashed, and nobody has looked.

    Example:
        ::

            terminal = Terminal([sys.executable, "-q"], journal)
            await terminal.start()
            await terminal.expect(">>>")
            await terminal.send_line("6 * 7")
            await terminal.expect("42")
            await terminal.press("Ctrl-D")
            await terminal.expect_exit(0)
            await terminal.stop()
    """

    def __init__(
        self,
        argv: Sequence[str | Path],
        journal: Journal,
        *,
        columns: int = 80,
        rows: int = 24,
        scrollback: int = 1000,
        within: float = WITHIN,
        echo: bool = True,
        on_output: Callable[[bytes], None] | None = None,
        name: str = "terminal",
        **options: Unpack[ProgramOptions],
    ) -> None:
        words = checked_argv(argv, options.get("cwd"), here=Path.cwd())
        options.setdefault("code", 0)
        super().__init__(name, words, journal, **options)
        self._emulator = Emulator(columns=columns, rows=rows, history=scrollback)
        self._within = within
        self._echo = echo
        self._on_output = on_output
        self._log = ScreenLog(journal, name)
        self._pty: Pty | None = None
        self._exit: asyncio.Task[int] | None = None
        self._drawn = False  # to the end
        self._last_shown = False  # by an error that tells of the exit
        self._changed = asyncio.Event()

    # Its life.

    def _variables(self) -> Mapping[str, str]:
        return ENVIRONMENT

    def _made(self, **options: Any) -> PtyProcess:
        self._pty = Pty(*self._emulator.size, echo=self._echo)
        return PtyProcess(self.argv, self.journal, pty=self._pty, read=self._read, **options)

    def _begun(self, process: Process) -> None:
        self._log.cause = process.started_at
        self._exit = asyncio.create_task(process.wait(), name=f"{self.name} exit")
        self._exit.add_done_callback(lambda _: self._wake())

    async def _over(self) -> None:
        if self._exit is not None:
            await self._exit

    async def _stop(self) -> None:
        try:
            await super()._stop()
        finally:
            if self._pty is not None:
                self._pty.close()

    async def _read(self) -> None:
        """Read and draw what the program writes, until its end."""
        pty = self._pty
        assert pty is not None
        while data := await pty.read():
            if self._on_output is not None:
                self._on_output(data)
            self._emulator.add(data)
            await self._draw(pty)
        self._emulator.add(b"", final=True)
        await self._draw(pty)
        self._drawn = True
        self._log.mark(self.screen)

    async def _draw(self, pty: Pty) -> None:
        left = True
        while left:
            left = self._emulator.step()
            answers = self._emulator.take_answers()
            if pty.unsent < MAX_ANSWERS:
                pty.write(answers)
            await asyncio.sleep(0)  # the others' turn
        if self._log.wants_more:
            self._log.pause(self.screen)
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # What it shows.

    @property
    def screen(self) -> Screen:
        """The screen now."""
        return self._emulator.screen(held=not self._drawn)

    @property
    def scrollback(self) -> list[str]:
        """The lines that have scrolled out at the top, oldest first."""
        return self._emulator.scrollback

    def screenshot(self) -> str:
        """The screen now, as text in a frame. `screen.svg()` and `screen.html()` have the colours too."""
        return self.screen.screenshot()

    def show_last(self) -> str:
        """The screen, for an error that tells of the exit; the end of the run does not show it again."""
        self._last_shown = True
        return self.screen.screenshot(cut=True)

    async def snap(self, label: str) -> Screen:
        """Put what is shown now into the journal, under a name; the HTML page of the trace shows it."""
        screen = self.screen
        self._log.name(screen, label)
        return screen

    async def expect(self, match: Any, *, within: float | None = None) -> Screen:
        """Wait until the screen shows something. Returns the screen that does; one that does already counts.

        Args:
            match: a text or a `/regex/`, looked for in the rows joined by newlines, without the spaces at their
                ends; `styled("text", fg="red")`; or whatever `soundstage.match` takes. A function gets the text,
                whose `.screen` is the screen.
            within: seconds.

        Raises:
            ExpectationError: if the program exits without showing it.
            WaitTimeout: if it is not shown in time; the program runs on.
        """
        process = self._running()
        wanted = matcher(match)
        within = self._within if within is None else within
        try:
            async with time_limit(within):
                screen = await self._shows(wanted, process)
        except TimeoutError:
            summary = f"{self.name} did not show what was expected within {within:g} s"
            raise WaitTimeout(summary, expected=wanted.describe(), seen=self._seen(wanted)) from None
        if screen is None:
            self._exits.told()
            raise ExpectationError(
                f"{self.name} exited and did not show what was expected",
                expected=wanted.describe(),
                seen=self._seen(wanted),
            )
        self._log.mark(screen)
        return screen

    check = checking(expect)

    async def _shows(self, wanted: Matcher, process: Process) -> Screen | None:
        """The screen that matches; `None` if the program has exited without."""
        while True:
            changed = self._changed
            screen = self.screen
            if wanted.matches(ScreenText.of(screen)):
                return screen
            if not process.alive:
                await process.wait()  # raises what went wrong with it
                return None
            await changed.wait()

    async def expect_exit(self, code: int | None = 0, *, within: float | None = None) -> int:
        """Wait until the program has exited. Returns its exit code, negative for a signal.

        Args:
            code: the code that it is to exit with; any, if `None`.
            within: seconds.

        Raises:
            ExpectationError: if it exits with another code.
            WaitTimeout: if it does not exit in time; it runs on.
        """
        process = self._running()
        within = self._within if within is None else within
        expected = "an exit" if code is None else f"an exit with code {code}"
        try:
            async with time_limit(within):
                found = await process.wait()
        except TimeoutError:
            summary = f"{self.name} did not exit within {within:g} s"
            raise WaitTimeout(summary, expected=expected, seen=self._seen()) from None
        self._exits.check(code, found, self._seen())
        return found

    check_exit = checking(expect_exit)

    async def ended(self, *, within: float = WITHIN) -> bool:
        """Wait some seconds for its exit; whether it has exited. Says nothing about the code that is expected."""
        with contextlib.suppress(TimeoutError):
            async with time_limit(within):
                await self._running().wait()
        return self.exit_code is not None

    def agree(self, *codes: int) -> None:
        """It may exit with these codes too."""
        self._exits.agree(*codes)

    def _seen(self, wanted: Matcher | None = None) -> str:
        """The screen as it is, and what else may help."""
        screen = self._emulator.screen(held=False)
        self._log.mark(screen)
        lines = [screen.screenshot(cut=True)]
        if wanted is not None:
            lines += nearest(wanted, screen, self.scrollback)
        process = self._running()
        lines.append("it still runs" if process.alive else process.describe_exit())
        if self._pty is not None and self._pty.unsent:
            lines.append(f"it does not read its input: {self._pty.unsent} bytes of it wait")
        if self._emulator.updating:
            lines.append("it has begun a synchronized update (mode 2026) and not ended it")
        return "\n".join(lines)

    def _seen_last(self) -> str:
        return self._running().describe_exit() if self._last_shown else self._seen()

    # What is typed.

    async def send(self, text: str) -> int:
        """Type a text, as it is: control characters and escape sequences too. Returns the event's position.

        While a program reads line by line, Linux takes lines of at most 4095 bytes, and drops what is longer.

        Raises:
            AppError: if the program has exited.
        """
        return self._type(text, text.encode())

    async def send_line(self, text: str = "") -> int:
        """Type a text and Enter."""
        return self._type(text, text.encode() + key_bytes("Enter"))

    async def press(self, *keys: str) -> int:
        """Press keys, one after the other: `Enter`, `Up`, `F5`, `Ctrl-C`, `Alt-x`, `Shift-Tab`, `q`.

        Ctrl-D ends the input of a program that reads line by line.

        Raises:
            ScriptError: for a key that does not exist, or none at all.
            AppError: if the program has exited.
        """
        if not keys:
            raise ScriptError("press() needs at least one key", hint="press('Enter')")
        application = self._emulator.cursor_keys
        data = b"".join(key_bytes(key, application=application) for key in keys)
        return self._type(" ".join(f"[{key}]" for key in keys), data)

    async def paste(self, text: str) -> int:
        """Paste a text; a program that asks for it (bracketed paste) can tell it from typing."""
        return self._type(text, paste_bytes(text, bracketed=self._emulator.bracketed_paste))

    def _type(self, shown: str, data: bytes) -> int:
        process = self._running()
        event = MessageReceived(text=shown, channel=self.name, sender="test")
        self._need_reader()
        position = self.journal.append(event, source=self.name, cause=process.started_at)
        self.feed(data, position)
        return position

    def _need_reader(self) -> None:
        self._log.mark(self.screen)
        if not self._running().alive:
            raise AppError(f"{self.name} has exited and reads nothing", seen=self._seen())

    def feed(self, data: bytes, cause: int | None) -> None:
        """Input that is in the journal already, at position `cause`.

        Raises:
            AppError: if the program has exited.
        """
        self._need_reader()
        self._log.cause = cause
        if self._pty is not None:
            self._pty.write(data)

    async def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size. The program is told by SIGWINCH, and draws anew if it cares.

        Raises:
            ValueError: if it is no size of a screen.
        """
        process = self._running()
        self._log.mark(self.screen)
        self._emulator.resize(columns, rows)
        note = Noted(text=f"the terminal has {columns} columns and {rows} rows now")
        self._log.cause = self.journal.append(note, source=self.name, cause=process.started_at)
        if self._pty is not None:
            self._pty.resize(columns, rows)
        self._wake()
