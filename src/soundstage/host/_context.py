"""The context of the app under test, and how a host runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from soundstage.clock import Clock
from soundstage.journal import Journal
from soundstage.lifecycle import Daemon, TaskDaemon
from soundstage.models import Model
from soundstage.worlds import ConsoleIO, World


class AppContext(msgspec.Struct, frozen=True):
    """The context of an app in process: its side of everything around it.

    Attributes:
        model: the model; scripted, and whatever else the test has made of it.
        console: its console.
        clock: its time.
        journal: the journal of the run, for entries of its own.
        worlds: what other worlds have for an app in process, by their names; each is an attribute too, such as
            `discord`.
        make_data_dir: makes the folder of `data_dir`.
    """

    model: Model
    console: ConsoleIO
    clock: Clock
    journal: Journal
    worlds: Mapping[str, Any] = {}
    make_data_dir: Callable[[], Path] | None = None

    def __getattr__(self, name: str) -> Any:
        if name not in self.worlds:
            known = ", ".join(["model", "console", *self.worlds])
            raise AttributeError(
                f"this run has no {name!r} for an app in process, only {known}; the builder adds worlds: .add(...)"
            )
        return self.worlds[name]

    @property
    def data_dir(self) -> Path | None:
        """A folder for the app's files: empty at the start of the run, gone after it."""
        return None if self.make_data_dir is None else self.make_data_dir()


App = Callable[[AppContext], Awaitable[None]]


def app_sides(daemons: Iterable[Daemon]) -> dict[str, object]:
    """The sides that the worlds among the daemons have for an app in process; of two of one name, the first."""
    found: dict[str, object] = {}
    for daemon in daemons:
        if isinstance(daemon, World):
            found = {**daemon.app_sides(), **found}
    return found


def app_daemon(app: App, context: AppContext) -> TaskDaemon:
    """An app as a daemon. A `JournalApp` makes its own, which runs when all its parts do; others run at once."""
    make: Callable[[AppContext], TaskDaemon] | None = getattr(app, "daemon", None)
    daemon = TaskDaemon("app", context.journal, lambda: app(context)) if make is None else make(context)
    daemon.tells_end = True  # whoever waits for what it says is told
    return daemon
