"""One run of an app: what its parts share. Made anew each time the app is run, so that runs share nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from soundstage.agents._followers import Followers
from soundstage.agents._journals import Journals
from soundstage.agents._manifest import BranchManifest
from soundstage.agents._transcript import TranscriptBuilder
from soundstage.clock import Clock
from soundstage.errors import InvalidStateError
from soundstage.journal import Event, Journal
from soundstage.lifecycle import Daemon, TaskDaemon
from soundstage.models import Model


class JournalContext(Protocol):
    """The context that an app needs to run; hosts give one to their apps.

    The branches look for `model`, `console` and `discord` on it, and say so when one is missing.
    """

    @property
    def journal(self) -> Journal:
        """The journal of the run."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock of the run."""
        ...


class StandaloneContext(NamedTuple):
    """The context of an app that runs without a host: its side of the real world.

    Example:
        ::

            clock = SystemClock()
            around = StandaloneContext(Journal(clock=clock), clock, model=LiveModel(...), console=SystemConsole())
            asyncio.run(app(around))
    """

    journal: Journal
    clock: Clock
    model: Model | None = None
    console: Any = None
    discord: Any = None


class AppScope:
    """The state that the parts of an app share while it runs. Makers of daemons get it.

    Attributes:
        journal: the journal of the run.
        clock: its clock.
        journals: typed views of the families that the app has.
        followers: who reads the journal; give it to a `Pump`, or call `follow` for a reader of your own.
        transcript: makes the messages for a model.
        shared: what branches on one thing have in common, by the id of that thing.
    """

    def __init__(
        self, context: JournalContext, families: Sequence[type[Event]], transcript: TranscriptBuilder
    ) -> None:
        self.context = context
        self.journal = context.journal
        self.clock = context.clock
        self.journals = Journals(context.journal, families)
        self.followers = Followers(context.journal)
        self.transcript = transcript
        self.shared: dict[int, Any] = {}
        self._when_windowed: list[Callable[[int], Any]] = []

    def part(self, name: str, branch: str) -> Any:
        """A part of the context: `model`, `console`, `discord`.

        Raises:
            InvalidStateError: if it has none.
        """
        found = getattr(self.context, name, None)
        if found is None:
            raise InvalidStateError(
                f"the branch {branch!r} needs a {name}, and there is none",
                seen=f"{type(self.context).__name__} without {name}",
                hint=f"run the app on a host that has one, or on StandaloneContext(..., {name}=...)",
            )
        return found

    def on_windowed(self, wait: Callable[[int], Any]) -> None:
        """Have `wait_windowed` wait for `wait(position)` too."""
        self._when_windowed.append(wait)

    async def wait_windowed(self, position: int) -> None:
        """Wait until the windowing daemons have dealt with everything up to `position`."""
        for wait in self._when_windowed:
            await wait(position)


class BranchDaemons(NamedTuple):
    """The daemons of a branch.

    Args:
        workers: what reacts to entries; started before any input is read.
        inputs: what brings entries in from outside. When the last input of an app has come to its end and
            everything is dealt with, the app is over.
    """

    workers: tuple[Daemon, ...] = ()
    inputs: tuple[TaskDaemon, ...] = ()


class Branch(Protocol):
    """A part of an app that speaks to something outside: a console, a model, Discord."""

    @property
    def name(self) -> str:
        """Unique in an app."""
        ...

    @property
    def manifest(self) -> BranchManifest:
        """Which entries it writes and reads."""
        ...

    def daemons(self, scope: AppScope) -> BranchDaemons:
        """Make its daemons, anew for each run of the app."""
        ...
