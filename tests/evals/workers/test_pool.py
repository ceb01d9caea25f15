"""Workers that may be lost: every run is made once, the one that ends its worker is told from those beside it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from soundstage.errors import EnvironmentProblem
from soundstage.evals.workers._messages import RunSent, RunWanted, WorkerLostError
from soundstage.evals.workers._pool import LOST, WorkerPool
from soundstage.runs import RunRecord

MOMENT = datetime(2026, 11, 23, tzinfo=UTC)


class Workers:
    """Starts workers in this process. A run whose name is in `ends` ends its worker, so many times."""

    def __init__(self, ends=()):
        self.ends = dict(ends)
        self.started, self.stopped, self.alone, self.made = 0, 0, [], []

    async def start(self):
        self.started += 1
        return PretendWorker(self)


class PretendWorker:
    def __init__(self, all_workers):
        self.all = all_workers
        self.gone = asyncio.Event()
        self.beside = set()

    async def make(self, wanted):
        self.beside.add(wanted.case)
        alone = self.beside == {wanted.case}
        for _ in range(3):  # others come beside it
            await asyncio.sleep(0)
        try:
            if self.all.ends.get(wanted.case, 0):
                self.all.ends[wanted.case] -= 1
                self.all.alone.append(alone and self.beside == {wanted.case})
                self.gone.set()
            if self.gone.is_set():
                raise WorkerLostError("gone")
            self.all.made.append(wanted.case)
        finally:
            self.beside.discard(wanted.case)
        record = RunRecord(id="a", started=MOMENT, ended=MOMENT)
        return RunSent(case=wanted.case, number=wanted.number, record=record)

    async def stop(self):
        self.all.stopped += 1


def made_by(workers, names, size=2):
    async def work():
        pool = WorkerPool(workers.start, size)
        await pool.open()
        sent = await asyncio.gather(*(pool.make(RunWanted(name, 1)) for name in names))
        await pool.close()
        return dict(zip(names, sent, strict=True))

    return asyncio.run(work())


def test_all_runs_are_made_and_nothing_is_started_besides_the_workers():
    workers = Workers()
    sent = made_by(workers, "abcdef")
    assert sorted(workers.made) == list("abcdef")
    assert (workers.started, workers.stopped) == (2, 2)
    assert not any(one.record.warnings for one in sent.values())


def test_a_run_that_ends_its_worker_once_is_made_again_and_every_run_is_made_once():
    workers = Workers({"c": 1})
    sent = made_by(workers, "abcdef")
    assert sorted(workers.made) == list("abcdef")
    assert sent["c"].record.warnings == (LOST,)
    assert any(not one.record.warnings for one in sent.values())  # those on the other worker
    assert workers.stopped == workers.started


def test_a_run_that_always_ends_its_worker_is_an_error_and_those_beside_it_are_not():
    workers = Workers({"c": 99})
    sent = made_by(workers, "abcdef")
    assert sorted(workers.made) == list("abdef")
    assert sent["c"].record is None
    assert "lost 3 times" in sent["c"].problem
    assert workers.alone == [False, True, True]  # it was made again where nothing else is made
    assert workers.ends["c"] == 96


def test_a_lost_worker_is_replaced_for_the_runs_to_come():
    async def work():
        workers = Workers({"a": 1})
        pool = WorkerPool(workers.start, 1)
        await pool.open()
        for name in "abc":
            await pool.make(RunWanted(name, 1))
        await pool.close()
        return workers

    workers = asyncio.run(work())
    assert (workers.made, workers.started, workers.stopped) == (["a", "b", "c"], 3, 3)


def test_a_worker_that_cannot_start_is_an_error_before_any_run():
    async def start():
        raise EnvironmentProblem("no room")

    with pytest.raises(EnvironmentProblem, match="no room"):
        asyncio.run(WorkerPool(start, 2).open())
