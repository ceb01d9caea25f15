"""The launcher alone: what it does when the harness dies, and when it is killed itself."""

from __future__ import annotations

import asyncio
import marshal
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soundstage.drivers import Command
from soundstage.journal import Journal, Noted
from soundstage.lifecycle._launcher import LENGTH
from soundstage.lifecycle._process import LAUNCHER


def launch(
    argv: list[str], scratch: Path, **options: Any
) -> tuple[subprocess.Popen[bytes], socket.socket, dict[str, Any]]:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(LAUNCHER), str(theirs.fileno())],
        pass_fds=(theirs.fileno(),),
        stdin=subprocess.DEVNULL,
        env={},
        **options,
    )
    theirs.close()
    job = {"argv": argv, "cwd": "/", "env": {"PATH": os.defpath}, "scratch": str(scratch)}
    data = marshal.dumps(job)
    ours.sendall(len(data).to_bytes(LENGTH, "little") + data)
    return process, ours, said(ours)


def said(control: socket.socket) -> dict[str, Any]:
    """The launcher's next report."""
    with control.makefile("rb") as stream:
        size = int.from_bytes(stream.read(LENGTH), "little")
        report: dict[str, Any] = marshal.loads(stream.read(size))
    return report


def test_when_the_harness_is_gone_the_program_and_its_folder_go_too(
    exists: Callable[[int], bool], tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    (scratch / "home").mkdir(parents=True)
    process, control, report = launch(["sleep", "1000"], scratch)
    control.close()
    assert process.wait() == 0
    assert not exists(report["started"])
    assert not scratch.exists()


def test_while_the_harness_listens_the_folder_is_its_own_business(tmp_path: Path) -> None:
    process, control, _ = launch(["sleep", "1000"], tmp_path)
    with control:
        control.shutdown(socket.SHUT_WR)
        assert said(control) == {"exited": -signal.SIGKILL, "left": []}
        assert process.wait() == 0
    assert tmp_path.exists()


def test_a_signal_reaches_the_program(tmp_path: Path) -> None:
    process, control, _ = launch(["sleep", "1000"], tmp_path)
    with control:
        control.send(bytes([signal.SIGINT]))
        assert said(control) == {"exited": -signal.SIGINT, "left": []}
        assert process.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_that_the_harness_ignores_in_the_background_reaches_the_program(
    tmp_path: Path, number: signal.Signals
) -> None:
    ignore = lambda: signal.signal(number, signal.SIG_IGN)  # noqa: E731
    process, control, _ = launch(["sleep", "1000"], tmp_path, preexec_fn=ignore)
    with control:
        control.send(bytes([number]))
        assert said(control) == {"exited": -number, "left": []}
        assert process.wait() == 0


def test_a_launcher_that_is_killed_takes_the_program_with_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process, control, _ = launch(["sh", "-c", f"exec sleep 1000 > {pipe}"], tmp_path)
    with control, pipe.open() as held:
        process.kill()
        process.wait()
        assert held.read() == ""


def test_a_harness_that_says_nothing_starts_nothing(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(LAUNCHER), str(theirs.fileno())], pass_fds=(theirs.fileno(),), env={}
    )
    theirs.close()
    ours.close()
    assert process.wait() == 127


DAEMON = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
print(child.pid, flush=True)
child.wait()
"""


def runs(pid: int) -> bool:
    """Whether a process is there and has not ended: whoever is above it now may not have collected it yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_what_a_program_leaves_when_its_launcher_is_killed_is_ended_and_told() -> None:
    """The child holds the program's output open: without its end the run would wait for ever."""
    journal = Journal()

    async def main() -> int:
        command = Command([sys.executable, "-c", DAEMON], journal)
        await command.start()
        try:
            child = int(await command.expect("/^[0-9]+$/", within=30))
            launcher = int(Path(f"/proc/{command.pid}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(launcher, signal.SIGKILL)
            assert await command.wait(within=30, code=-signal.SIGKILL) == -signal.SIGKILL
            return child
        finally:
            await command.stop()

    assert not runs(asyncio.run(main()))
    [note] = journal.events(Noted)
    assert note.text == "the launcher was killed, and left processes behind; they were ended"
    assert len(note.data["names"]) == 1
