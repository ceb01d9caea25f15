"""The protocol of isolation beyond folders and variables: a network namespace, a sandbox, a container."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol

MACHINE_ONLY: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that describe our machine: where there are other files, ours are left out."""


class Launch(NamedTuple):
    """A command for the launcher, and its namespaces."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    handles: tuple[int, ...] = ()
    terminal: bool = False


class Isolator(Protocol):
    """The part that keeps the programs of one sandbox apart."""

    async def open(self) -> None:
        """Make what they run in, with the servers of the run in it."""
        ...

    async def enter(self, launch: Launch) -> Launch:
        """The launch that makes this program run in there."""
        ...

    async def leave(self, launch: Launch) -> None:
        """Remove the rest of a launch of `enter` whose program has ended. Harmless when repeated."""
        ...

    def read(self) -> None:
        """Put on record what programs have tried so far."""
        ...

    async def close(self) -> None:
        """Remove what they ran in. Harmless when repeated."""
        ...
