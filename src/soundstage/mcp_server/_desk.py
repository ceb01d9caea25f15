"""Where the sessions of one throw-away home work: each in a project of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from soundstage.journal import Journal
from soundstage.worlds import Workspace


class Desk(Workspace):
    """A workspace whose folder can be another one for the session that is opened next.

    The driver asks for the folder once, when it opens a session.
    """

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal, name="desk")
        self._lock = asyncio.Lock()
        self._project: Path | None = None

    @property
    def root(self) -> Path:
        """The project, while one is on the desk; the desk's own folder otherwise."""
        return self._project if self._project is not None else super().root

    @asynccontextmanager
    async def holding(self, project: Path) -> AsyncIterator[None]:
        """Open sessions in this folder meanwhile."""
        async with self._lock:
            self._project = project
            try:
                yield
            finally:
                self._project = None

    def make(self, name: str) -> Path:
        """A new folder for a session that brings no project; it goes with the desk."""
        project = super().root / name
        project.mkdir()
        return project
