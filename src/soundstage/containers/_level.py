"""The isolation level `container`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec

from soundstage.containers._engine import Engine
from soundstage.containers._isolator import ContainerIsolator
from soundstage.journal import Journal
from soundstage.lifecycle import Isolator


class InContainer(msgspec.Struct, frozen=True):
    """Isolation in a container of one's choice. The program's home and the folder that it works in are there too.

    Args:
        image: its image; it needs a `/bin/sh`, and has to be there: nothing is pulled.
        reads: files and folders of ours that it may read, at the same paths.
        writes: folders of ours that it may write, at the same paths.

    Example:
        ::

            Command(["python3", "agent.py"], journal, cwd=project, isolation=InContainer("my-agent"))
    """

    image: str = "soundstage/agent"
    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    entry_tells: ClassVar = False  # the engine tells whether it has the image

    def hidden(self) -> Iterable[Path]:
        """All files of this machine."""
        return [Path("/")]

    def make_isolator(self, journal: Journal, root: Path, reads: Sequence[Path]) -> Isolator:
        """A container for each program."""
        return ContainerIsolator(journal, self.image, root, reads=reads, writes=self.writes)

    async def remove_volumes(self) -> list[str]:
        """Remove the volumes of this process; the names of those that the engine still has."""
        engine = await Engine.connect()
        try:
            return await engine.call(engine.remove_own_volumes)
        finally:
            engine.close()
