"""A program on a terminal: what it shows can be waited for, and what is typed reaches it."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from soundstage.clock import run
from soundstage.errors import (
    AppError,
    EnvironmentProblem,
    ExpectationError,
    InvalidStateError,
    NetworkForbiddenError,
    ScriptError,
    WaitTimeout,
)
from soundstage.journal import (
    Journal,
    MessageReceived,
    MessageSent,
    Noted,
    ProcessExited,
    ProcessStarted,
    ScreenChanged,
    event,
)
from soundstage.terminal import Screen, Style, Terminal, TerminalConsole, styled
from soundstage.testing import InboxProbe, verify_inbox, verify_world

WITHIN = 20  # what a busy machine may need

MENU = """
import curses
ITEMS = ["apples", "pears", "plums"]
def main(window):
    curses.use_default_colors()
    curses.init_pair(1, curses.COLOR_GREEN, -1)
    chosen, keys = 0, []
    while True:
        window.erase()
        window.border()
        rows, columns = window.getmaxyx()
        window.addstr(0, 2, f" {columns} x {rows} ")
        for number, item in enumerate(ITEMS):
            window.addstr(number + 2, 4, item, curses.A_REVERSE if number == chosen else curses.color_pair(1))
        window.addstr(rows - 2, 2, f"last key: {keys[-1] if keys else 'none'}")
        window.refresh()
        key = window.getch()
        keys.append(curses.keyname(key).decode() if key >= 0 else key)
        chosen += (key == curses.KEY_DOWN) - (key == curses.KEY_UP)
        if key in (10, 13):
            return ITEMS[chosen]
print("before")
print("you chose", curses.wrapper(main))
"""

RAW = """
import os, sys, termios, tty
saved = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, sys.argv[1].encode().decode('unicode_escape').encode() + b'ready\\r\\n')
while True:
    data = os.read(0, 1024)
    os.write(1, repr(data).encode() + b'\\r\\n')
    if data.endswith(b'q'):
        break
termios.tcsetattr(0, termios.TCSADRAIN, saved)
"""

SIZE = """
import os, signal
changes = {signal.SIGWINCH}
signal.pthread_sigmask(signal.SIG_BLOCK, changes)
while True:
    print("\\x1b[2J\\x1b[Hsize", *os.get_terminal_size(), flush=True)
    signal.sigwait(changes)
