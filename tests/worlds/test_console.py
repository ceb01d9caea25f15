"""The console in process: both sides, and the journal between them."""

from __future__ import annotations

import asyncio

import pytest

from soundstage.clock import run
from soundstage.errors import ExpectationError, InvalidStateError, WaitTimeout
from soundstage.journal import DaemonChanged, Journal, MessageReceived, MessageSent
from soundstage.worlds import Console


def on_console(body):
    """Run `body(console)` on virtual time."""

    async def main():
        console = Console(Journal())
        await console.start()
        try:
            return await body(console)
        finally:
            await console.stop()

    return run(main())


def test_lines_are_read_in_the_order_in_which_they_were_sent_and_then_none():
    async def body(console):
        await console.send("one")
        await console.send("two")
        console.end_input()
        return [await console.io.read_line() for _ in range(3)]

    assert on_console(body) == ["one", "two", None]


def test_a_reader_that_waits_is_woken_by_a_line_and_by_the_end_of_input():
    async def body(console):
        reading = asyncio.create_task(console.io.read_line())
        await asyncio.sleep(1)
        await console.send("hello")
        first = await reading
        reading = asyncio.create_task(console.io.read_line())
        await asyncio.sleep(1)
        console.end_input()
        return first, await reading

    assert on_console(body) == ("hello", None)


def test_text_counts_as_a_line_when_its_line_end_comes():
    async def body(console):
        console.io.write("Hel")
        console.io.write("lo\r\nwor")
        before = list(console.lines)
        console.io.flush()
        return before, console.lines

    assert on_console(body) == (["Hello"], ["Hello", "wor"])


def test_an_empty_line_is_a_line():
    async def body(console):
        console.io.write_line()
        return console.lines

    assert on_console(body) == [""]


def test_each_expectation_looks_after_the_line_that_the_last_one_found():
    async def body(console):
        for text in ("a1", "b", "a2"):
            console.io.write_line(text)
        first = await console.expect("a")
        second = await console.expect("a")
        with pytest.raises(WaitTimeout):
            await console.expect("b", within=1)
        return first, second

    assert on_console(body) == ("a1", "a2")


def test_a_missed_expectation_shows_the_lines_that_came_and_the_input_that_was_not_read():
    async def body(console):
        console.io.write_line("something else")
        with pytest.raises(WaitTimeout, match="something else"):
            await console.expect("hello", within=3)

    async def silent(console):
        await console.send("hello?")
        with pytest.raises(WaitTimeout, match=r"no line at all; 1 line\(s\) of input unread"):
            await console.expect("hello", within=3)

    on_console(body)
    on_console(silent)


def test_silence_is_expected_on_virtual_time_and_a_line_breaks_it():
    async def body(console):
        await console.expect_nothing(within=3600)
        asyncio.get_running_loop().call_later(5, console.io.write_line, "late")
        with pytest.raises(ExpectationError, match="late"):
            await console.expect_nothing(within=10)

    on_console(body)


def test_sending_after_the_end_of_input_and_line_ends_in_a_line_are_mistakes():
    async def body(console):
        with pytest.raises(ValueError, match="line end"):
            await console.send("a\nb")
        console.end_input()
        console.end_input()
        with pytest.raises(InvalidStateError, match="input of console has ended"):
            await console.send("too late")

    on_console(body)


def test_what_the_app_writes_has_the_line_that_it_read_as_its_cause():
    async def body(console):
        await console.send("first")
        position = await console.send("second")
        await console.io.read_line()
        await console.io.read_line()
        console.io.write_line("answer")
        [record] = console.journal.read(type=MessageSent)
        return record.cause == position, console.journal.events(MessageReceived)[1].sender

    assert on_console(body) == (True, "user")


def test_two_consoles_of_one_journal_do_not_see_each_other():
    async def main():
        journal = Journal()
        left, right = Console(journal, name="left"), Console(journal, name="right")
        left.io.write_line("from left")
        return left.lines, right.lines

    assert run(main()) == (["from left"], [])


def later(console, *texts, every=1.0):
    """Let the app write these lines, one each so many seconds."""
    for number, text in enumerate(texts, start=1):
        asyncio.get_running_loop().call_later(number * every, console.io.write_line, text)


