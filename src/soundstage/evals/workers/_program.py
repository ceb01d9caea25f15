"""The program of a worker: a job and runs to make on standard input, runs on standard output.

What agents print goes to standard error, so that nothing comes between the lines of the answers. It ends with its
input: nobody waits for what it is doing then.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import msgspec

from soundstage.evals._gates import EvalGates
from soundstage.evals._making import EvalRunPlan, make_run
from soundstage.evals.workers._messages import (
    RunSent,
    RunWanted,
    WorkerJob,
    WorkerReady,
    as_line,
    message_of,
    packed_error,
    sent_of,
    suite_of_job,
)

Maker = Callable[[RunWanted], Awaitable[RunSent]]


class MakerHere:
    """Makes runs in this interpreter.

    Args:
        job: whose runs.

    Raises:
        ScriptError: if its suite cannot be loaded here.
    """

    def __init__(self, job: WorkerJob) -> None:
        self._suite = suite_of_job(job)
        self._cases = {case.name: case for case in self._suite.cases}
        self._gates = EvalGates(self._suite.limits, among=job.workers)

    async def make(self, wanted: RunWanted) -> RunSent:
        """Make a run. An error that nobody has thought of is told, so that other runs go on."""
        try:
            plan = EvalRunPlan(self._cases[wanted.case], wanted.number)
            return sent_of(await make_run(self._suite, plan, self._gates))
        except Exception as error:  # noqa: BLE001  (it is told)
            problem = f"it could not be made: {type(error).__name__}: {error}"
            return RunSent(case=wanted.case, number=wanted.number, problem=problem)


@contextlib.asynccontextmanager
async def _here(job: WorkerJob) -> AsyncIterator[Maker]:
    yield MakerHere(job).make


async def serve(opened: Callable[[WorkerJob], AbstractAsyncContextManager[Maker]]) -> None:
    """Do one job, until the input ends."""
    answers = os.dup(1)
    os.dup2(2, 1)
    lines = await _input()
    writing = asyncio.Lock()

    async def send(message: msgspec.Struct) -> None:
        async with writing:
            await asyncio.to_thread(_write, answers, as_line(message))

    async def answer(wanted: RunWanted) -> None:
        await send(await make(wanted))

    async with contextlib.AsyncExitStack() as stack:
        try:
            job = message_of(await lines.readline(), WorkerJob)
            make = await stack.enter_async_context(opened(job))
        except Exception as error:  # noqa: BLE001  (the engine raises it)
            await send(WorkerReady(problem=packed_error(error)))
            return
        await send(WorkerReady())
        tasks: set[asyncio.Task[None]] = set()
        while line := await lines.readline():
            task = asyncio.create_task(answer(message_of(line, RunWanted)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=sys.maxsize // 2)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb", 0)
    )
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # agents shall not read what is meant for us
    os.close(null)
    return reader


def _write(handle: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # the engine is gone; so is the reason to tell it
        while data:
            data = data[os.write(handle, data) :]


if __name__ == "__main__":
    asyncio.run(serve(_here))
