"""The launcher alone: what it does when the harness dies, and when it is killed itself."""

from __future__ import annotations

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

from soundstage.drivers._launcher import LENGTH
from soundstage.drivers._process import LAUNCHER


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
    """What the launcher says next."""
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
