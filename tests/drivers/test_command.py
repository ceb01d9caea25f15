"""A command is a real program: its lines are events, its exit is known, and nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.clock import run
from soundstage.drivers import Command, Driver
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
    EgressTried,
    Journal,
    MessageReceived,
    MessageSent,
    Noted,
    ProcessExited,
    ProcessStarted,
)
from soundstage.net import EgressProxy

Exists = Callable[[int], bool]

DAEMON = """
import os, signal
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(1, b'%d\\n' % os.getpid())
            signal.pause()
        os._exit(0)
daemon(); daemon()
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def with_command(
    argv: list[str], body: Callable[[Command], Awaitable[Any]], **options: Any
) -> tuple[Journal, Any]:
    """Run `body` with a command that runs. Returns the journal and its result."""
    journal = Journal()

    async def main() -> Any:
        command = Command(argv, journal, **options)
        await command.start()
        try:
            return await body(command)
        finally:
            await command.stop()

    return journal, asyncio.run(main())


async def finished(command: Command) -> int:
    return await command.wait(None, within=30)


def test_lines_come_as_they_are_printed_and_answers_follow_what_is_sent() -> None:
    program = "import sys\nprint('ready')\nfor line in sys.stdin: print('got ' + line, end='')"

    async def body(command: Command) -> int:
        assert await command.expect("ready") == "ready"
        for word in ("one", "two"):
            await command.send(word)
            assert await command.expect("got") == f"got {word}"
        command.end_input()
        return await command.wait()

    journal, code = with_command(python(program), body)
    assert code == 0
    assert [event.text for event in journal.events(MessageSent)] == ["ready", "got one", "got two"]
    assert [(event.text, event.channel) for event in journal.events(MessageReceived)] == [
        ("one", "stdin"),
        ("two", "stdin"),
    ]
    assert journal.events(ProcessExited) == [ProcessExited(code=0)]


def test_both_channels_are_kept_apart_and_stderr_is_in_the_exit() -> None:
    async def body(command: Command) -> tuple[list[str], list[str]]:
        await command.expect("bad", channel="stderr")
        assert await command.wait(3) == 3
        assert command.exit_code == 3
        return command.lines(), command.lines("stderr")

    journal, lines = with_command(
        python("import sys; print('good'); sys.stderr.write('bad\\nworse'); sys.exit(3)"), body
    )
    assert lines == (["good"], ["bad", "worse"])
    assert journal.events(ProcessExited) == [ProcessExited(code=3, stderr="bad\nworse")]


def test_lines_and_exit_have_the_start_as_their_cause() -> None:
    journal, _ = with_command(python("print('x')"), finished, name="app")
    started, line, exited = journal.read(type=(ProcessStarted, MessageSent, ProcessExited))
    assert [record.cause for record in (started, line, exited)] == [None, started.position, started.position]
    assert {record.source for record in (started, line, exited)} == {"app"}


def test_a_signal_that_ends_it_is_a_negative_code() -> None:
    _, code = with_command(python("import os; os.kill(os.getpid(), 11)"), finished)
    assert code == -signal.SIGSEGV


def test_text_for_its_input_is_given_and_then_the_input_ends() -> None:
    _, lines = with_command(["cat"], _lines, stdin="first\n" + "x" * 1_000_000 + "\nlast")
    assert [lines[0], len(lines[1]), lines[2]] == ["first", 1_000_000, "last"]


async def _lines(command: Command) -> list[str]:
    await finished(command)
    return command.lines()


