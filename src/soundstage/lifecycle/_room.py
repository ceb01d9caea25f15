"""What keeps a program apart besides its folders and its variables: a network of its own, or a container."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol

MACHINE_ONLY: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that describe our machine: where there are other files, ours are left out."""


class Launch(NamedTuple):
    """What the launcher starts, and in which namespaces."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    handles: tuple[int, ...] = ()
    terminal: bool = False


class Room(Protocol):
    """Where the programs of one sandbox run."""

    async def open(self) -> None:
        """Make it, with the servers of the run in it."""
        ...

    async def enter(self, launch: Launch) -> Launch:
        """What is to be launched so that this program runs in here."""
        ...

    async def leave(self, launch: Launch) -> None:
        """What `enter` has returned is over: let nothing of it be left. Harmless when repeated."""
        ...

    def read(self) -> None:
        """Put on record what programs have tried so far."""
        ...

    async def close(self) -> None:
        """Remove it. Harmless when repeated."""
        ...
