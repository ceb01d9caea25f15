"""The builder: says what a run consists of, in any order, and makes it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from soundstage.clock import (
    Clock,
    IdSource,
    SystemClock,
    VirtualClock,
    current_schedule,
    run,
    running_clock,
    validate_seconds,
)
from soundstage.errors import InvalidStateError, ScriptError
from soundstage.guard import real_environment
from soundstage.host._context import App, AppContext, app_daemon, app_sides
from soundstage.host._host import Host, HostSettings
from soundstage.host._parts import Composition, P, WorldMaker, validate_options, validate_part
from soundstage.host._program import make_program
from soundstage.host._server import ServerOfRun
from soundstage.journal import Journal, Redactor
from soundstage.lifecycle import Daemon
from soundstage.models import JournaledModel, Model, Script, ScriptedModel
from soundstage.net import AllowedHost
from soundstage.worlds import Console, Workspace

T = TypeVar("T")
D = TypeVar("D", bound=Daemon)


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
        self._settings = HostSettings(name, seed, start_within=30.0, stop_within=10.0)
        self._script = Script()
        self._wrap: Callable[[Model], Model] = lambda model: model
        self._path: Path | None = None
        self._redactor: Redactor | None = None
        self._makers: list[Callable[[Host], Daemon]] = []
        self._app: App | None = None
        self._program: Callable[[Host], Daemon] | None = None
        self._serves = False
        self._real = False
        self._built = False

    def with_script(self, script: Script) -> Self:
        """Set the model's script. The run is strict, unless the script says otherwise (`strict=False`) or has a default
        reply: every request needs a rule, and every rule a request.

        Raises:
            TypeError: if it is no `Script`; `Script.load(path)` makes one of a file.
        """
        self._script = validate_part(script, Script, "with_script", "a Script")
        return self

    def with_model(self, wrap: Callable[[Model], Model]) -> Self:
        """Put another model in the place of the scripted one, or around it: `lambda inner: Faulty(inner)`."""
        self._wrap = wrap
        return self

    def with_console(self) -> Self:
        """A console in process, however often this is called; a program has one of its own in its place."""
        if self._make_console not in self._makers:
            self._makers.append(self._make_console)
        return self

    def _make_console(self, host: Host) -> Console:
        return Console(host.journal, **self._within())

    def add(self, world: WorldMaker[P, D], *args: P.args, **options: P.kwargs) -> Self:
        """A world of any wing: `HostBuilder().add(NostrRelay, auth_to_publish=True)`, then `host.get(NostrRelay)`.

        Worlds start in the order in which they are named, and programs of this run are pointed at them. The run is on
        the machine's time if the world says that it needs it (`real_time`).

        Args:
            world: its class. It gets the journal, and the run's `ids`, `within` and `strict` if it takes them.
            *args: what it takes besides the journal.
            **options: its options.

        Raises:
            TypeError: if it does not take one of the options.
        """
        validate_options(world, args, options)
        self._real = self._real or bool(getattr(world, "real_time", False))

        return self.with_daemon(lambda host: host.parts.make(world, *args, **options))

    def with_program(
        self,
        argv: Sequence[str | Path],
        *,
        environment: Mapping[str, str] | Callable[[Host], Mapping[str, str]] | None = None,
        **options: Any,
    ) -> Self:
        """The app under test as a program on a terminal, in the place of `with_app`: the test stays the same.

        The program is pointed at what this run has: the model on a port, a Discord on loopback, a proxy that
        refuses every way out. `host.console` types and reads lines. The run is then on the machine's time.

        Args:
            argv: the program and its arguments: `[sys.executable, "-m", "my_app"]`.
            environment: more variables, or a function of the host that gives them once its worlds have started.
            **options: what `terminal.TerminalConsole` takes besides: `cwd`, `columns`, `rows`, `allow`,
                `isolation`, and `code`, the exit code that it is to have: 0, unless given, and any, if `None`.
        """
        self._real = True
        self._program = lambda host: make_program(host, argv, environment, **{**self._within(), **options})
        return self

    def with_workspace(self, root: Path | None = None) -> Self:
        """A project folder, temporary unless `root` is given. The run is then on the machine's time."""
        self._real = True
        return self.with_daemon(lambda host: Workspace(host.journal, root))

    def with_server(self) -> Self:
        """The model on a loopback port. The run is then on the machine's time."""
        self._real = self._serves = True
        self._settings = self._settings._replace(asks=True)
        return self.with_daemon(self._make_server)

    def with_daemon(self, make: Callable[[Host], Daemon]) -> Self:
        """Anything else that starts and stops; daemons start in the order in which they are named."""
        self._makers.append(make)
        return self

    def with_app(self, app: App) -> Self:
        """The app under test, in process. It starts last and stops first.

        Raises:
            TypeError: if it is no function.
        """
        self._app = validate_part(
            app, Callable, "with_app", "an asynchronous function of what surrounds the app"
        )
        return self

    def with_journal(self, path: Path | str) -> Self:
        """Keep the journal in a file too."""
        self._path = Path(path)
        return self

    def with_redactor(self, redactor: Redactor) -> Self:
        """Keep these secrets out of files. Default: environment variables whose names look like keys."""
        self._redactor = redactor
        return self

    def with_limits(
        self, *, start_within: float = 30.0, stop_within: float = 10.0, grace: float = 1.0
    ) -> Self:
        """Seconds for all daemons to start, to stop, and for the app to end by itself before it is stopped.

        Raises:
            ValueError: if one is not more than 0.
        """
        limits: dict[str, Any] = {"start_within": start_within, "stop_within": stop_within, "grace": grace}
        for name, seconds in limits.items():
            validate_seconds(seconds, name)
        self._settings = self._settings._replace(**limits)
        return self

    def with_timeout(self, seconds: float) -> Self:
        """How long waits take, unless they are told otherwise; 5 s without this, and 30 s for programs.

        Raises:
            ValueError: if it is not more than 0.
        """
        validate_seconds(seconds)
        self._settings = self._settings._replace(wait_within=seconds)
        return self

    def _within(self) -> dict[str, Any]:
        seconds = self._settings.wait_within
        return {} if seconds is None else {"within": seconds}

    def allow_egress(self) -> Self:
        """Do not fail the run when the app tries to reach a host outside (it is refused all the same)."""
        self._settings = self._settings._replace(egress="allow")
        return self

    def allow_hosts(self, *hosts: str) -> Self:
        """Let this process reach hosts outside of the run: `name`, `name:port`, an address.

        Programs of the run are told to reach them without the proxy that refuses; not so at the levels `netns` and
        `container`, which have no way there.

        Raises:
            ScriptError: for what is no host.
        """
        for host in hosts:
            AllowedHost.parse(host)
        self._settings = self._settings._replace(hosts=(*self._settings.hosts, *hosts))
        return self

    def close_loopback(self) -> Self:
        """Refuse, and fail the run for, what is on this machine and no server of a run, too."""
        self._settings = self._settings._replace(egress="closed")
        return self

    def allow_unfinished(self) -> Self:
        """Do not fail the run when its end cuts off a reply or a tool that is under way."""
        self._settings = self._settings._replace(allow_unfinished=True)
        return self

    def build(self) -> Host:
        """Make the run, on the clock of the running loop.

        Raises:
            InvalidStateError: when called twice, as each run needs a builder of its own; or with more than one app.
            TypeError: if a function of the builder's made something else than the model or the daemon it is for.
        """
        if self._built:
            raise InvalidStateError("this builder has built its run", hint="make another HostBuilder")
        self._check_one_app()
        self._built = True
        self._script.decide_strict()
        ids = IdSource(self._settings.seed)
        redactor = self._redactor or Redactor.from_environment(real_environment())
        journal = Journal(self._path, clock=self._clock(), run=ids.hex(8), redactor=redactor)
        scripted = ScriptedModel(self._script, clock=journal.clock, ids=ids)
        model = JournaledModel(self._wrapped(scripted), journal, identify=scripted.identify)
        parts = Composition(journal, ids=ids, within=self._settings.wait_within, strict=self._script.strict)
        host = Host(self._settings, parts, scripted, model)
        for make in (*self._server_first(), *self._worlds()):
            made = make(host)
            host.daemons.append(validate_part(made, Daemon, "with_daemon", "a function that makes a Daemon"))
        if self._program is not None:
            host.daemons.append(self._program(host))
            host.has_program = True
        if self._app is not None:
            self._add_app(host, self._app)
        return host

    def _server_first(self) -> list[Callable[[Host], Daemon]]:
        """A program reaches the model on a port, whether or not the test asked for one."""
        return [] if self._program is None or self._serves else [self._make_server]

    def _worlds(self) -> list[Callable[[Host], Daemon]]:
        """The functions that make daemons; a program is a console itself, and nobody would read from another one."""
        skip = self._program is not None
        return [make for make in self._makers if not (skip and make == self._make_console)]

    def _wrapped(self, scripted: ScriptedModel) -> Model:
        return validate_part(self._wrap(scripted), Model, "with_model", "a function that makes a Model")

    def _make_server(self, host: Host) -> Daemon:
        return ServerOfRun(host, self._wrapped(host.scripted))

    def _add_app(self, host: Host, app: App) -> None:
        if not any(isinstance(daemon, Console) for daemon in host.daemons):
            host.daemons.append(Console(host.journal, **self._within()))
        context = AppContext(
            host.model,
            host.console.io,
            host.clock,
            host.journal,
            app_sides(host.daemons),
            lambda: host.data_dir,
        )
        host.app = app_daemon(app, context)
        host.daemons.append(host.app)

    def _check_one_app(self) -> None:
        named = {
            "with_app": self._app is not None,
            "with_program": self._program is not None,
        }
        chosen = [name for name, there in named.items() if there]
        if len(chosen) > 1:
            raise InvalidStateError(
                "a run has one app under test",
                seen=" and ".join(chosen),
                hint="keep one of them; other parts of the run are daemons: with_daemon",
            )

    def _clock(self) -> Clock:
        return running_clock()

    def run(self, body: Callable[[Host], Awaitable[T]]) -> T:
        """Make the run, start it, run `body`, end it: on virtual time, unless a part needs the machine's."""

        async def main() -> T:
            async with self.build() as host:
                running = body(host)
                if not inspect.isawaitable(running):
                    raise ScriptError("the body of a run is asynchronous", hint="write: async def body(host)")
                return await running

        if self._real and current_schedule() is not None:
            raise InvalidStateError(
                "schedules need virtual time, and a part of this run needs the machine's",
                hint="leave out servers, programs and workspaces, or the mark `schedules`",
            )
        return run(main(), clock=SystemClock() if self._real else VirtualClock())
