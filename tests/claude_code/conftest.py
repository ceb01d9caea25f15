"""A run of the real CLI: scripted model on the wire, workspace, driver."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from soundstage.claude_code import ClaudeCode
from soundstage.journal import EgressTried, Journal, ModelRequested
from soundstage.lifecycle import Supervisor
from soundstage.messages import ModelRequest
from soundstage.models import Script, ScriptedModel
from soundstage.wire import ModelServer
from soundstage.worlds import Workspace


class Run(NamedTuple):
    """The parts of a run that a test works with."""

    journal: Journal
    script: Script
    workspace: Workspace
    claude: ClaudeCode

    def requests(self) -> list[ModelRequest]:
        """The requests that the CLI has sent to the model."""
        return [event.request for event in self.journal.events(ModelRequested)]


def play(body: Callable[[Run], Awaitable[Any]], *, started: bool = True, **options: Any) -> Any:
    """Run `body`; afterwards nothing must have tried to leave the machine. Returns its result."""
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


def write_plugin(folder: Path, files: Mapping[str, Any] | None = None, **manifest: Any) -> Path:
    """A plugin folder: its manifest and other files, as text or as what becomes JSON."""
    manifest = {"name": folder.name, "version": "1.0.0", **manifest}
    for path, content in {".claude-plugin/plugin.json": manifest, **(files or {})}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
    return folder


def write_marketplace(folder: Path, *plugins: str) -> Path:
    """A marketplace folder around plugins that are folders in it."""
    listed = [{"name": name, "source": f"./{name}"} for name in plugins]
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin/marketplace.json").write_text(
        json.dumps({"name": "market", "owner": {"name": "me"}, "plugins": listed})
    )
    return folder


@pytest.fixture
def make_plugin() -> Callable[..., Path]:
    return write_plugin


@pytest.fixture
def make_marketplace() -> Callable[..., Path]:
    return write_marketplace
