"""A run while it lasts: starts what the builder named, hands it to the test, and ends it whatever happens.

Order: `RunStarted`, daemons in the order of the builder, the app last; at the end the daemons in reverse,
`RunFinished`, the journal; the same end when a daemon cannot start. What fails in the background is never lost: it
is raised when the run ends, or noted on the error that the test itself raised, which always wins.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from soundstage.clock import Clock, IdSource
from soundstage.errors import InvalidStateError
from soundstage.host._checks import check_end
from soundstage.host._llm import ModelSide
from soundstage.journal import Event, Journal, RunFinished, RunStarted
from soundstage.lifecycle import Daemon, ScratchFolder, Supervisor, TaskDaemon
from soundstage.models import Model, ScriptedModel
from soundstage.trace import Trace, build_trace
from soundstage.wire import ModelServer
from soundstage.worlds import Console, Workspace

if TYPE_CHECKING:
    from soundstage.agents import Journals
    from soundstage.worlds.mcp import McpServer

D = TypeVar("D", bound=Daemon)

INPUT_ENDS = ("end_input", "complete_inbound")  # what worlds call it
MAKERS = {
    "Console": "with_console()",
    "Workspace": "with_workspace()",
    "ModelServer": "with_server()",
}


def _nothing() -> None:
    """A world without an input that could end."""


class Settings(NamedTuple):
    """How a run is set up; the builder collects it."""

    name: str
    seed: int
    start_within: float
    stop_within: float
    allow_egress: bool
    grace: float = 1.0
    wait_within: float | None = None


class Host:
    """A run. Made by `HostBuilder.build`; use it with `async with`."""

    def __init__(
        self, settings: Settings, journal: Journal, ids: IdSource, scripted: ScriptedModel, model: Model
    ) -> None:
        self.settings = settings
        self.journal = journal
        self.ids = ids
        self.scripted = scripted
        self.model = model
        self.daemons: list[Daemon] = []
        self.app: TaskDaemon | None = None
        self.entries: Sequence[type[Event]] = (Event,)
        self._begun = len(journal)  # what a file holds already belongs to earlier runs
        self._supervisor: Supervisor | None = None
        self._data_dir: ScratchFolder | None = None

    @property
    def clock(self) -> Clock:
        """The run's clock."""
        return self.journal.clock

    @property
    def trace(self) -> Trace:
        """What has happened so far in this run."""
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
    def discord(self) -> Any:
        """The test's side of Discord: `worlds.discord.Discord`, or `VirtualDiscordGateway` in process."""
        for daemon in self.daemons:
            if hasattr(daemon, "expect_message"):
                return daemon
        raise self._without("Discord", "with_virtual_discord() in process, with_discord() on a port")

    def mcp(self, name: str = "mcp") -> McpServer:
        """The MCP server of this name, started: `.url`, `.on_tool(..)`, `await .expect_call(..)`.

        Raises:
            InvalidStateError: if the builder was not told to make one.
        """
        from soundstage.worlds.mcp import McpServer

        for daemon in self.daemons:
            if isinstance(daemon, McpServer) and daemon.name == name:
                return daemon
        raise self._without(f"MCP server {name!r}", f"with_mcp({name!r})")

    @property
    def journals(self) -> Journals:
        """The typed journals of the app's entries: `host.journals.get(ChatEntry).events()`."""
        from soundstage.agents import Journals

        return Journals(self.journal, self.entries)

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

    def get(self, kind: type[D]) -> D:
        """The daemon of a class.

        Raises:
            InvalidStateError: if the builder was not told to make one.
        """
        for daemon in self.daemons:
            if isinstance(daemon, kind):
                return daemon
        raise self._without(kind.__name__, MAKERS.get(kind.__name__, "with_daemon(...)"))

    def _without(self, what: str, maker: str) -> InvalidStateError:
        return InvalidStateError(
            f"this run has no {what}: it is not configured",
            seen=", ".join(daemon.name for daemon in self.daemons) or "nothing at all",
            hint=f"tell the builder: .{maker}",
        )

    async def __aenter__(self) -> Self:
        if self._supervisor is not None:
            raise InvalidStateError("this run is over", hint="build another one")
        settings = self.settings
        self.journal.append(
            RunStarted(name=settings.name, wall=self.clock.wall().isoformat(), seed=settings.seed),
            source="host",
        )
        self._supervisor = Supervisor(
            self.daemons,
            clock=self.clock,
            start_within=settings.start_within,
            stop_within=settings.stop_within,
        )
        try:
            await self._supervisor.start()
        except BaseException as error:  # nobody calls `__aexit__` then
            self._close_data_dir()
            self._finish(error)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        failure: BaseException | None = None
        try:
            await self._stop()
            if error is None:
                allow = self.settings.allow_egress
                check_end(self.journal, self.scripted, allow_egress=allow, after=self._begun)
        except BaseException as found:  # noqa: BLE001  (raised below, or noted on the test's own error)
            failure = found
        self._finish(error if error is not None else failure)
        if failure is not None and error is not None:
            error.add_note(_told(failure))
        elif failure is not None:
            raise failure

    def _finish(self, error: BaseException | None) -> None:
        """The last event: how the run has ended."""
        self.journal.append(
            RunFinished(
                outcome="passed" if error is None else "failed",
                reason="" if error is None else f"{type(error).__name__}: {error}",
            ),
            source="host",
        )
        self.journal.close()

    async def _stop(self) -> None:
        try:
            if self._supervisor is not None:
                await self._end_inputs()
                await self._supervisor.stop()
        finally:
            self._close_data_dir()

    def _close_data_dir(self) -> None:
        if self._data_dir is not None:
            self._data_dir.close()

    async def _end_inputs(self) -> None:
        """End what the app reads, and give it some time to come to its end by itself."""
        for daemon in self.daemons:
            for name in INPUT_ENDS:
                getattr(daemon, name, _nothing)()
        if self.app is not None:
            await self.app.settle(self.settings.grace)

    @property
    def path(self) -> Path | None:
        """The file of the journal, if it has one."""
        return self.journal.path


def _told(failure: BaseException) -> str:
    lines = traceback.format_exception(failure)
    return "and while the run was being ended:\n" + "".join(lines)
