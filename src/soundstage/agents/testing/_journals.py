"""The typed journals of a run."""

from __future__ import annotations

from soundstage.agents._app import AppDaemon
from soundstage.agents._journals import Journals
from soundstage.host import Host
from soundstage.journal import Event


def journals_of(host: Host) -> Journals:
    """The typed journals of the app of a run; of every event class, if the app is no `JournalApp`.

    Example:
        ::

            journals_of(host).get(ChatEntry).events()
    """
    app = next((daemon for daemon in host.daemons if isinstance(daemon, AppDaemon)), None)
    return Journals(host.journal, (Event,) if app is None else app.entries)
