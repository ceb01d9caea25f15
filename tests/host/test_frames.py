"""Frames of ours and of asyncio are left out of errors; the user's stay, recursion is folded."""

from __future__ import annotations

import asyncio
import traceback

import pytest

from soundstage.clock import run
from soundstage.errors import ExpectationError
from soundstage.host import HostBuilder, hide_frames


def shown(error):
    hide_frames(error)
    return traceback.format_exception(error)


async def deep(depth):
    await asyncio.sleep(0)
    if depth:
        await deep(depth - 1)
    raise ValueError("at the bottom")


def caught(body):
    with pytest.raises(ValueError, match="bottom") as info:
        run(body)
    return info.value


def test_only_frames_of_the_user_are_left_and_the_traceback_of_others_is_as_it_was():
    error = caught(deep(0))
    before = error.__traceback__
    text = "".join(shown(error))
    assert "in deep" in text
    assert "in caught" in text
    assert "/soundstage/" not in text.replace(__file__, "")
    assert "asyncio/" not in text
    assert len(list(traceback.walk_tb(before))) > len(list(traceback.walk_tb(error.__traceback__)))


def test_recursion_is_shown_once_with_the_number_of_its_rounds():
    text = "".join(shown(caught(deep(150))))
    assert text.count("await deep(depth - 1)") == 1
    assert "(the recursion in deep is shown once; it came 150 times)" in text


def test_causes_and_members_of_groups_lose_their_frames_too():
    async def two():
        async with asyncio.TaskGroup() as group:
            group.create_task(deep(0))
            group.create_task(deep(1))

    with pytest.raises(ExceptionGroup) as info:
        run(two())
    outer = RuntimeError("outer")
    outer.__cause__ = info.value
    text = "".join(shown(outer))
    assert "at the bottom" in text
    assert "asyncio/" not in text


def test_an_app_that_failed_is_the_cause_of_the_expectation_that_was_not_met():
    async def app(world):
        await world.console.read_line()
        raise KeyError("no such city")

    async def body(host):
        await host.console.send("Oslo?")
        await host.console.expect("Cold.", within=5)

    with pytest.raises(
        ExpectationError, match=r"^the app failed: KeyError: 'no such city'; console did not"
    ) as info:
        HostBuilder().with_app(app).run(body)
    assert isinstance(info.value.__cause__, KeyError)
    assert not getattr(info.value, "__notes__", [])
