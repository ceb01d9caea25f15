"""A process that is told to end leaves no folder and no program behind, and ends as it would have without us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HOLDER = """
import os, signal, subprocess, sys, threading
for number in (signal.SIGHUP, signal.SIGINT):  # nohup, and a shell's background, start programs that ignore them
    signal.signal(number, signal.SIG_DFL if number == signal.SIGHUP else signal.default_int_handler)
from soundstage.lifecycle import ScratchFolder, handle_termination

{before}
made = []
def make():
    made.append(ScratchFolder())
{make}
child = subprocess.Popen(  # it holds our standard error open
    ["sleep", "1000"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    env={{"PATH": os.environ["PATH"], "HOME": str(made[0].path)}},
)
for turn in range(9):
    try:
        print(child.pid, flush=True)
        signal.pause()
    finally:
        if turn < {swallowed}:
            continue
"""
IN_A_THREAD = "handle_termination(); t = threading.Thread(target=make); t.start(); t.join()"
HUP_IGNORED = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"
HANDLED = "signal.signal(signal.SIGTERM, lambda *_: (made[0].close(), sys.exit(3)))"


def holder(parent: Path, **parts: object) -> tuple[subprocess.Popen[str], int]:
    """A process with a folder and a program in it; the number of the program."""
    source = HOLDER.format(**({"before": "", "make": "make()", "swallowed": 0} | parts))
    process = subprocess.Popen(
        [sys.executable, "-c", source],
        env={**os.environ, "TMPDIR": str(parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return process, int(process.stdout.readline())


def code_and_left(process: subprocess.Popen[str], parent: Path) -> tuple[int, list[str]]:
    """The code, and the folders that are left, once the process and its program are gone."""
    process.communicate(timeout=30)
    return process.returncode, [path.name for path in parent.iterdir()]


@pytest.mark.parametrize("make", ["make()", IN_A_THREAD], ids=["main thread", "other thread"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_and_still_ends_the_process(tmp_path, number, make):
    process, _ = holder(tmp_path, make=make)
    process.send_signal(number)
    assert code_and_left(process, tmp_path) == (-number, [])


def test_ctrl_c_three_times_leaves_nothing(tmp_path):
    """The first two come in the middle of somebody's clean-up, the third is not caught."""
    process, _ = holder(tmp_path, swallowed=2)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    code, folders = code_and_left(process, tmp_path)
    assert code != 0
    assert folders == []


def test_a_signal_that_is_ignored_or_handled_stays_so(tmp_path):
    process, program = holder(tmp_path, before=f"{HUP_IGNORED}; {HANDLED}")
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 3  # the handler's own code, and not the end by a signal
    os.kill(program, signal.SIGKILL)  # that handler has not ended it
    assert code_and_left(process, tmp_path) == (3, [])
