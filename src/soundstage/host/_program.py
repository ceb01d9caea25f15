"""The app under test as a program: pointed at everything that the run has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soundstage.host._host import Host
from soundstage.lifecycle import Daemon
from soundstage.worlds import Workspace

if TYPE_CHECKING:
    from soundstage.drivers import TerminalConsole

Environment = Mapping[str, str] | Callable[[Host], Mapping[str, str]] | None


def make_program(
    host: Host, argv: Sequence[str | Path], environment: Environment, **options: Any
) -> TerminalConsole:
    """The program's console; it starts after everything that is in the run so far."""
    from soundstage.drivers import TerminalConsole

    worlds: list[Any] = [daemon for daemon in host.daemons if hasattr(daemon, "environment")]
    ready = _bot_is_there(worlds, host.settings.start_within)
    console = TerminalConsole(
        argv,
        host.journal,
        environment=lambda: _surroundings(host, worlds, environment),
        ready=ready,
        **{"interrupt": ready is not None, **options},
    )
    for world in worlds:
        if hasattr(world, "app_name"):
            world.app_name = console.app_name  # nobody waits for what it says after its exit
    return console


def _surroundings(host: Host, worlds: Sequence[Any], own: Environment) -> dict[str, str]:
    """Every world's variables, and the test's, which win."""
    found: dict[str, str] = {}
    for world in worlds:
        found |= world.environment(own_home=True) if isinstance(world, Workspace) else world.environment()
    return found | dict(own(host) if callable(own) else own or {})


def _bot_is_there(worlds: Sequence[Daemon], within: float) -> Callable[[], Awaitable[None]] | None:
    """Waits until the bot has connected, if there is a Discord that it can connect to."""
    for world in worlds:
        wait_for_bot: Any = getattr(world, "wait_for_bot", None)
        if wait_for_bot is not None:
            return lambda: wait_for_bot(within=within)
    return None
