"""Validation of a builder's parts, so that a wrong one is named before anything starts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, Protocol, Self, TypeVar

from soundstage.clock import IdSource
from soundstage.journal import Journal
from soundstage.lifecycle import Daemon, Supervisor
from soundstage.match import preview
from soundstage.models import Model, Script, ScriptedModel
from soundstage.net import EgressProxy
from soundstage.wire import ModelEndpoint, ModelServer
from soundstage.worlds import Workspace

T = TypeVar("T")
D = TypeVar("D", bound=Daemon)
P = ParamSpec("P")

WorldMaker = Callable[Concatenate[Journal, P], D]
"""The class of a world, or a function that makes one: it takes the journal of the run, and options.

Parameters called `ids` (a source of ids), `within` (seconds that its waits take, unless they are told otherwise) and
`strict` (whether what no rule answers fails the test, and a rule that was never used) get those of the run, unless the
caller gives them.
"""
_OF_RUN: Final = object()  # in the place of what the run gives


class Setup(Protocol):
    """The set-up of one test, which fixtures of wings extend: the fixture `stage`.

    Example:
        ::

            @pytest.fixture
            def mailbox(stage: Setup) -> Mailbox:
                return stage.add(Mailbox)
    """

    @property
    def journal(self) -> Journal:
        """Everything that happens in this test."""

    @property
    def script(self) -> Script:
        """The model's script."""

    @property
    def ids(self) -> IdSource:
        """Where the ids of this test come from."""

    @property
    def scripted(self) -> ScriptedModel:
        """The model that answers by the script."""

    @property
    def answers(self) -> Model:
        """The model of this test, without a journal: the scripted one, or what a mark has put in its place."""

    @property
    def isolation(self) -> str:
        """The isolation level of programs that do not say it themselves."""

    @property
    def project(self) -> Path | None:
        """The project folder of this test, if it has one so far."""

    @property
    def made_workspace(self) -> Workspace | None:
        """The project folder of this test as a world, if something of the test has asked for it."""

    def work_in(self, folder: Path) -> None:
        """Take a folder that somebody else has made for the project folder of this test."""

    def server(self) -> ModelEndpoint:
        """The model on a port; started at the first call."""

    def proxy(self) -> EgressProxy:
        """The proxy that refuses and records every way out."""

    def workspace(self) -> Workspace:
        """The project folder of this test."""

    def add(self, world: WorldMaker[P, D], *args: P.args, **options: P.kwargs) -> D:
        """A world of this test; it starts when the body begins, and programs are pointed at it."""

    def add_server(self, world: WorldMaker[P, D], *args: P.args, **options: P.kwargs) -> D:
        """Like `add`, for what synchronous tests use too: it is started at once, in a thread of its own."""

    async def start_program(self, program: Callable[..., D], argv: Sequence[str], **options: Any) -> D:
        """Start a program, pointed at the scripted model and at nothing else; it ends when the body does."""


class Composition:
    """The worlds of one run: made in one place, started in order, stopped in reverse.

    The runs of builders, the set-ups of tests, the harness for agents, warm processes and checks of plugins are all
    composed here.

    Args:
        journal: the journal of the run.
        ids: where its ids come from.
        within: seconds that waits take, unless they are told otherwise; each world's own default, if not given.
        strict: whether what no rule answers fails; each world's own default, if not given.

    Example:
        ::

            parts = Composition(journal)
            relay = parts.add(NostrRelay)
            async with parts:
                ...
    """

    def __init__(
        self,
        journal: Journal,
        *,
        ids: IdSource | None = None,
        within: float | None = None,
        strict: bool | None = None,
    ) -> None:
        self.journal = journal
        self.ids = ids or IdSource(0)
        self.within = within
        self.strict = strict
        self.daemons: list[Daemon] = []
        self._supervisor: Supervisor | None = None

    def make(self, world: WorldMaker[P, D], *args: P.args, **options: P.kwargs) -> D:
        """A world of this run, which the caller starts and stops.

        Raises:
            TypeError: if it does not take one of the options, or is no daemon.
        """
        takes = validate_options(world, args, options)
        of_run = {"ids": self.ids, "within": self.within, "strict": self.strict}
        own = {name: value for name, value in of_run.items() if name in takes and value is not None}
        made: Callable[..., D] = world
        daemon = made(self.journal, *args, **{**own, **options})
        return validate_part(daemon, Daemon, "add", "the class of a world, or a function that makes one")

    def add(self, world: WorldMaker[P, D], *args: P.args, **options: P.kwargs) -> D:
        """A world of this run; it starts after those that were added before. Raises what `make` raises."""
        made = self.make(world, *args, **options)
        self.daemons.append(made)
        return made

    def serve(self, model: Model) -> ModelServer:
        """Add a model on a port of its own."""
        return self.add(lambda journal: ModelServer(model, journal, ids=self.ids, clock=journal.clock))

    async def start(self, **limits: float) -> None:
        """Start all. If one fails, those before it are stopped, and the failure is raised.

        Args:
            **limits: `start_within` and `stop_within`, in seconds.
        """
        self._supervisor = Supervisor(self.daemons, clock=self.journal.clock, **limits)
        await self._supervisor.start()

    async def stop(self) -> None:
        """Stop all that were started; raise what went wrong. Harmless when repeated."""
        if self._supervisor is not None:
            await self._supervisor.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


def validate_options(
    world: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> Mapping[str, inspect.Parameter]:
    """Look at the options of a world before anything starts; what it takes, by name.

    Raises:
        TypeError: if it is no class or function, or does not take one of the options.
    """
    validate_part(world, Callable, "add", "the class of a world")
    signature = inspect.signature(world)
    of_run = {name: _OF_RUN for name in ("ids", "within", "strict") if name in signature.parameters}
    try:
        signature.bind(_OF_RUN, *args, **{**of_run, **options})
    except TypeError as error:
        name = getattr(world, "__name__", repr(world))
        takes = ", ".join(list(signature.parameters)[1:])
        raise TypeError(f"add({name}, ...): {error}; it takes {takes or 'no options'}") from None
    return signature.parameters


def validate_part(thing: T, kind: Any, call: str, wanted: str) -> T:
    """The part, if it is one.

    Args:
        thing: what was given.
        kind: what it has to be: a class, or a protocol that can be asked for at run time.
        call: the call of the builder that it came from.
        wanted: what that call takes, in words.

    Raises:
        TypeError: if it is something else.
    """
    if not isinstance(thing, kind):
        raise TypeError(f"{call} takes {wanted}, and got {type(thing).__name__}: {preview(thing)}")
    return thing
