"""Tasks that the code of a daemon starts: none fails unseen; those whose end the code has dealt with are fine."""

from __future__ import annotations

import asyncio
import gc
import logging
from contextvars import Context

import pytest

from soundstage.clock import run
from soundstage.host import HostBuilder
from soundstage.journal import DaemonChanged, Journal
from soundstage.lifecycle import TaskDaemon


async def fails(text="no such city", error=ValueError):
    await asyncio.sleep(0)
    raise error(text)


async def forgets(world):
    asyncio.create_task(fails(), name="poll")  # noqa: RUF006  (that it is lost is what is tested)
    await world.console.read_line()


async def keeps(world):
    task = asyncio.create_task(fails(), name="poll")
    await world.console.read_line()
    assert task.done()


async def of_a_task(world):
    async def inner():
        asyncio.create_task(fails(), name="poll")  # noqa: RUF006

    await asyncio.create_task(inner())
    await world.console.read_line()


async def in_a_context_of_its_own(world):
    await asyncio.wait([asyncio.create_task(fails(), name="poll", context=Context())])
    await world.console.read_line()


async def after_its_own_end(world):
    async def late():
        await world.clock.sleep(1)
        raise ValueError("no such city")

    asyncio.create_task(late(), name="poll")  # noqa: RUF006


FORGOTTEN = [forgets, keeps, of_a_task, in_a_context_of_its_own, after_its_own_end]


async def quiet(host):
    await asyncio.sleep(2)


@pytest.mark.parametrize("app", FORGOTTEN)
def test_a_task_that_fails_and_that_nobody_awaits_fails_the_run(app, caplog):
    kept = []

    async def body(host):
        kept.append(host)
        await quiet(host)

    with caplog.at_level(logging.ERROR), pytest.raises(ValueError, match="no such city") as info:
        HostBuilder().with_app(app).run(body)
    assert "in the task 'poll', which nobody awaited" in info.value.__notes__[0]
    told = [event for event in kept[0].journal.events(DaemonChanged) if event.error]
    assert [(event.daemon, event.error) for event in told] == [("app", "ValueError: no such city")]
    info.value.__traceback__ = None
    gc.collect()
    assert "name='poll'" not in caplog.text  # asyncio does not tell it a second time


def test_a_wait_that_the_lost_task_should_have_ended_fails_with_the_exception_of_the_task():
    async def body(host):
        await host.console.expect("Cold.", within=5)

    with pytest.raises(ValueError, match="no such city") as info:
        HostBuilder().with_app(forgets).run(body)
    assert "and so the test ended with WaitTimeout: console did not show" in "".join(info.value.__notes__)


def test_several_lost_tasks_are_one_group_and_one_exception_of_two_tasks_is_told_once():
    shared = ValueError("the same")

    async def again():
        raise shared

    async def app(world):
        works = [fails(), fails(error=KeyError), again(), again()]
        await asyncio.wait([asyncio.create_task(work) for work in works])

    with pytest.raises(ExceptionGroup) as info:
        HostBuilder().with_app(app).run(quiet)
    assert sorted(type(each).__name__ for each in info.value.exceptions) == [
        "KeyError",
        "ValueError",
        "ValueError",
    ]


async def takes_it(world):
    task = asyncio.create_task(fails())
    await asyncio.sleep(0.1)
    assert isinstance(task.exception(), ValueError)


async def awaits_it_late(world):
    task = asyncio.create_task(fails())
    await world.console.read_line()
    with pytest.raises(ValueError, match="city"):
        await task


async def gathers(world):
    await asyncio.gather(fails(), fails(), return_exceptions=True)


async def has_a_group(world):
    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())
            group.create_task(fails())


async def cancels(world):
    async def cleans_up_badly():
        try:
            await asyncio.sleep(60)
        finally:
            raise ValueError("while it was cancelled")

    tasks = [asyncio.create_task(asyncio.sleep(60)), asyncio.create_task(cleans_up_badly())]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def has_many_that_it_takes(world):
    for _ in range(100):
        await asyncio.wait([task := asyncio.create_task(fails())])
        task.exception()


@pytest.mark.parametrize(
    "app", [takes_it, awaits_it_late, gathers, has_a_group, cancels, has_many_that_it_takes]
)
def test_a_task_that_the_app_has_cancelled_or_whose_exception_it_took_is_fine(app):
    HostBuilder().with_app(app).run(quiet)


def test_exceptions_that_were_taken_are_not_kept():
    daemon = TaskDaemon("app", Journal(), lambda: has_many_that_it_takes(None))

    async def main():
        await daemon.start()
        await daemon.settle(5)
        kept = len(daemon._started._failed)
        await daemon.stop()
        return kept

    assert run(main()) < 50


def test_tasks_of_the_test_are_its_own_and_the_loop_is_afterwards_as_it_was():
    async def main():
        loop = asyncio.get_running_loop()
        made = []

        def factory(loop, coroutine, **options):
            made.append(asyncio.Task(coroutine, loop=loop, **options))
            return made[-1]

        loop.set_task_factory(factory)
        daemons = [TaskDaemon(name, Journal(), lambda: asyncio.sleep(60)) for name in "ab"]
        for daemon in daemons:
            await daemon.start()
        own = asyncio.create_task(fails())
        await asyncio.wait([own])
        assert own in made
        for daemon in daemons:  # the first one to start is the first one to stop
            await daemon.stop()
        assert loop.get_task_factory() is factory
        assert isinstance(own.exception(), ValueError)

    run(main())
