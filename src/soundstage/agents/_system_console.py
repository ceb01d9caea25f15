"""The machine's console, for apps that run for real: a thread reads lines, the event loop gets them.

Reading from a terminal blocks and cannot be cancelled, so it happens in a thread that does not keep the process
alive. The thread starts with the first `read_line` and belongs to the event loop of that call.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from typing import TextIO


class SystemConsole:
    """Standard input, output and errors, or other text streams.

    Args:
        stdin: where lines come from; the process's standard input, unless given.
        stdout: where lines go; the process's standard output, unless given.
        stderr: where errors go; the process's standard error, unless given.
    """

    def __init__(
        self, stdin: TextIO | None = None, stdout: TextIO | None = None, stderr: TextIO | None = None
    ) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._stderr = stderr
        self._lines: asyncio.Queue[str | None] | None = None
        self._ended = False

    async def read_line(self) -> str | None:
        """The next line without its line end; `None` at the end of input, however often it is asked."""
        if self._lines is None:
            self._lines = asyncio.Queue()
            reading = (self._stdin or sys.stdin, asyncio.get_running_loop(), self._lines)
            threading.Thread(target=_read, args=reading, name="console input", daemon=True).start()
        if self._ended:
            return None
        line = await self._lines.get()
        self._ended = line is None
        return line

    def write_line(self, text: str = "") -> None:
        """Write a line, and show it at once."""
        _write(self._stdout or sys.stdout, text)

    def write_error_line(self, text: str = "") -> None:
        """Write a line on the stream for errors, and show it at once."""
        _write(self._stderr or sys.stderr, text)


def _write(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")
    stream.flush()


def _read(stream: TextIO, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str | None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody reads on
        for line in stream:
            loop.call_soon_threadsafe(lines.put_nowait, line.rstrip("\r\n"))
        loop.call_soon_threadsafe(lines.put_nowait, None)
