"""Workers, of which any may be lost at any time.

A run goes to the worker that has the least to do. When a worker is lost, so are the runs that it was making, and
nobody knows which of them ended it. So each of them is made again in a worker where it is alone, which tells the one
that ends its worker from those that were beside it. A run that ends its worker so often is an error, no result. No
run is counted twice: one that is lost has sent nothing, and the engine keeps what is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec

from soundstage.evals.workers._messages import RunSent, RunWanted, WorkerLostError

AGAIN: Final = 2  # times that a run is made again, alone
LOST: Final = "made again: the worker that made it first was lost"


class EvalWorker(Protocol):
    """One interpreter that makes runs."""

    async def make(self, wanted: RunWanted) -> RunSent:
        """Make a run.

        Raises:
            WorkerLostError: if the worker is gone.
        """
        ...

    async def stop(self) -> None:
        """End it. Harmless when it is gone."""
        ...


class _Place:
    """The place of one worker; the next one takes it when one is lost."""

    def __init__(self) -> None:
        self.busy = 0
        self.worker: EvalWorker | None = None
        self.starting = asyncio.Lock()


class WorkerPool:
    """Workers of one suite.

    Args:
        start: starts one.
        size: how many.
    """

    def __init__(self, start: Callable[[], Awaitable[EvalWorker]], size: int) -> None:
        self._start = start
        self._places = [_Place() for _ in range(size)]
        self._alone, self._one_at_a_time = _Place(), asyncio.Lock()

    async def open(self) -> None:
        """Start all, so that what is wrong with the suite is told before any run."""
        started = await asyncio.gather(*map(self._worker_at, self._places), return_exceptions=True)
        for problem in started:
            if isinstance(problem, BaseException):
                raise problem

    async def close(self) -> None:
        """End all."""
        workers = [place.worker for place in (*self._places, self._alone) if place.worker is not None]
        await asyncio.gather(*(worker.stop() for worker in workers))

    async def make(self, wanted: RunWanted) -> RunSent:
        """Make a run, again if its worker is lost."""
        try:
            return await self._make_at(min(self._places, key=lambda place: place.busy), wanted)
        except WorkerLostError as error:
            lost = error
        async with self._one_at_a_time:
            for _ in range(AGAIN):
                try:
                    return _told(await self._make_at(self._alone, wanted))
                except WorkerLostError as error:
                    lost = error
        problem = f"its worker was lost {AGAIN + 1} times, the last time while it made nothing else\n{lost}"
        return RunSent(case=wanted.case, number=wanted.number, problem=problem)

    async def _make_at(self, place: _Place, wanted: RunWanted) -> RunSent:
        place.busy += 1
        try:
            worker = await self._worker_at(place)
            try:
                return await worker.make(wanted)
            except WorkerLostError:
                if place.worker is worker:  # the first to see it
                    place.worker = None
                    await worker.stop()
                raise
        finally:
            place.busy -= 1

    async def _worker_at(self, place: _Place) -> EvalWorker:
        async with place.starting:
            if place.worker is None:
                place.worker = await self._start()
            return place.worker


def _told(sent: RunSent) -> RunSent:
    """The run, with a word in its record that it was made again."""
    if sent.record is None:
        return sent
    record = msgspec.structs.replace(sent.record, warnings=(*sent.record.warnings, LOST))
    return msgspec.structs.replace(sent, record=record)
