"""Folders for a run that are gone after it, however it ends.

How it works. A folder's name says whose it is: the process id of its owner and when that process started, since
the system gives numbers out again. The owner also holds a lock on the
folder (flock(2)), which the kernel takes back when the owner is dead, whatever killed it; a container that shares
the temporary folder sees other process ids, but the same locks.

A folder is removed when it is closed, or when its owner is told to end (`_termination`). What a killed owner has left
is removed by the next process that makes one: it ends every process that was started in there (the folder is in
its environment, or it is where it works), waits until they are gone, and then removes the folder. So nothing of a
dead run outlives the next start.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import re
import select
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from soundstage.errors import EnvironmentProblem
from soundstage.lifecycle._processes import PROC, owner_is_dead, started_at, variables_of
from soundstage.lifecycle._termination import hold, let_go

_NAME: Final = re.compile(r"soundstage-(?P<pid>\d+)-(?P<start>\d+)-\w+")
TRIES: Final = 3  # times that a folder is removed, should somebody be writing to it meanwhile
_MOUNT_POINT: Final = 4  # the field of a line of /proc/self/mountinfo: proc(5); spaces are written as \\040
_ENDING: Final = 10.0  # seconds that the kernel may take to end what has been killed
_swept: set[Path] = set()


class ScratchFolder:
    """A folder of this process for temporary files, empty at first.

    Args:
        name: a folder in it, made as well, which `path` then is; nothing but its contents is in the way there.
        parent: where it is made; the system's folder for such things unless given.

    Example:
        >>> with ScratchFolder() as folder:
        ...     _ = (folder.path / "notes.txt").write_text("hello")
        >>> folder.path.exists()
        False
    """

    def __init__(self, name: str = "", *, parent: Path | None = None) -> None:
        parent = parent or Path(tempfile.gettempdir())
        if parent not in _swept:
            _swept.add(parent)
            sweep(parent)
        prefix = f"soundstage-{os.getpid()}-{_own_start(os.getpid())}-"
        self._root = Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).resolve()
        self._lock = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = self._root / name
        if name:
            self.path.mkdir()
        hold(self._root, _end_and_remove)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder and what is in it. Harmless when repeated."""
        if self._lock >= 0:
            try:
                self._root.rmdir()  # mostly it is empty by now, and then no mount can be in it
            except OSError:
                remove_tree(self._root)
            let_go(self._root)
            os.close(self._lock)
            self._lock = -1


@functools.lru_cache(maxsize=1)
def _own_start(pid: int) -> int:
    """When this process has started, which does not change; a fork has another id."""
    return started_at(pid)


def _end_and_remove(root: Path) -> None:
    end_processes_in(root)
    remove_tree(root)


def remove_tree(root: Path) -> None:
    """Remove a folder with all that is in it, read-only folders included.

    A program that runs as root may have mounted another folder in there, the whole machine even. What is mounted is
    never removed: nothing is, then.

    Raises:
        EnvironmentProblem: if something cannot be removed, or is mounted in there.
    """
    mounted = mounts_in(root)
    if mounted:
        raise EnvironmentProblem(
            f"the folder {root} is not removed",
            expected="nothing mounted in it",
            seen=", ".join(map(str, mounted)),
            hint=f"umount {mounted[-1]}; then remove the folder by hand",
        )
    problem: OSError | None = None
    for _ in range(TRIES):
        try:
            shutil.rmtree(root)
        except FileNotFoundError:  # the folder is gone, or something in it was just removed by somebody else
            pass
        except OSError as error:
            problem = error
            _unlock(root)
        if not root.exists():
            return
    raise EnvironmentProblem(
        f"the folder {root} cannot be removed",
        seen=f"{problem.filename}: {problem.strerror}" if problem is not None else "something writes to it",
        hint="end what still uses it, then remove it by hand",
    )


def mounts_in(root: Path) -> list[Path]:
    """The mount points in a folder, or over it."""
    within = os.path.realpath(root)
    try:
        lines = (PROC / "self/mountinfo").read_bytes().splitlines()
    except OSError:  # another system
        return [Path(folder) for folder, _, _ in os.walk(within) if os.path.ismount(folder)]
    escaped = (line.split(maxsplit=_MOUNT_POINT + 1)[_MOUNT_POINT] for line in lines)
    places = (os.fsdecode(place.decode("unicode_escape").encode("latin-1")) for place in escaped)
    return [Path(place) for place in places if f"{place}/".startswith(f"{within}/".replace("//", "/"))]


def _unlock(root: Path) -> None:
    for folder, _, _ in os.walk(root):  # top down: a folder is opened before its children are listed
        with contextlib.suppress(OSError):
            Path(folder).chmod(stat.S_IRWXU)


def sweep(parent: Path) -> list[Path]:
    """Remove the folders of owners that are dead, with all processes in them. Returns those that it removed."""
    removed = []
    for path in parent.glob("soundstage-*-*-*"):
        found = _NAME.fullmatch(path.name)
        if found and owner_is_dead(int(found["pid"]), int(found["start"])) and _removed(path):
            removed.append(path)
    return removed


def _removed(path: Path) -> bool:
    """Whether a folder was nobody's, and is gone now."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False  # another process was faster, or it is none of ours
    try:
        if os.fstat(lock).st_uid != os.geteuid():
            return False
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        end_processes_in(path)
        remove_tree(path)
    except (OSError, EnvironmentProblem):
        return False  # in use after all; the next start tries again
    finally:
        os.close(lock)
    return True


def end_processes_in(path: Path) -> list[str]:
    """Kill every process that was started in a throw-away folder, and wait until they are gone; their names."""
    names = []
    with contextlib.ExitStack() as held:
        waiting = select.poll()
        for handle, name in _processes_in(path, held):
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                waiting.register(handle, select.POLLIN)  # readable when the process has ended: pidfd_open(2)
                names.append(name)
        until, killed = time.monotonic() + _ENDING, len(names)
        while killed and (ended := waiting.poll(max(until - time.monotonic(), 0) * 1000)):
            for handle, _ in ended:
                waiting.unregister(handle)
                killed -= 1
    return names


def _processes_in(path: Path, held: contextlib.ExitStack) -> Iterator[tuple[int, str]]:
    """Handles and names of the processes that were started in a folder; none where the system has no such handles."""
    for entry in PROC.glob("[0-9]*") if hasattr(os, "pidfd_open") else ():
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(int(entry.name))  # first, so that the number cannot become another's
            held.callback(os.close, handle)
            if int(entry.name) != os.getpid() and _is_in(entry, path):
                yield handle, (entry / "comm").read_text(errors="replace").strip()


def _is_in(entry: Path, path: Path) -> bool:
    inside = os.fsencode(path) + b"/"
    with contextlib.suppress(OSError):
        if any(inside in variable + b"/" for variable in variables_of(int(entry.name))):
            return True
    with contextlib.suppress(OSError):
        return (entry / "cwd").readlink().is_relative_to(path)
    return False
