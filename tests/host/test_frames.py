"""Frames of ours and of asyncio are left out of errors; the user's stay, recursion is folded."""

from __future__ import annotations

import asyncio
import traceback

import pytest

from soundstage.clock import run
from soundstage.errors import ExpectationError
from soundstage.host import HostBuilder, hide_frames
from soundstage.journal import RunFinished
from soundstage.lifecycle import Daemon


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


async def crashing(world):
    await world.console.read_line()
    try:
        {}["Oslo"]
    except KeyError:
        raise ValueError("no such city")  # noqa: B904  (what it was doing is told as its context)


async def waiting(host):
    await host.console.send("Oslo?")
    await host.console.expect("Cold.", within=5)


def ended(builder, body=waiting, kind=ValueError):
    hosts = []

    async def kept(host):
        hosts.append(host)
        await body(host)

    with pytest.raises(kind) as info:
        builder.run(kept)
    return hosts[0], info.value


def test_the_failure_of_an_app_leaves_the_run_and_tells_what_the_test_had_waited_for():
    host, error = ended(HostBuilder().with_app(crashing))
    assert str(error) == "no such city"
    assert error.__notes__ == [
        "and so the test ended with ExpectationError: console did not show the expected line, expected 'Cold.'"
    ]
    assert host.outcome is error
    assert host.journal.events(RunFinished)[0].reason == "ValueError: no such city"


def test_its_traceback_leads_from_the_place_where_the_test_waited_to_the_one_where_the_app_failed():
    _, error = ended(HostBuilder().with_app(crashing))
    assert isinstance(error.__context__, KeyError)  # of the app; not the expectation
    hide_frames(error)
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
    assert names[-2:] == ["waiting", "crashing"]


def test_several_failures_leave_the_run_as_one_group():
    class Broken(Daemon):
        async def _start(self):
            self.problem = RuntimeError("the part is broken")
            self.report_failure(self.problem)

        async def _stop(self):
            raise self.problem

    builder = HostBuilder().with_app(crashing).with_daemon(lambda host: Broken("part", host.journal))
    _, error = ended(builder, kind=ExceptionGroup)
    assert {type(each) for each in error.exceptions} == {ValueError, RuntimeError}
    assert [note.partition(":")[0] for note in error.__notes__] == [
        "and so the test ended with ExpectationError"
    ]


@pytest.mark.parametrize(
    "own", [AssertionError("on purpose"), ExpectationError("on purpose"), RuntimeError("on purpose")]
)
def test_what_the_test_itself_raises_wins_unless_it_is_an_expectation_without_a_cause(own):
    async def body(host):
        with pytest.raises(ExpectationError):
            await waiting(host)
        raise own from OSError("another cause")

    _, error = ended(HostBuilder().with_app(crashing), body, type(own))
    assert error is own
    assert isinstance(error.__cause__, OSError)
    assert "ValueError: no such city" in "".join(error.__notes__)


def test_a_failure_that_comes_after_the_expectation_did_not_lead_to_it():
    async def app(world):
        while await world.console.read_line() is not None:
            pass
        raise ValueError("at the end")

    async def body(host):
        await host.console.expect("Cold.", within=5)

    _, error = ended(HostBuilder().with_app(app), body, ExpectationError)
    assert "did not show the expected line within 5 s" in str(error)
