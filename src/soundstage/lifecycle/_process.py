"""One real process and everything that it starts, from start to the last exit.

How it works. The program runs below a launcher (`_launcher.py`), which collects every descendant. Three
background tasks read: standard output and error line by line as they come, and the launcher's reports. When
all three have come to their end, nothing of the program is left, and `ProcessExited` goes into the journal.
That is what `wait` waits for, so whoever has waited can rely on it.

Two ways to end it. `end` is polite: it closes the input, then asks the program's process group with SIGTERM,
then kills; each step waits for the exit itself, up to its share of the grace. `kill` is immediate and does
not wait, so it works in a task that is being cancelled: it closes our half of the launcher's socket, and the
launcher does the rest. The same happens when our process dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import marshal
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from soundstage.errors import AppError, EnvironmentProblem, HarnessError, InvalidStateError
from soundstage.journal import Journal, Noted, ProcessExited, ProcessStarted
from soundstage.lifecycle._arrivals import take_in_arrivals
from soundstage.lifecycle._isolator import Isolator, Launch
from soundstage.lifecycle._launcher import LENGTH
from soundstage.lifecycle._lines import LineSplitter
from soundstage.lifecycle._scratch import end_processes_in

LAUNCHER: Final = Path(__file__).with_name("_launcher.py")
KEPT: Final = 200  # lines of standard error that messages and `ProcessExited` can show
SHOWN: Final = 20
GRACE: Final = 3.0  # seconds for each polite step
LAST_GRACE: Final = 10.0  # seconds that the kernel may take to end what has been killed
_PIECE: Final = 65536
_LAUNCHER_NEEDS: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # where a Python build may find itself

OnLine = Callable[[str, str], None]
"""Gets `stdout` or `stderr`, and a line."""


class Process:
    """A program that runs, with all that it starts.

    Args:
        argv: the program and its arguments.
        journal: where its start and exit go.
        source: who it belongs to, in the journal.
        cwd: the folder that it runs in.
        environment: all of its variables; nothing is inherited.
        on_line: called with each line of output as it comes.
        line_limit: bytes after which a line is cut.
        scratch: a folder to remove should our process be killed; we remove it ourselves otherwise.
        isolator: what keeps it apart besides its folders and variables.
        shown: what the journal calls the command; `argv` unless given.
    """

    on_terminal = False  # whether its streams are a terminal

    def __init__(
        self,
        argv: Sequence[str],
        journal: Journal,
        *,
        source: str,
        cwd: Path,
        environment: Mapping[str, str],
        on_line: OnLine,
        line_limit: int = 1024 * 1024,
        scratch: Path | None = None,
        isolator: Isolator | None = None,
        shown: Sequence[str] = (),
    ) -> None:
        self.argv = tuple(argv)
        self.journal = journal
        self.source = source
        self.cwd = cwd
        self.pid = 0
        self.started_at: int | None = None
        self.code: int | None = None
        self._environment = dict(environment)
        self._on_line = on_line
        self._line_limit = line_limit
        self._scratch = scratch
        self._isolator = isolator
        self._shown = tuple(shown) or self.argv
        self._entered: Launch | None = None
        self._errors: deque[str] = deque(maxlen=KEPT)
        self._launcher: asyncio.subprocess.Process | None = None
        self._connection: asyncio.StreamWriter | None = None
        self._control: socket.socket | None = None
        self._life: asyncio.Task[int] | None = None
        self._ended = False

    @property
    def alive(self) -> bool:
        """Whether something of it may still run."""
        return self._life is not None and not self._life.done()

    @property
    def stderr(self) -> str:
        """The last lines of standard error."""
        return "\n".join(self._errors)

    async def start(self) -> None:
        """Start the program; return when it runs.

        Raises:
            EnvironmentProblem: if it cannot be run: not found, not executable, no such folder.
        """
        launch = Launch(self.argv, self.cwd, self._environment, terminal=self.on_terminal)
        if self._isolator is not None:
            launch = self._entered = await self._isolator.enter(launch)
        ours, theirs = socket.socketpair()
        try:
            reports = await self._launch(ours, theirs, launch.handles)
        except BaseException:
            ours.close()
            await self._forget()
            raise
        finally:
            theirs.close()
        try:
            await self._hand_over(reports, launch)
        except BaseException:
            self.kill()
            await self._forget()
            raise
        self._life = asyncio.create_task(self._live(reports), name=f"{self.source} process")

    async def _launch(
        self, ours: socket.socket, theirs: socket.socket, handles: Sequence[int]
    ) -> asyncio.StreamReader:
        needed = {name: os.environ[name] for name in _LAUNCHER_NEEDS if name in os.environ}
        given, output, errors = self._streams()
        self._launcher = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(LAUNCHER), str(theirs.fileno())),
            stdin=given,
            stdout=output,
            stderr=errors,
            pass_fds=(theirs.fileno(), *handles),
            start_new_session=True,  # Ctrl-C in a terminal is for us: we end the program in order
            env=needed,
        )
        reports, self._connection = await asyncio.open_unix_connection(sock=ours)
        self._control = (
            ours.dup()
        )  # asyncio gives up reading when a write fails; the last report would be lost
        return reports

    def _streams(self) -> tuple[int, int, int]:
        """The standard streams of the launcher, and through it of the program."""
        return (asyncio.subprocess.PIPE,) * 3

    def _readers(self) -> list[Coroutine[Any, Any, None]]:
        """The readers of its output; each ends when all is read."""
        assert self._launcher is not None
        streams = (("stdout", self._launcher.stdout), ("stderr", self._launcher.stderr))
        return [self._read(channel, stream) for channel, stream in streams if stream is not None]

    async def _hand_over(self, reports: asyncio.StreamReader, launch: Launch) -> None:
        assert self._connection is not None
        job = {
            "argv": tuple(map(str, launch.argv)),  # plain ones: marshal knows no others
            "cwd": str(launch.cwd),
            "env": {str(name): str(value) for name, value in launch.environment.items()},
            "scratch": str(self._scratch or ""),
            "terminal": self.on_terminal,
            "namespaces": tuple(launch.handles),
        }
        data = marshal.dumps(job)
        self._connection.write(len(data).to_bytes(LENGTH, "little") + data)
        report = await _report(reports)
        if "started" not in report:
            raise EnvironmentProblem(
                f"{self.argv[0]} cannot be run",
                expected=f"a program, in PATH or by its path, and the folder {self.cwd}",
                seen=str(report.get("failed") or "the launcher ended without a word"),
                hint="install it, or give its full path",
            )
        self.pid = int(report["started"])
        self.journal.redactor.add_environment(launch.environment)
        started = ProcessStarted(
            command=self._shown, pid=self.pid, cwd=str(self.cwd), environment=tuple(sorted(self._environment))
        )
        self.started_at = self.journal.append(started, source=self.source)

    async def _live(self, reports: asyncio.StreamReader) -> int:
        """Read until all is over; the exit code."""
        try:
            async with asyncio.TaskGroup() as group:
                for reader in self._readers():
                    group.create_task(reader)
                report = await _report(reports)
                if not report and self._scratch is not None:  # the launcher was killed, and has ended nothing
                    left = await asyncio.to_thread(end_processes_in, self._scratch)
                    report = {"left": left, "launcher": "killed"}
                self.code = int(report.get("exited", -signal.SIGKILL) or 0)
        except* Exception as problems:
            raise HarnessError(
                f"reading {self.argv[0]} failed", seen=repr(problems.exceptions[0])
            ) from problems
        finally:
            self.kill()
            await self._forget()
        await take_in_arrivals(self.journal)  # what it has sent comes before its exit
        self._tell_exit(report)
        return self.code

    def _tell_exit(self, report: dict[str, Any]) -> None:
        if self._isolator is not None:
            self._isolator.read()  # its last tries come before its exit
        if report.get("left") or "launcher" in report:
            who = "the launcher was killed, and" if "launcher" in report else "the program"
            text = (
                f"{who} left processes behind; they were ended"
                if report["left"]
                else "the launcher was killed"
            )
            note = Noted(text=text, data={"names": report["left"]})
            self.journal.append(note, source=self.source, cause=self.started_at)
        assert self.code is not None
        exited = ProcessExited(code=self.code, stderr=self.stderr)
        self.journal.append(exited, source=self.source, cause=self.started_at)

    async def _read(self, channel: str, stream: asyncio.StreamReader) -> None:
        splitter = LineSplitter(self._line_limit)
        while data := await stream.read(_PIECE):
            self._take(channel, data)
            self._deliver(channel, splitter.feed(data))
        self._deliver(channel, splitter.flush())

    def _take(self, channel: str, data: bytes) -> None:
        """Get each piece of output as it comes; those who want more than lines keep it."""

    def _deliver(self, channel: str, lines: list[str]) -> None:
        if channel == "stderr":
            self._errors.extend(lines)
        for line in lines:
            self._on_line(channel, line)

    async def _forget(self) -> None:
        """Wait for the launcher, close what connects us with it, and leave what kept it apart."""
        if self._launcher is not None:
            await self._launcher.wait()
        if self._connection is not None:
            self._connection.close()
        if self._control is not None:
            self._control.close()
        if self._isolator is not None and self._entered is not None:
            await self._isolator.leave(self._entered)

    async def write(self, data: bytes) -> None:
        """Write to standard input; return when the system has taken it.

        Raises:
            AppError: if the program has exited, or has closed its input.
        """
        if self._ended:
            raise InvalidStateError(f"the input of {self.source} has ended", hint="write before end_input()")
        stream = self._stdin()
        try:
            stream.write(data)
            await stream.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise AppError(
                f"{self.source} does not read its input",
                seen="it has closed its input" if self.alive else self.describe_exit(),
                hint="look at its output in the journal",
            ) from None

    def feed(self, data: bytes) -> None:
        """Write all of the standard input, which then ends. Does not wait for the program to read it."""
        self._stdin().write(data)
        self.end_input()

    def end_input(self) -> None:
        """Close standard input, like Ctrl-D. Harmless when repeated."""
        self._ended = True
        self._stdin().close()

    def _stdin(self) -> asyncio.StreamWriter:
        if self._launcher is None or self._launcher.stdin is None:
            raise InvalidStateError(f"{self.source} does not run", hint="start it first")
        return self._launcher.stdin

    def signal(self, number: int) -> None:
        """Send a signal to the program's process group."""
        if self._control is not None and self.alive:
            with contextlib.suppress(OSError):  # the launcher has just ended
                self._control.send(bytes([number]))

    def kill(self) -> None:
        """Let everything be killed; does not wait. Harmless when it is over."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)

    async def wait(self) -> int:
        """Wait until nothing of it is left; the exit code, negative for a signal."""
        if self._life is None:
            raise InvalidStateError(f"{self.source} does not run", hint="start it first")
        return await asyncio.shield(self._life)

    async def end(self, *, grace: float = GRACE) -> int:
        """End it: close its input, then SIGTERM, then kill, with `grace` seconds for each of the first two.

        Raises:
            EnvironmentProblem: if the system does not end what has been killed.
        """
        try:
            self.end_input()
            await self._over(grace)
        except BaseException:
            self.kill()
            raise
        return await self.terminate(grace=grace)

    async def terminate(self, *, grace: float = GRACE) -> int:
        """End it without waiting for its own end: SIGTERM, then kill after `grace` seconds."""
        try:
            self.signal(signal.SIGTERM)
            await self._over(grace)
        finally:
            self.kill()
        return await self.killed()

    async def killed(self) -> int:
        """Kill everything and wait for it; the exit code."""
        self.kill()
        if not await self._over(LAST_GRACE):
            raise EnvironmentProblem(
                f"{self.argv[0]} (process {self.pid}) does not end",
                seen=f"SIGKILL had no effect within {LAST_GRACE:g} s",
                hint="it may belong to another user, or wait for a disk",
            )
        return await self.wait()

    async def _over(self, within: float) -> bool:
        if self._life is None:
            return True
        done, _ = await asyncio.wait({self._life}, timeout=within)
        return bool(done)

    def describe_exit(self) -> str:
        """The exit code and the end of standard error, for messages."""
        shown = list(self._errors)[-SHOWN:]
        return "\n".join([f"exit code {self.code}", *(shown or ["nothing on standard error"])])


async def _report(reports: asyncio.StreamReader) -> dict[str, Any]:
    """The launcher's next report; empty if it is gone."""
    try:
        size = int.from_bytes(await reports.readexactly(LENGTH), "little")
        data = await reports.readexactly(size)
    except asyncio.IncompleteReadError:
        return {}
    report: dict[str, Any] = marshal.loads(data)  # noqa: S302  (our own launcher's)
    return report
