"""One run of a program for a sweep: a copy of the folder, a model server, the program, and what came of it.

Each run has a journal, a server, a throw-away home and a copy of the folder of its own, so that several go side by side
on one event loop. The program gets the variables that `ModelServer.environment` gives every program under test.

A run ends when the program does. It is ended by us when it has asked nothing for a while and runs on, and when it has
made more requests than the limit: both are a program that hangs.
"""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from soundstage.clock import IdSource, SystemClock
from soundstage.drivers import PROCESS, AnyIsolation, Command
from soundstage.faults._calls import actions_of, calls_of
from soundstage.faults._cases import Injection
from soundstage.faults._model import SweptModel
from soundstage.faults._outcome import Files, Outcome, counted, crash_in
from soundstage.faults._source import ModelSource
from soundstage.host import Composition
from soundstage.journal import Journal
from soundstage.models import PlacedModel
from soundstage.worlds import Workspace

LINKED: Final = frozenset({".venv", "venv", "node_modules"})  # large, and read only as a rule: not copied
LEFT_OUT: Final = frozenset({".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
START: Final = 60.0  # seconds, at least, for a program to start and ask for the first time
KILLED: Final = 0.5  # seconds that a program which hangs gets to end


class ProgramSettings(NamedTuple):
    """A program, and how it is run.

    Args:
        argv: the program and its arguments.
        folder: the folder that it works in; each run gets a copy.
        within: seconds that a run may go on without another request.
        limit: requests that a run may make; without a limit, if `None`.
        allow: names of our variables that the program gets.
        isolation: how far it is kept apart.
        stdin: its standard input.
    """

    argv: Sequence[str]
    folder: Path
    within: float = 60.0
    limit: int | None = None
    allow: tuple[str, ...] = ()
    isolation: AnyIsolation = PROCESS
    stdin: str = ""


async def run_program(
    source: ModelSource, settings: ProgramSettings, injection: Injection | None = None
) -> Outcome:
    """Run the program once on a good model, with `injection`.

    Raises:
        EnvironmentProblem: if it cannot be started.
    """
    journal = Journal(clock=SystemClock())
    try:
        parts = Composition(journal, ids=IdSource(0))
        workspace = parts.add(Workspace)
        states: list[Files] = []
        limit = settings.limit if settings.limit is not None else 1_000_000
        good = source()
        variables = good.variables if isinstance(good, PlacedModel) else {}

        def asked() -> None:
            if not states and isinstance(good, PlacedModel):
                good.work_in(workspace.root, command.home)
            states.append(_files(workspace))

        model = SweptModel(good, injection, limit=limit, asked=asked)
        server = parts.serve(model)
        async with parts:
            _copy(settings.folder, workspace.root)
            environment = {**variables, **server.environment()}
            command = Command(
                settings.argv,
                journal,
                cwd=workspace.root,
                environment=environment,
                allow=settings.allow,
                stdin=settings.stdin,
                isolation=settings.isolation,
                grace=KILLED,
                code=None,
                name="program",
            )
            await command.start()
            try:
                hung = await _finish(command, model, settings.within)
            finally:
                await command.stop()
            return _outcome(command, workspace, journal, states, hung)
    finally:
        journal.close()


async def _finish(command: Command, model: SweptModel, within: float) -> str:
    """Wait for the program's end; why it hangs, if it does. Each request gives it its time anew."""
    exited = asyncio.create_task(command.wait(None, within=math.inf))
    try:
        while not model.flooded:
            asked = asyncio.create_task(model.next_request())
            left = within if model.requests else max(within, START)
            done, _ = await asyncio.wait({exited, asked}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            await _ended(asked)
            if exited in done:
                await exited
                return ""
            if not done:
                return f"still running {left:g} s after {counted(model.requests, 'request')}"
        return f"asks without an end: stopped at request {model.requests}"
    finally:
        await _ended(exited)


async def _ended(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})


def _outcome(
    command: Command, workspace: Workspace, journal: Journal, states: list[Files], hung: str
) -> Outcome:
    folder = str(workspace.root)
    printed, errors = ("\n".join(command.lines(channel)) for channel in ("stdout", "stderr"))
    code, files = command.exit_code or 0, _files(workspace)
    calls = calls_of(journal.read())
    return Outcome(
        printed.replace(folder, "<folder>"),
        code,
        (errors or printed).replace(folder, "<folder>") if code else "",
        crash_in(code, errors),
        hung,
        calls,
        actions_of(calls),
        files,
        (*states, files),
    )


def _files(workspace: Workspace) -> Files:
    return {
        path: state.sha256
        for path, state in workspace.snapshot().items()
        if not LEFT_OUT.intersection(path.split("/"))
    }


def _copy(folder: Path, target: Path) -> None:
    """Copy a folder; what is large and not worked on is linked, what tools keep for themselves is left out."""

    def ignored(_: str, names: list[str]) -> set[str]:
        return {name for name in names if name in LEFT_OUT or name in LINKED}

    shutil.copytree(folder, target, symlinks=True, ignore=ignored, dirs_exist_ok=True)
    for name in LINKED:
        if (folder / name).is_dir():
            (target / name).symlink_to((folder / name).resolve())
