"""Programs that see of the machine's files what they need, and write to their own: a network of theirs, with a view."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from soundstage.errors import ScriptError
from soundstage.isolation._netns import Namespace, replaced_files
from soundstage.isolation._sandbox_view import View, hidden_folders, view_of
from soundstage.journal import Journal
from soundstage.lifecycle import Launch


class SandboxIsolator(Namespace):
    """A network of their own for the programs of one sandbox, and a view of the files for each.

    Args:
        journal: where `EgressTried` events go.
        folder: a folder for the files that say how names are looked up.
        own: the sandbox's folders, which programs may write to.
        reads: what they may see besides; more may be added later.
        writes: what they may write to besides their folders and the one that they work in.
        name: how the journal calls it.
    """

    def __init__(
        self,
        journal: Journal,
        folder: Path,
        *,
        own: Sequence[Path],
        reads: Sequence[Path] = (),
        writes: Iterable[Path] = (),
        name: str = "egress",
    ) -> None:
        super().__init__(journal, folder, name=name)
        self._own = tuple(own)
        self._reads = reads
        self._writes = tuple(writes)
        self._hide = hidden_folders()
        self._made: set[int] = set()

    async def enter(self, launch: Launch) -> Launch:
        """Let a program be launched in here, with a view of its own.

        Raises:
            EnvironmentProblem: if the system does not let us.
            ScriptError: if it were to work in a folder with all that is to be hidden from it.
        """
        writes = self._may_write(launch)
        view = view_of(launch, reads=self._reads, writes=writes, hide=self._hide)
        handles = await self._admit(self._job(view, writes))
        self._made.update(handles)
        return launch._replace(handles=(*self._handles, *handles))

    def _job(self, view: View, writes: Sequence[Path]) -> dict[str, Any]:
        names = (Path(os.path.realpath(place)) for place in replaced_files())
        shown = (*view.shown, *(name for name in names if view.hides(name) and name.exists()))
        return {
            "hide": [str(path) for path in view.hide],
            "links": [(str(path), target) for path, target in view.links.items()],
            "show": [str(path) for path in shown if not any(path.is_relative_to(one) for one in writes)],
            "write": [str(path) for path in writes],
        }

    def _may_write(self, launch: Launch) -> list[Path]:
        given = (*self._own, *(path.resolve() for path in self._writes), launch.cwd.resolve())
        for path in given:
            if any(folder.is_relative_to(path) for folder in self._hide):
                raise ScriptError(
                    f"a program in a sandbox cannot have {path} to write to: what is hidden from it is in there",
                    hint="give it a folder of its own, such as the fixture `workspace`",
                )
        return [
            path
            for path in dict.fromkeys(given)
            if path.is_dir() and not any(path != one and path.is_relative_to(one) for one in given)
        ]

    async def leave(self, launch: Launch) -> None:
        """A program has ended; its view goes with it."""
        self._let_go(self._made.intersection(launch.handles))

    def _let_go(self, handles: AbstractSet[int]) -> None:
        for handle in handles:
            os.close(handle)
        self._made -= handles

    async def close(self) -> None:
        """Let go of all of it. Harmless when repeated."""
        self._let_go(self._made.copy())
        await super().close()
