"""An app and its journals, for tests that run it on a host."""

from __future__ import annotations

from collections.abc import Callable

from soundstage.agents._app import AppDaemon, JournalApp
from soundstage.agents._builder import AppBuilder
from soundstage.agents._journals import Journals
from soundstage.host import Host
from soundstage.journal import Event


def configured_app(*functions: Callable[[AppBuilder], object]) -> JournalApp:
    """The app that its own `configure` functions describe, applied in order: later ones win.

    So a test takes the app's real configuration and swaps what it must.

    Raises:
        CovenantError: with everything that is wrong with the app's covenant.
        SettingError: if there is a policy for a type that has no use for one.

    Example:
        ::

            app = configured_app(my_app.configure, lambda app: app.with_window(ChatChunk, ImmediateWindow()))
            HostBuilder().with_console().with_app(app).run(body)
    """
    builder = AppBuilder()
    for configure in functions:
        builder.apply(configure)
    return builder.build()


def journals_of(host: Host) -> Journals:
    """The typed journals of the app of a run; of every event class, if the app is no `JournalApp`.

    Example:
        ::

            journals_of(host).get(ChatEntry).events()
    """
    app = next((daemon for daemon in host.daemons if isinstance(daemon, AppDaemon)), None)
    return Journals(host.journal, (Event,) if app is None else app.entries)
