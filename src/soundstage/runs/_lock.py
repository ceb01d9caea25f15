"""The lock of a store: one writer at a time, among threads and processes.

It is flock(2) on a file of its own, which the kernel takes back when the holder is dead, whatever killed it; so
nobody has to guess whether a lock is stale. The system's call either waits for ever or not at all. So a thread waits
in our place, and who asked gives up after a time; should the lock come later after all, that thread lets go of it at
once.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from soundstage.runs._errors import StoreBusyError

WITHIN: Final = 60.0  # seconds; what is done with the lock takes milliseconds, but for a cleanup
_HOLDER: Final = 200  # bytes of the file that say who holds it


class _Waiting:
    """A lock that a thread waits for, while somebody still wants it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._agreed = threading.Lock()
        self._came, self._given_up = threading.Event(), False
        self._problem: OSError | None = None

    def within(self, seconds: float) -> bool:
        """Whether the lock came in time; if not, the handle is closed by the thread."""
        threading.Thread(target=self._wait, name="soundstage store lock", daemon=True).start()
        self._came.wait(seconds)
        with self._agreed:
            self._given_up = not self._came.is_set()
        if self._problem is not None:
            raise self._problem
        return not self._given_up

    def _wait(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        except OSError as error:
            self._problem = error
        with self._agreed:
            self._came.set()
            if self._given_up:
                os.close(self._handle)


@contextlib.contextmanager
def locked(path: Path, *, doing: str, within: float = WITHIN, of: str = "") -> Iterator[None]:
    """Hold a lock: that of a store, or another one.

    Args:
        path: the file of the lock, made if it is missing.
        doing: tells others for what it is held.
        within: seconds to wait for it; 0 asks once.
        of: in words, what is locked; the store, unless given.

    Raises:
        StoreBusyError: if somebody else has it all that time; the message says who.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if within <= 0:
            os.close(handle)
            raise _busy(path, of) from None
        if not _Waiting(handle).within(within):
            raise _busy(path, of) from None
    except BaseException:
        os.close(handle)
        raise
    try:
        with contextlib.suppress(
            OSError
        ):  # it is for others to read: a full disk shall not keep a cleanup away
            holder = f"process {os.getpid()}, to {doing}".encode()
            os.pwrite(handle, holder.ljust(_HOLDER)[:_HOLDER], 0)
        yield
    finally:
        os.close(handle)


def _busy(path: Path, of: str) -> StoreBusyError:
    holder = ""
    with contextlib.suppress(OSError):
        holder = path.read_bytes()[:_HOLDER].decode(errors="replace").strip()
    return StoreBusyError(
        f"{of or f'the store {path.parent}'} is in use",
        seen=f"its lock is held by {holder or 'another process'}",
        hint="try again when that is over",
    )
