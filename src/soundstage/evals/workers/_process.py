"""Workers as processes of this machine, started as all programs are: what a worker leaves running ends with it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, Final

from soundstage.clock import SystemClock, time_limit
from soundstage.errors import AppError, EnvironmentProblem
from soundstage.evals.workers._messages import (
    RunSent,
    RunWanted,
    WorkerJob,
    WorkerLostError,
    WorkerReady,
    as_line,
    message_of,
    unpacked_error,
)
from soundstage.journal import Journal
from soundstage.lifecycle import Process

PROGRAM: Final = "soundstage.evals.workers._program"
START_WITHIN: Final = 60.0  # seconds, to load the suite


class ProcessWorker:
    """One process that makes runs, several at a time.

    Args:
        job: its work.
        folder: for its temporary files.
        program: the module that it runs.
        within: seconds that it may take to start.
        scratch: a folder to remove should our process be killed.
    """

    def __init__(
        self,
        job: WorkerJob,
        folder: Path,
        *,
        program: str = PROGRAM,
        within: float = START_WITHIN,
        scratch: Path | None = None,
    ) -> None:
        self._job = job
        self._within = within
        self._ready: asyncio.Future[WorkerReady] = asyncio.get_running_loop().create_future()
        self._waiting: dict[RunWanted, asyncio.Future[RunSent]] = {}
        self._watching: asyncio.Task[None] | None = None
        self._process = Process(
            [sys.executable, "-P", "-m", program],
            Journal(clock=SystemClock()),
            source="worker",
            cwd=Path.cwd(),
            environment={**os.environ, "TMPDIR": str(folder)},
            on_line=self._heard,
            line_limit=sys.maxsize,
            scratch=scratch,
        )

    async def start(self) -> None:
        """Start it, and wait until it has loaded the suite.

        Raises:
            SoundstageError: if it cannot; the worker's own error.
        """
        await self._process.start()
        self._watching = asyncio.create_task(self._watch())
        try:
            async with time_limit(self._within):
                await self._process.write(as_line(self._job))
                ready = await self._ready
        except TimeoutError:
            await self._process.killed()
            raise EnvironmentProblem(
                f"a worker was not ready within {self._within:g} s", seen=self._process.stderr
            ) from None
        except BaseException:
            await self.stop()
            raise
        if ready.problem:
            await self.stop()
            raise unpacked_error(ready.problem)

    async def make(self, wanted: RunWanted) -> RunSent:
        """Make a run. See `EvalWorker`."""
        if not self._process.alive:
            raise self._lost()
        answer: asyncio.Future[RunSent] = asyncio.get_running_loop().create_future()
        self._waiting[wanted] = answer
        try:
            await self._process.write(as_line(wanted))
            return await answer
        except AppError:  # it is about to end
            answer.cancel()
            raise self._lost() from None
        finally:
            self._waiting.pop(wanted, None)

    async def stop(self) -> None:
        """End it. See `EvalWorker`."""
        await self._process.end()
        if self._watching is not None:
            await self._watching

    def _heard(self, channel: str, line: str) -> None:
        if channel == "stderr":
            sys.stderr.write(f"{line}\n")
        elif not self._ready.done():
            self._ready.set_result(message_of(line, WorkerReady))
        else:
            sent = message_of(line, RunSent)
            answer = self._waiting.get(RunWanted(sent.case, sent.number))
            if answer is not None and not answer.done():
                answer.set_result(sent)

    async def _watch(self) -> None:
        """When it is gone, all who wait are told."""
        await self._process.wait()
        waiting: list[asyncio.Future[Any]] = [self._ready, *self._waiting.values()]
        for one in waiting:
            if not one.done():
                one.set_exception(self._lost())

    def _lost(self) -> WorkerLostError:
        return WorkerLostError("a worker has ended", seen=self._process.describe_exit())