def test_lines_of_both_channels_are_read_apart_collected_and_not_expected() -> None:
    program = (
        "import sys\nprint('one')\nprint('two', flush=True)\nprint('oh', file=sys.stderr)\nsys.stdin.read()"
    )

    async def body(command: Command) -> None:
        await command.expect("oh", channel="stderr")
        with pytest.raises(ExpectationError, match="stay quiet"):
            await command.expect_nothing(within=0.01, channel="stdout")
        assert await command.collect(2, channel="stdout") == ["one", "two"]
        await command.expect_nothing(within=0.01)
        with pytest.raises(WaitTimeout, match="'one' came before the line that was expected last"):
            await command.expect("one", within=0.01)
        command.end_input()
        with pytest.raises(ExpectationError, match="exited with code 0") as caught:
            await command.collect(1)
        assert not isinstance(caught.value, WaitTimeout)

    with_command(python(program), body)


def test_huge_lines_and_binary_output_do_not_break_it() -> None:
    program = "import os; os.write(1, bytes(range(256)) + b'\\n'); print('x' * 3_000_000 + '\\nend')"
    _, lines = with_command(python(program), _lines)
    assert lines[-1] == "end"
    assert "".join(lines[2:-1]) == "x" * 3_000_000
    assert lines[1].endswith(r"\xfe\xff")


def test_two_commands_of_one_name_do_not_hear_each_other() -> None:
    async def main() -> None:
        journal = Journal()
        first, second = (Command(["cat"], journal) for _ in range(2))
        await first.start()
        await second.start()
        try:
            await first.send("to the first")
            await second.send("to the second")
            assert await second.expect("to the") == "to the second"
            assert await first.expect("to the") == "to the first"
            assert second.lines() == ["to the second"]
        finally:
            await second.stop()
            await first.stop()

    asyncio.run(main())


# --- isolation


def test_it_gets_a_bare_environment_and_a_home_that_is_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do not leak")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.setenv("LC_ALL", "C")
    program = "import os\nfor item in os.environ.items(): print(*item)\nopen(os.path.expanduser('~/f'), 'w')"

    async def body(command: Command) -> dict[str, str]:
        assert await finished(command) == 0
        return dict(line.split(" ", 1) for line in command.lines())

    journal, seen = with_command(python(program), body, environment={"EXTRA": "1"})
    assert set(seen) == set(journal.events(ProcessStarted)[0].environment)
    assert not {"SECRET_TOKEN", "PYTHONPATH", "LC_ALL", "LC_CTYPE"} & set(seen)
    assert (seen["EXTRA"], seen["LANG"]) == ("1", "C.UTF-8")
    assert seen["HOME"] != os.environ.get("HOME")
    assert not Path(seen["HOME"]).exists()
    assert not Path(seen["TMPDIR"]).exists()


def test_variables_pass_by_the_allow_list_and_the_callers_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED", "yes")
    monkeypatch.setenv("OVERRIDDEN", "ours")
    _, lines = with_command(
        python("import os; print(os.environ['ALLOWED'], os.environ['OVERRIDDEN'])"),
        _lines,
        allow=["ALLOWED", "OVERRIDDEN", "MISSING"],
        environment={"OVERRIDDEN": "theirs"},
    )
    assert lines == ["yes theirs"]


def test_every_way_out_is_refused_and_recorded() -> None:
    program = (
        "import urllib.request\ntry: urllib.request.urlopen('https://api.example.com/v1', timeout=20)\n"
        "except OSError as error: print(error)"
    )
    journal, lines = with_command(python(program), _lines)
    assert "403" in lines[0]
    assert [(event.host, event.port) for event in journal.events(EgressTried)] == [("api.example.com", 443)]


def test_a_proxy_that_runs_already_is_used_and_stays() -> None:
    async def main() -> None:
        journal = Journal()
        proxy = EgressProxy(journal, name="shared")
        await proxy.start()
        program = python("import os; print(os.environ['https_proxy'])")
        for options in ({"proxy": proxy}, {"environment": proxy.environment()}):
            command = Command(program, journal, **options)
            await command.start()
            assert await command.expect("http") == proxy.url
            await command.stop()
        assert {record.source for record in journal.read() if record.source in ("shared", "egress")} == {
            "shared"
        }
        await proxy.stop()

    asyncio.run(main())


