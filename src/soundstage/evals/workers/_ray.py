"""The program that makes runs on a Ray cluster. Ray is imported here alone, and only in this program.

Why a program of its own. Ray changes the process that uses it: signal handlers, variables, logging, and threads that
end the process when the cluster is gone. Here it can do all that, and what it starts on this machine ends with
this program, as with every program that we start. The engine talks to it as to any worker.

Nothing is told to anybody: no usage statistics, no dashboard, and a cluster of ours is on loopback alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec

from soundstage.clock import time_limit
from soundstage.errors import EnvironmentProblem, SoundstageError
from soundstage.evals.workers._messages import (
    RunSent,
    RunWanted,
    WorkerJob,
    WorkerLostError,
    WorkerReady,
    message_of,
    packed_error,
    unpacked_error,
)
from soundstage.evals.workers._pool import EvalWorker, WorkerPool
from soundstage.evals.workers._program import Maker, MakerHere, serve

CONNECT_WITHIN: Final = 10.0  # seconds
START_WITHIN: Final = 60.0  # seconds until the cluster has a place for a worker, and it has loaded the suite
STORE_BYTES: Final = 80_000_000  # Ray's store of objects, about as small as it may be; runs do not wait in it
QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
LOCAL: Final = "127.0.0.1"


class RayRunMaker:
    """An actor: the part that runs on the cluster."""

    def __init__(self, job: bytes) -> None:
        self._job = job

    async def load(self) -> bytes:
        """Load the suite; the answer is a `WorkerReady`."""
        problem = b""
        try:
            self._here = MakerHere(message_of(self._job, WorkerJob))
        except SoundstageError as error:
            problem = packed_error(error)
        return msgspec.json.encode(WorkerReady(problem=problem))

    async def make(self, wanted: bytes) -> bytes:
        """Make a run; the answer is a `RunSent`."""
        return msgspec.json.encode(await self._here.make(message_of(wanted, RunWanted)))


class RayWorker:
    """One worker of the cluster."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def start(self) -> None:
        """Wait until it has loaded the suite.

        Raises:
            SoundstageError: if it cannot; the worker's own error.
        """
        try:
            async with time_limit(START_WITHIN):
                ready = message_of(await self._call(self._actor.load), WorkerReady)
        except TimeoutError:
            raise EnvironmentProblem(
                f"the cluster had no place for a worker within {START_WITHIN:g} s",
                hint="wait until it has a processor that is free, or give fewer --workers",
            ) from None
        if ready.problem:
            raise unpacked_error(ready.problem)

    async def make(self, wanted: RunWanted) -> RunSent:
        """Make a run. See `EvalWorker`."""
        sent: RunSent = message_of(await self._call(self._actor.make, msgspec.json.encode(wanted)), RunSent)
        return sent

    async def stop(self) -> None:
        """End it. See `EvalWorker`."""
        import ray

        await asyncio.to_thread(ray.kill, self._actor)

    async def _call(self, method: Any, *arguments: bytes) -> bytes:
        from ray.exceptions import RayError

        try:
            answer: bytes = await method.remote(*arguments)
        except RayError as error:
            raise WorkerLostError("a worker of the cluster is gone", seen=str(error)) from None
        return answer


@contextlib.asynccontextmanager
async def _on_cluster(job: WorkerJob) -> AsyncIterator[Maker]:
    """Workers on the cluster of a job."""
    os.environ.update(QUIET)
    try:
        import ray
    except ImportError:
        raise EnvironmentProblem(
            "the executor `ray` needs Ray", hint="pip install 'soundstage[ray]'"
        ) from None
    if job.address:
        await _connect(ray, job.address)
    else:
        _start(ray, job.workers)

    async def start() -> EvalWorker:
        made = ray.remote(RayRunMaker).options(max_restarts=0, scheduling_strategy="SPREAD")
        worker = RayWorker(made.remote(msgspec.json.encode(job)))
        await worker.start()
        return worker

    pool = WorkerPool(start, job.workers)
    try:
        await pool.open()
        yield pool.make
    finally:
        await pool.close()
        ray.shutdown()


def _start(ray: Any, workers: int) -> None:
    """Start a cluster of this machine's, on loopback."""
    ray.init(
        address="local",
        num_cpus=workers + 1,  # one more for runs that are made again
        include_dashboard=False,
        object_store_memory=STORE_BYTES,
        log_to_driver=False,
        logging_level="error",
        _node_ip_address=LOCAL,
        _temp_dir=os.environ["TMPDIR"],
    )


async def _connect(ray: Any, address: str) -> None:
    """Connect with a cluster.

    Raises:
        EnvironmentProblem: if it cannot be reached in time. Ray itself would try for a minute.
    """
    hint = "start it with `ray start --head`, and give the address that it prints"
    host, _, port = address.rpartition(":")
    try:
        if address != "auto":
            async with time_limit(CONNECT_WITHIN):
                _, writer = await asyncio.open_connection(host, int(port))
            writer.close()
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise EnvironmentProblem(
            f"the Ray cluster {address} cannot be reached",
            expected=f"HOST:PORT, answering within {CONNECT_WITHIN:g} s",
            seen=f"{type(error).__name__}: {error}".rstrip(": "),
            hint=hint,
        ) from None


if __name__ == "__main__":
    asyncio.run(serve(_on_cluster))
