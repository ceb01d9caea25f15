"""Facts about processes from /proc, for the search for processes that a run has left.

How it works. A process is found by what stands in its variables, which it cannot help passing on. While it turns into
another program (execve(2)) it shows none of them, or a part, for a moment that no event ends; so it is looked at again
until what it shows is as long as the system says that it is. Field numbers are those of proc(5).
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
BETWEEN: Final = 2.0  # seconds, at most, that a process is between two programs
_START, _MEMORY, _CODE, _VARIABLES, _VARIABLES_END = 22, 23, 26, 50, 51
_KEPT_BACK: Final = 1  # in the place of an address that is not for whoever asks
_AFTER_NAME: Final = 3  # the first field after the name, which is in brackets and may hold anything


def started_at(pid: int) -> int:
    """The start of a process, in the ticks of the system; 0 if it is gone, or the system does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return _fields(PROC / str(pid), _START)[0]
    return 0


def owner_is_dead(pid: int, start: int) -> bool:
    """Whether the process that had this id, and started then, is gone."""
    if start:
        return started_at(pid) != start
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def variables_of(pid: int) -> list[bytes]:
    """The variables of a process as they stand in its memory, `NAME=value` each.

    Raises:
        OSError: if it has ended, or is another user's.

    Example:
        >>> import os, subprocess
        >>> with subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], "MARK": "1"}) as process:
        ...     found = variables_of(process.pid)
        ...     process.kill()
        >>> b"MARK=1" in found
        True
    """
    entry = PROC / str(pid)
    until = time.monotonic() + (BETWEEN if _tells_sizes() else 0)
    shown = (entry / "environ").read_bytes()
    while _size_of_variables(entry) not in (None, len(shown)) and time.monotonic() < until:
        time.sleep(0.001)  # pidfd_open(2) tells exits alone, and to be told of execve(2) one has to be root
        shown = (entry / "environ").read_bytes()
    return shown.split(b"\0")


def _tells_sizes() -> bool:
    """Whether the system says how long variables are; a kernel of another make may not."""
    return (_size_of_variables(PROC / "self") or 0) > 0


def _size_of_variables(entry: Path) -> int | None:
    """In bytes; -1 while execve(2) has not yet written all of them to the new memory of a process.

    `None` if the system keeps it back, as it does from a program that the launcher has confined. It says where their
    end is before they are there, and where the code is after it. Threads of the kernel have no memory.
    """
    with contextlib.suppress(ValueError, IndexError):
        memory, code, start, end = _fields(entry, _MEMORY, _CODE, _VARIABLES, _VARIABLES_END)
        if code == _KEPT_BACK:
            return None
        return -1 if memory and not code else end - start
    return -1


def _fields(entry: Path, *numbers: int) -> list[int]:
    found = (entry / "stat").read_bytes().rpartition(b")")[2].split()
    return [int(found[number - _AFTER_NAME]) for number in numbers]
