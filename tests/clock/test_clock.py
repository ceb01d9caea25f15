"""Clocks, deadlines and ids."""

from __future__ import annotations

import asyncio
import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from soundstage.clock import (
    Clock,
    Deadline,
    IdSource,
    SystemClock,
    VirtualClock,
    run,
    running_clock,
    time_limit,
)
from soundstage.errors import InvalidStateError


@pytest.mark.parametrize("make", [SystemClock, VirtualClock])
def test_both_clocks_fill_the_protocol(make):
    assert isinstance(make(), Clock)


def test_a_virtual_clock_begins_at_the_same_moment_in_every_run():
    clock = VirtualClock()
    assert clock.now() == 0
    assert clock.wall() == datetime(2026, 1, 1, tzinfo=UTC)


def test_a_virtual_clock_moves_forward_only():
    clock = VirtualClock()
    clock.advance(1.5)
    clock.advance(-1)
    assert clock.now() == 1.5
    assert clock.wall() == datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=1.5)


def test_a_system_clock_follows_the_machine():
    clock = SystemClock()
    first = clock.now()
    assert 0 <= first <= clock.now()
    assert abs(clock.wall() - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_system_clock_gives_way_to_nobody_for_zero_seconds_and_waits_for_more():
    async def main():
        turns = []
        asyncio.get_running_loop().call_soon(turns.append, "another task")
        await SystemClock().sleep(0)
        await SystemClock().sleep(-1)
        before = list(turns)
        await SystemClock().sleep(0.001)
        return before, turns

    assert asyncio.run(main()) == ([], ["another task"])


def test_sleeping_on_the_clock_of_the_loop_takes_virtual_seconds():
    clock = VirtualClock()

    async def main():
        await clock.sleep(0)
        await clock.sleep(86_400)

    run(main(), clock=clock)
    assert clock.now() == 86_400


def test_sleeping_on_a_clock_that_does_not_drive_the_loop_is_refused():
    async def main():
        await VirtualClock().sleep(1)

    with pytest.raises(InvalidStateError, match="does not drive the running event loop"):
        run(main())
    with pytest.raises(InvalidStateError, match="on the machine's time"):
        asyncio.run(main())


def test_the_running_clock_is_the_one_that_the_loop_was_given():
    async def main():
        return running_clock()

    for clock in (VirtualClock(), SystemClock()):
        assert run(main(), clock=clock) is clock
    assert isinstance(asyncio.run(main()), SystemClock)
    assert isinstance(running_clock(), SystemClock)


def test_a_deadline_gives_later_waits_what_earlier_ones_left():
    clock = VirtualClock()
    deadline = Deadline(clock, 5)
    assert deadline.left == deadline.within == 5
    clock.advance(3)
    assert deadline.left == 2
    clock.advance(3)
    assert deadline.left == 0


@pytest.mark.parametrize("within", [0, -1, float("nan"), float("-inf")])
def test_a_deadline_that_has_passed_or_is_no_number_is_refused(within):
    with pytest.raises(ValueError, match="more than 0"):
        Deadline(VirtualClock(), within)
    with pytest.raises(ValueError, match="more than 0"):
        time_limit(within)


def test_a_deadline_in_infinity_is_none():
    clock = VirtualClock()
    deadline = Deadline(clock, float("inf"))
    clock.advance(1e9)
    assert (deadline.left, deadline.timeout) == (float("inf"), None)


def test_ids_repeat_with_the_seed_and_differ_without():
    def draw(seed):
        ids = IdSource(seed)
        return [ids.draw("call_"), ids.hex(), ids.uuid(), ids.draw(length=3)]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert len(set(draw(1))) == 4


def test_ids_look_like_the_real_ones():
    ids = IdSource()
    assert ids.seed == 0
    assert re.fullmatch(r"call_[A-Za-z0-9]{24}", ids.draw("call_"))
    assert re.fullmatch(r"[0-9a-f]{16}", ids.hex())
    assert uuid.UUID(ids.uuid()).version == 4
