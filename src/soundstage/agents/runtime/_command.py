"""One command with all that it starts, from start to the last exit. Blocking: it runs in a thread of its own.

How it works. The command leads a session, and so a process group, of its own. A timer, or `stop` from any
thread, kills the group. When the leader has exited by itself the rest of its group is killed too: what a
command leaves in the background does not outlive it. The leader is reaped only after that, so that the number
of the group cannot belong to anybody else meanwhile. A process that has left the group is found by a variable
in its environment, where the system shows it (/proc); one that is just turning into another program shows no
environment for a moment, and is looked at again. Processes older than the command are nobody that it has
started. Then nothing holds the pipes open any more, and the threads that read them come to their end. A process
that has left the group and emptied its environment is not found; it is not waited for either.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from soundstage.journal._secrets import SECRET_NAME
from soundstage.lifecycle import started_at, variables_of

MARK: Final = "SOUNDSTAGE_COMMAND"
_HALF: Final = 1024 * 1024  # bytes that are kept of the beginning and of the end of an output
_PIECE: Final = 65536
_PATIENCE: Final = 2.0  # seconds for the rest of an output when all that we know of is gone
_SWEEPS: Final = 8  # a process may be forking while we look
_numbers = itertools.count(1)


class Finished(NamedTuple):
    """How a command ended. `code` is negative for a signal; `expired` says that its time was up."""

    code: int
    output: str
    errors: str
    expired: bool


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names do not say that they are secret."""
    return {name: value for name, value in environment.items() if not SECRET_NAME.search(name)}


class Command:
    """A command that can be stopped from any thread.

    Args:
        argv: the program and its arguments.
        cwd: where it runs.
        environment: all of its variables.
        text: its standard input.
        together: whether standard error goes into the output.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        text: str = "",
        together: bool = False,
    ) -> None:
        self._argv = tuple(argv)
        self._cwd = cwd
        self._mark = f"{os.getpid()}.{next(_numbers)}"
        self._environment = {**environment, MARK: self._mark}
        self._text = text
        self._together = together
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._expired = False

    def run(self, within: float) -> Finished:
        """Run it to its end.

        Raises:
            OSError: if it cannot be started.
        """
        with tempfile.TemporaryFile() as given:
            given.write(self._text.encode("utf-8", "replace"))
            given.seek(0)
            process = self._start(given)
        if process is None:
            return Finished(-signal.SIGKILL, "", "", expired=False)
        kept = [_Kept(stream) for stream in (process.stdout, process.stderr) if stream is not None]
        timer = threading.Timer(within, self._expire)
        timer.daemon = True
        timer.start()
        try:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        finally:
            timer.cancel()
            code = self._end(process)
        texts = [one.text() for one in kept]
        return Finished(code, texts[0], texts[1] if len(texts) > 1 else "", self._expired)

    def _start(self, given: IO[bytes]) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopped:
                return None
            self._process = subprocess.Popen(  # noqa: S603  (running commands is what it is for)
                self._argv,
                cwd=self._cwd,
                env=self._environment,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if self._together else subprocess.PIPE,
                start_new_session=True,
            )
            return self._process

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        """Kill what is left, and collect the exit code."""
        with self._lock:
            _kill_group(process.pid)
            self._process = None
            since = started_at(process.pid)
            code = process.wait()
        self._sweep(since)
        return code

    def stop(self) -> None:
        """Kill it and all that it has started. Harmless before it runs and when it is over."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                _kill_group(self._process.pid)

    def _expire(self) -> None:
        self._expired = True
        self.stop()

    def _sweep(self, since: int) -> None:
        """Kill what has left the process group."""
        for _ in range(_SWEEPS):
            found = list(_marked(f"{MARK}={self._mark}".encode(), since))
            if not found:
                return
            for pid in found:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)


def _marked(mark: bytes, since: int) -> Iterator[int]:
    """Processes that run with this variable and started at a time, or later; none where the system does not show it."""
    for entry in Path("/proc").glob("[0-9]*") if since else ():
        pid = int(entry.name)
        try:
            if started_at(pid) >= since and mark in variables_of(pid):
                yield pid
        except OSError:  # gone, or another user's
            continue


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


class _Kept:
    """Reads a stream in a thread; of a flood it keeps the beginning and the end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._in_tail = 0
        self._dropped = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            while piece := os.read(self._stream.fileno(), _PIECE):
                room = max(_HALF - len(self._head), 0)
                self._head += piece[:room]
                self._keep(piece[room:])

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        self._tail.append(piece)
        self._in_tail += len(piece)
        while self._in_tail - len(self._tail[0]) >= _HALF:
            gone = self._tail.popleft()
            self._in_tail -= len(gone)
            self._dropped += len(gone)

    def text(self) -> str:
        """All that was kept. Waits for the stream's end, but not for a stranger that holds it open."""
        self._thread.join(_PATIENCE)
        notice = f"\n[... {self._dropped} bytes dropped ...]\n".encode() if self._dropped else b""
        return (bytes(self._head) + notice + b"".join(tuple(self._tail))).decode("utf-8", "replace")
