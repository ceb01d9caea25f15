"""Programs that behave badly: the failure is clear, the last screen is there, and no process is left."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.errors import ExpectationError, HarnessError, WaitTimeout
from soundstage.journal import Journal, Noted, ProcessExited, ProcessStarted, ScreenChanged
from soundstage.terminal import Terminal
from support.footprint import open_files

Exists = Callable[[int], bool]
WITHIN = 30

STUBBORN = """
import signal, sys
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
    signal.signal(number, signal.SIG_IGN)
print("still here", flush=True)
while True:
    try:
        if not sys.stdin.readline():
            print("no end", flush=True)
    except OSError:
        signal.pause()
"""

FAMILY = """
import os, signal
def child(detach):
    if os.fork() == 0:
        if detach:
            os.setsid()
        if os.fork() == 0:
            os.write(1, b'child %d\\r\\n' % os.getpid())
        signal.pause()
for detach in (False, True, False):
    child(detach)
os.write(1, b'parent\\r\\n')
ENDING
"""

POLITE = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
wanted = {signal.SIGHUP}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print("ready", flush=True)
signal.sigwait(wanted)
print("saved")
raise SystemExit(5)
"""

COUNT = """
import os, tty
tty.setraw(0)
os.write(1, b"ready")
size = 0
while not (data := os.read(0, 65536)).endswith(b"\\r"):
    size += len(data)
print("got", size + len(data))
"""

