"""Disk full, two writers, a kill at any moment: what was acknowledged is there, and what is listed is whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from soundstage.runs import DiskFullError, RunStore, StoreBusyError
from soundstage.runs._lock import locked
from support.stores import FULL, FailingDisk, KilledError, QuickDisk, run_of

FILES = {"a": b"of both", "b": b"new"}


def steps_of_a_save(tmp_path, records):
    """The names of the steps that a save takes in a store that has a run."""
    disk = FailingDisk()
    store = RunStore(tmp_path / "counted" / "store", disk=disk)
    store.save(run_of(1), files={"a": b"of both"})
    before = len(disk.steps)
    store.save(run_of(2), journal=records, files=FILES)
    return disk.steps[before:]


def require_whole(root, records, *, acknowledged):
    """Every run that is listed can be read to the end; those that were acknowledged are listed. Whether run2 is."""
    store = RunStore(root, disk=QuickDisk())
    listed = {record.id for record in store.list()}
    assert listed >= acknowledged
    assert store.unreadable == ()
    for run in listed:
        opened = store.open(run)
        assert {path: file.content() for path, file in opened.files.items()}.items() <= FILES.items()
        if run == "run2":
            assert opened.journal() == records
            assert set(opened.files) == set(FILES)
    store.close()
    return "run2" in listed


def test_a_kill_at_any_step_loses_no_run_and_lists_no_half_one(tmp_path, records):
    steps = steps_of_a_save(tmp_path, records)
    assert len(steps) > 8
    there = []
    for number in range(len(steps)):
        for after in (False, True):
            root = tmp_path / f"{number}-{after}" / "store"
            RunStore(root, disk=QuickDisk()).save(run_of(1), files={"a": b"of both"})
            disk = FailingDisk(number, after=after)
            with pytest.raises(KilledError):
                RunStore(root, disk=disk).save(run_of(2), journal=records, files=FILES)
            assert disk.steps == steps[: number + 1]
            there.append(require_whole(root, records, acknowledged={"run1"}))
            RunStore(root, disk=QuickDisk()).save(run_of(3))
            require_whole(root, records, acknowledged={"run1", "run3"})
    moved = 2 * steps.index(f"move {run_of(2).folder}") + 1  # from behind this step on
    assert there == [False] * moved + [True] * (len(there) - moved)


class SlowClockDisk(QuickDisk):
    """Dies behind the move of run2, which leaves the time of the folder as it was: within one tick of its clock."""

    def move(self, old, new):
        before = new.parent.stat().st_mtime_ns
        super().move(old, new)
        if new.name == run_of(2).folder:
            os.utime(new.parent, ns=(before, before))
            raise KilledError


def test_a_kill_within_one_tick_of_the_file_system_hides_no_run(root):
    RunStore(root, disk=QuickDisk()).save(run_of(1))
    with pytest.raises(KilledError):
        RunStore(root, disk=SlowClockDisk()).save(run_of(2))
    assert [record.id for record in RunStore(root).list()] == ["run2", "run1"]


class CleanedDisk(QuickDisk):
    """Another process removes content of the store after a saver has seen that it is there."""

    def write(self, path, pieces):
        super().write(path, pieces)
        if path.name == "journal.jsonl":
            for content in (path.parents[3] / "objects").glob("??/*"):
                content.unlink()


def test_content_that_is_removed_while_a_run_with_it_is_saved_comes_back(root):
    RunStore(root, disk=QuickDisk()).save(run_of(1), files={"a": b"of both"})
    saved = RunStore(root, disk=CleanedDisk()).save(run_of(2), files={"a": b"of both"})
    assert saved.files["a"].content() == b"of both"


def test_content_that_the_store_has_is_not_written_again(tmp_path, records):
    written = [step for step in steps_of_a_save(tmp_path, records) if step.startswith("write")]
    assert written == ["write 1", "write journal.jsonl", "write run.json"]  # the new one of two files


def test_a_disk_that_is_full_at_any_step_says_how_to_clean_and_the_next_save_works(tmp_path, records):
    for number, step in enumerate(steps_of_a_save(tmp_path, records)):
        root = tmp_path / str(number)
        RunStore(root, disk=QuickDisk()).save(run_of(1), files={"a": b"of both"})
        store = RunStore(root, disk=FailingDisk(number, error=FULL))
        with pytest.raises(DiskFullError, match="soundstage runs clean"):
            store.save(run_of(2), journal=records, files=FILES)
        assert list((root / "tmp").iterdir()) == []
        if not require_whole(root, records, acknowledged={"run1"}):
            store.save(run_of(2), journal=records, files=FILES)
        assert require_whole(root, records, acknowledged={"run1", "run2"}), step


def test_when_a_run_is_saved_the_disk_has_all_of_it(root, records, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(inode(handle)), fsync(handle)))
    saved = RunStore(root).save(run_of(1), journal=records, files={"a": b"x"})
    content = saved.files["a"]
    place = root / "objects" / content.blob.sha256[:2] / content.blob.sha256[2:]
    folders = (saved.path, saved.path.parent, place.parent, place.parent.parent)
    assert {path.stat().st_ino for path in (*saved.path.iterdir(), place, *folders)} <= set(synced)


def inode(handle):
    return os.fstat(handle).st_ino


def test_threads_that_save_at_once_lose_nothing(root):
    stores = [RunStore(root, disk=QuickDisk()), RunStore(root, disk=QuickDisk())]
    failed = []

    def save(number):
        try:
            stores[number % 2].save(run_of(number), files={"a": b"of all", "b": f"{number}"})
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    store = RunStore(root, disk=QuickDisk())
    assert {record.id for record in store.list()} == {f"run{number}" for number in range(12)}
    assert len(dict(store.objects.stored())) == 13
    assert [store.open(f"run{number}").files["b"].text() for number in range(12)] == [
        str(number) for number in range(12)
    ]


def test_who_waits_too_long_for_the_lock_is_told_who_has_it_and_gets_it_afterwards(root):
    store = RunStore(root, within=0.05)
    store.save(run_of(1))
    with locked(root / "lock", doing="make coffee"):
        with pytest.raises(StoreBusyError, match=r"process \d+, to make coffee"):
            store.save(run_of(2))
    store.save(run_of(3))
    assert [record.id for record in store.list()] == ["run3", "run1"]


CHILD = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from soundstage.runs import Disk, RunStore
from support.stores import run_of

class Deadly(Disk):
    def move(self, old, new):
        super().move(old, new)
        if new.name == run_of(2).folder:
            os.kill(os.getpid(), signal.SIGKILL)

RunStore({root!r}, disk=Deadly()).save(run_of(2), files={files!r})
"""


@pytest.mark.full
@pytest.mark.parametrize("found", [False, True])
def test_a_program_that_is_killed_while_it_saves_leaves_whole_runs_and_no_folder(root, pytestconfig, found):
    RunStore(root, disk=QuickDisk()).save(run_of(1))
    code = CHILD.format(tests=str(pytestconfig.rootpath / "tests"), root=str(root), files=FILES)
    if not found:
        code = code.replace("super().move(old, new)", "pass")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    store = RunStore(root, disk=QuickDisk())
    assert [record.id for record in store.list()] == (["run2", "run1"] if found else ["run1"])
    store.save(run_of(3))
    assert len(store.list()) == 2 + found
