"""Executors that make runs in other interpreters."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from soundstage.errors import UnknownNameError, WrongValueError, did_you_mean
from soundstage.evals._executor import Executor, LocalExecutor, RunMaker
from soundstage.evals._making import EvalRunPlan, MadeRun
from soundstage.evals._suite import Suite
from soundstage.evals.workers._messages import RunWanted, WorkerJob, job_of, made_of
from soundstage.evals.workers._pool import EvalWorker, WorkerPool
from soundstage.evals.workers._process import ProcessWorker
from soundstage.lifecycle import ScratchFolder, remove_tree

EXECUTORS: Final = ("local", "processes", "ray")
RAY: Final = "soundstage.evals.workers._ray"
RAY_WITHIN: Final = 90.0  # seconds to connect, or to start a cluster
SHORT: Final = "/tmp"  # noqa: S108  (Ray has sockets below, and the name of a socket has at most 107 bytes)
AT_A_TIME: Final = 2  # runs of one worker, so that it does not wait for the engine


class ProcessExecutor:
    """Makes runs in processes of this machine.

    A suite is sent to each of them whole. A process that dies is replaced, and the runs that it was making are made
    again.

    Args:
        workers: how many; as many as processors unless given.

    Raises:
        WrongValueError: for less than one.

    Example:
        ::

            report = asyncio.run(run_suite(suite, store=RunStore(), executor=ProcessExecutor(workers=4)))
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = _number(workers)
        self.concurrency = self.workers * AT_A_TIME

    @contextlib.asynccontextmanager
    async def open(self, suite: Suite) -> AsyncIterator[RunMaker]:
        """Start the processes; they end with the context."""
        job = job_of(suite, workers=self.workers)
        with ScratchFolder() as folder:
            pool = WorkerPool(functools.partial(_started, job, folder.path), self.workers)
            try:
                await pool.open()
                yield functools.partial(_made, pool)
            finally:
                await pool.close()


class RayExecutor:
    """Makes runs on a Ray cluster: one that is there, or one on this machine that lasts as long as the eval.

    Needs the extra: `pip install 'soundstage[ray]'`, here and on all machines of the cluster. What the suite names by a
    path or as a module has to be there too. A worker that is lost is replaced, and its runs are made again.

    Args:
        workers: how many; as many as this machine has processors unless given.
        address: of the cluster, `HOST:PORT`, or `auto` for one that runs on this machine.

    Raises:
        WrongValueError: for less than one worker.

    Example:
        ::

            report = asyncio.run(run_suite(suite, store=RunStore(), executor=RayExecutor(workers=2)))
    """

    def __init__(self, workers: int | None = None, *, address: str = "") -> None:
        self.workers = _number(workers)
        self.address = address
        self.concurrency = self.workers * AT_A_TIME

    @contextlib.asynccontextmanager
    async def open(self, suite: Suite) -> AsyncIterator[RunMaker]:
        """Connect with the cluster, or start one; whatever is started ends with the context."""
        job = job_of(suite, workers=self.workers, address=self.address)
        folder = Path(tempfile.mkdtemp(prefix="ray", dir=SHORT))
        driver = ProcessWorker(job, folder, program=RAY, within=RAY_WITHIN, scratch=folder)
        try:
            await driver.start()
            yield functools.partial(_made, driver)
        finally:
            await driver.stop()
            remove_tree(folder)


def executor_of(kind: str, *, workers: int | None = None, address: str = "") -> Executor:
    """An executor by its name.

    Args:
        kind: `local`, `processes` or `ray`.
        workers: for the last two.
        address: of a cluster, for `ray`.

    Raises:
        UnknownNameError: for another name.
        WrongValueError: for an option that this kind does not have.

    Example:
        >>> executor_of("processes", workers=3).concurrency
        6
    """
    if kind not in EXECUTORS:
        raise UnknownNameError(
            f"there is no executor {kind!r}",
            expected=", ".join(EXECUTORS),
            hint=did_you_mean(kind, EXECUTORS),
        )
    if kind == "local" and workers is not None:
        raise WrongValueError(
            "the executor `local` has no workers", hint="give concurrency, or use `processes`"
        )
    if kind != "ray" and address:
        raise WrongValueError(f"the executor {kind!r} has no address", hint="use `ray`")
    if kind == "local":
        return LocalExecutor()
    return ProcessExecutor(workers) if kind == "processes" else RayExecutor(workers, address=address)


async def _started(job: WorkerJob, folder: Path) -> EvalWorker:
    worker = ProcessWorker(job, folder)
    await worker.start()
    return worker


def _number(workers: int | None) -> int:
    """The number of workers."""
    if workers is None:
        return len(os.sched_getaffinity(0))
    if workers < 1:
        raise WrongValueError("an eval has workers", expected="at least 1", seen=repr(workers))
    return workers


async def _made(workers: WorkerPool | ProcessWorker, plan: EvalRunPlan) -> MadeRun:
    return made_of(await workers.make(RunWanted(plan.case.name, plan.number)))