"""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


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


def test_a_shell_shows_prompt_echo_output_and_exit() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect("/^ready>$/")
        await terminal.send_line("echo $((6 * 7)); tty")
        screen = await terminal.expect(r"/^42\n\/dev\/.*\nready>$/m", within=WITHIN)
        assert screen.lines[0] == "ready> echo $((6 * 7)); tty"
        assert screen.cursor[:2] == (3, 7)
        await terminal.send_line("exit 3")
        assert await terminal.expect_exit(3, within=WITHIN) == 3
        assert terminal.exit_code == 3
        assert "exit 3" in terminal.screenshot()

    argv = ["bash", "--norc", "--noprofile"]
    journal, _ = with_terminal(argv, body, environment={"PS1": "ready> "})
    [started] = journal.events(ProcessStarted)
    assert started.command == tuple(argv)
    assert "TERM" in started.environment
    assert not {"COLUMNS", "LINES"} & set(started.environment)
    assert journal.events(ProcessExited) == [ProcessExited(code=3)]


def test_a_python_prompt_takes_lines_keys_and_the_end_of_input() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect(">>>", within=WITHIN)
        await terminal.send_line("text = input('name: ')")
        await terminal.expect("/^name:/m", within=WITHIN)
        await terminal.send("Adax")
        await terminal.press("Backspace", "Enter")
        await terminal.send_line("text, 6 * 7")
        await terminal.expect("('Ada', 42)", within=WITHIN)
        await terminal.press("Ctrl-D")
        await terminal.expect_exit(within=WITHIN)

    with_terminal([sys.executable, "-q", "-I"], body)


def test_ctrl_c_interrupts_the_program() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect("ready", within=WITHIN)
        await terminal.press("Ctrl-C")
        await terminal.expect("interrupted", within=WITHIN)
        await terminal.send_line("on it goes")
        await terminal.expect("read on it goes", within=WITHIN)

    code = (
        "import signal; wanted = {signal.SIGINT}; signal.pthread_sigmask(signal.SIG_BLOCK, wanted)\n"
        "print('ready'); signal.sigwait(wanted); print('interrupted'); print('read', input())"
    )
    with_terminal(python(code), body)


def test_a_full_screen_program_is_driven_by_keys_and_leaves_the_screen_as_it_was() -> None:
    async def body(terminal: Terminal) -> None:
        screen = await terminal.expect({"all": [styled("apples", reverse=True), "/└─+┘$/"]}, within=WITHIN)
        assert screen.find("40 x 10") == (0, 3)
        assert screen.cell(0, 0).text == "┌"
        assert screen.cell(9, 39).text == "┘"
        assert screen.cell(3, 4).style == Style(fg="green")
        assert "before" not in screen.text
        await terminal.press("Down", "Down", "Up")
        await terminal.expect({"all": [styled("pears", reverse=True), "last key: KEY_UP"]}, within=WITHIN)
        await terminal.press("F5")
        await terminal.expect("last key: KEY_F(5)", within=WITHIN)
        await terminal.resize(50, 12)
        await terminal.press("x")  # wakes a curses that was just about to wait for a key
        screen = await terminal.expect("50 x 12", within=WITHIN)
        assert screen.size == (50, 12)
        await terminal.press("Enter")
        screen = await terminal.expect("you chose pears", within=WITHIN)
        assert screen.lines[0] == "before"
        await terminal.expect_exit(within=WITHIN)

    with_terminal(python(MENU), body, columns=40, rows=10)


def test_a_program_hears_of_another_size() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect("size 80 24", within=WITHIN)
        await terminal.resize(120, 40)
        await terminal.expect("size 120 40", within=WITHIN)
        assert terminal.screen.size == (120, 40)
        with pytest.raises(ValueError, match="1 to 1000"):
            await terminal.resize(0, 40)

    journal, _ = with_terminal(python(SIZE), body)
    assert "the terminal has 120 columns and 40 rows now" in [event.text for event in journal.events(Noted)]


@pytest.mark.parametrize(
    ("modes", "act", "heard"),
    [
        ("", lambda terminal: terminal.press("Up", "q"), "b'\\x1b[Aq'"),
        ("\\x1b[?1h", lambda terminal: terminal.press("Up", "q"), "b'\\x1bOAq'"),
        ("", lambda terminal: terminal.press("Ctrl-C", "Ctrl-D", "q"), "b'\\x03\\x04q'"),
        ("", lambda terminal: terminal.paste("a\nq"), "b'a\\rq'"),
        ("\\x1b[?2004h", lambda terminal: terminal.paste("a\nb"), "b'\\x1b[200~a\\rb\\x1b[201~'"),
        ("", lambda terminal: terminal.send("\x1b[99;q"), "b'\\x1b[99;q'"),
        ("", lambda terminal: terminal.send_line("é"), "b'\\xc3\\xa9\\r'"),
        ("\\x1b[6n", lambda terminal: terminal.send("q"), "b'\\x1b[1;1R"),
    ],
)
def test_keys_pastes_and_answers_reach_a_program_as_it_has_asked_for_them(
    modes: str, act: Callable[[Terminal], Awaitable[Any]], heard: str
) -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect("ready", within=WITHIN)
        await act(terminal)
        await terminal.expect(heard, within=WITHIN)

    with_terminal(python(RAW, modes), body)


def test_colours_are_waited_for_and_scrollback_is_kept() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect(styled("/[0-9]+ failed/", fg="red", bold=True), within=WITHIN)
        await terminal.expect_exit(within=WITHIN)
        assert terminal.scrollback == ["26", "27"]
        assert terminal.screen.lines == ["28", "29", "30", "2 failed", ""]

    code = r"seq 30; printf '\033[1;31m2 failed\033[0m\n'"
    with_terminal(shell(code), body, rows=5, scrollback=2)


def test_what_was_true_on_the_last_screen_counts_after_the_exit() -> None:
    async def body(terminal: Terminal) -> Screen:
        await terminal.expect_exit(within=WITHIN)
        return await terminal.expect("done")

    _, screen = with_terminal(shell("echo done"), body)
    assert screen.text == "done"


def test_a_failed_expectation_shows_the_screen_the_nearest_line_and_that_it_runs() -> None:
    async def body(terminal: Terminal) -> str:
        await terminal.expect("login:", within=WITHIN)
        with pytest.raises(WaitTimeout) as caught:
            await terminal.expect("Logn:", within=0.05)
        assert terminal.exit_code is None
        return str(caught.value)

    journal, message = with_terminal(shell("printf 'login: '; exec cat"), body, columns=20, rows=4)
    assert message == (
        "terminal did not show what was expected within 0.05 s\n"
        "  expected: 'Logn:'\n"
        "  seen:\n"
        "    +-- 20 x 4 ----------+\n"
        "    |login:              |\n"
        "    +-- cursor at row 0, column 7; 3 empty rows below --+\n"
        "    nearest: row 0: 'login:'\n"
        "    it still runs"
    )
    assert [event.text for event in journal.events(ScreenChanged)] == ["login:"]


def test_an_exit_fails_an_expectation_at_once_with_screen_and_status() -> None:
    async def body(terminal: Terminal) -> str:
        with pytest.raises(ExpectationError) as caught:
            await terminal.expect("ready", within=WITHIN)
        assert not isinstance(caught.value, WaitTimeout)
        return str(caught.value)

    _, message = with_terminal(shell("echo 'no config' >&2; exit 7"), body)
    assert "exited and did not show" in message
    assert "|no config " in message
    assert "exit code 7" in message


def test_another_exit_than_expected_is_a_failure() -> None:
    async def body(terminal: Terminal) -> str:
        with pytest.raises(ExpectationError, match="an exit with code 0") as caught:
            await terminal.expect_exit(within=WITHIN)
        assert await terminal.expect_exit(None) == -9
        return caught.value.seen

    _, seen = with_terminal(shell("echo bye; kill -9 $$"), body)
    assert "|bye " in seen
    assert seen.endswith("ended by SIGKILL")


def test_no_exit_is_a_failure_and_the_program_runs_on() -> None:
    async def body(terminal: Terminal) -> None:
        with pytest.raises(WaitTimeout, match="did not exit within"):
            await terminal.expect_exit(within=0.05)
        await terminal.send_line("hello")
        await terminal.expect("hello", within=WITHIN)

    with_terminal(["cat"], body)


def test_the_journal_has_the_screens_on_which_the_test_acted_and_their_causes() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect("name?", within=WITHIN)
        await terminal.send_line("Ada")
        await terminal.expect("hello Ada", within=WITHIN)
        await terminal.snap("greeted")
        await terminal.expect_exit(within=WITHIN)

    journal, _ = with_terminal(shell("stty -echo; printf 'name? '; read name; echo hello $name"), body)
    records = [
        record
        for record in journal.read(type=(ScreenChanged, MessageReceived))
        if record.source == "terminal"
    ]
    typed = next(record for record in records if isinstance(record.event, MessageReceived))
    assert (typed.event.text, typed.event.channel, typed.event.sender) == ("Ada", "terminal", "test")
    before = [record.event.text for record in records if record.position < typed.position]
    assert before == ["name?"]
    after = [record for record in records if record.position > typed.position]
    assert {record.cause for record in after} == {typed.position}
    assert [record.event.label for record in after if record.event.label] == ["greeted"]
    assert after[-1].event.text.endswith("hello Ada")


def test_two_screens_in_a_row_in_the_journal_are_never_the_same() -> None:
    async def body(terminal: Terminal) -> None:
        for _ in range(3):
            await terminal.expect("x", within=WITHIN)
        await terminal.press("Enter")
        await terminal.expect_exit(within=WITHIN)

    journal, _ = with_terminal(shell("stty -echo; printf x; read line"), body)
    texts = [event.text for event in journal.events(ScreenChanged)]
    assert "x" in texts
    assert all(one != other for one, other in itertools.pairwise(texts))


def test_typing_into_a_program_that_has_exited_says_so() -> None:
    async def body(terminal: Terminal) -> None:
        await terminal.expect_exit(within=WITHIN)
        for act in (
            terminal.send("x"),
            terminal.send_line("x"),
            terminal.press("Enter"),
            terminal.paste("x"),
        ):
            with pytest.raises(AppError, match="has exited and reads nothing"):
                await act

    with_terminal(["true"], body)


def test_no_key_and_unknown_keys_are_refused_before_anything_is_typed() -> None:
    async def body(terminal: Terminal) -> None:
        with pytest.raises(ScriptError, match="at least one key"):
            await terminal.press()
        with pytest.raises(ScriptError, match="press\\('Enter'\\)"):
            await terminal.press("x", "Entr")

    journal, _ = with_terminal(["cat"], body)
    assert journal.events(MessageReceived) == []


def test_a_program_that_is_not_there_is_a_problem_of_the_environment() -> None:
    journal = Journal()

    async def main() -> None:
        terminal = Terminal(["no-such-program-anywhere"], journal)
        with pytest.raises(EnvironmentProblem, match="cannot be run"):
            await terminal.start()
        await terminal.stop()

    asyncio.run(main())
    assert journal.events(ProcessStarted) == []


def test_a_system_without_pseudo_terminals_is_a_problem_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def openpty() -> None:
        raise OSError(28, "No space left on device")

    async def main() -> None:
        monkeypatch.setattr(os, "openpty", openpty)
        with pytest.raises(EnvironmentProblem, match="no pseudo-terminal left"):
            await Terminal(["cat"], Journal()).start()

    asyncio.run(main())


def test_nothing_works_before_the_start() -> None:
    async def main() -> None:
        terminal = Terminal(["cat"], Journal())
        with pytest.raises(InvalidStateError, match="start it first"):
            await terminal.expect("x")
        with pytest.raises(InvalidStateError, match="start it first"):
            await terminal.send("x")

    asyncio.run(main())
    with pytest.raises(ValueError, match="argv is empty"):
        Terminal([], Journal())
    with pytest.raises(ValueError, match="1 to 1000"):
        Terminal(["cat"], Journal(), columns=0)


def test_a_terminal_is_refused_on_virtual_time() -> None:
    async def main() -> None:
        with pytest.raises(NetworkForbiddenError):
            await Terminal(["cat"], Journal(), environment={"HTTPS_PROXY": "http://127.0.0.1:9"}).start()

    run(main())


def test_a_terminal_keeps_what_every_world_guarantees() -> None:
    async def use(terminal: Terminal) -> None:
        await terminal.send_line("hello")
        await terminal.expect("hello\nhello")  # as it was typed, and as it came back
        await terminal.press("Ctrl-D")
        await terminal.expect_exit(0)

    none = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    make = lambda journal: Terminal(["cat"], journal, environment=none)  # noqa: E731
    asyncio.run(verify_world(make, use))


def test_a_console_of_a_program_keeps_what_every_world_guarantees() -> None:
    none = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}

    def make(journal: Journal) -> TerminalConsole:
        return TerminalConsole(["cat"], journal, environment=none)

    async def says(console: TerminalConsole, text: str, source: int) -> None:
        await console.send(text)
        await console.journal.wait_for(event(MessageSent, text=text), within=5)

    async def expects(console: TerminalConsole, text: str, source: int, within: float) -> None:
        await console.expect(text, within=within)

    probe = InboxProbe(says, expects, sources=1)
    asyncio.run(verify_inbox(make, probe))
