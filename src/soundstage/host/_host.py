"""A run while it lasts: starts what the builder named, hands it to the test, and ends it whatever happens.

Order: `RunStarted`, daemons in the order of the builder, the app last; at the end the inputs, what the app still does
(`_work`), the daemons in reverse, `RunFinished`, the journal; the same end when a daemon cannot start. Every step of
the end is taken, whatever the others come to and whoever interrupts (`_ending`). What fails in the background is never
lost: it is raised when the run ends, or noted on the error that the test itself raised. That one wins, unless it is an
expectation that was not met because of such a failure.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

from soundstage.clock import Clock
from soundstage.errors import InvalidStateError
from soundstage.host._checks import require_clean_end, require_request
from soundstage.host._ending import RunEnding, failures_of
from soundstage.host._llm import ModelSide
from soundstage.host._parts import Composition
from soundstage.host._work import Cut, finish_work
from soundstage.journal import RunFinished, RunStarted
from soundstage.lifecycle import Daemon, ScratchFolder, TaskDaemon
from soundstage.models import Model, ScriptedModel
from soundstage.net import ClosedSet, Egress
from soundstage.trace import Trace, build_trace, silences_asserted
from soundstage.wire import ModelServer
from soundstage.worlds import Console, Workspace

D = TypeVar("D", bound=Daemon)

_WATCHED: list[deque[Host]] = []
MAKERS = {
    "Console": "with_console()",
    "Workspace": "with_workspace()",
    "ModelServer": "with_server()",
}


@contextlib.contextmanager
def watched_runs(last: int) -> Iterator[deque[Host]]:
    """Keep the `last` runs that begin meanwhile, for whoever reports a failed test.

    Example:
        >>> with watched_runs(3) as runs:
        ...     len(runs)
        0
    """
    runs: deque[Host] = deque(maxlen=last)
    _WATCHED.append(runs)
    try:
        yield runs
    finally:
        _WATCHED[:] = [others for others in _WATCHED if others is not runs]


class HostSettings(NamedTuple):
    """How a run is set up; the builder collects it."""

    name: str
    seed: int
    start_within: float
    stop_within: float
    egress: Egress = "fail"
    hosts: tuple[str, ...] = ()
    asks: bool = False  # whether the test has asked for a model server
    grace: float = 1.0
    wait_within: float | None = None
    allow_unfinished: bool = False


class Host:
    """A run. Made by `HostBuilder.build`; use it with `async with`."""

    def __init__(
        self, settings: HostSettings, parts: Composition, scripted: ScriptedModel, model: Model
    ) -> None:
        self.settings = settings
        self.parts = parts
        self.journal = journal = parts.journal
        self.ids = parts.ids
        self.scripted = scripted
        self.model = model
        self.daemons = parts.daemons
        self.app: TaskDaemon | None = None
        self.has_program = False
        self._begun = len(journal)  # what a file holds already belongs to earlier runs
        self._entered = False
        self._data_dir: ScratchFolder | None = None
        self.closed = ClosedSet(journal, egress=settings.egress, hosts=settings.hosts)
        self._silences = silences_asserted()
        self.outcome: BaseException | None = None  # what the run has ended with

    @property
    def begun(self) -> int:
        """The position of the journal where this run begins; what is before it belongs to earlier runs."""
        return self._begun

    @property
    def clock(self) -> Clock:
        """The run's clock."""
        return self.journal.clock

    @property
    def trace(self) -> Trace:
        """The trace of the run so far."""
        return build_trace(self.journal.read(self._begun))

    @property
    def console(self) -> Console:
        """The test's side of the console."""
        return self.get(Console)

    @property
    def workspace(self) -> Workspace:
        """The project folder."""
        return self.get(Workspace)

    @property
    def llm(self) -> ModelSide:
        """The test's side of the model: what it says, and what it was asked."""
        return ModelSide(self.scripted, self.journal, after=self._begun)

    @property
    def data_dir(self) -> Path:
        """A folder for files of the app: made when it is asked for, removed at the end."""
        if self._data_dir is None:
            self._data_dir = ScratchFolder()
        return self._data_dir.path

    @property
    def server(self) -> ModelServer:
        """The model on a port."""
        return self.get(ModelServer)

    def get(self, kind: type[D], name: str | None = None) -> D:
        """The daemon of a class.

        Args:
            kind: its class.
            name: its name, if there may be several of that class; the first, unless given.

        Raises:
            InvalidStateError: if the builder was not told to make one.
        """
        for daemon in self.daemons:
            if isinstance(daemon, kind) and name in (None, daemon.name):
                return daemon
        what = kind.__name__ if name is None else f"{kind.__name__} called {name!r}"
        raise self._without(what, MAKERS.get(kind.__name__, f"add({kind.__name__})"))

    def _without(self, what: str, maker: str) -> InvalidStateError:
        return InvalidStateError(
            f"this run has no {what}: it is not configured",
            seen=", ".join(daemon.name for daemon in self.daemons) or "nothing at all",
            hint=f"tell the builder: .{maker}",
        )

    async def __aenter__(self) -> Self:
        if self._entered:
            raise InvalidStateError("this run is over", hint="build another one")
        self._entered = True
        settings = self.settings
        for runs in _WATCHED:
            runs.append(self)
        self.journal.append(
            RunStarted(name=settings.name, wall=self.clock.wall().isoformat(), seed=settings.seed),
            source="host",
        )
        try:
            self.closed.begin()
            await self.parts.start(start_within=settings.start_within, stop_within=settings.stop_within)
        except BaseException as error:  # nobody calls `__aexit__` then
            ending = RunEnding(self.clock)
            ending.take(self._close_data_dir)
            self._finish(ending, error)
            ending.raise_for(error)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        ending = RunEnding(self.clock, failures_of(self.daemons))
        try:
            await self._end(ending, error)
        finally:
            self._finish(ending, error)
        ending.raise_for(error)

    async def _end(self, ending: RunEnding, error: BaseException | None) -> None:
        """Every step of the end, whatever the others come to; then what must hold if nothing has failed."""
        for daemon in self.daemons:
            ending.take(daemon.end_input)
        cut = Cut(len(self.journal))

        async def settle() -> None:
            nonlocal cut
            cut = await self._settle(failed=error is not None)

        await ending.wait(settle)
        await ending.wait(self.parts.stop)
        ending.take(self._close_data_dir)
        if error is None and ending.interrupted is None:
            self._check(ending, cut if self.app is not None or self.has_program else None)

    async def _settle(self, *, failed: bool) -> Cut:
        """Let the app come to its end by itself; the work that is left."""
        apps = [self.app] if self.app is not None else []
        if failed:  # what it was doing does not matter any more
            for app in apps:
                await app.settle(self.settings.grace)
            return Cut(len(self.journal))
        return await finish_work(
            self.daemons, apps, self.journal, after=self._begun, grace=self.settings.grace
        )

    def _check(self, ending: RunEnding, cut: Cut | None) -> None:
        """Check what must hold; a finding beside a failure of the background is told in a note of that."""
        failures = list(ending.problems)
        ending.take(lambda: self._check_end(cut))
        for finding in ending.problems[len(failures) :] if failures else ():
            failures[0].add_note(f"and at the end of the run: {finding}")
            ending.problems.remove(finding)

    def _check_end(self, cut: Cut | None) -> None:
        self.closed.look()
        require_clean_end(
            self.journal,
            self.scripted,
            allow_egress=self.settings.egress == "allow",
            allow_unfinished=self.settings.allow_unfinished,
            after=self._begun,
            cut=cut,
        )
        strict = self.settings.asks and self.scripted.script.strict
        if strict and silences_asserted() == self._silences:
            require_request(self.journal, self._begun)

    def _finish(self, ending: RunEnding, error: BaseException | None) -> None:
        """The process is open again; the last event: how the run has ended; then the journal is closed."""
        ending.take(self.closed.end)
        outcome = self.outcome = ending.outcome(error)
        finished = RunFinished(
            outcome="passed" if outcome is None else "failed",
            reason="" if outcome is None else f"{type(outcome).__name__}: {outcome}",
        )
        ending.take(lambda: self.journal.append(finished, source="host"))
        ending.take(self.journal.close)

    def _close_data_dir(self) -> None:
        if self._data_dir is not None:
            self._data_dir.close()

    @property
    def path(self) -> Path | None:
        """The file of the journal, if it has one."""
        return self.journal.path
