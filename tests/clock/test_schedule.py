"""Schedules: all interleavings have a chance, and a seed gives its own again."""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.clock import VirtualClock, run, scheduled
from soundstage.errors import DeadlockError
from soundstage.host import HostBuilder


async def order(names="abc", steps=1):
    """Each task says its name, `steps` times, with a wait in between."""
    log = []

    async def say(name):
        for _ in range(steps):
            log.append(name)
            await asyncio.sleep(0)

    await asyncio.gather(*(say(name) for name in names))
    return "".join(log)


def under(seed, make=order):
    return run(make(), clock=VirtualClock(schedule=seed))


def test_without_a_schedule_tasks_run_in_the_order_of_asyncio():
    assert run(order()) == "abc"
    assert under(None) == "abc"


def test_every_order_of_three_tasks_comes_up():
    assert {under(seed) for seed in range(100)} == {"abc", "acb", "bac", "bca", "cab", "cba"}


def test_one_task_may_overtake_another_by_any_number_of_steps():
    found = {under(seed, lambda: order("ab", 3)) for seed in range(300)}
    assert len(found) == math.comb(6, 3)  # every way to merge aaa and bbb


@given(seed=st.integers(min_value=0, max_value=2**64))
def test_a_seed_gives_the_same_schedule_again(seed):
    assert under(seed, lambda: order("abcdef", 3)) == under(seed, lambda: order("abcdef", 3))


def test_callbacks_that_are_no_tasks_keep_their_order():
    async def callbacks():
        log = []
        loop = asyncio.get_running_loop()
        for name in "abcdef":
            loop.call_soon(log.append, name)
        for name in "ghi":
            loop.call_later(1, log.append, name)
        await asyncio.sleep(2)
        return "".join(log)

    assert {under(seed, callbacks) for seed in range(30)} == {"abcdefghi"}


def test_time_moves_only_when_no_task_is_ready():
    async def times():
        loop, log = asyncio.get_running_loop(), []

        async def busy():
            for _ in range(20):
                await asyncio.sleep(0)
            log.append(loop.time())

        async def late():
            await asyncio.sleep(5)
            log.append(loop.time())

        await asyncio.gather(busy(), late(), busy())
        return log

    for seed in range(20):
        assert under(seed, times) == [0.0, 0.0, 5.0]


def test_a_deadlock_is_seen_under_a_schedule_too():
    async def stuck():
        await asyncio.gather(order(), asyncio.get_running_loop().create_future())

    with pytest.raises(DeadlockError):
        under(3, stuck)


def test_what_is_run_within_scheduled_follows_it_and_what_comes_after_does_not():
    with scheduled(1):
        first = run(order("abcdef"))
        assert run(order("abcdef"), clock=VirtualClock(schedule=1)) == first
    assert first != "abcdef"
    assert run(order("abcdef")) == "abcdef"


def test_threads_and_cancelled_tasks_work_under_a_schedule():
    async def main():
        async def forever():
            await asyncio.sleep(math.inf)

        tasks = [asyncio.create_task(forever()) for _ in range(5)]
        value = await asyncio.to_thread(lambda: 42)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        return value, [type(end).__name__ for end in ended]

    for seed in range(10):
        assert under(seed, main) == (42, ["CancelledError"] * 5)


def test_a_whole_run_gives_the_same_journal_for_the_same_seed():
    async def app(context):
        async def chatter(name):
            for number in range(3):
                context.console.write_line(f"{name}{number}")
                await context.clock.sleep(0)
                await asyncio.sleep(0)

        await asyncio.gather(chatter("a"), chatter("b"))
        context.console.write_line("done")

    async def body(host):
        await host.console.expect("done")
        return host.journal

    def records(seed):
        with scheduled(seed):
            return HostBuilder().with_app(app).run(body).read()

    assert records(7) == records(7)
    assert any(records(seed) != records(7) for seed in range(20))
