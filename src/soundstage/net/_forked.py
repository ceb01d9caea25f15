"""Copies of this process: what they try is told to the process whose run it is.

A copy that `fork` has made (`multiprocessing`, `ProcessPoolExecutor`, `os.fork`) has the guard, and a copy of the
journal that nobody reads. So it writes what it would append into a pipe, a line for each event, and the run puts that
on its journal when it is looked at. The pipe is made before the first fork of a run: a run without one has none.
Programs do not inherit it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final

import msgspec

from soundstage.journal import EgressTried, Event, HostReached

_KINDS: Final[dict[str, type[EgressTried | HostReached]]] = {
    kind.__name__: kind for kind in (EgressTried, HostReached)
}
_encode: Final = msgspec.json.Encoder().encode
_line: Final = msgspec.json.Decoder(tuple[str, str, int, str])
_PIECE: Final = 64 * 1024
_runs: Final[list[ForkedProcesses]] = []
_told_of_forks: Final[list[bool]] = []  # whether the system tells us of forks


class ForkedProcesses:
    """The way from the copies of a process to the run that they belong to."""

    def __init__(self) -> None:
        self._reading = self._writing = -1
        self._rest = b""

    def begin(self) -> None:
        """Be ready for forks from now on."""
        if not _told_of_forks and hasattr(os, "register_at_fork"):
            _told_of_forks.append(True)
            os.register_at_fork(before=_before_fork)
        _runs.append(self)

    def end(self) -> None:
        """Take nothing any more."""
        _runs.remove(self)
        ends, self._reading, self._writing = (self._reading, self._writing), -1, -1
        for end in ends:
            if end >= 0:
                os.close(end)

    def prepare(self) -> None:
        """Make the pipe, if there is none."""
        if self._reading < 0:
            with contextlib.suppress(OSError):
                self._reading, self._writing = os.pipe()
                os.set_blocking(self._reading, False)
                os.set_blocking(self._writing, False)

    def tell(self, event: Event) -> None:
        """Say, in a copy, what it has tried. What no longer fits into the pipe is lost: there is enough in it."""
        if self._writing >= 0 and isinstance(event, EgressTried | HostReached):
            fields = (type(event).__name__, event.host[:512], event.port, event.method)
            with contextlib.suppress(OSError):
                os.write(self._writing, _encode(fields) + b"\n")

    def told(self) -> Iterator[Event]:
        """Yield the events that the copies have told since the last time."""
        while self._reading >= 0:
            try:
                piece = os.read(self._reading, _PIECE)
            except OSError:
                return
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                kind, host, port, method = _line.decode(line)
                yield _KINDS[kind](host=host, port=port, method=method)


def _before_fork() -> None:
    for run in tuple(_runs):
        run.prepare()
