"""The content of a throw-away home, to tell whether a conversation has left something there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from soundstage.lifecycle import read_beneath

# What the CLI itself writes there, for every conversation; none of it gets into another one.
_CHURN: Final = re.compile(
    r"\.claude\.json(\.[\w.]+)?$"
    r"|\.claude/(projects/[^/]+/[0-9a-f-]{36}(\.jsonl$|/)"
    r"|backups/|sessions/|shell-snapshots/|session-env/|history\.jsonl$|file-history/|statsig/|debug/|cache/|plugins/store/"
    r"|tasks/[0-9a-f-]{36}/|todos/[0-9a-f-]{36}|\.last-\w+)"
)


class HomeState(NamedTuple):
    """The files of a home, by path, with what is in them."""

    files: dict[str, str]

    @classmethod
    def of(cls, home: Path) -> HomeState:
        """The files that are there now, without those that the CLI writes for each conversation."""
        found: dict[str, str] = {}
        for path in sorted(_files(home)):
            name = path.relative_to(home).as_posix()
            if not _CHURN.match(name):
                with contextlib.suppress(
                    OSError
                ):  # the CLI removes files of its own meanwhile; a pipe is no file
                    found[name] = f"-> {path.readlink()}" if path.is_symlink() else _digest(home, name)
        return cls(found)


def _digest(home: Path, name: str) -> str:
    return hashlib.sha256(read_beneath(home, name)).hexdigest()


def _files(home: Path) -> Iterator[Path]:
    """All files; a folder that goes meanwhile, such as a lock of the CLI, has none."""
    for folder, _, names in os.walk(home):
        yield from (Path(folder, name) for name in names)


def changed(before: HomeState | None, after: HomeState) -> tuple[str, ...]:
    """The files that are new, different or gone, each with what happened to it."""
    old = before.files if before is not None else {}
    return (
        *(f"{path} is new" for path in after.files if path not in old),
        *(
            f"{path} is different"
            for path in after.files
            if old.get(path, after.files[path]) != after.files[path]
        ),
        *(f"{path} is gone" for path in old if path not in after.files),
    )
