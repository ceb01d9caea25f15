"""The few things that the store does to files. Whatever must survive goes through here, one call for each step.

Every step is whole or not there: content is written beside and moved into place, and a folder is written back to the
disk before anybody is told that something is in it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


class Disk:
    """The disk of this machine."""

    def write(self, path: Path, pieces: Iterable[bytes]) -> None:
        """Write a new file; when this returns, the disk has its content."""
        with path.open("xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())

    def make_folder(self, path: Path) -> None:
        """Make a folder, with those above; it may be there."""
        path.mkdir(parents=True, exist_ok=True)

    def move(self, old: Path, new: Path) -> None:
        """Move a file or folder in one step."""
        old.rename(new)

    def settle(self, folder: Path) -> None:
        """When this returns, the disk has the names in a folder."""
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def remove(self, path: Path) -> None:
        """Remove a file; it may be gone."""
        path.unlink(missing_ok=True)

    def free(self, folder: Path) -> int:
        """Bytes that are free on the disk of a folder."""
        return shutil.disk_usage(folder).free
