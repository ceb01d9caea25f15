"""A program in a sandbox writes to its own folders, sees the machine's files but the user's, and gets no further.

What is tried here does no harm where the sandbox fails: new files with names of their own, and mounts that change
nothing outside.
"""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from soundstage.drivers import Command, isolation_problem
from soundstage.drivers._isolation import Sandbox
from soundstage.errors import EnvironmentProblem, ScriptError
from soundstage.isolation import InSandbox
from soundstage.isolation._sandbox_view import View, hidden_folders, view_of
from soundstage.journal import EgressTried, Journal
from soundstage.lifecycle import Launch
from soundstage.terminal import Terminal
from support.footprint import open_files

ATTEMPTS = """
import ctypes, errno, json, os, signal, socket, sys
given = json.loads(sys.argv[1])
found = {}

def attempt(name, function, *arguments):
    try:
        found[name] = function(*arguments) or "done"
    except OSError as error:
        found[name] = errno.errorcode[error.errno]

def write(path):
    with open(path, "w") as file:
        file.write("x")

def libc(name, *arguments):
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        raise OSError(ctypes.get_errno(), name)

MS_BIND, MS_REMOUNT, MNT_DETACH = 4096, 32, 2
for name, path in given["write"].items():
    attempt("write " + name, write, os.path.expandvars(path))
for name, path in given["read"].items():
    attempt("read " + name, os.stat, path)
attempt("make all writable", libc, "mount", None, b"/", None, MS_REMOUNT | MS_BIND, None)
attempt("uncover the home", libc, "umount2", given["home"].encode(), MNT_DETACH)
attempt("write after that", write, given["write"]["in /etc"])
attempt("make a disk", os.mknod, os.path.expanduser("~/disk"), 0o60600, os.makedev(8, 0))
attempt("signal the harness", os.kill, given["harness"], 0)
attempt("signal the launcher", os.kill, os.getppid() or given["harness"], 0)
for part in ("environ", "mem", "fd/0", "root/", "cwd/"):
    attempt(part + " of the harness", lambda: os.close(os.open(f"/proc/{given['harness']}/{part}", os.O_RDONLY)))
attempt("go out", socket.socket().connect, ("203.0.113.7", 443))
attempt("serve port 80", socket.socket().bind, ("127.0.0.1", 80))
attempt("a terminal", lambda: str(bool(os.openpty())))
found["devices"] = sorted(os.listdir("/dev"))
found["files of the user"] = os.listdir(given["home"])
found["sockets"] = os.listdir("/run")
print(json.dumps(found, default=str))
"""
DEVICES = [
    "fd",
    "full",
    "null",
    "ptmx",
    "pts",
    "random",
    "shm",
    "stderr",
    "stdin",
    "stdout",
    "tty",
    "urandom",
    "zero",
]


def lines_of(argv: Sequence[str | Path], isolation: Any, **options: Any) -> tuple[list[str], Journal]:
    journal = Journal()

    async def main() -> list[str]:
        command = Command(argv, journal, isolation=isolation, **options)
        await command.start()
        try:
            assert await command.wait(within=60) == 0, command.lines("stderr")
            return command.lines()
        finally:
            await command.stop()

    return asyncio.run(main()), journal


