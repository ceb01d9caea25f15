"""The stage of one test: what the fixtures hand out, started and stopped around the test's body.

Threads: the test's body runs in the main thread, on a loop of its own if it is asynchronous. A model server
runs in a loop in a second thread, so that blocking SDK clients work and that nothing the test does can hold
the server up. They meet in the journal, which takes appends from any thread.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, ParamSpec, Self, TypeVar

import pytest

from soundstage.clock import Clock, IdSource, SystemClock, VirtualClock, run
from soundstage.config import load_settings
from soundstage.errors import ExpectationError, InvalidStateError, ScriptError
from soundstage.guard import real_environment
from soundstage.host import (
    App,
    AppContext,
    Composition,
    Cut,
    Host,
    HostBuilder,
    RunEnding,
    WorldMaker,
    app_daemon,
    app_sides,
    failures_of,
    finish_work,
    require_clean_end,
    require_no_egress,
    require_request,
)
from soundstage.journal import Journal, Redactor, RunStarted
from soundstage.lifecycle import Daemon, LoopThread, ScratchFolder, Supervisor, TaskDaemon, handle_termination
from soundstage.models import JournaledModel, Model, Script, ScriptedModel, load_script
from soundstage.net import ClosedSet, EgressProxy
from soundstage.pytest_plugin._asynchronous import body_of, written
from soundstage.pytest_plugin._options import Options
from soundstage.pytest_plugin._schedules import schedule_of
from soundstage.pytest_plugin._source import AnswerSource, source_of
from soundstage.trace import Trace, silences_asserted
from soundstage.wings import wings
from soundstage.wire import ModelEndpoint, ModelServer
from soundstage.worlds import Console, Workspace

REAL: Final = frozenset({"model_server", "command"})  # fixtures of the core that need the machine's time
D = TypeVar("D", bound=Daemon)
P = ParamSpec("P")
GRACE: Final = 1.0  # seconds that an app gets to end by itself on the machine's time


def _real_fixtures() -> frozenset[str]:
    return REAL.union(*(wing.real_time for wing in wings()))


class RunSetup:
    """Journal, clock, script, model and daemons of one test."""

    def __init__(
        self, name: str, options: Options, clock: Clock, *, source: AnswerSource | None = None
    ) -> None:
        handle_termination()  # folders are made in other threads, too
        self.options = options
        self.source = source
        self.name = name
        self.isolation = "process"  # of programs that do not say it themselves
        self.script = load_script(Path(options.script)) if options.script else Script()
        self.script.strict = options.strict
        ids = IdSource(options.seed)
        self.ids = ids
        self.journal = Journal(
            clock=clock, run=ids.hex(8), redactor=Redactor.from_environment(real_environment())
        )
        self.journal.append(
            RunStarted(name=name, wall=clock.wall().isoformat(), seed=options.seed), source="pytest"
        )
        self.parts = Composition(self.journal, ids=ids, strict=options.strict)
        self.scripted = ScriptedModel(self.script, clock=clock, ids=ids, shared=True)
        self.closed = ClosedSet(self.journal, egress=options.egress, hosts=options.hosts)
        self._server: ModelEndpoint | None = None
        self._answers: Model | None = None
        self._asks = False
        self._within_reach = False  # whether an app could ask the script
        self._silences = silences_asserted()
        self._checked = len(self.journal)
        self._workspace: Workspace | None = None
        self._project: Path | None = None
        self._console: Console | None = None
        self._servers: list[Daemon] = []  # started at once, in a thread
        self._waiting: list[Daemon] = []  # started when the body begins
        self._late: list[Daemon] = []  # started by the body
        self._runs: set[str] = set()
        self._supervisor: Supervisor | None = None
        self._data_dir: ScratchFolder | None = None
        self._cut: Cut | None = None
        self._cleanup: list[
            Callable[[], object]
        ] = []  # taken from the last to the first, whatever they come to
        self._thread: LoopThread | None = None

    @classmethod
    def for_test(cls, item: pytest.Function) -> Self:
        """The stage that the test's mark and fixtures ask for."""
        settings = load_settings(item.config.rootpath, os.environ)
        options = Options.of(item.get_closest_marker("soundstage"), settings)
        asynchronous = inspect.iscoroutinefunction(written(item))
        real_fixtures = _real_fixtures() & set(item.fixturenames)
        source = source_of(item)
        real = bool(real_fixtures) or not asynchronous or (source is not None and source.real_time)
        chosen = options.chosen_clock("system" if real else "virtual")
        if chosen == "system" and asynchronous and schedule_of(item) is not None:
            raise ScriptError(
                "schedules need virtual time",
                expected="a test whose app, model and worlds are in process",
                seen=", ".join(sorted(real_fixtures)) or "clock='system'",
            )
        clock = SystemClock() if chosen == "system" else VirtualClock()
        made = cls(item.nodeid, options, clock, source=source)
        made.isolation = item.config.getoption("--soundstage-isolation")
        if source is not None:
            source.open(made)
        return made

    @property
    def model(self) -> Model:
        """The model in process, journaled."""
        self._within_reach = True
        return JournaledModel(self.answers, self.journal, identify=self.scripted.identify)

    @property
    def answers(self) -> Model:
        """The model of this test, without a journal: it answers by the script, or by what a mark has named."""
        if self.source is None:
            return self.scripted
        if self._answers is None:
            self._answers = self.source.model()
        return self._answers

    def trace(self) -> Trace:
        """The trace of what has happened so far."""
        return Trace.of(self.journal)

    def server(self, *, asked_for: bool = False) -> ModelEndpoint:
        """The model on a port; started at the first call, in a thread of its own.

        Until the end of the test, default clients of this process ask it, and the user's keys are out of reach.

        Args:
            asked_for: whether the test itself wants it; a strict one must then ask it something.
        """
        self._asks = self._asks or asked_for
        if self._server is None:
            made = self._made_server()
            self._server, self._within_reach = made, True
            self._start_in_thread(made)
            self.closed.put(made.stand_ins(os.environ))
        return self._server

    def _made_server(self) -> ModelEndpoint:
        if self.source is not None:
            return self.source.server()
        return ModelServer(self.scripted, self.journal, ids=self.ids, clock=self.journal.clock)

    def proxy(self) -> EgressProxy:
        """The proxy that refuses and records every way out."""
        return self.closed.proxy()

    def _start_in_thread(self, daemon: Daemon) -> None:
        if self._thread is None:
            self._thread = LoopThread("soundstage servers").__enter__()
            self._cleanup.append(self._thread.__exit__)
        thread = self._thread
        thread.call(daemon.start())
        self._cleanup.append(lambda: thread.call(daemon.stop()))

    def console(self) -> Console:
        """The console of this test; an asynchronous test is needed to use it."""
        if self._console is None:
            self._console = Console(self.journal)
            self._waiting.append(self._console)
        return self._console

    def add(self, world: WorldMaker[P, D], *args: P.args, **options: P.kwargs) -> D:
        """A world of this test; it starts when the body begins, and programs are pointed at it."""
        made = self.parts.make(world, *args, **options)
        self._waiting.append(made)
        return made

    def add_server(self, world: WorldMaker[P, D], *args: P.args, **options: P.kwargs) -> D:
        """Like `add`, for what synchronous tests use too: it is started at once, in the servers' thread."""
        made = self.parts.make(world, *args, **options)
        self._start_in_thread(made)
        self._servers.append(made)
        return made

    def workspace(self) -> Workspace:
        """The project folder of this test."""
        if self._workspace is None:
            self._workspace = Workspace(self.journal)
            run(self._workspace.start(), clock=SystemClock())
            self._cleanup.append(self._close_workspace)
        return self._workspace

    @property
    def made_workspace(self) -> Workspace | None:
        """The project folder of this test as a world, if something of the test has asked for it."""
        return self._workspace

    @property
    def project(self) -> Path | None:
        """The project folder of this test, if it has one so far."""
        return self._workspace.root if self._workspace is not None else self._project

    def work_in(self, folder: Path) -> None:
        """Take a folder that somebody else has made for the project folder of this test."""
        self._project = folder

    def _close_workspace(self) -> None:
        if self._workspace is not None:
            run(self._workspace.stop(), clock=SystemClock())

    async def run_app(self, app: App) -> TaskDaemon:
        """Start an app in process; it is stopped when the body ends, and what it raises fails the test."""
        context = AppContext(
            self.model,
            self.console().io,
            self.journal.clock,
            self.journal,
            app_sides(self._waiting),
            lambda: self.data_dir,
        )
        return await self._start_late(app_daemon(app, context))

    @property
    def data_dir(self) -> Path:
        """A folder for files of the app: made when it is asked for, removed at the end."""
        if self._data_dir is None:
            self._data_dir = ScratchFolder()
            self._cleanup.append(self._data_dir.close)
        return self._data_dir.path

    async def start_host(self, builder: HostBuilder) -> Host:
        """Start the run of a builder; it ends when the body does, and what is wrong then fails the test."""
        self._within_reach = True  # the builder's models serve the test's script, where it has been given it
        host = builder.build()
        daemon = _RunDaemon(host, self.journal)
        self._runs.add(daemon.name)
        await self._start_late(daemon)
        return host

    @property
    def runs(self) -> frozenset[str]:
        """The sources in the journal that tell of runs of builders; each run has a journal of its own."""
        return frozenset(self._runs)

    async def start_program(self, program: Callable[..., D], argv: Sequence[str], **options: Any) -> D:
        """Start a program, pointed at the scripted model and at nothing else; it ends when the body does."""
        return await self._start_late(program(argv, self.journal, **self._pointed(options)))

    def _pointed(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options of a program, with the model's address and the proxy in its environment."""
        ours = self.server().environment() | self.proxy().environment()
        for daemon in self._waiting + self._servers:
            ours |= daemon.environment()
        return {"isolation": self.isolation, **options, "environment": ours | options.get("environment", {})}

    async def _start_late(self, daemon: D) -> D:
        assert self._supervisor is not None
        await self._supervisor.add(daemon)
        self._late.append(daemon)
        return daemon

    def take_over(self, item: pytest.Function) -> None:
        """Make an asynchronous test function an ordinary one that runs on this stage."""
        if self.source is not None:
            self.source.begin()
        body = written(item)
        if inspect.iscoroutinefunction(body):

            @functools.wraps(body)  # so that pytest finds the test in a traceback
            def whole(**values: object) -> object:
                return run(self._drive(body_of(item, body, **values)), clock=self.journal.clock)

            item.obj = whole
        elif self._waiting:
            raise InvalidStateError(
                f"the fixture {self._waiting[0].name!r} is for asynchronous tests",
                seen=f"def {item.originalname}(...)",
                hint=f"write: async def {item.originalname}(...)",
            )

    async def _drive(self, body: Coroutine[Any, Any, object]) -> object:
        clock = self.journal.clock
        supervisor = self._supervisor = Supervisor(self._waiting, clock=clock)
        try:
            await supervisor.start()
        except BaseException:
            body.close()
            raise
        try:
            result = await body
        except BaseException as error:
            await self._end(supervisor, error)
            raise
        await self._end(supervisor, None)
        return result

    async def _end(self, supervisor: Supervisor, error: BaseException | None) -> None:
        """Let the apps finish, then stop what runs; what goes wrong is raised, or noted on the body's own error."""
        ending = RunEnding(self.journal.clock, failures_of([*self._waiting, *self._late]))
        apps = [daemon for daemon in self._late if isinstance(daemon, TaskDaemon)]
        for daemon in self._waiting:
            ending.take(daemon.end_input)

        async def settle() -> None:
            parts = [*self._waiting, *self._late]
            self._cut = await finish_work(parts, apps, self.journal, after=0, grace=GRACE)

        if apps and error is None:
            await ending.wait(settle)
        await ending.wait(supervisor.stop)
        ending.raise_for(error)

    def begin(self) -> None:
        """From now on, this process reaches the servers of runs and what is listed, and nothing else outside."""
        self._cleanup.append(self.closed.end)
        self.closed.begin()

    def check(self) -> None:
        """Require a clean end after the body has passed; see `soundstage.host.require_clean_end`."""
        self.closed.look()
        self._checked = len(self.journal)
        if self.source is not None:
            self.source.require()
        try:
            require_clean_end(
                self.journal,
                self.scripted,
                allow_egress=self.options.egress == "allow",
                allow_unfinished=self.options.unfinished == "allow",
                cut=self._cut,
            )
        except ScriptError as error:
            self._note_out_of_reach(error)
            raise
        if self._asks and self.script.strict and silences_asserted() == self._silences:
            require_request(self.journal)

    def _note_out_of_reach(self, error: BaseException) -> None:
        if self.script.rules and not self._within_reach:
            error.add_note(
                "no app could ask this test's script: with an SDK in this process, use the fixture `model_server`"
            )

    def note_causes(self, error: BaseException) -> None:
        """Say on the body's error what may have led to it: a script out of reach, or what tried to leave."""
        self._note_out_of_reach(error)
        self.closed.look()
        self._checked = len(self.journal)
        if self.options.egress == "allow":
            return
        try:
            require_no_egress(self.journal)
        except ExpectationError as tried:
            error.add_note(str(tried))

    def close(self) -> None:
        """Stop the servers and remove the workspace.

        Every step is taken, whatever the others come to, and the journal is closed last.

        Raises:
            ExpectationError: if something has tried to leave since the body ended.
            BaseExceptionGroup: if more than one step failed; with all that failed.
        """
        ending = RunEnding(self.journal.clock)
        while self._cleanup:
            ending.take(self._cleanup.pop())
        if self.options.egress != "allow":
            ending.take(lambda: require_no_egress(self.journal, self._checked))
        ending.take(self.journal.close)
        ending.raise_for(None)


class TraceSoFar:
    """The function `trace` of a test; it says so to whoever takes it for the trace."""

    def __init__(self, stage: RunSetup) -> None:
        self._stage = stage

    def __call__(self) -> Trace:
        """The trace of what has happened so far."""
        return self._stage.trace()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"`trace` is a function, not a trace: write trace() (seen: trace.{name})")


class _RunDaemon(Daemon):
    """A host's run as a part of the test."""

    def __init__(self, host: Host, journal: Journal) -> None:
        super().__init__(f"the run {host.settings.name}", journal)
        self._host = host

    @property
    def failures(self) -> tuple[BaseException, ...]:
        """Its own, and those of the parts of the run."""
        return (*super().failures, *failures_of(self._host.daemons))

    async def _start(self) -> None:
        await self._host.__aenter__()

    async def _stop(self) -> None:
        await self._host.__aexit__(None, None, None)
