"""One run of a program on a script, in a new folder, and what came of it: what a generated test asserts.

The program runs as it does in a test of the fixtures `script`, `command` and `workspace`: in a throw-away home, with
the model's server as the only address that it reaches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.clock import IdSource, SystemClock
from soundstage.differences import digest_of
from soundstage.drivers import Command
from soundstage.host import Composition
from soundstage.journal import Journal
from soundstage.models import Model, Script, ScriptedModel
from soundstage.tapes._recording import RecordingModel
from soundstage.tapes._tape import Tape
from soundstage.trace import Trace
from soundstage.worlds import Workspace

FOLDER: Final = "<folder>"
_NOT_FILES: Final = frozenset({"__pycache__", ".pytest_cache", "node_modules"})


class WrittenFile(NamedTuple):
    """A file that a run has changed: its path, how (`created`, `modified`, `deleted`), its text if it is one."""

    path: str
    change: str
    text: str | None


class Rehearsal(NamedTuple):
    """The end of one run, and its traces.

    Args:
        code: the exit code.
        lines: what it printed, with `<folder>` for its folder.
        errors: what it printed on standard error.
        trace: what it asked, and what it was answered.
        digests: of its requests, in their order.
        files: what it changed, by path.
    """

    code: int
    lines: tuple[str, ...]
    errors: tuple[str, ...]
    trace: Trace
    digests: tuple[str, ...]
    files: tuple[WrittenFile, ...]


def rehearse(
    script: Script,
    argv: Sequence[str],
    *,
    files: Sequence[Path] = (),
    within: float = 60.0,
    record: Tape | None = None,
) -> Rehearsal:
    """Run a program on a script.

    Args:
        script: what the model says.
        argv: the program and its arguments, with full paths.
        files: files that it finds in its folder.
        within: seconds that it may take.
        record: gets what it asks and is answered.

    Raises:
        EnvironmentProblem: if it cannot be started.
        WaitTimeout: if it does not end in time.
    """
    return asyncio.run(_rehearsed(script, argv, files, within, record))


async def _rehearsed(
    script: Script, argv: Sequence[str], files: Sequence[Path], within: float, record: Tape | None
) -> Rehearsal:
    journal = Journal(clock=SystemClock())
    try:
        parts = Composition(journal, ids=IdSource(0))
        workspace = parts.add(Workspace)
        model: Model = ScriptedModel(script, clock=journal.clock, ids=IdSource(0))
        if record is not None:
            model = RecordingModel(model, record, clock=journal.clock)
        server = parts.serve(model)
        async with parts:
            for file in files:
                workspace.write(file.name, file.read_bytes())
            before = workspace.snapshot()
            command = Command(
                argv, journal, cwd=workspace.root, environment=server.environment(), code=None, name="program"
            )
            await command.start()
            try:
                code = await command.wait(None, within=within)
            finally:
                await command.stop()
            root = str(workspace.root)
            found = tuple(
                WrittenFile(change.path, change.change, _text(workspace, change.path))
                for change in workspace.changes(before)
                if not _NOT_FILES.intersection(change.path.split("/"))
            )
            trace = Trace.of(journal)
            return Rehearsal(
                code,
                tuple(line.replace(root, FOLDER) for line in command.lines()),
                tuple(command.lines("stderr")),
                trace,
                tuple(
                    digest_of(step.request, normalise=lambda text: text.replace(root, FOLDER))
                    for step in trace.steps
                ),
                found,
            )
    finally:
        journal.close()


def _text(workspace: Workspace, path: str) -> str | None:
    try:
        return workspace.path(path).read_text(encoding="utf-8").replace(str(workspace.root), FOLDER)
    except (OSError, UnicodeDecodeError):
        return None
