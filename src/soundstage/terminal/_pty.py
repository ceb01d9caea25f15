"""A program on a pseudo-terminal: its process, and our end of its terminal.

How reading works. `read` waits until there is something, and then takes what comes until a turn of the event
loop has brought nothing more, or there is a good deal of it. So what a program writes in one go arrives in one
piece, and one that never stops is heard in large pieces. Nobody reads while a piece is being drawn: the system
then keeps some kilobytes, and the program waits.

The end comes when no process has the terminal open any more. Linux says it by an error (EIO), others by an
empty read.

Writing never waits. What the system does not take at once is kept and written when it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Callable, Coroutine
from typing import Any, Final

from soundstage.errors import EnvironmentProblem
from soundstage.lifecycle import GRACE, Process

ENOUGH: Final = 1024 * 1024  # bytes of one piece
TURNS: Final = 64  # of the event loop, at most, in which a piece is collected
_PIECE: Final = 65536
_IUTF8: Final = 0x4000  # termios(3) on Linux: erasing takes whole characters; Python has no name for it
_INPUT, _LOCAL = 0, 3  # places in what tcgetattr returns


class Pty:
    """Our end of a pseudo-terminal.

    Args:
        columns: how wide it is.
        rows: how high.
        echo: whether what is typed is shown, as long as the program does not change that.

    Raises:
        EnvironmentProblem: if the system has none left.
    """

    def __init__(self, columns: int, rows: int, *, echo: bool = True) -> None:
        try:
            self.fd, self.theirs = os.openpty()
        except OSError as error:
            raise EnvironmentProblem(
                "the system has no pseudo-terminal left",
                seen=error.strerror or str(error),
                hint="end programs that hold some; `sysctl kernel.pty.max` is the limit on Linux",
            ) from None
        os.set_blocking(self.fd, False)
        self._unsent = bytearray()
        self._open = {self.fd, self.theirs}
        self._set_modes(echo=echo)
        self.resize(columns, rows)

    def _set_modes(self, *, echo: bool) -> None:
        """As terminals for UTF-8 do."""
        modes = termios.tcgetattr(self.theirs)
        modes[_INPUT] |= _IUTF8
        if not echo:
            modes[_LOCAL] &= ~termios.ECHO
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self.theirs, termios.TCSANOW, modes)

    def resize(self, columns: int, rows: int) -> None:
        """Tell the system the size; it sends SIGWINCH to whatever is in the foreground."""
        with contextlib.suppress(OSError):  # nobody is there any more
            fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    async def read(self) -> bytes:
        """Wait for output and return it. Empty at the end."""
        found = bytearray()
        while not found:
            await self._readable()
            if self._take(found):
                break
        for _ in range(TURNS):
            await asyncio.sleep(0)
            before = len(found)
            if self._take(found) or len(found) == before or before >= ENOUGH:
                break
        return bytes(found)

    def _take(self, found: bytearray) -> bool:
        """Add what is there now to `found`; whether the end is reached."""
        with contextlib.suppress(BlockingIOError):
            while len(found) < ENOUGH:
                piece = self._read_piece()
                if not piece:
                    return True
                found += piece
        return False

    def _read_piece(self) -> bytes:
        try:
            return os.read(self.fd, _PIECE)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return b""

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self.fd, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self.fd)

    def write(self, data: bytes) -> None:
        """Input for the program. Does not wait for it to be read."""
        self._unsent += data
        self._flush()

    def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._unsent:
                del self._unsent[: os.write(self.fd, self._unsent)]
        except BlockingIOError:
            loop.add_writer(self.fd, self._flush)
            return
        except OSError:  # nobody is there any more
            self._unsent.clear()
        loop.remove_writer(self.fd)

    @property
    def unsent(self) -> int:
        """Bytes of input that the system has not taken, because the program does not read."""
        return len(self._unsent)

    def close_theirs(self) -> None:
        """Leave the program's end to the program."""
        self._close(self.theirs)

    def close(self) -> None:
        """Close both ends. Harmless when repeated."""
        if self.fd in self._open:
            asyncio.get_running_loop().remove_writer(self.fd)
        self._close(self.theirs)
        self._close(self.fd)

    def _close(self, fd: int) -> None:
        if fd in self._open:
            self._open.remove(fd)
            os.close(fd)


class PtyProcess(Process):
    """A program on a pseudo-terminal. Takes what `Process` takes, and:

    Args:
        pty: its terminal.
        read: reads from the terminal until the end.
    """

    on_terminal = True

    def __init__(
        self, *args: Any, pty: Pty, read: Callable[[], Coroutine[Any, Any, None]], **kwargs: Any
    ) -> None:
        super().__init__(*args, on_line=_no_line, **kwargs)
        self._pty = pty
        self._read_all = read

    def _streams(self) -> tuple[int, int, int]:
        return (self._pty.theirs,) * 3

    async def start(self) -> None:
        """Start the program; return when it runs."""
        await super().start()
        self._pty.close_theirs()  # so that the end is seen when the program has closed it too

    def _readers(self) -> list[Coroutine[Any, Any, None]]:
        return [self._read_all()]

    async def end(self, *, grace: float = GRACE) -> int:
        """End it as a terminal does whose window is closed, and as a service manager does; then kill it."""
        for number in (signal.SIGCONT, signal.SIGHUP):
            self.signal(number)
        return await self.terminate(grace=grace)

    def describe_exit(self) -> str:
        """How it ended, for messages."""
        code = self.code or 0
        if code >= 0:
            return f"exit code {code}"
        with contextlib.suppress(ValueError):
            return f"ended by {signal.Signals(-code).name}"
        return f"ended by signal {-code}"


def _no_line(_channel: str, _line: str) -> None:
    """A terminal has no lines, but a screen."""
