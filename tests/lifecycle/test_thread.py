"""A loop in a thread beside blocking code."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import threading

import pytest

from soundstage.errors import EnvironmentProblem, InvalidStateError
from soundstage.lifecycle import LoopThread
from soundstage.lifecycle import _thread as thread_module


async def echo(value):
    await asyncio.sleep(0)
    return value


async def where():
    return threading.current_thread().name


def test_a_call_runs_in_the_thread_and_returns_its_result():
    with LoopThread("beside") as beside:
        assert beside.call(where()) == "beside"
        assert beside.call(echo(5)) == 5
    assert "beside" not in {thread.name for thread in threading.enumerate()}


def test_an_error_of_the_work_is_raised_in_the_caller():
    async def fail():
        raise ValueError("broken")

    with LoopThread() as beside, pytest.raises(ValueError, match="broken"):
        beside.call(fail())


def test_a_cancellation_of_the_work_itself_passes():
    async def cancel():
        raise asyncio.CancelledError

    with LoopThread() as beside, pytest.raises(concurrent.futures.CancelledError):
        beside.call(cancel())


def test_calls_may_come_from_several_threads():
    with LoopThread() as beside, concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda n: beside.call(echo(n)), range(40))) == list(range(40))


def test_tasks_that_are_left_are_cancelled_when_it_closes(caplog):
    ended = []

    async def background():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    async def begin():
        background.task = asyncio.create_task(background())

    with LoopThread() as beside:
        beside.call(begin())
    assert ended == [True]
    gc.collect()
    assert not caplog.records


def test_a_call_that_is_under_way_when_it_closes_is_an_error():
    errors = []
    started = threading.Event()

    async def wait():
        started.set()
        await asyncio.Event().wait()

    with LoopThread() as beside:

        def call():
            with pytest.raises(InvalidStateError, match="closed during this call") as caught:
                beside.call(wait())
            errors.append(caught.value)

        caller = threading.Thread(target=call)
        caller.start()
        started.wait()
    caller.join()
    assert len(errors) == 1


def test_a_call_before_or_after_is_refused_without_a_warning():
    beside = LoopThread()
    with pytest.raises(InvalidStateError, match="not running") as caught:
        beside.call(echo(1))
    assert caught.value.seen == "it has not been entered"
    with beside:
        pass
    with pytest.raises(InvalidStateError) as caught:
        beside.call(echo(1))
    assert caught.value.seen == "it has been closed"
    gc.collect()


def test_a_call_from_its_own_thread_is_refused_because_it_would_wait_for_itself():
    with LoopThread() as beside:

        async def inner():
            beside.call(echo(1))

        with pytest.raises(InvalidStateError, match="would wait for itself"):
            beside.call(inner())


def test_it_is_for_one_use():
    beside = LoopThread()
    with beside:
        pass
    with pytest.raises(InvalidStateError, match="used before"), beside:
        pass


def test_an_error_in_the_block_passes_and_the_thread_is_closed():
    with pytest.raises(ValueError, match="mine"), LoopThread() as beside:
        raise ValueError("mine")
    assert not beside._thread.is_alive()


def test_an_interrupted_call_cancels_its_work(monkeypatch):
    started, cancelled = threading.Event(), threading.Event()

    async def wait():
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    def interrupt(self, timeout=None):
        started.wait()
        raise KeyboardInterrupt

    with LoopThread() as beside:
        beside.call(echo(1))
        with monkeypatch.context() as patch:
            patch.setattr(concurrent.futures.Future, "result", interrupt)
            with pytest.raises(KeyboardInterrupt):
                beside.call(wait())
        beside.call(echo(2))
        assert cancelled.wait(10)


def test_a_task_that_refuses_to_end_does_not_hang_the_caller(monkeypatch):
    monkeypatch.setattr(thread_module, "CLOSE_WITHIN", 0.05)
    release = threading.Event()

    async def stubborn():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.to_thread(release.wait)

    async def begin():
        stubborn.task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)

    with pytest.raises(EnvironmentProblem, match="did not end within"), LoopThread() as beside:
        beside.call(begin())
    release.set()
    beside._thread.join(10)
    assert not beside._thread.is_alive()
