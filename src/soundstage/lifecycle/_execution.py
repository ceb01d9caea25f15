"""One execution of a program: a process that runs to its end, and its output as a whole.

Code on an event loop awaits `finish`. Code that blocks calls `run`, which has an event loop of its own for that long:
so a tool in a thread starts programs on virtual time too, where the loop of the run starts none. Both can be stopped
from any thread.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.clock import time_limit
from soundstage.journal import Journal
from soundstage.lifecycle._isolator import Isolator
from soundstage.lifecycle._process import Process

_HALF: Final = 1024 * 1024  # bytes that are kept of the beginning and of the end of an output


class Finished(NamedTuple):
    """The end of an execution.

    Args:
        code: the exit code, negative for a signal.
        stdout: what the program printed; of a flood the beginning and the end.
        stderr: what it printed as errors.
        expired: whether its time was up.
    """

    code: int
    stdout: str
    stderr: str
    expired: bool = False


class Execution:
    """A program that runs once, to its end, with all that it starts.

    Args:
        argv: the program and its arguments.
        cwd: the folder that it runs in.
        environment: all of its variables; nothing is inherited.
        stdin: its standard input, which then ends.
        together: whether standard error goes into the output.
        grace: seconds that it gets after SIGTERM when its time is up, before it is killed.
        journal: where its start and exit go; nowhere unless given.
        source: who it belongs to, in the journal.
        isolator: what keeps it apart besides its folders and variables.

    Example:
        >>> from pathlib import Path
        >>> Execution(["/bin/echo", "hello"], cwd=Path("/"), environment={}).run(within=30).stdout
        'hello\\n'
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        stdin: bytes = b"",
        together: bool = False,
        grace: float = 0.0,
        journal: Journal | None = None,
        source: str = "program",
        isolator: Isolator | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "source": source,
            "cwd": cwd,
            "environment": environment,
            "isolator": isolator,
            "together": together,
        }
        self._argv = tuple(argv)
        self._journal = journal
        self._stdin = stdin
        self._grace = grace
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._stopped = False

    def run(self, within: float) -> Finished:
        """Run it to its end, in a thread without an event loop.

        Raises:
            EnvironmentProblem: if it cannot be run.
        """
        return asyncio.run(self.finish(within))

    async def finish(self, within: float) -> Finished:
        """Run it to its end. One that is cancelled is killed.

        Raises:
            EnvironmentProblem: if it cannot be run.
        """
        if self._stopped:
            return Finished(-signal.SIGKILL, "", "")
        journal = self._journal if self._journal is not None else Journal()
        process = _KeepingProcess(self._argv, journal, **self._options)
        await process.start()
        self._began(process)
        expired = False
        try:
            process.feed(self._stdin)
            async with time_limit(within):
                await process.wait()
        except TimeoutError:
            expired = True
            await process.terminate(grace=self._grace)
        except BaseException:
            await process.killed()
            raise
        return Finished(await process.wait(), process.text("stdout"), process.text("stderr"), expired)

    def _began(self, process: Process) -> None:
        with self._lock:
            self._process = process
            if self._stopped:
                process.kill()

    def stop(self) -> None:
        """Kill it and all that it has started. Harmless before it runs and when it is over."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()


class _KeepingProcess(Process):
    """A process whose output is kept."""

    def __init__(self, *args: Any, together: bool, **options: Any) -> None:
        super().__init__(*args, on_line=_nothing, **options)
        self._together = together
        self._kept = {"stdout": _Kept(), "stderr": _Kept()}

    def _streams(self) -> tuple[int, int, int]:
        given, output, errors = super()._streams()
        return given, output, asyncio.subprocess.STDOUT if self._together else errors

    def _take(self, channel: str, data: bytes) -> None:
        self._kept[channel].add(data)

    def text(self, channel: str) -> str:
        """The output of a channel so far."""
        return self._kept[channel].text()


def _nothing(_channel: str, _line: str) -> None:
    """A line is a part of the output."""


class _Kept:
    """The bytes of a stream; of a flood the beginning and the end."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._in_tail = 0
        self._dropped = 0

    def add(self, piece: bytes) -> None:
        space = max(_HALF - len(self._head), 0)
        self._head += piece[:space]
        if not piece[space:]:
            return
        self._tail.append(piece[space:])
        self._in_tail += len(piece[space:])
        while self._in_tail - len(self._tail[0]) >= _HALF:
            gone = self._tail.popleft()
            self._in_tail -= len(gone)
            self._dropped += len(gone)

    def text(self) -> str:
        notice = f"\n[... {self._dropped} bytes dropped ...]\n".encode() if self._dropped else b""
        return (bytes(self._head) + notice + b"".join(self._tail)).decode("utf-8", "replace")
