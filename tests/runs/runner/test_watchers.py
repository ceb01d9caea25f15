"""Watchers: each event, in order, one watcher at a time; and each of them may stop the run."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import run
from soundstage.journal import HookFired, Journal, Noted, RunAborted
from soundstage.runs import AgentRunner, RunAbortedError


async def note(prompt, context):
    """An agent that notes 1, 2, 3, a second apart, and fires a hook with each."""
    for number in (1, 2, 3):
        context.journal.append(Noted(text=f"note {number}"), source="agent")
        context.journal.append(HookFired(hook=f"hook {number}"), source="agent")
        await asyncio.sleep(1)
    return "done"


def watched(*watchers, agent=note, **options):
    """Run an agent with watchers, on virtual time; returns what came of it, and the journal."""

    async def main():
        journal = Journal()
        runner = AgentRunner(agent, journal=journal, watchers=watchers, **options)
        try:
            return await runner.run("go"), journal
        except RunAbortedError as error:
            return error, journal

    return run(main())


def test_every_event_of_a_run_reaches_the_watchers_in_the_order_of_the_journal():
    seen = []

    async def watch(watched):
        seen.append(watched.record)

    _, journal = watched(watch)
    assert seen == journal.read()[:-1]
    assert [r.event.hook for r in seen if isinstance(r.event, HookFired)] == ["hook 1", "hook 2", "hook 3"]


def test_watchers_are_awaited_one_at_a_time_in_the_order_in_which_they_were_given():
    log = []

    def slow(name):
        async def watch(watched):
            log.append(("begin", name, watched.record.position))
            await asyncio.sleep(0.7)
            log.append(("end", name, watched.record.position))

        return watch

    result, journal = watched(slow("a"), slow("b"))
    assert result.status == "complete"
    assert log == [
        (moment, name, position)
        for position in range(1, len(journal))
        for name in "ab"
        for moment in ("begin", "end")
    ]
    assert journal.clock.now() == pytest.approx((len(journal) - 1) * 2 * 0.7), (
        "one after the other, all awaited"
    )


@pytest.mark.parametrize("way", ["asks", "raises"])
def test_a_watcher_can_stop_the_run_and_later_watchers_are_not_called_again(way):
    told = []

    async def first(watched):
        told.append(("first", str(watched.event)))

    async def second(watched):
        if str(watched.event) == "note 2":
            if way == "raises":
                raise ZeroDivisionError("no more")
            return {"abort": True}
        return {"abort": False}

    async def third(watched):
        told.append(("third", str(watched.event)))

    error, journal = watched(first, second, third)
    assert (error.reason, error.partial_result.status) == ("watcher", "partial")
    assert "second" in error.detail
    assert isinstance(error.__cause__, ZeroDivisionError) is (way == "raises")
    assert told[-1] == ("first", "note 2"), "nobody is told anything after the abort"
    notes = [event.text for event in journal.events(Noted)]
    assert notes == ["note 1", "note 2"], "the target was stopped"


def test_a_watcher_sees_the_result_as_it_was_with_that_event():
    seen = []

    async def late(watched):
        await asyncio.sleep(10)  # the target has ended long ago
        if isinstance(watched.event, Noted):
            seen.append(
                [str(record.event) for record in watched.result.timeline if type(record.event) is Noted]
            )

    watched(late)
    assert seen == [["note 1"], ["note 1", "note 2"], ["note 1", "note 2", "note 3"]]


def test_watchers_are_told_of_a_timeout_and_have_no_say_in_it():
    seen = []

    async def watch(watched):
        seen.append(watched.event)
        return {"abort": isinstance(watched.event, RunAborted)}

    error, _ = watched(watch, config={"timeout": 1.5})
    assert error.reason == "timeout"
    assert seen[-1] == RunAborted(reason="timeout", detail="it took over 1.5 s")


def test_a_watcher_that_is_behind_when_the_run_is_ended_hears_of_the_end_all_the_same():
    seen = []

    async def slow(watched):
        await asyncio.sleep(1)
        seen.append(watched.event)

    error, journal = watched(slow, config={"timeout": 2.5})
    assert error.reason == "timeout"
    assert seen[-1] == journal.events(RunAborted)[0]


def test_a_watcher_that_never_returns_holds_up_neither_the_run_nor_its_end():
    async def hang(watched):
        await asyncio.Event().wait()

    error, journal = watched(hang, config={"timeout": 60})
    assert error.reason == "timeout"
    assert len(error.partial_result.timeline) == len(journal)


def test_watchers_belong_to_the_runner_and_see_its_next_run_too():
    seen = []

    async def watch(watched):
        seen.append(watched.record.position)

    async def main():
        journal = Journal()
        runner = AgentRunner(note, journal=journal, watchers=[watch])
        await runner.run("one")
        await runner.run("two")
        return len(journal) - 2  # the last word of the runner on each run

    assert run(main()) == len(seen)
