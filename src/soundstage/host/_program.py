"""The app under test as a program: pointed at everything that the run has."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from soundstage.host._host import Host
from soundstage.lifecycle import Daemon
from soundstage.wings import load_target, wings
from soundstage.worlds import Console, Workspace, World

Environment = Mapping[str, str] | Callable[[Host], Mapping[str, str]] | None


def make_program(host: Host, argv: Sequence[str | Path], environment: Environment, **options: Any) -> Console:
    """The program's console; it starts after everything that is in the run so far."""
    daemons = tuple(host.daemons)
    worlds = [daemon for daemon in daemons if isinstance(daemon, World)]
    ready = _readiness(worlds, host.settings.start_within)
    console: Console = _console_class()(
        argv,
        host.journal,
        environment=lambda: _surroundings(host, daemons, environment),
        ready=ready,
        **{"interrupt": ready is not None, **options},
    )
    for world in worlds:
        world.app_name = console.app_name  # nobody waits for what it says after its exit
    return console


def _console_class() -> Callable[..., Console]:
    """The class of consoles whose app is a program: the one that a wing brings."""
    found: Callable[..., Console] = load_target(next(wing.console for wing in wings() if wing.console))
    return found


def _surroundings(host: Host, daemons: Sequence[Daemon], own: Environment) -> dict[str, str]:
    """Every part's variables, and the test's, which win."""
    found: dict[str, str] = {}
    for part in daemons:
        found |= part.environment(own_home=True) if isinstance(part, Workspace) else part.environment()
    return found | dict(own(host) if callable(own) else own or {})


def _readiness(worlds: Sequence[World], within: float) -> Callable[[], Awaitable[None]] | None:
    """The first world's wait for the program, if one has such a wait."""
    for world in worlds:
        wait = world.readiness()
        if wait is not None:
            return functools.partial(wait, within=within)
    return None
