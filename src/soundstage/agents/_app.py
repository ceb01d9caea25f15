"""The app: branches, a covenant between them, and daemons written by hand, run as one coroutine.

How a run goes. Everything that reacts is started first: windowing, drafts, what the branches say, the routes,
daemons written by hand; the inputs come last, so that nothing is read before somebody can deal with it. The app
is over when its inputs have ended (end of input, a closed gateway) and every part has dealt with everything that
is in the journal; an app without inputs runs until it is stopped. As soon as one part fails, the app ends with
that error. In every case all daemons are stopped, in reverse, and whatever goes wrong on the way is raised or
noted.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from soundstage.agents._drafts import DraftPump
from soundstage.agents._errors import CovenantError, CovenantProblem
from soundstage.agents._manifest import EntryRoute, type_name
from soundstage.agents._pump import Pump, route_pump
from soundstage.agents._scope import AppScope, Branch, BranchDaemons, JournalContext
from soundstage.agents._splitters import SplitPolicy
from soundstage.agents._transcript import TranscriptBuilder
from soundstage.agents._windowing import EntryFamily, WindowingDaemon
from soundstage.journal import Event
from soundstage.lifecycle import Daemon, Supervisor, TaskDaemon

MakeDaemon = Callable[[AppScope], Daemon]


class AppDefinition(NamedTuple):
    """The parts of an app and their settings, collected by the builder."""

    branches: tuple[Branch, ...]
    families: tuple[EntryFamily, ...]
    splitters: Mapping[type[Event], SplitPolicy]
    routes: tuple[EntryRoute, ...]
    makers: tuple[MakeDaemon, ...]
    transcript: TranscriptBuilder
    terminals: tuple[type[Event], ...] = ()

    @property
    def entries(self) -> tuple[type[Event], ...]:
        """The families of entries that the app has."""
        of_branches = [branch.manifest.entries for branch in self.branches]
        return tuple(dict.fromkeys([*(family.entries for family in self.families), *of_branches]))


class JournalApp:
    """An app whose parts speak through the journal. Made by `AppBuilder.build`.

    It is a coroutine function of what surrounds it, so a host runs it like any other app, and it holds no state
    between runs.

    Example:
        ::

            HostBuilder().with_console().with_app(app).run(body)      # on a closed set
            asyncio.run(app(StandaloneContext(journal, clock, console=SystemConsole())))    # for real
    """

    def __init__(self, plan: AppDefinition) -> None:
        self._plan = plan

    @property
    def entries(self) -> tuple[type[Event], ...]:
        """The families of entries that the app has."""
        return self._plan.entries

    async def __call__(self, context: JournalContext) -> None:
        """Run until the inputs have ended and everything is dealt with.

        Raises:
            Exception: what the first part that failed has raised; several of them as a group.
        """
        parts = RunningApp(self._plan, context)
        await parts.start()
        await parts.finish()

    def daemon(self, context: JournalContext, *, name: str = "app") -> AppDaemon:
        """One run as a daemon: it is ready when all parts are, so nothing that is sent then comes too early."""
        return AppDaemon(name, self._plan, context)


class RunningApp:
    """The parts of one run of an app."""

    def __init__(self, plan: AppDefinition, context: JournalContext) -> None:
        self._scope = AppScope(context, plan.entries, plan.transcript)
        self._daemons = _make_daemons(plan, self._scope)
        self._supervisor = Supervisor(
            (*self._daemons.workers, *self._daemons.inputs), clock=self._scope.clock
        )

    async def start(self) -> None:
        """Start all parts, or none."""
        await self._supervisor.start()

    async def finish(self) -> None:
        """Wait for the end, and stop all parts however it came."""
        try:
            await _until_over(self._daemons, self._scope)
        except BaseException as error:
            await _stop_after(error, self._supervisor)
            raise
        await self.stop()

    async def stop(self) -> None:
        """Stop all parts; harmless when they are stopped."""
        await self._supervisor.stop()


class AppDaemon(TaskDaemon):
    """One run of an app. Made by `JournalApp.daemon`."""

    def __init__(self, name: str, plan: AppDefinition, context: JournalContext) -> None:
        super().__init__(name, context.journal, self._finish)
        self._plan = plan
        self._context = context
        self._parts: RunningApp | None = None

    @property
    def entries(self) -> tuple[type[Event], ...]:
        """The families of entries that the app has."""
        return self._plan.entries

    async def _start(self) -> None:
        self._parts = RunningApp(self._plan, self._context)  # not before: the run begins now
        await self._parts.start()
        await super()._start()

    async def _finish(self) -> None:
        assert self._parts is not None
        await self._parts.finish()

    async def _stop(self) -> None:
        try:
            await super()._stop()
        finally:
            if self._parts is not None:  # a task that is cancelled before its first step has stopped nothing
                await self._parts.stop()


def _make_daemons(plan: AppDefinition, scope: AppScope) -> BranchDaemons:
    """All daemons, in the order in which they start.

    Raises:
        CovenantError: if nobody reads what an input brings in.
    """
    workers: list[Daemon] = []
    for family in plan.families:
        workers += _family_daemons(family, plan.splitters, scope)
    branches = [branch.daemons(scope) for branch in plan.branches]
    workers += [worker for branch in branches for worker in branch.workers]
    workers += [route_pump(route, scope.followers) for route in plan.routes]
    by_hand = [make(scope) for make in plan.makers]
    workers += by_hand
    if all(isinstance(daemon, Pump) for daemon in by_hand):  # what others read, nobody can know
        _check_read(plan, branches, scope)
    return BranchDaemons(tuple(workers), tuple(one for branch in branches for one in branch.inputs))


def _check_read(plan: AppDefinition, daemons: Sequence[BranchDaemons], scope: AppScope) -> None:
    """Every entry that comes in from outside has a reader, or is declared terminal."""
    read = {*scope.followers.kinds, *plan.terminals}
    problems = [
        CovenantProblem(
            "unread",
            type_name(kind),
            f"{branch.name!r} takes {type_name(kind)} in and nobody reads it: connect it by a route, or by a Pump",
        )
        for branch, made in zip(plan.branches, daemons, strict=True)
        if made.inputs
        for kind in branch.manifest.produces
        if kind not in read
    ]
    if problems:
        raise CovenantError(problems)


def _family_daemons(
    family: EntryFamily, splitters: Mapping[type[Event], SplitPolicy], scope: AppScope
) -> list[Daemon]:
    daemons: list[Daemon] = []
    if family.windowings:
        windowing = WindowingDaemon(family, scope.followers)
        scope.on_windowed(windowing.follower.wait_passed)
        daemons.append(windowing)
    if family.drafts:
        daemons.append(DraftPump(family, splitters, scope.followers))
    return daemons


async def _until_over(parts: BranchDaemons, scope: AppScope) -> None:
    """Wait for the end of the inputs and of all work; raise what fails before."""
    workers = _watch([daemon for daemon in parts.workers if isinstance(daemon, TaskDaemon)])
    inputs = _watch(parts.inputs)
    over = asyncio.create_task(_over(inputs, scope), name="wait for the end of the app")
    try:
        await _first_failure(over, [*workers, *inputs])
    finally:
        # a part may fail in the very moment in which the app is stopped: its error must not get lost
        _raise_all(await _end([over, *workers, *inputs]))


def _watch(daemons: Sequence[TaskDaemon]) -> list[asyncio.Task[None]]:
    """For each daemon a task that ends when the daemon does, with its error if there is one."""
    return [asyncio.create_task(daemon.wait(), name=f"watch {daemon.name}") for daemon in daemons]


async def _over(inputs: Sequence[asyncio.Task[None]], scope: AppScope) -> None:
    if not inputs:
        await asyncio.get_running_loop().create_future()  # until the app is stopped
    await asyncio.wait(inputs)
    await scope.followers.settled()


async def _first_failure(over: asyncio.Task[None], watching: Sequence[asyncio.Task[None]]) -> None:
    """Return when the app is over or a part has failed, whichever comes first."""
    pending: set[asyncio.Task[None]] = {over, *watching}
    while not over.done() and not any(task.done() and task.exception() for task in watching):
        _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)


async def _end(tasks: Sequence[asyncio.Task[None]]) -> list[Exception]:
    """Cancel what is left; the errors of what has failed."""
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    return [result for result in results if isinstance(result, Exception)]


def _raise_all(errors: list[Exception]) -> None:
    if len(errors) > 1:
        raise ExceptionGroup("several parts of the app failed", errors)
    if errors:
        raise errors[0]


async def _stop_after(error: BaseException, supervisor: Supervisor) -> None:
    """Stop everything because of `error`. What goes wrong is noted on it, or raised if it is a mere stop."""
    try:
        await supervisor.stop()
    except BaseException as problem:
        if isinstance(error, asyncio.CancelledError):
            raise
        error.add_note(
            "and while the app was being stopped:\n" + "".join(traceback.format_exception(problem))
        )
