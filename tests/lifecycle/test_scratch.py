"""A scratch folder goes with its owner, however that ends; at the latest when the next one is made."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from soundstage.lifecycle import ScratchFolder, started_at
from soundstage.lifecycle._scratch import mounts_in, sweep

OWNER = """
import os, subprocess, sys
from soundstage.lifecycle import ScratchFolder
folder = ScratchFolder()
(folder.path / "notes.txt").write_text("of a dead run")
{more}
print(folder.path, flush=True)
sys.stdin.read()
"""
LEFT = """
os.mkfifo({fifo!r})
subprocess.Popen(
    ["sh", "-c", "exec sleep 1000 > {fifo}"], start_new_session=True, stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL, {where}
)
open({fifo!r}).close()  # when this returns, it runs
"""


MOUNTS = """
import ctypes, pathlib, sys
from soundstage.errors import EnvironmentProblem
from soundstage.lifecycle import ScratchFolder
precious, mounted = (pathlib.Path(name) for name in sys.argv[1:])
folder = ScratchFolder()
place = folder.path / "home" / "with space" / "b"
place.mkdir(parents=True)
(folder.path / "home" / "a").write_text("of the run")
if ctypes.CDLL(None).mount(str(precious).encode(), str(place).encode(), None, 4096, None):  # MS_BIND
    sys.exit("no mount")
try:
    folder.close()
except EnvironmentProblem as problem:
    assert str(place) in problem.seen, problem
    assert (folder.path / "home" / "a").exists()
    ctypes.CDLL(None).umount2(str(place).encode(), 2)
    folder.close()
    assert not folder.path.exists()
    print("refused, then removed")
"""


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    sweep(tmp_path)


def owner(parent: Path, more: str = "") -> tuple[subprocess.Popen[str], Path]:
    """Another process that has made a folder and holds it."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER.format(more=more)],
        env={**os.environ, "TMPDIR": str(parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_it_is_empty_at_first_and_gone_with_all_that_was_put_into_it(parent):
    folder = ScratchFolder("workspace")
    assert list(folder.path.iterdir()) == []
    (folder.path / "deep").mkdir()
    (folder.path / "deep" / "notes.txt").write_text("x")
    (folder.path / "deep").chmod(0o500)
    folder.close()
    folder.close()
    assert list(parent.iterdir()) == []


def test_a_folder_is_kept_while_its_owner_lives(parent):
    process, path = owner(parent)
    try:
        assert sweep(parent) == []
        assert (path / "notes.txt").exists()
    finally:
        kill(process)


def test_the_folder_of_an_owner_that_was_killed_is_removed_when_the_next_one_is_made(parent):
    process, path = owner(parent)
    kill(process)
    assert path.exists()
    with ScratchFolder() as folder:
        assert not path.exists()
        assert folder.path.exists()


def test_a_process_number_that_belongs_to_another_process_now_is_not_mistaken_for_the_owner(parent):
    stale = parent / f"soundstage-{os.getpid()}-{started_at(os.getpid()) + 1}-abc"
    stale.mkdir()
    assert sweep(parent) == [stale]


@pytest.mark.parametrize("where", ["env={'NOTES': str(folder.path / 'tmp')}", "env={}, cwd=folder.path"])
def test_processes_that_were_started_in_the_folder_are_ended_before_it_goes(parent, where):
    fifo = str(parent / "fifo")
    process, path = owner(parent, LEFT.format(fifo=fifo, where=where))
    with Path(fifo).open() as held:
        kill(process)
        assert sweep(parent) == [path]
        assert held.read() == ""


def test_a_process_that_is_between_two_programs_is_ended_too(parent):
    (parent / "again").write_text("#!/bin/sh\nexec ./again\n")  # turns into another program all the time
    (parent / "again").chmod(0o755)
    more = f"""
left = subprocess.Popen(
    ["./again"], start_new_session=True, env={{"NOTES": str(folder.path)}}, cwd={str(parent)!r},
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
)
open({str(parent / "left")!r}, "w").write(str(left.pid))
"""
    for _ in range(10):
        process, path = owner(parent, more)
        left = os.pidfd_open(int((parent / "left").read_text()))
        try:
            kill(process)
            assert sweep(parent) == [path]
            assert select.select([left], [], [], 0)[0], "it runs on"
        finally:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(left, signal.SIGKILL)
            os.close(left)


def test_other_processes_are_left_alone(parent):
    process, path = owner(parent)
    other, _ = owner(parent)
    kill(process)
    try:
        assert sweep(parent) == [path]
        assert other.poll() is None
    finally:
        kill(other)


def test_a_folder_that_somebody_has_locked_is_left_alone_although_its_owner_cannot_be_seen(parent):
    """As in a container, which shares the folder and has processes of its own."""
    path = parent / "soundstage-999999999-1-abc"
    path.mkdir()
    lock = os.open(path, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert sweep(parent) == []
    os.close(lock)
    assert sweep(parent) == [path]


@pytest.mark.parametrize(
    "name", ["soundstage-la0ly938", "soundstage-demo", "soundstage-1-2", "other-1-2-abc"]
)
def test_folders_with_other_names_are_left_alone(parent, name):
    (parent / name).mkdir()
    assert sweep(parent) == []
    assert (parent / name).exists()


def test_a_link_with_such_a_name_is_not_followed(parent, tmp_path_factory):
    target = tmp_path_factory.mktemp("target")
    (parent / "soundstage-999999999-1-abc").symlink_to(target)
    assert sweep(parent) == []
    assert target.exists()


def test_what_is_mounted_in_a_folder_is_not_removed_with_it(parent: Path) -> None:
    """As root a program can mount the machine's disk in its home. Here it is a folder, in a namespace of its own."""
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], check=False).returncode != 0:
        pytest.skip("this user cannot make mount namespaces here")
    precious = parent / "precious"
    precious.mkdir()
    (precious / "file").write_text("of the machine")
    done = subprocess.run(
        [*alone, sys.executable, "-c", MOUNTS, str(precious), ""],
        env={**os.environ, "TMPDIR": str(parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (precious / "file").exists()
    assert done.stdout == "refused, then removed\n", done.stderr


def test_a_mount_point_is_found_over_a_folder_and_in_it_and_not_beside_it() -> None:
    assert {Path("/"), Path("/proc")} <= set(mounts_in(Path("/")))
    assert Path("/proc") in mounts_in(Path("/proc"))
    assert mounts_in(Path("/pro")) == []
