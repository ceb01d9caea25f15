"""A command and all that it starts come to an end together, however it ends."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading

import pytest

from soundstage.agents.runtime import _command
from soundstage.agents.runtime._command import Command
from soundstage.lifecycle import started_at

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def shell(folder, line, **options):
    return Command(("/bin/sh", "-c", line), cwd=folder, environment=ENVIRONMENT, **options)


def is_gone(pid):
    """Whether a process has ended, or does within the moment that the kernel takes to end what was killed."""
    try:
        handle = os.pidfd_open(int(pid))
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)


def test_it_has_an_input_an_output_and_an_exit_code(tmp_path):
    done = shell(tmp_path, "cat; echo err >&2; exit 3", text="in\n").run(60)
    assert done == (3, "in\n", "err\n", False)
    assert shell(tmp_path, "echo out; echo err >&2", together=True).run(60).output == "out\nerr\n"


def test_what_is_stopped_from_another_thread_ends_with_all_that_it_started(tmp_path):
    os.mkfifo(tmp_path / "ready")
    apart = (
        "setsid sh -c 'echo $$ > b; echo > ready; exec sleep 600' &"  # it has left the group when it is ready
    )
    command = shell(tmp_path, f"trap '' TERM; sleep 600 & echo $! > a; {apart} wait")
    ended = []
    thread = threading.Thread(target=lambda: ended.append(command.run(600)))
    thread.start()
    (tmp_path / "ready").read_text()  # both have been started
    command.stop()
    thread.join(30)
    assert ended[0].code == -signal.SIGKILL
    assert not ended[0].expired
    for name in "ab":
        assert is_gone((tmp_path / name).read_text())


def test_what_is_between_two_programs_when_it_is_looked_for_is_found(tmp_path):
    (tmp_path / "again").write_text("#!/bin/sh\nexec ./again\n")  # turns into another program all the time
    (tmp_path / "again").chmod(0o755)
    for _ in range(20):
        done = shell(tmp_path, "setsid ./again >&- 2>&- & echo $!").run(60)
        try:
            assert is_gone(done.output)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(done.output), signal.SIGKILL)


@pytest.mark.parametrize("seen", [True, False])
def test_what_is_left_in_the_background_ends_with_the_command(tmp_path, monkeypatch, seen):
    if not seen:  # a system that does not show environments
        monkeypatch.setattr(_command, "_marked", lambda mark, since: iter(()))
    done = shell(tmp_path, "sleep 600 & echo $!").run(60)
    assert done.code == 0
    assert is_gone(done.output)


def test_a_process_that_cannot_be_found_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(_command, "_PATIENCE", 0.1)
    done = shell(tmp_path, "env -i setsid sleep 600 & echo $!").run(60)
    pid = int(done.output)
    try:
        assert done.code in (0, -signal.SIGKILL)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_command_that_is_stopped_before_it_runs_does_not_run(tmp_path):
    command = shell(tmp_path, "echo > ran")
    command.stop()
    assert command.run(60).code == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_of_a_flood_the_beginning_and_the_end_are_kept(tmp_path):
    done = shell(tmp_path, "echo begin; head -c 9000000 /dev/zero | tr '\\0' x; echo; echo end").run(60)
    assert done.output.startswith("begin\nxxx")
    assert done.output.endswith("xxx\nend\n")
    assert "bytes dropped" in done.output
    assert len(done.output) < 2_300_000


def test_a_program_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        Command(("no-such-program",), cwd=tmp_path, environment=ENVIRONMENT).run(5)


def test_processes_that_are_older_than_the_command_are_not_taken_for_its_own():
    with subprocess.Popen(["sleep", "600"], env={**ENVIRONMENT, _command.MARK: "1"}) as process:
        start = started_at(process.pid)
        mark = f"{_command.MARK}=1".encode()
        try:
            assert list(_command._marked(mark, start)) == [process.pid]
            assert list(_command._marked(mark, start + 1)) == []
        finally:
            process.kill()
