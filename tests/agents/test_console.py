"""The console branch, on whatever has its two methods, and the machine's console."""

from __future__ import annotations

import asyncio
import io
import os
import sys
import threading

import pytest

from soundstage.agents import (
    AppBuilder,
    ChatReceived,
    ChatReply,
    ConsoleBranch,
    LineConsole,
    SettingError,
    StandaloneContext,
    SystemConsole,
)
from soundstage.clock import SystemClock
from soundstage.host import HostBuilder
from soundstage.journal import Journal, MessageReceived
from soundstage.worlds import Console


def echo(text=None, sender="bot", **console):
    """A console that repeats what is said, or always says `text`."""

    def configure(app):
        def answer(said):
            return ChatReply(text=said.text if text is None else text, sender=sender)

        app.covenant().connect(app.use_console(**console)).routes(
            lambda to: to.route(ChatReceived, ChatReply, answer)
        )

    return configure


def test_lines_of_white_space_are_neither_taken_nor_written(run_app):
    around = run_app(echo(), lines=["", "  \t", "hello", ""])
    assert around.told(ChatReceived) == ["hello"]
    around = run_app(echo(text=" \n"), lines=["hello"])
    assert around.told(ChatReply) == [" \n"]
    assert around.console.written == []


@pytest.mark.parametrize(
    ("line_format", "line"),
    [
        ("[{sender}]: {text}", "[bot]: hi there "),
        ("{text}", "hi there "),
        ("{{{text}}} -- {sender}", "{hi there } -- bot"),
    ],
)
def test_how_a_line_looks_is_a_setting(run_app, line_format, line):
    assert run_app(echo("hi there ", line_format=line_format), lines=["x"]).console.written == [line]


def test_a_reply_shows_its_sender_unless_told_otherwise(run_app):
    assert run_app(echo("hi"), lines=["x"]).console.written == ["[bot]: hi"]


def test_a_reply_is_written_with_the_line_end_of_the_line_and_no_other(run_app):
    assert run_app(echo("One.\n\nTwo.\r\n\n"), lines=["x"]).console.written == ["[bot]: One.\n\nTwo."]


@pytest.mark.parametrize("line_format", ["{name}", "{0}", "{text", "{text.nothing}", "{}"])
def test_a_line_format_that_cannot_be_filled_in_is_refused(line_format):
    with pytest.raises(SettingError, match=r"\{sender\} and \{text\}"):
        ConsoleBranch(line_format=line_format)


def test_what_is_said_has_the_sender_of_the_branch(run_app):
    around = run_app(echo(sender="bot", name="desk"), lines=["x"])
    assert around.journal.events(ChatReceived) == [ChatReceived(text="x", sender="user")]
    assert {record.source for record in around.journal.read(type=ChatReceived)} == {"desk"}


def test_entries_know_the_line_that_they_come_from():
    async def body(host):
        await host.console.send("one")
        await host.console.send(" ")
        await host.console.send("two")
        await host.console.expect("two")
        typed = [record.position for record in host.journal.read(type=MessageReceived)]
        return [record.cause for record in host.journal.read(type=ChatReceived)] == [typed[0], typed[2]]

    assert HostBuilder().with_app(AppBuilder().apply(echo()).build()).run(body)


def test_both_sides_of_a_virtual_console_and_the_machines_have_what_the_branch_needs():
    assert isinstance(Console(Journal()).io, LineConsole)
    assert isinstance(SystemConsole(), LineConsole)


class Closed(io.StringIO):
    """A stream that must not be touched."""

    def __init__(self):
        super().__init__()
        self.close()


def test_the_branch_touches_no_stream_of_the_process(run_app, monkeypatch):
    with monkeypatch.context() as patched:
        for name in ("stdin", "stdout", "stderr"):
            patched.setattr(sys, name, Closed())
        written = run_app(echo(), lines=["one"]).console.written
    assert written == ["[bot]: one"]


# -- the machine's console --


def on_streams(stdin, stdout):
    """Run the echo app on text streams, for real."""

    async def main():
        clock = SystemClock()
        journal = Journal(clock=clock)
        await (
            AppBuilder()
            .apply(echo())
            .build()(StandaloneContext(journal, clock, console=SystemConsole(stdin, stdout)))
        )

    asyncio.run(main())


def test_an_app_runs_on_the_machines_console_until_the_end_of_input():
    stdout = io.StringIO()
    on_streams(io.StringIO("one\n\ntwo\r\nthree"), stdout)
    assert stdout.getvalue() == "[bot]: one\n[bot]: two\n[bot]: three\n"


def test_lines_are_answered_as_they_come_not_at_the_end_of_input():
    reader, writer = os.pipe()
    answered = threading.Event()

    class Told(io.StringIO):
        def flush(self):
            answered.set()

    def type_lines():
        with os.fdopen(writer, "w") as stream:
            for line in ("one\n", "two\n"):
                answered.clear()
                stream.write(line)
                stream.flush()
                assert answered.wait(30)

    typing = threading.Thread(target=type_lines)
    typing.start()
    stdout = Told()
    with os.fdopen(reader) as stdin:
        on_streams(stdin, stdout)
    typing.join()
    assert stdout.getvalue() == "[bot]: one\n[bot]: two\n"


def test_without_streams_it_is_the_process_own(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello\n"))
    on_streams(None, None)
    assert capsys.readouterr().out == "[bot]: hello\n"


def test_errors_go_to_the_stream_for_errors(capsys):
    own = io.StringIO()
    SystemConsole(stderr=own).write_error_line("of its own")
    SystemConsole().write_error_line("of the process")
    assert (own.getvalue(), *capsys.readouterr()) == ("of its own\n", "", "of the process\n")


def test_the_end_of_input_stays_the_end():
    async def main():
        console = SystemConsole(io.StringIO("one\n"))
        return [await console.read_line() for _ in range(3)]

    assert asyncio.run(main()) == ["one", None, None]


def test_a_thread_that_still_reads_when_the_loop_is_gone_ends_quietly():
    reader, writer = os.pipe()

    async def main(stdin):
        reading = asyncio.create_task(SystemConsole(stdin).read_line())
        await asyncio.sleep(0)
        reading.cancel()

    before = set(threading.enumerate())
    with os.fdopen(reader) as stdin:
        asyncio.run(main(stdin))
        (left,) = (thread for thread in set(threading.enumerate()) - before if thread.name == "console input")
        with os.fdopen(writer, "w") as stream:
            stream.write("too late\n")
        left.join(30)
        assert not left.is_alive()
    assert left.daemon
