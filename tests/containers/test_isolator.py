"""A program in a container is a program like any other: its lines, its exit, its end, and what it tries."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soundstage.containers import InContainer
from soundstage.containers._engine import LABEL, Engine
from soundstage.drivers import Command, isolation_problem
from soundstage.drivers._isolation import Sandbox
from soundstage.errors import EnvironmentProblem, WaitTimeout
from soundstage.journal import EgressTried, Journal, ProcessExited
from soundstage.lifecycle import Process
from soundstage.net import Exchange, HttpRequest, HttpServer
from soundstage.terminal import Terminal


async def hello(request: HttpRequest, exchange: Exchange) -> None:
    await exchange.reply(200, {}, f"hello {request.path}".encode())


def in_container(
    argv: Sequence[str], isolation: InContainer, body: Callable[[Command], Awaitable[Any]], **options: Any
) -> tuple[Journal, Any]:
    journal = Journal()

    async def main() -> Any:
        command = Command(argv, journal, isolation=isolation, **options)
        await command.start()
        try:
            return await body(command)
        finally:
            await command.stop()

    return journal, asyncio.run(main())


async def until_its_end(command: Command) -> tuple[int, list[str], list[str]]:
    return await command.wait(None, within=40), command.lines(), command.lines("stderr")


def sh(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def ours() -> list[str]:
    """The containers in the engine that belong to this process."""
    engine = Engine.connect_now()
    try:
        found = engine.client.containers.list(all=True, filters={"label": [LABEL]})
        owner = f"{os.getpid()}-"
        return [one.id for one in found if one.labels[f"{LABEL}.owner"].startswith(owner)]
    finally:
        engine.close()


def test_lines_come_on_their_channels_and_the_exit_code_is_that_of_the_program(busybox):
    journal, (code, out, err) = in_container(sh("echo out; echo err >&2; exit 7"), busybox, until_its_end)
    assert (code, out, err) == (7, ["out"], ["err"])
    assert journal.events(ProcessExited)[0].code == 7
    assert ours() == []


def test_what_is_written_to_it_is_read_and_its_input_ends(busybox):
    _, (code, out, _) = in_container(sh("cat; echo end"), busybox, until_its_end, stdin="one\ntwo\n")
    assert (code, out) == (0, ["one", "two", "end"])


def test_a_program_that_reads_nothing_and_writes_a_lot_is_heard(busybox):
    text = "x" * 2_000_000 + "\n"
    script = "dd if=/dev/zero bs=1000 count=2000 2>/dev/null | tr '\\0' y; echo; echo end"
    _, (code, out, _) = in_container(sh(script), busybox, until_its_end, stdin=text)
    assert (code, out[-1], len(out)) == (0, "end", 3)


def test_it_sees_the_image_its_folders_and_nothing_else_of_the_machine(busybox, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "secret.txt").write_text("of the machine")
    script = 'ls /; pwd; ls -a "$HOME" "$TMPDIR" | wc -l; cat ../secret.txt; touch made; env | grep SECRET'
    os.environ["SECRET_OF_THE_MACHINE"] = "sk-live"
    try:
        _, (_, out, err) = in_container(sh(script), busybox, until_its_end, cwd=tmp_path / "project")
    finally:
        del os.environ["SECRET_OF_THE_MACHINE"]
    assert not {"root", "work", "opt", "var", "usr"} & set(out)
    assert str(tmp_path / "project") in out
    assert any("secret.txt" in line for line in err)
    assert not any("sk-live" in line for line in out)
    assert (tmp_path / "project" / "made").stat().st_uid == os.getuid()


def test_what_it_may_read_it_may_not_write(busybox, tmp_path):
    (tmp_path / "notes.txt").write_text("notes\n")
    reading = msgspec.structs.replace(busybox, reads=(tmp_path,))
    script = f"cat {tmp_path}/notes.txt; echo more >> {tmp_path}/notes.txt; touch {tmp_path}/new"
    _, (code, out, err) = in_container(sh(script), reading, until_its_end)
    assert code != 0
    assert out == ["notes"]
    assert all("Read-only file system" in line for line in err)
    assert len(err) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_link_that_one_program_leaves_does_not_lead_us_when_the_next_one_starts(busybox, tmp_path):
    """Where names are looked up, and the gate, were once in a folder that both programs can write to."""
    (tmp_path / "mine").write_text("of the user")
    link = f"rm -f $name; ln -s {tmp_path}/mine $name"
    lure = f'cd "$HOME/.."; for name in resolv.conf gate-2 gate; do {link}; done'

    async def main() -> list[int]:
        journal = Journal()
        sandbox = Sandbox(journal, isolation=busybox)
        await sandbox.open()
        try:
            return [await run(sandbox, journal, script) for script in (lure, "cat /etc/resolv.conf")]
        finally:
            await sandbox.close()

    async def run(sandbox: Sandbox, journal: Journal, script: str) -> int:
        process = Process(
            sh(script),
            journal,
            source="program",
            on_line=lambda channel, line: None,
            cwd=sandbox.home,
            environment=sandbox.environment(),
            scratch=sandbox.root,
            isolator=sandbox.isolator,
        )
        await process.start()
        return await process.wait()

    assert asyncio.run(main()) == [0, 0]
    assert (tmp_path / "mine").read_text() == "of the user"
    assert ours() == []


def test_what_it_may_write_is_written(busybox, tmp_path):
    writing = msgspec.structs.replace(busybox, writes=(tmp_path,))
    in_container(sh(f"echo hello > {tmp_path}/made"), writing, until_its_end)
    assert (tmp_path / "made").read_text() == "hello\n"


def test_a_server_of_the_run_is_reached_and_every_other_try_is_on_record(busybox):
    journal = Journal()

    async def main() -> list[str]:
        server = HttpServer(hello, journal)
        await server.start()
        command = Command(
            sh(
                f"wget -Y off -q -O- {server.url}/there; echo; nslookup api.evil.test; nc -w 5 203.0.113.4 443;"
                "wget -q -O- http://far.example/"
            ),
            journal,
            isolation=busybox,
        )
        await command.start()
        await command.wait(None, within=40)
        lines = command.lines()
        await command.stop()
        await server.stop()
        return lines

    assert asyncio.run(main())[0] == "hello /there"
    assert {(event.host, event.port, event.method) for event in journal.events(EgressTried)} == {
        ("api.evil.test", 53, "dns"),
        ("203.0.113.4", 443, "tcp"),
        ("far.example", 80, "GET"),
    }


def test_on_a_terminal_it_has_one_of_its_own_size_that_follows_ours(debian):
    code = (
        "import os, signal\n"
        "show = lambda *_: print(tuple(os.get_terminal_size()), flush=True)\n"
        "signal.signal(signal.SIGWINCH, show); show()\n"
        "while True: print('said', input())"
    )

    async def main() -> int:
        terminal = Terminal(
            ["python3", "-c", code], Journal(), isolation=debian, columns=70, rows=10, echo=False
        )
        await terminal.start()
        await terminal.expect("(70, 10)", within=20)
        await terminal.resize(50, 20)
        await terminal.expect("(50, 20)", within=20)
        await terminal.send_line("hello")
        screen = await terminal.expect("said hello", within=20)
        assert "hello\nsaid" not in screen.text
        await terminal.press("Ctrl-C")
        exited = await terminal.expect_exit(None, within=20)
        await terminal.stop()
        return exited

    assert asyncio.run(main()) == 130
    assert ours() == []


def test_stopping_it_ends_it_with_sigterm_and_all_that_it_has_started(busybox):
    async def body(command: Command) -> None:
        await command.expect("ready", within=30)

    script = "sleep 1000 & trap 'echo told; exit 3' TERM; echo ready; wait"
    journal, _ = in_container(sh(script), busybox, body, grace=3.0)
    assert journal.events(ProcessExited)[0].code == 3
    assert ours() == []


def test_one_that_ignores_everything_is_killed(busybox):
    async def body(command: Command) -> None:
        await command.expect("ready", within=30)
        with pytest.raises(WaitTimeout):
            await command.wait(within=0.1)

    in_container(sh("trap '' TERM INT HUP; echo ready; sleep 1000"), busybox, body, grace=0.2)
    assert ours() == []


def test_a_test_that_is_cancelled_while_its_container_starts_leaves_none(busybox):
    async def main() -> None:
        command = Command(sh("sleep 1000"), Journal(), isolation=busybox)
        starting = asyncio.create_task(command.start())
        for _ in range(50):  # somewhere in the middle
            await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    asyncio.run(main())
    assert ours() == []


def test_a_program_that_the_image_does_not_have_says_so(busybox):
    _, (code, _, err) = in_container(["no-such-program"], busybox, until_its_end)
    assert code == 127
    assert any("no-such-program" in line for line in err)


def test_an_image_that_is_not_there_is_an_error_with_its_name(busybox):
    problem = isolation_problem(InContainer("soundstage/no-such-image"))
    assert problem is not None
    assert "soundstage/no-such-image" in str(problem)


def test_without_an_engine_the_error_says_how_to_get_one(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EnvironmentProblem, match="no container engine answers") as caught:
        in_container(["true"], InContainer("x"), until_its_end)
    assert "tools/podman.sh" in str(caught.value)


def test_an_engine_on_another_machine_is_refused_for_programs(busybox):
    engine = Engine.connect_now()
    engine.base_url = "tcp://far.example:2375"
    with pytest.raises(EnvironmentProblem, match="not on this machine"):
        _ = engine.socket
    engine.close()


KILLED = """
import asyncio, sys
from soundstage.drivers import Command
from soundstage.containers import InContainer
from soundstage.journal import Journal

async def main():
    command = Command(["sleep", "1000"], Journal(), isolation=InContainer(sys.argv[1]))
    await command.start()
    print("up", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def test_what_a_killed_run_has_left_in_the_engine_goes_with_the_next_start(busybox, tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    run = subprocess.Popen(
        [sys.executable, "-c", KILLED, busybox.image], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "up\n"
    run.send_signal(signal.SIGKILL)
    run.communicate()
    label = f"{LABEL}.owner"
    start = (
        "import sys; from soundstage.containers import InContainer; "
        "from soundstage.drivers import isolation_problem"
    )
    subprocess.run(
        [
            sys.executable,
            "-c",
            f"{start}; sys.exit(isolation_problem(InContainer({busybox.image!r})) is not None)",
        ],
        env=environment,
        check=True,
    )
    engine = Engine.connect_now()
    left = engine.client.containers.list(all=True, filters={"label": [LABEL]})
    assert [one for one in left if one.labels[label].startswith(f"{run.pid}-")] == []
    engine.close()
    assert list(tmp_path.iterdir()) == []
    assert Path(f"/proc/{run.pid}").exists() is False