SYNCHRONIZED = """
import os
os.write(1, b"old\\x1b[?2026h\\x1b[2J\\x1b[Hhalf a fra")
os.read(0, 1)
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def shell(code: str) -> list[str]:
    return ["sh", "-c", code]


def with_terminal(
    argv: list[str], body: Callable[[Terminal], Awaitable[Any]], **options: Any
) -> tuple[Journal, Any]:
    """Run `body` with a terminal that runs. Returns the journal and its result."""
    journal = Journal()

    async def main() -> Any:
        terminal = Terminal(argv, journal, **options)
        await terminal.start()
        try:
            return await body(terminal)
        finally:
            await terminal.stop()

    return journal, asyncio.run(main())


def test_a_prompt_without_a_newline_is_seen() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect("/^password:$/", within=WITHIN)

    with_terminal(shell("printf 'password: '; exec cat"), body)


def test_binary_output_is_a_screen_and_an_exit_like_any_other() -> None:
    async def body(terminal: Terminal) -> None:
        assert await terminal.expect_exit(5, within=WITHIN) == 5
        assert terminal.screen.size == (80, 24)

    code = "import os, random, sys; os.write(1, random.Random(1).randbytes(200_000)); sys.exit(5)"
    with_terminal(python(code), body)


def test_invalid_utf_8_is_shown_as_such() -> None:
    async def body(terminal: Terminal) -> str:
        await terminal.expect_exit(within=WITHIN)
        return terminal.screen.text

    _, text = with_terminal(shell(r"printf 'a\377b\303 \342\202end\303'"), body)
    assert text == "a\ufffdb\ufffd \ufffdend\ufffd"


def test_a_flood_of_100_mb_ends_with_its_last_screen_and_leaves_few_events() -> None:
    line = "what a program writes into a log that nobody reads: 0123456789"

    async def body(terminal: Terminal) -> None:
        await terminal.expect("the end", within=WITHIN * 2)
        await terminal.expect_exit(within=WITHIN)
        assert terminal.screen.lines == [*[line] * 23, "the end"]
        assert terminal.scrollback == [line] * 1000

    journal, _ = with_terminal(shell(f"yes '{line}' | head -c {63 * 1_600_000}; printf 'the end'"), body)
    assert len(journal) < 40


def test_the_event_loop_goes_round_in_a_flood_and_the_flood_can_be_waited_for() -> None:
    async def body(terminal: Terminal) -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        counting = asyncio.create_task(count())
        await terminal.expect("y\ny\ny", within=WITHIN)
        with pytest.raises(WaitTimeout) as caught:
            await terminal.expect("never", within=0.3)
        assert "it still runs" in str(caught.value)
        counting.cancel()
        return turns

    journal, turns = with_terminal(["yes"], body, grace=0.5)
    assert turns > 10
    assert len(journal) < 60


def test_a_flood_of_sequences_is_drawn_in_slices_between_which_others_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_a_row: list[int] = [0]

    async def body(terminal: Terminal) -> None:
        step = terminal._emulator.step

        def counted() -> bool:
            in_a_row[-1] += 1
            return step()

        async def turns() -> None:
            while True:
                in_a_row.append(0)
                await asyncio.sleep(0)

        monkeypatch.setattr(terminal._emulator, "step", counted)
        turning = asyncio.create_task(turns())
        await terminal.press("Enter")
        await terminal.expect("done", within=WITHIN)
        turning.cancel()

    code = r"import os; input(); os.write(1, b'\x1b[31mred\x1b[0m\x1b[2J\x1b[H' * 20_000 + b'done'); input()"
    with_terminal(python(code), body)
    assert sum(in_a_row) > 50
    assert max(in_a_row) == 1


def test_a_program_that_ignores_everything_is_killed_in_the_end(exists: Exists) -> None:
    async def body(terminal: Terminal) -> int:
        await terminal.expect("still here", within=WITHIN)
        await terminal.press("Ctrl-C", "Ctrl-Z", "Ctrl-\\")
        await terminal.press("Ctrl-D")
        await terminal.expect("no end", within=WITHIN)
        with pytest.raises(WaitTimeout) as caught:
            await terminal.expect_exit(within=0.05)
        assert "|still here" in caught.value.seen
        return terminal.pid

    journal, pid = with_terminal(python(STUBBORN), body, grace=0.1)
    assert not exists(pid)
    assert journal.events(ProcessExited) == [ProcessExited(code=-9)]
    assert "no end" in journal.events(ScreenChanged)[-1].text


def test_a_program_that_is_stopped_goes_on_to_its_end() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect("ready", within=WITHIN)

    journal, _ = with_terminal(shell("echo ready; kill -STOP $$; exec cat"), body, grace=WITHIN)
    assert journal.events(ProcessExited) == [ProcessExited(code=-signal.SIGHUP)]


def test_a_program_may_end_in_its_own_way_when_its_terminal_goes() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect("ready", within=WITHIN)

    journal, _ = with_terminal(python(POLITE), body, grace=WITHIN)
    assert journal.events(ProcessExited) == [ProcessExited(code=5)]
    assert journal.events(ScreenChanged)[-1].text == "ready\nsaved"


@pytest.mark.parametrize(
    "ending", ["os.read(0, 1); raise SystemExit(4)", "signal.pause()"], ids=["exits", "stays"]
)
def test_no_child_is_left_behind_whatever_it_does(exists: Exists, ending: str) -> None:
    pids: list[int] = []

    async def body(terminal: Terminal) -> None:
        screen = await terminal.expect({"all": ["parent", r"/(child \d+(.|\n)*){3}/"]}, within=WITHIN)
        pids.extend(int(line.split()[1]) for line in screen.lines if line.startswith("child"))
        if "Exit" in ending:
            await terminal.press("Enter")
            await terminal.expect_exit(4, within=WITHIN)

    journal, _ = with_terminal(python(FAMILY.replace("ENDING", ending)), body, grace=0.2)
    assert len(pids) == 3
    assert not any(map(exists, pids))
    assert "left processes behind" in journal.events(Noted)[-1].text


def test_a_program_that_dies_at_its_start_fails_with_what_it_has_said() -> None:
    async def body(terminal: Terminal) -> str:
        with pytest.raises(ExpectationError) as caught:
            await terminal.expect("welcome", within=WITHIN)
        return caught.value.seen

    _, seen = with_terminal(python("import no_such_module"), body)
    assert "ModuleNotFoundError: No module named 'no_such_module'" in seen
    assert "exit code 1" in seen
    assert "nearest" not in seen


def test_a_program_that_is_killed_by_a_signal_says_which() -> None:
    async def body(terminal: Terminal) -> str:
        with pytest.raises(ExpectationError) as caught:
            await terminal.expect("welcome", within=WITHIN)
        return caught.value.seen

    _, seen = with_terminal(shell("kill -SEGV $$"), body)
    assert "ended by SIGSEGV" in seen


def test_terminal_modes_that_a_program_leaves_behind_are_gone_with_its_terminal() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect_exit(within=WITHIN)

    with_terminal(shell(r"stty raw -echo; printf '\033[?1049h\033[?25l\033[?1h'"), body)

    async def fresh(terminal: Terminal) -> None:
        await terminal.send_line("typed")
        await terminal.expect("typed\ntyped", within=WITHIN)
        assert terminal.screen.cursor.visible

    with_terminal(["cat"], fresh)


def test_a_program_that_does_not_read_is_said_to() -> None:
    async def body(terminal: Terminal) -> str:
        await terminal.expect("ready", within=WITHIN)
        await terminal.send("x" * 300_000)
        with pytest.raises(WaitTimeout) as caught:
            await terminal.expect("never", within=0.05)
        return caught.value.seen

    _, seen = with_terminal(shell("stty raw -echo; echo ready; exec sleep 1000"), body)
    assert "it does not read its input: " in seen


def test_a_large_paste_arrives_whole() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect("ready", within=WITHIN)
        await terminal.paste("x" * 200_000 + "\n")
        await terminal.expect("got 200001", within=WITHIN)

    with_terminal(python(COUNT), body)


def test_half_an_update_is_not_taken_for_a_screen_and_the_failure_says_so() -> None:
    async def body(terminal: Terminal) -> str:
        await terminal.expect("old", within=WITHIN)
        with pytest.raises(WaitTimeout) as caught:
            await terminal.expect("half", within=1)
        await terminal.press("Enter")
        await terminal.expect_exit(within=WITHIN)
        assert terminal.screen.text.startswith("half a fra")
        return caught.value.seen

    _, seen = with_terminal(python(SYNCHRONIZED), body)
    assert "|half a fra" in seen
    assert "mode 2026" in seen


def test_a_harness_that_fails_while_drawing_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(terminal: Terminal) -> None:
        monkeypatch.setattr(terminal._emulator, "step", lambda: 1 / 0)
        await terminal.press("Enter")
        with pytest.raises(HarnessError, match="ZeroDivisionError"):
            await terminal.expect("never", within=WITHIN)

    with pytest.raises(HarnessError, match="ZeroDivisionError"):
        with_terminal(["cat"], body)


def test_a_test_that_is_cancelled_leaves_nothing_behind(exists: Exists) -> None:
    journal = Journal()

    async def main() -> None:
        terminal = Terminal(python(STUBBORN), journal, grace=0.1)
        await terminal.start()
        try:
            async with asyncio.timeout(0.2):
                await terminal.expect("never", within=WITHIN)
        finally:
            await terminal.stop()

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    [started] = journal.events(ProcessStarted)
    assert not exists(started.pid)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are found in /proc")
def test_terminals_leave_no_files_open() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect_exit(within=WITHIN)

    with_terminal(["true"], body)
    before = open_files()
    for _ in range(3):
        with_terminal(["true"], body)
    assert open_files() - before == set()