# --- what goes wrong


@pytest.mark.parametrize("argv", [["no-such-program-here"], ["/etc/hostname"], ["/"], ["cat", "a\0b"]])
def test_a_program_that_cannot_be_run_is_a_problem_of_the_machine(argv: list[str]) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot be run"):
        with_command(argv, finished)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="missing"):
        with_command(["cat"], finished, cwd=tmp_path / "missing")


def test_an_exit_ends_an_expectation_at_once() -> None:
    async def body(command: Command) -> None:
        with pytest.raises(ExpectationError, match="exited with code 4") as caught:
            await command.expect("hello", within=3600)
        assert "stdout: 'bye'" in str(caught.value)

    with_command(python("print('bye'); raise SystemExit(4)"), body)


def test_an_expectation_that_does_not_come_true_shows_what_came_instead() -> None:
    async def body(command: Command) -> None:
        await command.expect("one")
        with pytest.raises(WaitTimeout) as caught:
            await command.expect("three", within=0.05)
        assert "'one'" not in str(caught.value)
        await command.send("three")
        await command.expect("three")

    with_command(python("print('one')\nfor line in __import__('sys').stdin: print(line)"), body)


def test_writing_to_a_program_that_has_exited_says_so() -> None:
    async def body(command: Command) -> None:
        await finished(command)
        with pytest.raises(AppError, match="exit code 7"):
            await command.send("x" * 1_000_000)

    with_command(python("import sys; sys.stderr.write('gone'); sys.exit(7)"), body)


def test_calls_out_of_order_say_what_to_do() -> None:
    async def main() -> None:
        command = Command(["cat"], Journal())
        with pytest.raises(InvalidStateError, match="start it first"):
            await command.send("x")
        await command.start()
        command.end_input()
        command.end_input()
        with pytest.raises(InvalidStateError, match="has ended"):
            await command.send("x")
        await command.stop()
        await command.stop()

    asyncio.run(main())


def test_virtual_time_refuses_a_process() -> None:
    async def main() -> None:
        await Command(["cat"], Journal(), environment={"HTTPS_PROXY": "http://127.0.0.1:9"}).start()

    with pytest.raises(NetworkForbiddenError, match="start a process"):
        run(main())


# --- nothing is left


def gone_after(
    body: Callable[[Command], Awaitable[Any]], exists: Exists, setup: str = "", grace: float = 0.2
) -> Journal:
    """Run the program that starts daemons; check that they are gone after `body` and stop."""
    pids: list[int] = []

    async def first(command: Command) -> None:
        pids.append(command.pid)
        pids.extend([int(await command.expect("/./")) for _ in range(2)])
        assert all(map(exists, pids))
        await body(command)

    journal, _ = with_command(python(f"{setup}\n{DAEMON}\nsignal.pause()"), first, grace=grace)
    assert not [pid for pid in pids if exists(pid)]
    return journal


async def nothing(command: Command) -> None:
    pass


def test_stop_ends_daemons_in_sessions_of_their_own_too(exists: Exists) -> None:
    journal = gone_after(nothing, exists, grace=2)
    assert journal.events(ProcessExited) == [ProcessExited(code=-signal.SIGTERM)]


def test_a_program_that_ignores_the_polite_signal_is_killed(exists: Exists) -> None:
    journal = gone_after(nothing, exists, "import signal; signal.signal(15, signal.SIG_IGN)")
    assert journal.events(ProcessExited) == [ProcessExited(code=-signal.SIGKILL)]


def test_a_program_may_end_in_order_when_it_is_asked_to(exists: Exists) -> None:
    handler = "import signal, sys; signal.signal(15, lambda *_: sys.exit('ended in order'))"
    journal = gone_after(nothing, exists, handler, grace=2)
    assert journal.events(ProcessExited) == [ProcessExited(code=1, stderr="ended in order")]