def test_it_writes_to_its_own_folders_and_gets_at_nothing_else(sandbox, tmp_path):
    project, beside = tmp_path / "project", tmp_path / "beside"
    project.mkdir()
    beside.mkdir()
    (beside / "secret").write_text("secret")
    home = pwd.getpwuid(os.geteuid()).pw_dir
    new = f"soundstage-{uuid.uuid4().hex}"
    inside = {
        "workspace": "file",
        "home": "$HOME/file",
        "temporary": "$TMPDIR/file",
        "shared memory": "/dev/shm/file",
    }
    proc = "/proc/sys/kernel/soundstage"
    outside = {"in /etc": f"/etc/{new}", "in /": f"/{new}", "in /tmp": f"/tmp/{new}", "in /dev": f"/dev/{new}",
               "in the home": f"{home}/{new}", "in /proc": proc, "beside": str(beside / "file"),
               "the null device": "/dev/null"}  # fmt: skip
    given = {
        "write": {**inside, **outside},
        "read": {"the machine": "/etc/passwd", "the user's files": str(beside / "secret")},
        "home": home,
        "harness": os.getpid(),
    }
    [line], journal = lines_of([sys.executable, "-c", ATTEMPTS, json.dumps(given)], sandbox, cwd=project)
    found = json.loads(line)
    wrote = {name.removeprefix("write ") for name, what in found.items() if what == "done"}
    assert wrote >= {*inside, "the null device"}
    assert not wrote & (outside.keys() - {"the null device"})
    assert found["write in /etc"] == found["write in /dev"] == found["write in the home"] == "EROFS"
    assert (project / "file").read_text() == "x"
    assert found["read the machine"] != "ENOENT"
    assert found["read the user's files"] == "ENOENT"
    assert found["make all writable"] == "EPERM"
    assert found["uncover the home"] == "EINVAL"
    assert found["write after that"] == "EROFS"
    assert found["make a disk"] == "EPERM"
    assert found["devices"] == DEVICES
    assert found["sockets"] == []
    closed = [name for name in found if name.endswith("of the harness")]
    assert len(closed) == 5
    assert {name: found[name] for name in closed} == dict.fromkeys(closed, "EACCES")
    assert found["go out"] == "ECONNREFUSED"
    assert [(tried.host, tried.port) for tried in journal.events(EgressTried)] == [("203.0.113.7", 443)]
    assert found["serve port 80"] == "done"
    assert found["a terminal"] == "True"


SIGNALS = """
import errno, os, sys
for pid in (int(sys.argv[1]), os.getppid(), -1):
    try:
        os.kill(pid, 0)
        print("reached")
    except OSError as error:
        print(errno.errorcode[error.errno])
child = os.fork()
if child == 0:
    os.pause() if hasattr(os, "pause") else __import__("signal").pause()
os.kill(child, 9)
print(os.waitpid(child, 0)[1])
"""


def test_no_other_process_can_be_signalled_at_any_level_where_the_kernel_can(sandbox):
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12):
        pytest.skip("needs Linux 6.12")
    for level in ("process", "netns", sandbox):
        lines, _ = lines_of([sys.executable, "-c", SIGNALS, str(os.getpid())], level)
        assert lines[:2] == ["EPERM", "EPERM"], level
        assert lines[3] == "9", f"{level}: its own children are its own"


LOOKS = """
import os, sys
for part in ("environ", "mem", "fd/0"):
    try:
        os.close(os.open(f"/proc/{sys.argv[1]}/{part}", os.O_RDONLY))
        print("open")
    except OSError as error:
        print(type(error).__name__)
print(*[fd for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")])
"""


def test_the_harness_can_not_be_looked_into_and_nothing_of_it_is_inherited_at_any_level(sandbox):
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12):
        pytest.skip("needs Linux 6.12 at level process")
    for level in ("process", "netns", sandbox):
        lines, _ = lines_of([sys.executable, "-c", LOOKS, str(os.getpid())], level)
        # who is root on the machine may read variables of all processes (CAP_PERFMON), unless a namespace is around it
        seen = lines[1:3] if level == "process" and os.geteuid() == 0 else lines[:3]
        assert set(seen) == {"PermissionError"}, level
        assert lines[3].split() == ["0", "1", "2"], level


def test_an_interpreter_and_a_script_in_a_hidden_folder_run_with_what_is_around_them(sandbox, tmp_path):
    """The temporary folder is hidden like a home: an environment in it, a module beside the script, a first line."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    python = tmp_path / "env/bin/python"
    (tmp_path / "app").mkdir()
    (tmp_path / "app/beside.py").write_text("WORD = 'beside'")
    (tmp_path / "app/main.py").write_text(f"#!{python}\nimport beside, sys; print(beside.WORD, sys.prefix)\n")
    (tmp_path / "app/main.py").chmod(0o755)
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "app")
    expected = [f"beside {tmp_path / 'env'}"]
    for argv in ([python, tmp_path / "app/main.py"], [tmp_path / "link/main.py"]):
        assert lines_of(argv, sandbox)[0] == expected
    code = f"import os; print(os.listdir({str(tmp_path)!r}))"
    assert "other" not in lines_of([python, "-c", code], sandbox)[0][0]


def test_more_can_be_given_to_read_and_to_write(sandbox, tmp_path):
    reads, writes = tmp_path / "reads", tmp_path / "writes"
    for folder in (reads, writes):
        folder.mkdir()
        (folder / "a").write_text("a")
    code = f"""
