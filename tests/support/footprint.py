"""Footprints: all that a run can leave behind in a process and around it, compared before and after."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

PROC = Path("/proc")


class Place:
    """A place of its own for a run: where its temporary files, its home and the current folder are."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folders = {name: root / name for name in ("temporary", "home", "current")}
        for folder in self.folders.values():
            folder.mkdir(exist_ok=True)

    def environment(self) -> dict[str, str]:
        """The variables of a process that is to write there."""
        return {"TMPDIR": str(self.folders["temporary"]), "HOME": str(self.folders["home"])}

    def footprint(self) -> dict[str, Any]:
        """Everything that a run could leave, by kind; equal footprints are equal in each."""
        gc.collect()
        return {
            "threads": sorted(thread.name for thread in threading.enumerate()),
            "processes": sorted(_children() | _processes_in(self.root)),
            "files": [str(path.relative_to(self.root)) for path in sorted(self.root.rglob("*"))],
            "environment": dict(os.environ),
            "current folder": str(Path.cwd()),
            "signal handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
            "open files": sorted(open_files()),
            "hooks": [sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook],
            "log handlers": list(logging.getLogger().handlers),
            "warning filters": list(warnings.filters),
            "standard streams": [sys.stdin, sys.stdout, sys.stderr],
        }


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The differences by kind: before and after."""
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def _children() -> set[str]:
    found = set()
    for entry in PROC.glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "stat").read_bytes().rpartition(b")")[2].split()[1] == str(os.getpid()).encode():
                found.add(f"child {entry.name}")
    return found


def _processes_in(root: Path) -> set[str]:
    """Processes anywhere that were started with a folder of the run: those that got away from their parent."""
    found = set()
    for entry in PROC.glob("[0-9]*"):
        with suppress(OSError):
            if entry.name != str(os.getpid()) and os.fsencode(root) in (entry / "environ").read_bytes():
                found.add(f"process {entry.name}")
    return found


def open_files() -> set[str]:
    """Open descriptors of this process: number and target. In one of the tests, others open and close too."""
    found = set()
    for entry in (PROC / "self/fd").iterdir():
        with suppress(OSError):  # the one that lists the others
            found.add(f"{entry.name} {entry.readlink()}")
    return found
