"""A program in the foreground: it has our terminal, our folder and our variables, and talks to a server of ours.

It runs below the launcher like every program here, so nothing of it is left behind. A replay lets it reach nothing but
the server: where the kernel allows it, in a network of its own, else by proxies that refuse. Its keys are stand-ins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from soundstage.drivers import AnyIsolation, Sandbox, isolation_problem
from soundstage.journal import Journal
from soundstage.lifecycle import Process, termination_requested

KEPT_ON_RECORD = {"CLAUDE_CODE_ATTRIBUTION_HEADER": "0"}
"""Variables that make a program repeat itself: this one keeps a number of Claude Code out of its system prompt."""


class ForegroundProcess(Process):
    """A program with our own standard streams."""

    def _streams(self) -> tuple[int, int, int]:
        return 0, 1, 2

    def _readers(self) -> list[Coroutine[Any, Any, None]]:
        return []


async def run_program(
    argv: Sequence[str],
    journal: Journal,
    *,
    environment: Mapping[str, str],
    isolation: AnyIsolation | None = None,
    cwd: Path | None = None,
    reads: Sequence[Path] = (),
) -> int:
    """Run a program until nothing of it is left; its exit code, as a shell gives it.

    SIGINT, SIGTERM and SIGHUP end it, and then us.

    Args:
        argv: the program and its arguments.
        journal: where its start and exit go.
        environment: all of its variables.
        isolation: how far its network is kept apart; not at all unless given.
        cwd: its folder; ours unless given.
        reads: files and folders that it has to see, however far it is kept apart.

    Raises:
        EnvironmentProblem: if it cannot be run, or the isolation cannot be had.
    """
    sandbox = Sandbox(journal, isolation=isolation) if isolation is not None else None
    if sandbox is not None:
        sandbox.needs(*reads)
        await sandbox.open()
    process = ForegroundProcess(
        argv,
        journal,
        source="program",
        cwd=cwd if cwd is not None else Path.cwd(),
        environment={**environment, **(_refusing(sandbox) if sandbox is not None else {})},
        on_line=_unread,
        isolator=sandbox.isolator if sandbox is not None else None,
    )
    try:
        await process.start()
        code = await _ended(process)
    finally:
        if sandbox is not None:
            await sandbox.close()
    return 128 - code if code < 0 else code


async def _ended(process: Process) -> int:
    """Wait for its end, or end it when we are asked to end."""
    asked = asyncio.create_task(termination_requested().wait(), name="waiting for a signal")
    over = asyncio.create_task(process.wait(), name="waiting for the program")
    try:
        await asyncio.wait({asked, over}, return_when=asyncio.FIRST_COMPLETED)
        return over.result() if over.done() else await process.terminate()
    finally:
        asked.cancel()
        over.cancel()


def _refusing(sandbox: Sandbox) -> dict[str, str]:
    """Variables of the proxy that refuses; the program keeps its folders."""
    folders = {"HOME", "TMPDIR", "TMP", "TEMP", "LANG", "TZ", "PATH"}
    given = sandbox.environment()
    return {
        name: value
        for name, value in given.items()
        if name not in folders and not name.startswith(("XDG_", "PYTHON", "LD_", "DYLD_"))
    }


def best_isolation() -> str:
    """A network of its own where the system allows it, else proxies that refuse."""
    return "netns" if isolation_problem("netns") is None else "process"


def _unread(channel: str, line: str) -> None:
    """Its output goes past us."""
