"""A run of the real CLI: scripted model on the wire, workspace, driver."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from soundstage.drivers import ClaudeCode
from soundstage.journal import EgressTried, Journal, ModelRequested
from soundstage.lifecycle import Supervisor
from soundstage.messages import ModelRequest
from soundstage.models import Script, ScriptedModel
from soundstage.wire import ModelServer
from soundstage.worlds import Workspace


class Run(NamedTuple):
    """What a test works with."""

    journal: Journal
    script: Script
    workspace: Workspace
    claude: ClaudeCode

    def requests(self) -> list[ModelRequest]:
        """What the CLI has asked the model."""
        return [event.request for event in self.journal.events(ModelRequested)]


def play(body: Callable[[Run], Awaitable[Any]], *, started: bool = True, **options: Any) -> Any:
    """What `body` returns in a run; afterwards nothing must have tried to leave the machine."""
    journal = Journal()

    async def main() -> Any:
        script = Script()
        server = ModelServer(ScriptedModel(script), journal)
        workspace = Workspace(journal)
        claude = ClaudeCode(journal, server, workspace, **options)
        daemons = (server, workspace, claude) if started else (server, workspace)
        supervisor = Supervisor(daemons, clock=journal.clock)
        await supervisor.start()
        try:
            return await body(Run(journal, script, workspace, claude))
        finally:
            await supervisor.stop()

    result = asyncio.run(main())
    assert journal.events(EgressTried) == []
    return result


@pytest.fixture
def with_claude() -> Callable[..., Any]:
    return play
