"""A program as a daemon: what all drivers of one program have in common.

It starts in a sandbox of its own and ends with it. A program that exits with an error fails the run, unless the test
has agreed to its code (`_exits`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from soundstage.drivers._exits import ExitCodes
from soundstage.drivers._isolation import PROCESS, AnyIsolation, Sandbox, as_isolation
from soundstage.errors import InvalidStateError
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
