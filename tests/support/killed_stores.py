"""A program: forks a process that saves runs and cleans a store, kills it at a seeded moment, looks; many times over.

A process tells each step that is over on a pipe: that is what has been acknowledged. It is killed by a timer whose
signal nobody handles, wherever it is: in Python, in SQLite, in the kernel.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from soundstage.clock import SystemClock
from soundstage.lifecycle import _scratch
from soundstage.runs import Disk, Retention, RunStore
from support.stores import NOON, QuickDisk, run_of

LONGEST = 0.1  # seconds that a process works at most
OLD, AGE = 60, 30  # days


class StoppedClock(SystemClock):
    """Noon of the day of all runs."""

    def wall(self):
        return NOON


def store_at(root, chosen):
    disk = Disk() if chosen.random() < 0.1 else QuickDisk()
    return RunStore(root, disk=disk, clock=StoppedClock())


def content_of(number):
    return {"own": f"of run {number}".encode() * 50, "shared": b"of all" * 100}


def work(root, chosen, number, told):
    """Save runs, half of them old, and clean now and then, until the timer ends it."""
    _scratch._swept.clear()  # as in a process that was not forked: what the dead have left is removed
    store = store_at(root, chosen)
    store.list()
    with store.staging():
        pass
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0.001 + chosen.random() * LONGEST)
    while True:
        number += 1
        days = OLD if chosen.random() < 0.5 else 0
        store.save(run_of(number, days=days), files=content_of(number))
        os.write(told, f"{'old' if days else 'new'} {number}\n".encode())
        if chosen.random() < 0.4:
            store.clean(Retention(AGE))
            os.write(told, b"clean 0\n")


def look(root, chosen, new, old):
    """Whether all that is listed is whole, the index has what the folders are, and nothing acknowledged is lost."""
    store = store_at(root, chosen)
    listed = {record.id: record for record in store.list()}
    folders = {path.name for path in (root / "runs").iterdir()} if (root / "runs").exists() else set()
    assert {record.folder for record in listed.values()} == folders, "the index is not what the folders are"
    assert store.unreadable == (), f"half a run is listed: {store.unreadable}"
    assert new <= listed.keys(), f"lost: {new - listed.keys()}"
    assert old.isdisjoint(listed), f"cleaned, and there again: {old & listed.keys()}"
    for run, record in listed.items():
        files = {name: file.content() for name, file in store.open(record).files.items()}
        assert files == content_of(int(run.removeprefix("run"))), f"{run} is not whole"
    store.close()


def one_round(root, chosen, number, new, aged, old):
    """Fork, wait for the kill, read what was acknowledged; the highest number that may be in use."""
    reading, telling = os.pipe()
    seed = chosen.random()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            work(root, random.Random(seed), number, telling)
        finally:
            os._exit(1)  # it has raised: nobody killed it
    os.close(telling)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read().decode().split("\n")[:-1]
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended == -signal.SIGALRM, f"the process ended with {ended}"
    for word, name in (line.split() for line in told):
        if word == "clean":
            old |= aged
            aged.clear()
        else:
            (aged if word == "old" else new).add(f"run{name}")
    return number + len(told) + 1


def main(root, rounds):
    chosen, number, found = random.Random(14), 0, 0
    new, aged, old = set(), set(), set()
    RunStore(root).save(run_of(0), files=content_of(0))
    for _ in range(rounds):
        before = len(new)
        number = one_round(root, chosen, number, new, aged, old)
        look(root, chosen, new, old)
        found += len(new) > before
    left = [path.name for path in (root / "tmp").iterdir()]
    assert len(left) <= 1, f"folders of the dead: {left}"
    sys.stdout.write(f"{rounds} kills, {found} behind a run that was saved, {len(old)} runs cleaned away\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
