"""The journal: append, read, tail, wait."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundstage.clock import SystemClock, VirtualClock, run
from soundstage.errors import InvalidStateError, MatchError, WaitTimeout
from soundstage.journal import Journal, MessageReceived, MessageSent, Noted, event, read_journal
from soundstage.match import Contains, Matcher
from support.cases import cases

fixed = cases(100)  # the same examples in every run


def note(text="x"):
    return Noted(text=str(text))


def texts(records):
    return [record.event.text for record in records]


def filled(*words):
    journal = Journal(clock=VirtualClock())
    for word in words:
        journal.append(note(word))
    return journal


def test_positions_count_from_one():
    journal = Journal()
    assert [journal.append(note()) for _ in range(3)] == [1, 2, 3]
    assert [record.position for record in journal.read()] == [1, 2, 3]
    assert len(journal) == 3
    assert journal.path is None


def test_a_record_has_its_envelope():
    clock = VirtualClock()
    journal = Journal(clock=clock, run="run-7")
    clock.advance(2.5)
    journal.append(note("a"), source="console", cause=None)
    journal.append(note("b"), cause=1)
    first, second = journal.read()
    assert (first.time, first.run, first.source, first.cause, first.v) == (2.5, "run-7", "console", None, 1)
    assert (second.source, second.cause) == ("", 1)


def test_the_clock_is_the_running_loops_unless_given():
    async def main():
        await asyncio.sleep(9)
        return Journal()

    journal = run(main())
    journal.append(note())
    assert journal.read()[0].time == 9
    assert isinstance(Journal().clock, SystemClock)


def test_reading_selects_by_position_and_class():
    journal = filled("a", "b")
    journal.append(MessageSent(text="c"))
    journal.append(MessageReceived(text="d"))
    assert texts(journal.read()) == ["a", "b", "c", "d"]
    assert texts(journal.read(after=2)) == ["c", "d"]
    assert texts(journal.read(after=9)) == []
    assert texts(journal.read(type=MessageSent)) == ["c"]
    assert texts(journal.read(after=1, type=(Noted, MessageReceived))) == ["b", "d"]
    assert journal.events(Noted, after=1) == [note("b")]


def test_reading_backward_begins_with_the_newest():
    journal = filled("a", "b", "c")
    assert texts(journal.read_backward()) == ["c", "b", "a"]
    assert texts(journal.read_backward(before=3)) == ["b", "a"]
    assert texts(journal.read_backward(before=1)) == []
    assert texts(journal.read_backward(before=0)) == []


def test_what_is_read_does_not_change_when_the_journal_grows():
    journal = filled("a")
    records = journal.read()
    journal.append(note("b"))
    assert texts(records) == ["a"]


def test_a_position_below_zero_is_refused():
    journal = filled("a")

    async def tail():
        async for _ in journal.tail(-1):
            pass

    for ask in (
        lambda: journal.read(after=-1),
        lambda: journal.events(Noted, after=-1),
        lambda: journal.wait(Noted, within=1, after=-1),
        lambda: run(tail()),
        lambda: run(journal.wait_for(Noted, within=1, after=-1)),
    ):
        with pytest.raises(ValueError, match="positions count from 1"):
            ask()


def test_only_events_are_taken():
    journal = Journal()
    with pytest.raises(TypeError, match="expected an Event, got str"):
        journal.append("hello")
    assert len(journal) == 0


@fixed
@given(st.lists(st.sampled_from(["append", "pause", "reader", "cancel", "slow"]), max_size=25))
def test_every_reader_sees_every_event_exactly_once_whatever_the_others_do(steps):
    async def read(journal, after, pause, seen):
        async for record in journal.tail(after):
            seen.append(record.position)
            await asyncio.sleep(pause)

    async def main():
        journal = Journal()
        readers = []
        for step in steps:
            if step == "append":
                journal.append(note())
            elif step == "pause":
                await asyncio.sleep(1)
            elif step == "cancel" and readers:
                readers.pop(0)[0].cancel()
            elif step in ("reader", "slow"):
                seen = []
                pause = 7 if step == "slow" else 0
                task = asyncio.create_task(read(journal, len(journal), pause, seen))
                readers.append((task, len(journal), seen))
        await asyncio.sleep(0)
        journal.close()
        await asyncio.gather(*(task for task, _, _ in readers))
        for _, after, seen in readers:
            assert seen == list(range(after + 1, len(journal) + 1))

    run(main())


@fixed
@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(1, 5))
def test_every_waiter_gets_the_event_that_it_waits_for(delays, waiters):
    async def main():
        journal = Journal()
        waiting = [
            asyncio.create_task(
                journal.wait_for(event(Noted, text={"equals": str(n % len(delays))}), within=99)
            )
            for n in range(waiters)
        ]
        for number, delay in enumerate(delays):
            await asyncio.sleep(delay)
            journal.append(note(number))
        found = await asyncio.gather(*waiting)
        assert [record.position for record in found] == [n % len(delays) + 1 for n in range(waiters)]

    run(main())


def test_waiting_finds_what_is_already_there_without_waiting():
    journal = filled("a", "b")

    async def main():
        return await journal.wait_for(Noted, within=1), await journal.wait_for(Noted, within=1, after=1)

    assert [record.position for record in run(main())] == [1, 2]


def test_waiting_takes_a_class_a_matcher_or_a_function():
    journal = filled("a", "b")

    async def main():
        wanted = (Noted, event(Noted, text="b"), lambda event: event.text == "b")
        return [(await journal.wait_for(match, within=1)).position for match in wanted]

    assert run(main()) == [1, 2, 2]


def test_waiting_in_vain_takes_virtual_seconds_and_shows_the_end_of_the_journal():
    async def main():
        journal = Journal()
        for number in range(20):
            journal.append(note(number), source="test" if number else "")
        with pytest.raises(WaitTimeout) as caught:
            await journal.wait_for(event(Noted, text="never"), within=30)
        return journal.clock.now(), caught.value

    now, error = run(main())
    assert now == 30
    assert error.summary == "no matching event within 30 s"
    assert error.expected == "Noted(text='never')"
    assert error.seen.splitlines() == [f"{n} Noted from test: {n - 1}" for n in range(13, 21)]
    assert "soundstage show" in error.hint


def test_waiting_in_an_empty_journal_says_that_there_is_nothing():
    with pytest.raises(WaitTimeout) as caught:
        run(Journal().wait_for(Noted, within=1, after=3))
    assert caught.value.seen == "nothing after position 3"


def test_an_event_that_comes_as_the_time_is_up_still_counts():
    async def main():
        journal = Journal()
        asyncio.get_running_loop().call_later(5, journal.append, note())
        return (await journal.wait_for(Noted, within=5)).time

    assert run(main()) == 5


@pytest.mark.parametrize("within", [0, -1, float("nan")])
def test_a_wait_needs_a_time(within):
    with pytest.raises(ValueError, match="more than 0"):
        run(Journal().wait_for(Noted, within=within))
    with pytest.raises(ValueError, match="more than 0"):
        Journal().wait(Noted, within=within)


@pytest.mark.parametrize("wanted", [str, Contains, 5, "Noted", None])
def test_waiting_for_what_cannot_come_is_refused_at_once(wanted):
    with pytest.raises(MatchError, match="cannot be waited for") as caught:
        run(Journal().wait_for(wanted, within=1))
    assert "event(Class, field=...)" in caught.value.expected


def test_a_function_that_raises_is_an_error_and_leaves_no_reader_behind():
    async def main():
        journal = Journal()
        waiting = asyncio.create_task(journal.wait_for(lambda event: event.nothing, within=9))
        await asyncio.sleep(1)
        journal.append(note())
        with pytest.raises(MatchError, match="raised AttributeError"):
            await waiting
        return len(journal._wakers)

    assert run(main()) == 0


def test_a_timeout_of_a_matcher_is_not_taken_for_ours():
    class Slow(Matcher):
        def explain(self, value):
            raise TimeoutError("of its own")

        def describe(self):
            return "slow"

    with pytest.raises(TimeoutError, match="of its own"):
        run(filled("a").wait_for(Slow(), within=1))


def test_an_event_matcher_knows_the_fields_of_its_class():
    matcher = event(MessageSent, text="/hel+o/", sender={"not": "bob"})
    assert matcher.matches(MessageSent(text="hello", sender="ann"))
    assert not matcher.matches(MessageSent(text="hello", sender="bob"))
    assert matcher.explain(note()) == "expected MessageSent, got Noted"
    with pytest.raises(MatchError, match="MessageSent has no field 'txt'") as caught:
        event(MessageSent, txt="hello")
    assert caught.value.expected == "one of text, channel, sender"


def test_a_waiter_that_is_cancelled_takes_nothing_from_the_others():
    async def main():
        journal = Journal()
        first, second = (asyncio.create_task(journal.wait_for(Noted, within=9)) for _ in range(2))
        await asyncio.sleep(1)
        first.cancel()
        await asyncio.sleep(1)
        assert len(journal._wakers) == 1
        journal.append(note())
        return (await second).position

    assert run(main()) == 1


def test_a_reader_can_stop_at_any_time():
    async def main():
        journal = filled("a", "b", "c")
        async with contextlib.aclosing(journal.tail()) as tail:
            async for record in tail:
                if record.position == 2:
                    break
        tail = journal.tail(after=3)
        waiting = asyncio.create_task(anext(tail))
        await asyncio.sleep(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return journal._wakers

    assert run(main()) == []


def test_a_forgotten_reader_may_be_collected_even_inside_append():
    readers = []

    class Clock(VirtualClock):
        def now(self):
            while readers:  # `append` asks for the time while it holds the lock
                readers.pop().close()
            return 0.0

    journal = Journal(clock=Clock())

    async def main():
        reader = journal._grown(0)
        reader.send(None)
        assert len(journal._wakers) == 1
        readers.append(reader)
        journal.append(note())

    asyncio.run(main())
    assert journal._wakers == []
    assert len(journal) == 1


def test_a_reader_whose_loop_is_gone_does_not_disturb_append():
    journal = Journal(clock=VirtualClock())
    readers = []

    async def main():
        readers.append(journal._grown(0))
        readers[0].send(None)

    asyncio.run(main())
    journal.append(note())

    def from_another_thread():
        asyncio.run(leave())

    async def leave():
        readers.append(journal._grown(1))
        readers[1].send(None)

    thread = threading.Thread(target=from_another_thread)
    thread.start()
    thread.join()
    journal.append(note())
    assert len(journal) == 2
    for reader in readers:
        reader.close()
    gc.collect()


def test_any_thread_may_append_and_wakes_readers_in_the_loop():
    async def main():
        journal = Journal()

        def work(name):
            for _ in range(200):
                journal.append(note(name))

        async def read():
            seen = []
            async for record in journal.tail():
                seen.append(record.position)
            return seen

        reader = asyncio.create_task(read())
        await asyncio.gather(*(asyncio.to_thread(work, name) for name in "abcd"))
        journal.close()
        everything = list(range(1, 801))
        assert [record.position for record in journal.read()] == everything
        assert await reader == everything
        for name in "abcd":
            assert texts(journal.read()).count(name) == 200

    asyncio.run(main())


def test_a_loop_that_has_nothing_else_to_do_is_woken_by_another_thread():
    registered = threading.Event()

    class Watched(Journal):
        def _register(self, wake, cursor):
            result = super()._register(wake, cursor)
            registered.set()
            return result

    journal = Watched()

    def work():
        registered.wait()
        journal.append(note())

    thread = threading.Thread(target=work)
    thread.start()
    # In debug mode asyncio refuses to be called from another thread in any way but the one that wakes it.
    assert asyncio.run(journal.wait_for(Noted, within=30), debug=True).position == 1
    thread.join()
    assert journal.clock.now() < 20


def test_an_event_between_looking_and_waiting_is_not_missed():
    class Raced(Journal):
        def _register(self, wake, cursor):
            if cursor == len(self) < 3:
                self.append(note())
            return super()._register(wake, cursor)

    async def main():
        journal = Raced()
        assert (await journal.wait_for(Noted, within=9)).position == 1
        async with contextlib.aclosing(journal.tail(after=1)) as tail:
            assert (await anext(tail)).position == 2
        return journal

    journal = run(main())
    assert journal.clock.now() == 0
    assert journal.wait(Noted, within=9, after=2).position == 3


def test_a_thread_without_a_loop_can_wait():
    journal = Journal()
    found = []
    thread = threading.Thread(target=lambda: found.append(journal.wait(event(Noted, text="b"), within=30)))
    thread.start()
    for word in ("a", "c", "b"):
        journal.append(note(word))
    thread.join()
    assert found[0].position == 3
    assert journal.wait(Noted, within=1, after=2).position == 3


def test_a_thread_that_waits_in_vain_gets_an_error_and_is_forgotten():
    journal = filled("a")
    with pytest.raises(WaitTimeout, match=r"within 0\.01 s"):
        journal.wait(MessageSent, within=0.01)
    assert journal._wakers == []


def test_an_event_that_comes_as_a_thread_gives_up_still_counts(monkeypatch):
    journal = Journal()

    class Late(threading.Event):
        def wait(self, timeout=None):
            journal.append(note())
            return False

    monkeypatch.setattr(threading, "Event", Late)
    assert journal.wait(Noted, within=1).position == 1


def test_blocking_the_thread_of_a_running_loop_is_refused():
    async def main():
        filled("a").wait(Noted, within=1)

    with pytest.raises(InvalidStateError, match="would block the event loop"):
        run(main())


def test_a_closed_journal_can_be_read_and_takes_nothing_more():
    journal = filled("a")
    journal.close()
    journal.close()
    with pytest.raises(InvalidStateError, match="the journal is closed") as caught:
        journal.append(note("late"), source="app")
    assert caught.value.seen == "an event after the end: Noted from app"
    with pytest.raises(InvalidStateError, match="from nowhere"):
        journal.append(note("late"))
    assert texts(journal.read()) == ["a"]


def test_closing_ends_every_reader_and_every_wait_at_once():
    async def main():
        journal = Journal()

        async def read():
            return [record.position async for record in journal.tail()]

        reader = asyncio.create_task(read())
        waiting = asyncio.create_task(journal.wait_for(MessageSent, within=3600))
        thread = asyncio.create_task(asyncio.to_thread(journal.wait, MessageSent, within=3600))
        await asyncio.to_thread(journal.append, note("a"))
        journal.close()
        assert await reader == [1]
        for wait in (waiting, thread):
            with pytest.raises(WaitTimeout, match="none can come: the journal is closed"):
                await wait
        with pytest.raises(WaitTimeout, match="none can come"):
            await journal.wait_for(MessageSent, within=3600)
        assert (await journal.wait_for(Noted, within=1)).position == 1
        return journal.clock.now()

    assert run(main()) == 0


def test_two_runs_of_one_program_write_the_same_bytes(tmp_path):
    async def main(path):
        journal = Journal(path)

        async def work(name, pause):
            for number in range(5):
                await asyncio.sleep(pause)
                journal.append(note(f"{name}{number}"), source=name)

        await asyncio.gather(*(work(name, pause) for name, pause in (("a", 1), ("b", 1), ("c", 0.5))))
        journal.close()

    for name in ("one", "two"):
        run(main(tmp_path / name))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert len(read_journal(tmp_path / "one")) == 15


def test_a_journal_says_whether_it_is_closed_and_where_its_file_is(tmp_path):
    for journal, path in ((Journal(), None), (Journal(tmp_path / "j.jsonl"), tmp_path / "j.jsonl")):
        assert (journal.closed, journal.path, journal.problem) == (False, path, None)
        journal.close()
        assert journal.closed