import os
print(open({str(reads / "a")!r}).read())
open({str(writes / "b")!r}, "w").write("b")
print(os.access({str(reads)!r}, os.W_OK))
"""
    isolation = InSandbox(reads=(reads,), writes=(writes,))
    assert lines_of([sys.executable, "-c", code], isolation)[0] == ["a", "False"]
    assert (writes / "b").read_text() == "b"


def test_a_terminal_is_one_in_a_sandbox_too(sandbox):
    async def main() -> None:
        terminal = Terminal(
            ["sh", "-c", "test -t 0 && read line </dev/tty && echo got $line"], Journal(), isolation=sandbox
        )
        await terminal.start()
        try:
            await terminal.send_line("hello")
            await terminal.expect("got hello")
            await terminal.expect_exit(0)
        finally:
            await terminal.stop()

    asyncio.run(main())


def test_a_folder_with_all_that_is_hidden_cannot_be_worked_in(sandbox):
    for folder in (Path("/"), Path.home()):
        with pytest.raises(ScriptError, match="what is hidden from it is in there"):
            lines_of(["true"], sandbox, cwd=folder)


def test_where_it_cannot_be_had_the_reason_is_said(sandbox):
    """The files that say who is who in a user namespace are read-only in a sandbox, so there is none in another."""
    code = "from soundstage.drivers import isolation_problem as p; print(p('sandbox').seen, '|', p('sandbox').hint)"
    [line], _ = lines_of([sys.executable, "-c", code], sandbox)
    assert line.startswith("ids: ")
    assert "isolation='process'" in line


def test_a_mount_that_the_kernel_refuses_is_a_problem_of_the_machine(sandbox, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "soundstage.isolation._sandbox_isolator.hidden_folders", lambda: [Path("/proc/self/fd")]
    )
    with pytest.raises(EnvironmentProblem, match="sandbox: "):
        lines_of(["true"], sandbox, cwd=tmp_path)


def test_nothing_is_left_open_after_a_program(sandbox, tmp_path):
    async def main() -> None:
        sandbox_of = Sandbox(Journal(), isolation=sandbox)
        await sandbox_of.open()
        assert sandbox_of.isolator is not None
        before = open_files()
        for _ in range(2):
            launch = await sandbox_of.isolator.enter(Launch((sys.executable,), sandbox_of.home, {}))
            assert open_files() > before
            await sandbox_of.isolator.leave(launch)
            await sandbox_of.isolator.leave(launch)
            assert open_files() == before
        await sandbox_of.close()

    asyncio.run(main())


def test_homes_temporary_folders_and_those_of_sockets_are_hidden(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    hidden = hidden_folders()
    assert {
        Path(pwd.getpwuid(os.geteuid()).pw_dir).resolve(),
        tmp_path.resolve(),
        Path("/tmp").resolve(),
    } <= set(hidden)
    assert Path("/") not in hidden
    assert isolation_problem("process") is None


def test_of_what_is_hidden_only_what_is_named_is_shown(tmp_path):
    for name in (
        "tool/bin/run",
        "tool/lib/python3.11/os.py",
        "tool/secret",
        "cargo/bin/x",
        "cargo/credentials",
        ".ssh/id",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "tool/bin/run").chmod(0o755)
    (tmp_path / "data").mkdir()
    variables = {
        "PATH": f"{tmp_path}/tool/bin:{tmp_path}/cargo/bin",
        "DATA": f"{tmp_path}/data",
        "ALL": str(tmp_path),
        "NONE": f"{tmp_path}/none",
    }
    view = view_of(
        Launch(("run", f"--key={tmp_path}/.ssh/id"), tmp_path / "w", variables),
        reads=(),
        writes=(),
        hide=[tmp_path],
    )
    shown = {path.relative_to(tmp_path).as_posix() for path in view.shown if path.is_relative_to(tmp_path)}
    assert shown >= {"tool/bin", "tool/lib", "cargo/bin", "data"}
    assert not shown & {".", "none", "tool", "tool/secret", "cargo", "cargo/credentials"}


def test_a_loop_of_links_is_no_end_without_an_end(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    view = View([tmp_path])
    view.show(tmp_path / "a")
    assert view.shown == {}
