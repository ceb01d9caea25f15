"""A folder at one moment, and what differs between two moments. No history, no git: hashes and texts.

Only regular files and symbolic links count. Links are not followed: one counts as a file that holds its
target. Pipes and sockets are left out, because reading one can wait for ever. `.git` folders are left out.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from soundstage.journal import LARGEST, FileContent

LEFT_OUT: Final = frozenset({".git"})


class FileState(NamedTuple):
    """A file at one moment.

    `sha256` is empty if the file could not be read; `data` is its content, `None` if that is above 1 MiB.
    """

    sha256: str
    data: bytes | None

    @property
    def text(self) -> str | None:
        """The content as text; `None` if it is not UTF-8, or above 1 MiB."""
        try:
            return self.data.decode() if self.data is not None else None
        except UnicodeDecodeError:
            return None

    @property
    def content(self) -> FileContent:
        """The content, or the hash of a file that is too large."""
        return self.sha256 if self.data is None else self.data


class Change(NamedTuple):
    """A file that is not what it was. `before` is `None` for an added one, `after` for a deleted one."""

    path: str
    change: Literal["added", "modified", "deleted"]
    before: FileState | None
    after: FileState | None

    @property
    def sha256(self) -> str | None:
        """The hash of the file now; `None` if it is gone."""
        return self.after.sha256 if self.after is not None else None

    @property
    def text(self) -> str | None:
        """The text of the file now; `None` if it is gone, or not text."""
        return self.after.text if self.after is not None else None


Snapshot = Mapping[str, FileState]
"""Every file of a tree at one moment, by its path below the root, with `/` between folders."""


def take(root: Path) -> Snapshot:
    """The tree below `root`, now. Files that vanish while it is read are left out."""
    found = ((entry.path[len(str(root)) + 1 :], state_of(Path(entry.path))) for entry in _entries(str(root)))
    return {path.replace(os.sep, "/"): state for path, state in sorted(found) if state is not None}


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, PermissionError):
        return
    for entry in entries:
        if entry.name in LEFT_OUT:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(entry.path)
        else:
            yield entry


def state_of(path: Path) -> FileState | None:
    """One file, now; `None` if it is not there, or neither a file nor a link."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return _state(f"-> {path.readlink()}".encode("utf-8", "surrogateescape"))
        return _state(path.read_bytes()) if stat.S_ISREG(mode) else None
    except FileNotFoundError:
        return None
    except PermissionError:
        return FileState("", None)


def _state(data: bytes) -> FileState:
    return FileState(hashlib.sha256(data).hexdigest(), data if len(data) <= LARGEST else None)


def difference(before: Snapshot, after: Snapshot) -> tuple[Change, ...]:
    """The changes from one moment to a later one, by path."""
    return tuple(
        Change(path, _kind(before.get(path), after.get(path)), before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    )


def _kind(before: FileState | None, after: FileState | None) -> Literal["added", "modified", "deleted"]:
    if before is None:
        return "added"
    return "deleted" if after is None else "modified"
