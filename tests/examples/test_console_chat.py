"""The console that says again what it is told: in process, and as the program that a person starts."""

from __future__ import annotations

import asyncio

import pytest

from examples import console_chat
from soundstage.agents import ChatEntry, ChatReceived, ChatReply
from soundstage.agents.testing import journals_of
from soundstage.clock import SystemClock, VirtualClock, run
from soundstage.errors import ExpectationError
from soundstage.journal import DaemonChanged
from soundstage.trace import assert_ordered
from support.ways import as_program, in_process, start_alone


def test_a_line_comes_back_as_one_formatted_reply(hosted):
    async def body(host):
        await host.console.send("Hello, world!")
        await host.console.expect("Hello", within=5)
        return host.console.lines

    assert hosted(console_chat).run(body) == ["[echo]: Hello, world!"]


def test_replies_come_in_the_order_of_the_lines(hosted):
    async def body(host):
        for line in ("one", "two", "three"):
            await host.console.send(line)
        await host.console.expect("three")
        return host.console.lines

    assert hosted(console_chat).run(body) == ["[echo]: one", "[echo]: two", "[echo]: three"]


@pytest.mark.parametrize(
    "line", ["ä🎭 日本", '{"json": [1, "{sender}"]}', "tab\tin it", "  spaces around  ", "%s {text} \\n"]
)
def test_what_is_special_in_a_line_comes_back_as_it_is(hosted, line):
    async def body(host):
        await host.console.send(line)
        await host.console.expect("[echo]")
        return host.console.lines

    assert hosted(console_chat).run(body) == [f"[echo]: {line}"]


@pytest.mark.parametrize("blank", ["", "   ", "\t"])
def test_a_blank_line_gets_no_answer_and_the_next_line_does(hosted, blank):
    async def body(host):
        await host.console.send(blank)
        await host.console.send("after")
        await host.console.expect("after")
        return host.console.lines

    assert hosted(console_chat).run(body) == ["[echo]: after"]


def test_two_seconds_after_an_empty_line_nothing_has_come(hosted):
    async def body(host):
        begun = host.clock.now()
        await host.console.send("")
        await host.console.expect_nothing(within=2)
        return type(host.clock), host.clock.now() - begun, host.console.lines

    clock, passed, lines = hosted(console_chat).run(body)
    assert lines == []
    assert (
        passed == 2 if clock is VirtualClock else passed >= 2
    )  # a virtual clock jumps: it takes no time of ours


def test_silence_is_not_what_comes_after_a_line_that_is_answered(hosted):
    async def body(host):
        await host.console.send("hello")
        await host.console.expect_nothing(within=2)

    with pytest.raises(ExpectationError, match=r"stay quiet for 2 s[\s\S]*\[echo\]: hello"):
        hosted(console_chat).run(body)


def test_the_chat_journal_has_what_the_user_said_before_what_the_bot_said():
    async def body(host):
        await host.console.send("hello")
        await host.console.expect("hello")
        said, reply = journals_of(host).get(ChatEntry).events()[:2]
        assert_ordered(host.journal, ChatReceived, ChatReply)
        return said, reply

    assert in_process(console_chat).run(body) == (
        ChatReceived(text="hello", sender="user"),
        ChatReply(text="hello", sender="echo"),
    )


def test_what_was_typed_before_the_end_of_input_is_answered(hosted):
    async def body(host):
        for number in range(5):
            await host.console.send(f"line {number}")
        host.console.end_input()
        await host.console.expect("line 4")
        return host

    host = hosted(console_chat).run(body)
    assert host.console.lines == [f"[echo]: line {number}" for number in range(5)]
    assert [event.error for event in host.journal.events(DaemonChanged) if event.error] == []


def test_the_program_ends_with_code_0_at_the_end_of_its_input():
    async def body(host):
        await host.console.send("hello")
        await host.console.expect("hello")
        host.console.end_input()
        return await host.console.terminal.expect_exit(0)

    assert as_program(console_chat).run(body) == 0


def test_ctrl_c_ends_the_program_as_it_ends_others():
    async def body(host):
        await host.console.send("hello")
        await host.console.expect("hello")
        await host.console.terminal.press("Ctrl-C")
        await host.console.terminal.expect_exit(130)
        return host.console.screen.text

    assert "Traceback" not in as_program(console_chat, interrupt=True).run(body)


def test_the_program_reads_a_pipe_too():
    done = start_alone(console_chat, typed="one\n\ntwo without an end")
    assert (done.stdout, done.stderr, done.returncode) == ("[echo]: one\n[echo]: two without an end\n", "", 0)


def test_the_program_needs_no_key_and_says_how_to_try_it():
    done = start_alone(console_chat, "--help")
    assert done.returncode == 0
    assert "python -m examples.console_chat" in done.stdout
    assert "needs no key" in done.stdout


async def _talk(builder, number):
    async with builder.build() as host:
        for line in ("first", "second"):
            await host.console.send(f"{line} of {number}")
            await host.console.expect(f"{line} of {number}")
        return host.console.lines, host.journal.run, len(host.journal.events(ChatReceived))


@pytest.mark.parametrize(
    ("way", "count", "clock"), [(in_process, 20, VirtualClock), (as_program, 4, SystemClock)]
)
def test_hosts_at_once_share_nothing(way, count, clock):
    async def main():
        return await asyncio.gather(*(_talk(way(console_chat), number) for number in range(count)))

    found = run(main(), clock=clock())
    assert [lines for lines, *_ in found] == [
        [f"[echo]: first of {number}", f"[echo]: second of {number}"] for number in range(count)
    ]
    assert {own for *_, own in found} == {2 if way is in_process else 0}