def test_waiting_too_long_ends_it(exists: Exists) -> None:
    async def body(command: Command) -> None:
        with pytest.raises(WaitTimeout, match="did not exit within"):
            await command.wait(within=0.05)
        assert not exists(command.pid)

    gone_after(body, exists)


def test_what_an_exited_program_leaves_behind_is_ended_and_noted(exists: Exists) -> None:
    async def body(command: Command) -> list[int]:
        pids = [int(await command.expect("/./")) for _ in range(2)]
        command.end_input()
        assert await finished(command) == 0
        return pids

    journal, pids = with_command(python(DAEMON + "os.read(0, 1)"), body)
    assert not [pid for pid in pids if exists(pid)]
    (note,) = journal.events(Noted)
    assert len(note.data["names"]) == 2


HARNESS = """
import asyncio, sys
from soundstage.drivers import Command
from soundstage.journal import Journal
async def main():
    command = Command([sys.executable, '-c', sys.argv[1]], Journal())
    await command.start()
    pids = [command.pid, *[await command.expect('/./') for _ in range(2)]]
    print(*pids, flush=True)
    if sys.argv[2] == 'wait':
        await command.wait(within=3600)
asyncio.run(main())
"""


def test_a_test_that_never_stops_its_command_leaves_nothing(exists: Exists) -> None:
    done = subprocess.run(
        [*python(HARNESS), DAEMON + "signal.pause()", "forget"], capture_output=True, text=True, check=True
    )
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 3
    assert not [pid for pid in pids if exists(pid)]


def test_a_killed_test_run_leaves_nothing(tmp_path: Path) -> None:
    """Each process of the tree holds a pipe open; it ends when the last of them is gone."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = f"held = open({str(pipe)!r}, 'w')\n{DAEMON}\nsignal.pause()"
    process = subprocess.Popen(
        [*python(HARNESS), program, "wait"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with pipe.open() as held:
        assert process.stdout is not None
        assert len(process.stdout.readline().split()) == 3
        process.kill()
        assert held.read() == ""
    process.wait()
    process.stdout.close()


def test_a_command_is_a_driver() -> None:
    assert isinstance(Command(["cat"], Journal()), Driver)
    with pytest.raises(ValueError, match="argv is empty"):
        Command([], Journal())
    with pytest.raises(ScriptError, match="chroot"):
        Command(["cat"], Journal(), isolation="chroot")


@pytest.mark.parametrize("end", ["sys.exit(3)", "os.abort()"])
def test_a_program_that_fails_fails_the_run_even_if_nobody_waits_for_its_exit(end: str) -> None:
    source = f"import os, sys; print('no', flush=True); {end}"

    async def only_its_line(command: Command) -> None:
        await command.expect("no")
        await command.journal.wait_for(ProcessExited, within=30)

    async def waits(command: Command) -> int:
        return await command.wait(within=30)

    async def says_so(command: Command) -> int:
        return await command.wait(None, within=30)

    with pytest.raises(AppError, match=r"nobody looked[\s\S]*exit code 0[\s\S]*stdout: 'no'[\s\S]*code=None"):
        with_command(python(source), only_its_line)
    with pytest.raises(ExpectationError, match=r"an exit with code 0[\s\S]*stdout: 'no'"):
        with_command(python(source), waits)
    with_command(python(source), only_its_line, code=None)
    _, code = with_command(python(source), says_so)
    with pytest.raises(ExpectationError, match=r"exited with another code[\s\S]*exit code 0"):
        with_command(python("pass"), lambda command: command.wait(code))


def test_a_program_that_still_runs_at_the_end_is_ended_at_once() -> None:
    async def stays(command: Command) -> None:
        await command.expect("here")

    journal, _ = with_command(
        python("import time; print('here', flush=True); time.sleep(600)"), stays, grace=600
    )
    assert journal.events(ProcessExited)[0].code == -signal.SIGTERM