def test_a_number_of_lines_is_collected_before_one_deadline():
    async def body(console):
        later(console, "a", "b", "c")
        first = await console.collect(2, within=2.5)
        return first, await console.collect(0), await console.expect("c")

    assert on_console(body) == (["a", "b"], [], "c")


def test_too_few_lines_end_the_wait_when_its_one_deadline_is_over_and_are_shown():
    async def body(console):
        later(console, "a", "b", "c", "d", every=2)
        with pytest.raises(WaitTimeout, match=r"4 line\(s\); 2 came[\s\S]*'a'\n\s*'b'"):
            await console.collect(4, within=5)
        return console.journal.clock.now(), console.drain()

    assert on_console(body) == (5, ["a", "b"])


def test_an_app_that_fails_ends_the_wait_for_lines_at_once():
    async def body(console):
        later(console, "a")
        failed = DaemonChanged(daemon="app", status="running", error="KeyError: 'x'")
        asyncio.get_running_loop().call_later(2, console.journal.append, failed)
        with pytest.raises(ExpectationError, match=r"'a'\n.*then the app failed: KeyError"):
            await console.collect(2, within=100)
        return console.journal.clock.now(), await console.collect_all(within=100)

    assert on_console(body) == (2, ["a"])


@pytest.mark.parametrize("count", [-1, 1.5, True])
def test_a_number_of_lines_that_is_none_is_refused(count):
    async def body(console):
        with pytest.raises(ValueError, match="whole number from 0"):
            await console.collect(count)

    on_console(body)


def test_everything_that_comes_within_some_seconds_is_collected_and_counts_as_seen():
    async def body(console):
        later(console, "a", "b", "c")
        found = await console.collect_all(within=2.5)
        return (
            found,
            console.drain(),
            await console.collect_all(within=10),
            await console.collect_all(within=1),
        )

    assert on_console(body) == (["a", "b"], [], ["c"], [])


def test_what_has_come_is_drained_without_waiting_after_what_was_expected():
    async def body(console):
        for text in ("a", "b", "c"):
            console.io.write_line(text)
        await console.expect("a")
        drained = console.drain()
        await console.expect_nothing(within=60)
        return drained, console.lines

    assert on_console(body) == (["b", "c"], ["a", "b", "c"])


def test_errors_are_a_stream_of_their_own():
    async def body(console):
        console.io.write_line("output")
        console.io.write_error_line("out of\r\npaper")
        await console.expect("output")
        await console.expect_nothing(within=5)
        assert await console.errors.expect("paper") == "paper"
        assert console.errors.drain() == []
        with pytest.raises(WaitTimeout, match=r"console\.errors did not show"):
            await console.errors.expect("more", within=1)
        [_, first, _] = console.journal.read(type=MessageSent)
        return console.lines, console.errors.lines, first.source

    assert on_console(body) == (["output"], ["out of", "paper"], "console")


def test_a_line_can_be_read_without_waiting_if_one_is_there():
    async def body(console):
        nothing = console.io.read_buffered()
        await console.send("one")
        return nothing, console.io.read_buffered(), console.io.read_buffered()

    assert on_console(body) == (None, "one", None)


def test_a_reader_that_is_cancelled_takes_no_line_with_it():
    async def body(console):
        reading = asyncio.create_task(console.io.read_line())
        await asyncio.sleep(1)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await console.send("one")
        return await console.io.read_line()

    assert on_console(body) == "one"


def test_a_closed_console_takes_no_more_output_and_closing_twice_is_harmless():
    async def body(console):
        console.io.write("an unfinished line")
        await console.stop()
        console.io.close()
        for write in (console.io.write, console.io.write_line, console.io.write_error_line):
            with pytest.raises(InvalidStateError, match="console is closed"):
                write("late")
        return console.lines, await console.io.read_line()

    assert on_console(body) == (["an unfinished line"], None)


@pytest.mark.parametrize("line", [5, b"bytes", None])
def test_a_line_is_text(line):
    async def body(console):
        with pytest.raises(TypeError, match="a line is text"):
            await console.send(line)

    on_console(body)
