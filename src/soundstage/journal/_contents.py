"""Content that events refer to by its sha256: files before and after a change.

A journal with a file keeps it in a folder beside that file, as a store keeps it: `ab/cdef...`. So a journal and its
folder are all that it takes to rebuild a run. Content is cleaned of secrets first; the hash is that of the clean one.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from pathlib import Path
from typing import BinaryIO, Final

from soundstage.errors import FileError
from soundstage.journal._redact import Redactor
from soundstage.journal._work import Blob

ENDING: Final = ".objects"  # of the folder, instead of the ending of the journal


class Contents:
    """The content that the events of one journal refer to. Got as `journal.contents`.

    Args:
        folder: where it is kept; in memory unless given. It is made when there is something to keep.
        redactor: knows what is kept out; nothing is, unless given.

    Example:
        >>> contents = Contents()
        >>> contents.read(contents.keep(b"hello"))
        b'hello'
    """

    def __init__(self, folder: Path | None = None, redactor: Redactor | None = None) -> None:
        self.folder = folder
        self._redactor = redactor
        self._known: dict[str, bytes] = {}

    @classmethod
    def beside(cls, journal: Path | str, redactor: Redactor | None = None) -> Contents:
        """The content that the events of a journal file refer to."""
        return cls(Path(journal).with_suffix(ENDING), redactor)

    def __repr__(self) -> str:
        return f"<Contents {self.folder or 'in memory'}>"

    def keep(self, data: bytes) -> str:
        """Keep content and return its sha256. When this returns, a journal with a file has it on file.

        Raises:
            FileError: if it cannot be written.
        """
        clean = self._redactor.bytes(data) if self._redactor is not None else data
        sha256 = hashlib.sha256(clean).hexdigest()
        if self.folder is None:
            self._known[sha256] = clean
        elif not (place := self._place(self.folder, sha256)).exists():
            _write(place, clean)
        return sha256

    def open(self, sha256: str) -> BinaryIO:
        """Content, to be read piece by piece.

        Raises:
            FileNotFoundError: if it is not kept.
        """
        if self.folder is not None:
            return self._place(self.folder, sha256).open("rb")
        if sha256 not in self._known:
            raise FileNotFoundError(f"no content has the sha256 {sha256}")
        return io.BytesIO(self._known[sha256])

    def read(self, sha256: str) -> bytes:
        """All of a content. Raises as `open`."""
        with self.open(sha256) as file:
            return file.read()

    def find(self, sha256: str) -> Blob | None:
        """A reference to content; `None` if it is not kept."""
        if self.folder is None:
            return Blob(sha256=sha256, size=len(self._known[sha256])) if sha256 in self._known else None
        try:
            return Blob(sha256=sha256, size=self._place(self.folder, sha256).stat().st_size)
        except OSError:
            return None

    @staticmethod
    def _place(folder: Path, sha256: str) -> Path:
        return folder / sha256[:2] / sha256[2:]


def _write(place: Path, data: bytes) -> None:
    """In one step: what lies at its place is whole."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=place.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(draft).replace(place)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileError(
            f"the content of a file cannot be kept in {place.parent}",
            seen=error.strerror or str(error),
            hint="free some disk space, or choose another folder for the journal",
        ) from None
