"""The builder: says what a run consists of, in any order, and makes it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self, TypeVar

from soundstage.clock import Clock, IdSource, SystemClock, VirtualClock, run, running_clock
from soundstage.errors import InvalidStateError
from soundstage.host._host import App, AppContext, Host, Settings
from soundstage.journal import Journal, Redactor
from soundstage.lifecycle import Daemon, TaskDaemon
from soundstage.models import JournaledModel, Model, Script, ScriptedModel
from soundstage.wire import ModelServer
from soundstage.worlds import Console, Workspace

T = TypeVar("T")


class HostBuilder:
    """Collects what a run needs.

    Args:
        name: the run's name in reports.
        seed: where ids come from; two runs with one seed are equal.

    Example:
        ::

            async def echo(app: AppContext) -> None:
                while (line := await app.console.read_line()) is not None:
                    app.console.write_line(f"you said {line}")

            async def body(host: Host) -> None:
                await host.console.send("hello")
                await host.console.expect("you said hello")

            HostBuilder().with_console().with_app(echo).run(body)
    """

    def __init__(self, name: str = "run", *, seed: int = 0) -> None:
        self._settings = Settings(name, seed, start_within=30.0, stop_within=10.0, allow_egress=False)
        self._script = Script()
        self._wrap: Callable[[Model], Model] = lambda model: model
        self._path: Path | None = None
        self._redactor: Redactor | None = None
        self._makers: list[Callable[[Host], Daemon]] = []
        self._app: App | None = None
        self._real = False
        self._built = False

    def with_script(self, script: Script) -> Self:
        """What the model says."""
        self._script = script
        return self

    def with_model(self, wrap: Callable[[Model], Model]) -> Self:
        """Put another model in the place of the scripted one, or around it: `lambda inner: Faulty(inner)`."""
        self._wrap = wrap
        return self

    def with_console(self) -> Self:
        """A console in process."""
        return self.with_daemon(lambda host: Console(host.journal))

    def with_workspace(self, root: Path | None = None) -> Self:
        """A project folder, temporary unless `root` is given. The run is then on the machine's time."""
        self._real = True
        return self.with_daemon(lambda host: Workspace(host.journal, root))

    def with_server(self) -> Self:
        """The model on a loopback port. The run is then on the machine's time."""
        self._real = True
        return self.with_daemon(
            lambda host: ModelServer(self._wrap(host.scripted), host.journal, ids=host.ids, clock=host.clock)
        )

    def with_daemon(self, make: Callable[[Host], Daemon]) -> Self:
        """Anything else that starts and stops; daemons start in the order in which they are named."""
        self._makers.append(make)
        return self

    def with_app(self, app: App) -> Self:
        """The app under test, in process. It starts last and stops first."""
        self._app = app
        return self

    def with_journal(self, path: Path | str) -> Self:
        """Keep the journal in a file too."""
        self._path = Path(path)
        return self

    def with_redactor(self, redactor: Redactor) -> Self:
        """What must not reach a file. Unless given, variables of the environment that are named like keys say."""
        self._redactor = redactor
        return self

    def with_limits(self, *, start_within: float = 30.0, stop_within: float = 10.0) -> Self:
        """Seconds for all daemons to start, and to stop."""
        self._settings = self._settings._replace(start_within=start_within, stop_within=stop_within)
        return self

    def allow_egress(self) -> Self:
        """Do not fail the run when the app tries to reach a host outside (it is refused all the same)."""
        self._settings = self._settings._replace(allow_egress=True)
        return self

    def build(self) -> Host:
        """Make the run, on the clock of the running loop.

        Raises:
            InvalidStateError: when called twice; each run needs a builder of its own.
        """
        if self._built:
            raise InvalidStateError("this builder has built its run", hint="make another HostBuilder")
        self._built = True
        ids = IdSource(self._settings.seed)
        redactor = self._redactor or Redactor.from_environment(os.environ)
        journal = Journal(self._path, clock=self._clock(), run=ids.hex(8), redactor=redactor)
        scripted = ScriptedModel(self._script, clock=journal.clock, ids=ids)
        model = JournaledModel(self._wrap(scripted), journal, identify=scripted.identify)
        host = Host(self._settings, journal, ids, scripted, model)
        for make in self._makers:
            host.daemons.append(make(host))
        if self._app is not None:
            host.daemons.append(self._app_daemon(host, self._app))
        return host

    def _clock(self) -> Clock:
        return running_clock()

    def _app_daemon(self, host: Host, app: App) -> Daemon:
        if not any(isinstance(daemon, Console) for daemon in host.daemons):
            host.daemons.append(Console(host.journal))
        context = AppContext(host.model, host.console.io, host.clock, host.journal)
        return TaskDaemon("app", host.journal, lambda: app(context))

    def run(self, body: Callable[[Host], Awaitable[T]]) -> T:
        """Make the run, start it, run `body`, end it: on virtual time, unless a part needs the machine's."""

        async def main() -> T:
            async with self.build() as host:
                return await body(host)

        return run(main(), clock=SystemClock() if self._real else VirtualClock())
