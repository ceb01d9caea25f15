"""A program as a daemon: what all drivers of one program have in common.

It starts in a sandbox of its own and ends with it. A program that exits with an error, or crashes, fails the run
unless the test has agreed: when it made the driver (`code=3`, or `code=None` for any), or with the code that it waited
for. What we end ourselves has not failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from soundstage.drivers._isolation import PROCESS, AnyIsolation, Sandbox, as_isolation
from soundstage.errors import AppError, ExpectationError, InvalidStateError
from soundstage.journal import Journal
from soundstage.lifecycle import GRACE, Daemon, Process
from soundstage.net import EgressProxy


class ProgramOptions(TypedDict, total=False):
    """The options of every program, as `Program` describes them."""

    cwd: Path | None
    environment: Mapping[str, str] | None
    allow: Iterable[str]
    proxy: EgressProxy | None
    isolation: AnyIsolation
    grace: float
    code: int | None


class Program(Daemon):
    """A program in a throw-away home, with every way out refused and recorded. `Command`, `Terminal` and MCP servers
    are programs; a driver of another kind says how its process is made (`_made`).

    Args:
        name: how messages and the journal call it.
        argv: the program and its arguments.
        journal: where its start, output and exit go.
        cwd: the folder that it runs in; its throw-away home unless given.
        environment: variables that it gets besides the isolated ones; they win.
        allow: names of our variables that it gets too, such as `PYTHONPATH`.
        proxy: a proxy that runs already; one of its own unless given, or named in `environment`.
        isolation: how far it is kept apart.
        grace: seconds that it gets to end, when it is stopped and still runs.
        code: the exit code that it is to have; any, if `None`.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        journal: Journal,
        *,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        allow: Iterable[str] = (),
        proxy: EgressProxy | None = None,
        isolation: AnyIsolation = PROCESS,
        grace: float = GRACE,
        code: int | None = None,
    ) -> None:
        super().__init__(name, journal)
        self.argv = tuple(argv)
        self.isolation = as_isolation(isolation)
        self._cwd = cwd
        self._grace = grace
        self._exits = ExitCodes(name, code)
        self._sandbox = Sandbox(
            journal, proxy=proxy, extra=environment, allow=allow, isolation=self.isolation
        )
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._running().pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; `None` while it runs."""
        return self._process.code if self._process is not None and not self._process.alive else None

    @property
    def home(self) -> Path:
        """Its home folder, which is there while it runs."""
        return self._sandbox.home

    def _running(self) -> Process:
        if self._process is None:
            raise InvalidStateError(f"{self.name} does not run", hint="start it first")
        return self._process

    async def _start(self) -> None:
        await self._sandbox.open()
        try:
            self._process = self._made(
                source=self.name,
                cwd=self._cwd if self._cwd is not None else self._sandbox.home,
                environment=self._sandbox.environment(self._variables()),
                scratch=self._sandbox.root,
                isolator=self._sandbox.isolator,
            )
            await self._process.start()
            self._begun(self._process)
        except BaseException:
            await self._stop()
            raise

    def _made(self, **options: Any) -> Process:
        """The process, not started yet; `options` are those of `Process`."""
        raise NotImplementedError

    def _variables(self) -> Mapping[str, str]:
        """Variables that this kind of program needs."""
        return {}

    def _begun(self, process: Process) -> None:
        """Do what has to be done as soon as it runs."""

    async def _stop(self) -> None:
        code = None if self._process is None else self._process.code  # before we end it: its own exit
        try:
            if self._process is not None and self._process.alive:
                await self._end(self._process)
            await self._over()
        finally:
            await self._sandbox.close()
        if code is not None:
            self._exits.judge(code, self._seen_last())

    async def _end(self, process: Process) -> None:
        """End a process that still runs."""
        await process.end(grace=self._grace)

    async def _over(self) -> None:
        """Do what has to be done when nothing of it is left."""

    def _seen(self) -> str:
        """The exit of the program in words, for messages."""
        return self._running().describe_exit()

    def _seen_last(self) -> str:
        """The same, for what the end of the run says about it."""
        return self._seen()


class ExitCodes:
    """The exit of one program, as the test expects it.

    Args:
        name: how messages call the program.
        code: the code that it is to exit with; any, if `None`.
    """

    def __init__(self, name: str, code: int | None) -> None:
        self._name = name
        self.code = code
        self._agreed: set[int] = set()
        self._told = code is None

    def agree(self, *codes: int) -> None:
        """These codes are as good as the one that is expected."""
        self._agreed |= set(codes)

    def told(self) -> None:
        """The test knows of the exit: by an error that has told it, or because we have ended the program."""
        self._told = True

    def check(self, expected: int | None, found: int, seen: str) -> None:
        """A wait has seen the exit: whoever names a code has agreed to it.

        Raises:
            ExpectationError: if it is another one.
        """
        self._told = True
        if expected is not None and found != expected:
            raise ExpectationError(
                f"{self._name} failed" if expected == 0 else f"{self._name} exited with another code",
                expected=f"an exit with code {expected}",
                seen=seen,
                hint=_hint(found),
            )

    def judge(self, found: int | None, seen: str) -> None:
        """The run ends, and the program had exited by itself before.

        Args:
            found: its exit code; `None` if it was still running.
            seen: what there is to show of it.

        Raises:
            AppError: if nobody has looked at its exit, and it is not the expected one.
        """
        if found is not None and not self._told and found not in {self.code, *self._agreed}:
            raise AppError(
                f"{self._name} failed, and nobody looked",
                expected=f"exit code {self.code}",
                seen=seen,
                hint=_hint(found),
            )


def _hint(found: int) -> str:
    return f"if it is meant to: wait for code={found}, or make it with code={found}, or code=None for any"
